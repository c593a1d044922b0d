use super::*;
use crate::record::testing::{call, call_with, result, said};

fn span<'a>(messages: &'a [Message]) -> Span<'a> {
    let told: Vec<RecordItem<'a>> =
        messages.iter().map(|message| RecordItem::Message(message, RecordPlace::Told)).collect();
    Span::of(&told)
}

#[test]
fn ids_that_come_again_are_other_calls() {
    let messages = [
        said(Role::User, "go"),
        call("c", "bash", "one"),
        result("c", "1"),
        call("c", "bash", "two"),
        result("c", "2"),
    ];
    let span = span(&messages);
    let told: Vec<(u32, String)> = span
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Call(call) => Some((call.number, call.result?.plain_text())),
            _ => None,
        })
        .collect();
    assert_eq!(told, [(1, "1".to_owned()), (2, "2".to_owned())]);
}

#[test]
fn what_stays_counts_and_is_not_told() {
    let messages = [said(Role::User, "first"), said(Role::Assistant, "yes"), said(Role::User, "second")];
    let places = [RecordPlace::Kept, RecordPlace::Told, RecordPlace::Running];
    let told: Vec<RecordItem<'_>> =
        messages.iter().zip(places).map(|(message, place)| RecordItem::Message(message, place)).collect();
    let span = Span::of(&told);
    assert_eq!(span.lines.len(), 2);
    assert!(matches!(&span.lines[1], Line::User { number: 2, runs: true, text } if text == "second"));
}

#[test]
fn the_same_frame_around_each_message_goes() {
    let messages: Vec<Message> = (0..6)
        .map(|n| {
            said(
                Role::User,
                &format!("You are the next speaker of the team.\nPoint {n} of the plan\nAnswer with one call only."),
            )
        })
        .collect();
    let span = span(&messages);
    assert!(matches!(&span.lines[3], Line::User { text, .. } if text == "Point 3 of the plan"), "{:?}", span.lines[3]);
}

#[test]
fn what_was_heard_behind_a_result() {
    let messages = [
        call("a", "bash", "ls"),
        result("a", "parser_core.rs lexer_core.rs"),
        said(Role::Assistant, "The lexer is next."),
        call("b", "read", "src/parser_core.rs"),
    ];
    let span = span(&messages);
    let heard = span.heard_behind(0);
    assert!(heard.holds("lexer") && heard.holds("parser") && !heard.holds("nothing"));
}

/// An agent that acts in its words: the block is the command, what a program printed stands behind it.
#[test]
fn a_block_and_its_output_are_one() {
    let messages = [
        said(Role::User, "Find the lock."),
        said(Role::Assistant, "I look.\n\n```bash\ngrep -n lock src/a.rs\n```"),
        said(Role::User, "12: lock\n(Open file: n/a)\nbash-$"),
        said(Role::Assistant, "No block here."),
        said(Role::User, "?\n(Open file: n/a)\nbash-$"),
    ];
    let span = span(&messages);
    assert!(matches!(&span.lines[1], Line::Agent { text } if text == "I look."), "{:?}", span.lines);
    let Line::Block(block) = &span.lines[2] else { panic!("{:?}", span.lines) };
    assert_eq!(block.command, "grep -n lock src/a.rs");
    assert!(block.output.starts_with("12: lock"), "{:?}", block);
    assert!(matches!(&span.lines[4], Line::Harness { .. }), "{:?}", span.lines);
}

#[test]
fn rules_that_a_harness_hands_over_stand_with_the_instructions() {
    let skill = "Base directory for this skill: /s/git\n\nShow the plan first.\n\nARGUMENTS: commit both repos";
    let messages = [
        said(Role::User, "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nRun the linter.\n</INSTRUCTIONS>"),
        said(
            Role::User,
            "<system-reminder>Contents of /w/CLAUDE.md:\n\nAnswer in Thai.</system-reminder>\nCommit, please.",
        ),
        call_with("c", "Skill", serde_json::json!({"skill": "git", "args": "commit both repos"})),
        result("c", "Launching skill: git"),
        said(Role::User, skill),
        said(Role::User, skill.replace("commit both repos", "and push").as_str()),
    ];
    let span = span(&messages);
    for (at, rule) in
        ["Run the linter.", "Answer in Thai.", "Show the plan first.", "Show the plan first."].iter().enumerate()
    {
        assert!(span.instructions[at].contains(rule), "{:?}", span.instructions);
    }
    let users: Vec<(u32, &str)> = span
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::User { number, text, .. } => Some((*number, text.as_str())),
            _ => None,
        })
        .collect();
    // What the agent gave the skill is told by its call; what nobody's call says, the user gave.
    assert_eq!(users, [(1, "Commit, please."), (3, "and push")]);
}

#[test]
fn a_harnesss_short_notice_stands_where_it_came() {
    let messages = [
        said(Role::User, "Fix the page."),
        said(Role::Assistant, "I write it."),
        said(Role::User, "[TASK RESUMPTION] Resuming task..."),
        said(Role::User, "<turn_aborted>\nThe user interrupted the previous turn.\n</turn_aborted>"),
    ];
    let notices: Vec<String> = span(&messages)
        .lines
        .iter()
        .filter_map(|line| match line {
            Line::Command { text } => Some(text.clone()),
            _ => None,
        })
        .collect();
    assert_eq!(
        notices,
        ["[TASK RESUMPTION] Resuming task...", "[turn_aborted] The user interrupted the previous turn."]
    );
}
