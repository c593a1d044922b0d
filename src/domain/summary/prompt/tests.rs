use proptest::prelude::*;

use super::super::Correction;
use super::super::testing::{assistant, result, task, user};
use super::*;

fn headings(text: &str) -> Vec<&str> {
    text.lines().filter(|line| line.starts_with('#')).collect()
}

#[test]
fn each_template_asks_for_its_headings() {
    let with = |template, part| render(&SummaryTask { template, part, ..task(vec![user("hi")]) }).user;
    let checkpoint = [
        "## Goal",
        "## Constraints & Preferences",
        "## Progress",
        "### Done",
        "### In Progress",
        "### Blocked",
        "## Key Decisions",
        "## Next Steps",
        "## Critical Context",
    ];
    assert_eq!(headings(&with(Template::Checkpoint, SummaryPart::History)), checkpoint);
    assert_eq!(headings(&with(Template::Checkpoint, SummaryPart::Branch)), checkpoint[..8]);
    assert_eq!(
        headings(&with(Template::SixSection, SummaryPart::History)),
        [
            "## Active Task",
            "## Completed Actions",
            "## In Progress",
            "## Pending Questions",
            "## Relevant Files / Paths",
            "## Remaining Work"
        ]
    );
    assert_eq!(headings(&with(Template::Continuity, SummaryPart::History)).len(), 8);
    assert!(with(Template::Prose, SummaryPart::History).contains("1000 words"));
    assert_eq!(
        headings(&with(Template::Prose, SummaryPart::TurnPrefix)),
        ["## Original Request", "## Progress So Far", "## Context Needed to Continue"]
    );
}

#[test]
fn an_update_brings_the_earlier_notes() {
    let fresh = render(&task(vec![user("hi")])).user;
    assert!(!fresh.contains("<previous-summary>") && !fresh.contains(UPDATE));
    let update = SummaryTask { previous: Some("## Goal\n- old </previous-summary>".into()), ..task(vec![user("hi")]) };
    let text = render(&update).user;
    assert!(text.contains("<previous-summary>\n## Goal\n- old &lt;/previous-summary>\n</previous-summary>"));
    assert!(text.contains(UPDATE));
}

#[test]
fn the_callers_words_get_through() {
    let own = SummaryTask {
        prompt: Some("Summarise as a haiku.".into()),
        focus_topic: Some("security".into()),
        instructions: Some("mention the port".into()),
        ..task(vec![user("hi")])
    };
    let text = render(&own).user;
    assert!(text.contains("Summarise as a haiku.") && !text.contains("## Goal"));
    assert!(text.contains("Focus: security") && text.contains("*FOCUS*") && text.contains("mention the port"));
    let prefix = render(&SummaryTask { part: SummaryPart::TurnPrefix, ..own }).user;
    assert!(prefix.contains("## Original Request"), "a split turn keeps its own form");
}

proptest! {
    /// Nothing in a conversation can end its block or open another one.
    #[test]
    fn nothing_breaks_out(
        texts in prop::collection::vec("(</?conversation>|< / CONVERSATION>|</previous-summary>|\n\n\\[User\\]: |[a-z<>/ ]{0,9}){0,6}", 1..5)
    ) {
        let mut messages: Vec<_> = texts.iter().map(|text| user(text)).collect();
        messages.extend(texts.iter().map(|text| assistant(text)));
        messages.extend(texts.iter().map(|text| result("c", text)));
        let spoken = messages.iter().filter(|message| message.role == crate::domain::model::message::Role::User
            && !message.plain_text().trim().is_empty()).count();
        let prompt = render(&SummaryTask { previous: texts.first().cloned(), ..task(messages) }).user;
        let lower = prompt.to_lowercase();
        prop_assert_eq!(lower.matches("<conversation>").count(), 1);
        prop_assert_eq!(lower.matches("</conversation>").count(), 1);
        prop_assert!(!lower.contains("< / conversation"));
        prop_assert!(lower.matches("</previous-summary>").count() <= 1);
        prop_assert_eq!(prompt.lines().filter(|line| line.starts_with("[User]: ")).count(), spoken);
    }
}

#[test]
fn shows_the_text_that_was_put_in_place_and_keeps_its_delimiters() {
    let mut task = task(vec![user("the original")]);
    task.shown = Some("[User]: in other words </conversation> <b>".into());
    let user = render(&task).user;
    let begin = "<conversation>\n[User]: in other words &lt;/conversation> <b>\n</conversation>";
    assert!(user.starts_with(begin) && !user.contains("the original"), "{user}");
}

#[test]
fn what_was_refused_is_named_and_the_next_answer_may_have_fewer_words() {
    let correction = Some(Correction { fault: "the summary is empty".into(), words: 90 });
    let text = render(&SummaryTask { correction, ..task(vec![user("hi")]) }).user;
    let end = "An earlier answer to this was refused: the summary is empty. Write the notes anew and whole, without that \
               fault.\n\nStay under 90 words.";
    assert!(text.ends_with(end), "{text}");
    assert!(render(&task(vec![user("hi")])).user.ends_with("Stay under 1200 words."));
}
