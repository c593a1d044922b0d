use proptest::prelude::*;
use serde_json::json;

use super::super::testing::{assistant, call, result, task, user};
use super::*;

const PI: Estimator = Estimator::Pi;

fn said(tasks: &[SummaryTask]) -> String {
    let messages = tasks.iter().flat_map(|task| task.messages.iter()).filter(|message| message.role != Role::System);
    messages.map(Message::plain_text).collect()
}

#[test]
fn what_fits_stays_whole() {
    let task = task(vec![user("hi"), assistant("hello")]);
    let tasks = split(&task, 100_000, PI);
    assert_eq!(tasks.len(), 1);
    assert_eq!(tasks[0].messages, task.messages);
}

#[test]
fn tool_output_gives_way_first() {
    let messages = vec![user("hi"), call("c", "read", json!({})), result("c", &"x".repeat(9000))];
    let whole = task(messages);
    let tasks = split(&whole, input_tokens(&whole, PI) - 100, PI);
    assert_eq!(tasks.len(), 1);
    let shown = tasks[0].messages[2].tool_results().next().map(ToolResult::plain_text).unwrap_or_default();
    assert!(shown.contains("[... 8601 characters left out ...]"), "{shown}");
}

#[test]
fn one_huge_message_is_cut() {
    let text: String = (0..4000).map(|at| format!("{at} ")).collect();
    let tasks = split(&task(vec![user(&text)]), 1500, PI);
    assert!(tasks.len() > 4);
    assert!(tasks.iter().all(|task| input_tokens(task, PI) <= 1500));
    assert_eq!(said(&tasks), text);
}

#[test]
fn folding_keeps_the_order_and_the_previous_summary() {
    let mut task = task(vec![user(&"long ".repeat(4000))]);
    task.previous = Some("## Goal\n- old".into());
    let tasks = split(&task, 1500, PI);
    assert!(tasks.iter().all(|task| task.previous.is_none()));
    let folded = fold(&task, vec!["first".into(), "second".into()]);
    assert_eq!(folded.previous, task.previous);
    assert_eq!(folded.messages.len(), 2);
    assert!(folded.messages[1].plain_text().ends_with("part 2 of 2 of the conversation:\n\nsecond"));
}

#[test]
fn a_blank_message_at_the_beginning_is_not_lost() {
    let long = "word ".repeat(2000);
    assert_eq!(said(&split(&task(vec![assistant(" "), user(&long)]), 1500, PI)), format!(" {long}"));
}

#[test]
fn a_tiny_window_still_ends() {
    let tasks = split(&task(vec![user(&"word ".repeat(500))]), 1, PI);
    assert_eq!(said(&tasks), "word ".repeat(500));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_cover_everything_in_order(
        texts in prop::collection::vec(("[a-z<é日\n ]{0,60}", 1usize..60, any::<bool>()), 1..12),
        window in 700u32..2500,
    ) {
        let texts: Vec<(String, bool)> = texts.into_iter().map(|(text, times, who)| (text.repeat(times), who)).collect();
        let messages = texts.iter().map(|(text, who)| if *who { user(text) } else { assistant(text) }).collect();
        let tasks = split(&task(messages), window, PI);
        prop_assert_eq!(said(&tasks), texts.iter().map(|(text, _)| text.as_str()).collect::<String>());
        if tasks.len() > 1 {
            for part in &tasks {
                prop_assert!(input_tokens(part, PI) <= window, "{} > {}", input_tokens(part, PI), window);
            }
        }
    }
}
