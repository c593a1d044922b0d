use proptest::prelude::*;
use serde_json::json;

use super::super::testing::{assistant, call, result, task, user};
use super::*;

const PI: Estimator = Estimator::Pi;

fn limits(limit: u32) -> ChunkLimits {
    ChunkLimits { whole: limit, part: limit, part_output: 200 }
}

fn split(task: &SummaryTask, limit: u32, estimator: Estimator) -> Vec<SummaryTask> {
    super::split(task, limits(limit), estimator).expect("room enough")
}

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
fn a_window_that_the_prompt_fills_is_refused() {
    let task = task(vec![user(&"word ".repeat(500))]);
    assert!(super::split(&task, limits(1), PI).is_none());
}

#[test]
fn parts_are_answered_shorter_and_may_read_more() {
    let task = task(vec![user(&"word ".repeat(5_000))]);
    let limits = ChunkLimits { whole: 1_500, part: 2_500, part_output: 300 };
    let parts = super::split(&task, limits, PI).expect("room enough");
    assert!(parts.iter().all(|part| part.max_output_tokens == 300 && input_tokens(part, PI) <= 2_500));
    assert!(parts.iter().any(|part| input_tokens(part, PI) > 1_500));
}

#[test]
fn a_previous_summary_as_large_as_the_window_is_split_with_the_rest() {
    let mut whole = task(vec![user("new")]);
    whole.previous = Some("old ".repeat(3_000));
    let parts = split(&with_room(whole, limits(1_500), PI), 1_500, PI);
    assert!(parts.len() > 1 && parts.iter().all(|part| part.previous.is_none()));
    let text = said(&parts);
    assert!(text.starts_with("Notes on what came before:") && text.ends_with("old new"), "{}", &text[..80]);
}

#[test]
fn dense_text_is_not_taken_for_four_characters_a_token() {
    let dense: String = (0..3_000u32).map(|at| char::from_u32(0x4e00 + at * 7 % 20_000).unwrap_or('x')).collect();
    let parts = split(&task(vec![user(&dense)]), 1_500, PI);
    let tokens = |part: &SummaryTask| count_text(Estimator::O200k, &prompt::render(part).user);
    assert!(parts.iter().all(|part| tokens(part) <= 1_500));
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

#[test]
fn a_text_of_somebody_else_goes_in_pieces_and_folds_as_any() {
    let text: String = (0..4000).map(|at| format!("{at} ")).collect();
    let mut whole = task(vec![user("hi")]);
    whole.shown = Some(text.as_str().into());
    let tasks = split(&whole, 100_000, PI);
    assert_eq!((tasks.len(), tasks[0].shown.as_deref()), (1, Some(text.as_str())));
    let tasks = split(&whole, 1500, PI);
    assert!(tasks.len() > 4 && tasks.iter().all(|task| input_tokens(task, PI) <= 1500));
    let pieces = tasks.iter().map(|task| task.shown.as_deref().unwrap().split_once("\n\n").unwrap().1);
    assert_eq!(pieces.collect::<String>(), text);
    let folded = fold(&whole, vec!["first".into(), "second".into()]);
    assert_eq!((folded.messages.len(), folded.shown), (2, None));
}
