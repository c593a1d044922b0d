use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::summary::testing::{assistant, call, result, user};

#[test]
fn finds_each_sort() {
    let text = "See https://example.org/a?b=1, then `src/domain/lib.rs:42:7` and (Cargo.toml). Commit 9f8e7d6c5b, \
        ticket ABC-123, PR #77, user mia_li_3668, booking HAT069, call toolu_01AbC, v1.2.3, error[E0308] and HTTP 404, \
        ENOENT; it took 30 seconds or 250ms, 550e8400-e29b-41d4-a716-446655440000, and/or nothing, ValueError, $1,200.";
    let wanted = [
        "https://example.org/a?b=1",
        "src/domain/lib.rs",
        "Cargo.toml",
        "9f8e7d6c5b",
        "ABC-123",
        "#77",
        "mia_li_3668",
        "HAT069",
        "toolu_01AbC",
        "v1.2.3",
        "E0308",
        "HTTP 404",
        "ENOENT",
        "30 seconds",
        "250ms",
        "550e8400-e29b-41d4-a716-446655440000",
        "ValueError",
    ];
    let found = extract(text);
    for identifier in wanted {
        assert!(found.iter().any(|one| one == identifier), "{identifier} in {found:?}");
    }
    assert!(!found.iter().any(|one| one.contains("and/or") || one == "nothing"));
}

#[test]
fn fragments_of_prose_and_terminals_are_none() {
    assert_eq!(extract("Phase 5's end took \"30\" seconds"), ["30 seconds"]);
    let text = "\u{1b}[31merror\u{1b}[0m \\u001b[1m5 of n-1 and x_2; /the and/or/xor, pros/cons/effort/risk, P1/P2/P3 but \u{1b}[1m12ms\u{1b}[0m";
    assert_eq!(extract(text), ["12ms"]);
    assert_eq!(
        extract("src/domain/lib /tmp utf-8 entire/checkpoints/v1"),
        ["src/domain/lib", "/tmp", "utf-8", "entire/checkpoints/v1"]
    );
    let text = "packages/*/src/a.ts src/{one,two}/b.rs ${HOME}/bin/tool conf/app… .../lib/c.rs /theme /.test console.log \
        Node.js process.env, shot at 01.27.21.png";
    assert_eq!(extract(text), Vec::<String>::new());
    assert_eq!(
        extract("**src/a.rs** {lib/b.rs} *c.toml*: shots/01.png ./run /srv/a /etc"),
        ["src/a.rs", "lib/b.rs", "c.toml", "shots/01.png", "./run", "/srv/a", "/etc"]
    );
}

#[test]
fn places_in_a_dump_are_none() {
    assert_eq!(extract("000000a0: 4865 6c6c\n000000b0: 6f0a\n48f554e4 stays"), ["48f554e4"]);
}

#[test]
fn a_setting_is_given_back_in_the_words_that_it_was_told_in() {
    let name = "terminal.integrated.minimumContrastRatio";
    let mut span = IdentifierSpan::default();
    span.add(&assistant(&format!(
        "Check the contrast:\n- Open VS Code's settings\n- Search for `{name}`\n- Set it to `1`"
    )));
    span.add(&assistant("It reads `app.store.sessionCount`.\n```js\nconst app.store.maxCount = 3\n```"));
    span.add(&call("c1", "write", json!({"text": format!("{name} app.router.basePath")})));
    span.add(&result("c1", "app.menu.itemCount"));
    let wanted = span.wanted();
    let names: Vec<&str> = wanted.iter().map(|one| one.text.as_str()).filter(|one| one.contains('.')).collect();
    assert_eq!(names, ["app.store.sessionCount", name], "{wanted:?}");
    let about = wanted.iter().find(|one| one.text == name).and_then(|one| one.about.as_deref());
    assert_eq!(
        about,
        Some(format!("Check the contrast: Open VS Code's settings; Search for `{name}`; Set it to `1`").as_str())
    );
}

#[test]
fn what_is_told_in_words_is_not_forgotten_for_its_age() {
    let mut span = IdentifierSpan::default();
    span.add(&assistant("Right now there are 331MB in 29 pack files."));
    let mut carried = carry(&[], span, 400);
    for round in 0..20 {
        let mut span = IdentifierSpan::default();
        span.add(&result("c1", &format!("/srv/a/file{round}.rs /srv/b/other{round}.rs ")));
        carried = carry(&carried, span, 400);
    }
    let weight = |text: &str| carried.iter().find(|one| one.text == text).map(|one| one.weight);
    assert_eq!((weight("331MB"), weight("/srv/a/file0.rs")), (Some(BY_MODEL / 2), Some(0)));
}

