use super::replaced::{RuleWords, replaces};
use super::*;
use crate::data::Source;
use crate::domain::model::user_text::{self, UserText};
use crate::domain::summary::testing::transcripts;

/// Label, language and sentence.
fn labelled() -> Vec<(bool, String, String)> {
    let text = Source::Own.text("standing_rules.tsv");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let fields = lines.map(|line| line.splitn(3, '\t').map(str::to_owned).collect::<Vec<_>>());
    fields.map(|fields| (fields[0] == "+", fields[1].clone(), fields[2].clone())).collect()
}

#[test]
fn tells_rules_from_requests_reports_and_talk() {
    let labelled = labelled();
    let wrong: Vec<_> = labelled.iter().filter(|(rule, _, sentence)| is_rule(sentence) != *rule).collect();
    let (missed, taken): (Vec<_>, Vec<_>) = wrong.into_iter().partition(|(rule, _, _)| *rule);
    let rules = labelled.iter().filter(|(rule, _, _)| *rule).count();
    let found = rules - missed.len();
    let (recall, precision) = (found as f64 / rules as f64, found as f64 / (found + taken.len()) as f64);
    println!("{rules} rules of {}: recall {recall:.3}, precision {precision:.3}", labelled.len());
    assert!(labelled.len() >= 400 && recall >= 0.98 && precision >= 0.98, "missed {missed:#?}, taken {taken:#?}");
}

#[test]
fn each_language_has_its_share() {
    for language in ["en", "de", "fr", "es", "ja", "zh", "ru", "ko"] {
        let rules = |label: bool| labelled().iter().filter(|(rule, of, _)| of == language && *rule == label).count();
        assert!(rules(true) >= 10 && rules(false) >= 7, "{language}");
    }
}

#[test]
fn a_rule_is_taken_out_of_what_stands_around_it() {
    let text = "Please fix the bug in a.rs. Never touch the public API!\n\n- Use tabs, not spaces.\n```\nnever.run();\n```\nDo we need docs?";
    assert_eq!(rules(text), ["Never touch the public API!", "Use tabs, not spaces."]);
    assert_eq!(rules("Don’t push to main."), ["Don’t push to main."]);
    assert_eq!(rules("1432: Always serializes to an integer value."), Vec::<String>::new());
}

#[test]
fn of_a_pasted_document_only_what_stands_around_it() {
    let document = "Never do this. Always do that. Files must be small.\n\n".repeat(400);
    let text = format!("Here are the minutes. Don't change the API.\n\n{document}Use tabs, not spaces.");
    assert_eq!(rules(&text), ["Don't change the API.", "Use tabs, not spaces."]);
    assert!(rules(&document.replace("\n\n", " ")).is_empty(), "a paragraph that nobody types");
    assert_eq!(rules(&"Never push.\n".repeat(100)).len(), MAX_FROM_ONE);
}

#[test]
fn thirty_megabytes_are_no_trouble() {
    for piece in ["never ", "a, don't ", "no ", "use x, not y. ", "\n\n", "必须", "- "] {
        assert!(rules(&piece.repeat(30_000_000 / piece.len())).len() <= MAX_FROM_ONE);
        assert!(rules(&piece.repeat(7_900 / piece.len())).len() <= MAX_FROM_ONE);
    }
}

fn replaced(older: &str, newer: &str) -> bool {
    replaces(&RuleWords::of(newer), &RuleWords::of(older))
}

#[test]
fn the_newer_rule_takes_the_place_of_the_older() {
    let pairs = [
        ("Use spaces.", "No, use tabs."),
        ("Use spaces.", "Use tabs, not spaces."),
        ("Indent with 2 spaces.", "Actually, indent with 4 spaces."),
        ("Answer in German.", "Actually, reply in English."),
        ("Answer in German.", "Answer in English from now on."),
        ("max 3 retries", "max 5 retries"),
        ("The budget is $500.", "The budget is now $800."),
        ("No emojis.", "Forget what I said about emojis."),
        ("No emojis.", "Emojis are fine now."),
        ("Use npm.", "Use pnpm instead of npm."),
        ("Never push to main.", "You may push to main now."),
        ("Keep it short.", "No, keep it detailed."),
        ("Name the release branch rel-one.", "No, call the release branch rel-two instead."),
        ("Write the log to /var/log/a.txt.", "Actually, write the log to /tmp/a.txt."),
        ("It must be done by Friday.", "It must be done by Monday."),
        ("Antworte auf Deutsch.", "Antworte doch auf Englisch."),
        ("Utilise des espaces.", "Finalement, utilise des tabulations plutôt que des espaces."),
        ("用空格。", "改用制表符。"),
        ("Используй пробелы.", "Используй табы вместо пробелы."),
    ];
    for (older, newer) in pairs {
        assert!(replaced(older, newer), "{older} → {newer}: {:?} {:?}", RuleWords::of(older), RuleWords::of(newer));
    }
}

#[test]
fn rules_about_other_things_stand_beside_each_other() {
    let pairs = [
        ("Use tabs.", "Use pnpm."),
        ("Never push to main.", "Never touch the schema."),
        ("Write comments in German.", "Actually, reply in English."),
        ("max 3 retries", "max 5 files per commit"),
        ("Keep commits small.", "Keep functions short."),
        ("Never touch part 3 again.", "Never touch part 4 again."),
        ("Don't touch b.rs.", "Only touch a.rs."),
        ("Write tests first.", "Don't forget the tests."),
        ("No emojis.", "No new dependencies."),
        ("Answer in German.", "Write tests first."),
        ("不要修改公共接口。", "请用中文回答。"),
        ("Use single quotes.", "Use pnpm instead of npm."),
        ("Run the test suite in src/a.rs.", "No, keep the test suite of src/b.rs green, too."),
        ("Name the release branch rel-one.", "Actually, tag the image app-two."),
        ("Use tabs, not spaces.", "Use tabs, not spaces."),
    ];
    for (older, newer) in pairs {
        assert!(!replaced(older, newer), "{older} → {newer}: {:?} {:?}", RuleWords::of(older), RuleWords::of(newer));
    }
}

/// Run with `--nocapture` to read what is taken from the recordings.
#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn of_the_recordings_few_sentences_are_rules() {
    let files = ["tau-bench", "swe-agent", "entireio-cli", "pi-mono", "aider-history", "bfcl-memory", "agentcmd"];
    let (mut sentences, mut taken) = (0, std::collections::BTreeSet::new());
    for message in files.into_iter().flat_map(transcripts).flat_map(|session| user_text::of(&session)) {
        let UserText::Said(text) = message else { continue };
        sentences += super::sentences(&text).len();
        taken.extend(rules(&text));
    }
    taken.iter().for_each(|rule| println!("{rule}"));
    println!("{} of {sentences}", taken.len());
    assert!(taken.len() > 40 && taken.len() * 20 < sentences, "{} of {sentences}", taken.len());
}