#[test]
fn hears_the_users_rules() {
    let text = "Please fix the bug. Never touch the public API. You must run the tests! Do we need docs?";
    assert_eq!(rules(text), ["Never touch the public API.", "You must run the tests!"]);
    assert!(rules("Fix it quickly. I don't remember the number.").is_empty());
    assert_eq!(rules("Don't remove the cache."), ["Don't remove the cache."]);
}

fn texts(wanted: &[TrackedIdentifier]) -> Vec<&str> {
    wanted.iter().map(|one| one.text.as_str()).collect()
}

fn plain(text: &str) -> TrackedIdentifier {
    TrackedIdentifier::identifier(text, 1)
}

/// A span with these messages, all of them stored.
fn span(messages: &[Message]) -> IdentifierSpan {
    let mut span = IdentifierSpan::default();
    messages.iter().for_each(|message| span.add_entry(message, Some(Uuid::from_u128(7))));
    span
}

#[test]
fn hears_rules_in_other_words_and_languages() {
    for rule in [
        "I don't want to fly before 11am EST.",
        "I'd prefer to pay with a gift card.",
        "Don’t push to main.",
        "不要修改公共接口。",
        "テストは必ず実行してください。",
        "Die Schnittstelle darf nicht geändert werden.",
        "Never use interactive commands (e.g. vim or top).",
    ] {
        assert_eq!(rules(rule), [rule]);
    }
    assert!(
        rules("1432: Always serializes to an integer value.\nmust = {'a': x.never(), 'b': [1, 2]} only").is_empty()
    );
}

#[test]
fn ranks_speech_over_output() {
    let messages = [
        user("Work on src/main.rs. Never push to main."),
        call("c", "read", json!({"path": "src/main.rs"})),
        result("c", &"see other/file.rs and third/file.rs ".repeat(100)),
        assistant("The bug is in src/main.rs, tracked as ABC-9."),
    ];
    let wanted = extract_span(&messages);
    assert_eq!(texts(&wanted)[..3], ["Never push to main.", "src/main.rs", "ABC-9"]);
    assert!(wanted[0].is_rule() && texts(&wanted).contains(&"other/file.rs"));
}

#[test]
fn measures_and_restores() {
    let wanted = [plain("#12"), plain("src/a.rs"), TrackedIdentifier::rule("Never push to main.")];
    let (missing, report) = check("Issue #123 in src/a.rs; never push\nto main", &wanted);
    assert_eq!(missing, [&wanted[0]]);
    assert_eq!((report.found, report.kept), (3, 2));
    let wanted = [
        plain("#12"),
        plain("src/a.rs"),
        TrackedIdentifier::rule("Never push to main."),
        plain("/x/src/a.rs"),
        plain("/x/b"),
    ];
    let all: Vec<&TrackedIdentifier> = wanted.iter().collect();
    let restored = restore(&all, 100, 150).expect("fits");
    assert_eq!(
        restored.block,
        "## Standing rules\n- \"Never push to main.\"\n\n## Identifiers\n#12\n/x/b, /x/src/a.rs"
    );
    assert_eq!((check(&restored.block, &wanted).1.recall, restored.count), (1.0, 5));
    assert_eq!(restore(&all, 3, 4), None);
    assert_eq!(restore(&[], 100, 150), None);
    let tight = restore(&all, 8, 12).expect("the rule goes beyond the bound");
    assert_eq!(tight.block, "## Standing rules\n- \"Never push to main.\"");
}

#[test]
fn carries_rules_and_what_is_used_through_any_number_of_compactions() {
    let mut carried = carry(&[], span(&[user("Never push to main."), result("c", "first/file.rs")]), 1000);
    for round in 0..10 {
        let printed: String = (0..60).map(|at| format!("src/r{round}/f{at:02}.rs ")).collect();
        let used = call("c", "read", json!({"path": "used/always.rs"}));
        carried = carry(&carried, span(&[used, result("c", &printed)]), 1000);
        let missing: Vec<&TrackedIdentifier> = carried.iter().collect();
        let restored = restore(&missing, 1000, 1500).expect("something");
        let told = carried.len() - 1;
        assert!(restored.count as usize <= told, "the rule is a message, too");
        assert!(restored.count as usize * TRACKED >= told, "{} of {told}: a summary tells the most", restored.count);
        assert!(restored.block.len() <= 4000);
    }
    let texts = texts(&carried);
    assert_eq!(texts[1..4], ["Never push to main.", "used/always.rs", "src/r9/f00.rs"]);
    assert!(!texts.contains(&"first/file.rs"), "used once and long ago");
}

#[test]
fn what_the_user_named_outlives_what_tools_printed() {
    let mut carried = carry(&[], span(&[user("See ticket ABC-123.")]), 1000);
    for round in 0..10 {
        let printed: String = (0..200).map(|at| format!("out/r{round}/f{at}.log ")).collect();
        carried = carry(&carried, span(&[result("c", &printed)]), 1000);
    }
    assert!(texts(&carried).contains(&"ABC-123"));
}

#[test]
fn reads_records_without_weights() {
    let read: Vec<TrackedIdentifier> =
        serde_json::from_str(r#"["a/b.rs","Never push it",{"text":"x/y","weight":7}]"#).unwrap();
    assert_eq!(
        read,
        [plain("a/b.rs"), TrackedIdentifier::rule("Never push it"), TrackedIdentifier::identifier("x/y", 7)]
    );
    let before: TrackedIdentifier = serde_json::from_str(r#"{"text":"Be nice","weight":4294967295}"#).unwrap();
    assert_eq!(before, TrackedIdentifier::rule("Be nice"), "in a record without kinds");
    let mut read = read;
    read.extend([TrackedIdentifier::request("Fix it", Some(Uuid::from_u128(7))), TrackedIdentifier::replaced("No")]);
    let written = serde_json::to_string(&read).unwrap();
    assert_eq!(serde_json::from_str::<Vec<TrackedIdentifier>>(&written).unwrap(), read);
}

#[test]
fn the_users_words_have_sections_of_their_own() {
    let said = ["Use spaces.", "No emojis. Fix the parser.", "No, use tabs.", "Write the docs\nand the tests.", "yes"];
    let messages: Vec<Message> = said.iter().map(|text| user(text)).collect();
    let carried = carry(&[], span(&messages), 1000);
    let (missing, report) = check("## Goal\n- Nothing.", &carried);
    assert_eq!((report.found, report.kept), (5, 0), "{carried:?}");
    let restored = restore(&missing, 1000, 1500).unwrap();
    assert_eq!(
        restored.block,
        "## Standing rules\n- \"No, use tabs.\"\n- No longer holds: \"Use spaces.\"\n\n\
         ## User's messages, newest last\n- \"No emojis. Fix the parser.\"\n- \"Write the docs\nand the tests.\"\n- \"yes\""
    );
    assert_eq!(check(&restored.block, &carried).1.recall, 1.0);
    assert_eq!(restored.count, 4, "one of the rules is said by its message");
}

#[test]
fn what_is_said_in_the_tail_corrects_what_is_carried() {
    let first = carry(&[], span(&[user("Use spaces.")]), 1000);
    let mut later = IdentifierSpan::default();
    later.hear(&user("No, use tabs."), None, true);
    let carried = carry(&first, later, 1000);
    assert_eq!(carried[0], TrackedIdentifier::replaced("Use spaces."));
    assert_eq!(carried.len(), 2, "the tail's own words need no carrying: {carried:?}");
    let block = restore(&carried.iter().collect::<Vec<_>>(), 1000, 1500).unwrap().block;
    assert_eq!(block, "## Standing rules\n- No longer holds: \"Use spaces.\"", "not as if it held");
    let again = carry(&carried, span(&[user("No, use tabs."), user("Now use spaces again.")]), 1000);
    let rules: Vec<&str> = again.iter().filter(|one| one.is_rule()).map(|one| one.text.as_str()).collect();
    assert_eq!(rules, ["Now use spaces again."]);
}

#[test]
fn a_name_that_was_corrected_holds_no_more() {
    let messages = [user("Name the release branch rel-one."), user("No, call the release branch rel-two instead.")];
    let carried = carry(&[], span(&messages), 1000);
    let block = restore(&carried.iter().collect::<Vec<_>>(), 1000, 1500).unwrap().block;
    assert!(block.contains("- No longer holds: \"Name the release branch rel-one.\""), "{block}");
    assert!(block.contains("\"No, call the release branch rel-two instead.\""), "{block}");
}

#[test]
fn messages_stay_and_the_newest_of_them_are_requests() {
    let mut carried = Vec::new();
    for round in 0..5 {
        carried = carry(&carried, span(&[user(&format!("Please do the work of round {round}."))]), 1000);
    }
    assert_eq!(texts(&carried), [0, 1, 2, 3, 4].map(|round| format!("Please do the work of round {round}.")));
    let newest = carried.iter().filter(|one| one.kind == IdentifierKind::Request).count();
    assert_eq!((newest, check("", &carried).1.found), (3, 3));
}

#[test]
fn a_brief_reply_is_shown_with_the_question_whatever_the_summary_says() {
    let messages = [user("Clean up the database."), assistant("The table is old. Shall I drop it?"), user("no")];
    let carried = carry(&[], span(&messages), 1000);
    let (missing, report) = check("Clean up the database. There is no news.", &carried);
    assert_eq!((missing.len(), report.kept), (1, 1));
    let block = restore(&missing, 1000, 1500).unwrap().block;
    assert_eq!(block, "## User's messages, newest last\n- (the agent asked: \"Shall I drop it?\") \"no\"");
}

#[test]
fn where_room_is_short_the_newest_and_the_strictest_stay() {
    let preferred: Vec<Message> = (0..60).map(|at| user(&format!("I like short names of kind {at}."))).collect();
    let mut messages = vec![user("Never delete the backups.")];
    messages.extend(preferred);
    let carried = carry(&[], span(&messages), 1000);
    let block = restore(&carried.iter().collect::<Vec<_>>(), 80, 120).unwrap().block;
    assert!(
        block.contains("Never delete the backups.") && block.contains("kind 59.") && !block.contains("kind 7."),
        "{block}"
    );
    assert!(block.len() <= 80 * 4 * 2, "{}", block.len());
}

#[test]
fn a_megabyte_is_no_trouble() {
    for piece in ["a", "a1b2c3d-", "://", "/a", "\"", "1 ", "日"] {
        let text = piece.repeat(1_000_000 / piece.len());
        assert!(extract(&text).len() <= MAX_WANTED);
    }
}

proptest! {
    #[test]
    fn what_is_restored_is_found_again(text in "([a-zA-Z0-9_/.#:-]{1,12}[ ,\n]){0,40}", max_tokens in 0u32..200) {
        let wanted: Vec<TrackedIdentifier> = extract(&text).iter().map(|text| plain(text)).collect();
        if let Some(restored) = restore(&wanted.iter().collect::<Vec<_>>(), max_tokens, max_tokens) {
            prop_assert!(restored.block.len() <= max_tokens as usize * 4);
            let (missing, _) = check(&restored.block, &wanted);
            prop_assert!(missing.len() + restored.count as usize <= wanted.len());
        }
    }

    #[test]
    fn never_panics(text in any::<String>()) {
        extract(&text);
        rules(&text);
    }
}

#[test]
fn records_of_three_requests_are_read_and_carried_on() {
    let stored = r#"[{"text":"Never push it","weight":4294967295,"kind":"rule"},
        {"text":"Fix the parser of it","weight":4294967295,"kind":"request","entry":"00000000-0000-0000-0000-000000000007"}]"#;
    let stored: Vec<TrackedIdentifier> = serde_json::from_str(stored).unwrap();
    let said = ["Please write the docs.", "Please run the tests.", "Please look at the parser."];
    let carried = carry(&stored, span(&said.map(user)), 1000);
    let kinds: Vec<IdentifierKind> = carried.iter().map(|one| one.kind).collect();
    use IdentifierKind::{Message, Request, Rule};
    assert_eq!(kinds, [Rule, Message, Request, Request, Request], "{carried:?}");
    assert_eq!(carried[1].entry, Some(Uuid::from_u128(7)));
    let written = serde_json::to_string(&carried).unwrap();
    assert_eq!(serde_json::from_str::<Vec<TrackedIdentifier>>(&written).unwrap(), carried);
}

#[test]
fn a_number_is_given_back_in_the_words_that_it_stood_in_last() {
    let mut span = IdentifierSpan::default();
    let said = "The import took 41 seconds. See ABC-12, which covers the retries.\n\n| part | share |\n|---|---|\n| parsing | 73% |";
    span.add(&assistant(said));
    span.add(&assistant("Let us see how it goes. The import took 12 seconds."));
    let carried = carry(&[], span, 1_000);
    let (missing, report) = check("Also named: 12 seconds, 73%", &carried);
    assert_eq!((report.found, report.kept), (3, 0), "a bare number says nothing");
    let block = restore(&missing, 1_000, 0).unwrap().block;
    assert!(block.contains("- The import took 12 seconds."), "{block}");
    assert!(block.contains("- parsing, 73%") && block.contains("- See ABC-12, which covers the retries."), "{block}");
    assert!(!block.contains("41 seconds"), "{block}");
    assert_eq!(check(&block, &carried).1.kept, 3, "{block}");
}
