//! How many calls a summary takes, and what they ask for: counted at an upstream that plays a script.

use super::*;
use crate::llm::played_upstream::PlayedRequest;

/// A summary that reaches what was done, and goes on.
const LONG: &str = "## Goal\n- Move the parser\n\n## Constraints & Preferences\n- Keep the tests green\n\n## Progress\n\
                    ### Done\n- [x] Parser moved\n- [x] Tests run";

fn max_tokens(request: &PlayedRequest) -> u64 {
    request.body["max_tokens"].as_u64().expect("an output limit")
}

/// The most words that a request asks for.
fn words(request: &PlayedRequest) -> u64 {
    let (_, length) = request.user().rsplit_once("Stay under ").expect("a length");
    length.split(' ').next().unwrap().parse().expect("a number")
}

async fn of(
    server: &PlayedUpstream,
    tasks: &[SummaryTask],
    replaced_tokens: u64,
    change: impl FnOnce(&mut UpstreamConfig),
) -> Result<SummaryOutcome, Failure> {
    let settings = settings(OnUpstreamFailure::Fail);
    let request = Request {
        tasks,
        settings: &settings,
        builtin: false,
        wants_model: true,
        upstream: None,
        replaced_tokens,
        record: None,
        words: 0,
        prefix: None,
    };
    summarise(&upstreams(server, change), &request).await
}

#[tokio::test]
async fn what_was_cut_off_is_taken_up_to_its_last_whole_line() {
    let server = PlayedUpstream::start(Behaviour::CutOff(format!("{LONG}\n- [x] Comm"))).await;
    let outcome = run(&server, &history(), OnUpstreamFailure::Fail, |_| {}).await.unwrap();
    assert_eq!((outcome.history.as_deref(), outcome.fallback.used, server.calls()), (Some(LONG), false, 1));
}

#[tokio::test]
async fn what_was_cut_off_too_soon_is_asked_for_with_more_room() {
    let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::Truncated])).await;
    run(&server, &history(), OnUpstreamFailure::Fail, |_| {}).await.unwrap();
    let [first, second] = server.requests().try_into().expect("two requests");
    assert_eq!((max_tokens(&first), max_tokens(&second)), (500, 1_000));
    assert_eq!((words(&first), words(&second)), (300, 300));
    assert!(second.user().contains("cut off by the output limit"), "{}", second.user());
}

#[tokio::test]
async fn where_there_is_no_more_room_fewer_words_are_asked_for() {
    for change in [
        (|config| config.max_output_tokens = Some(500)) as fn(&mut UpstreamConfig),
        // The window leaves a tenth more than the prompt and the answer take.
        |config| config.context_window = 2_450,
    ] {
        let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::Truncated])).await;
        run(&server, &history(), OnUpstreamFailure::Fail, change).await.unwrap();
        let [first, second] = server.requests().try_into().expect("two requests");
        assert_eq!((max_tokens(&first), max_tokens(&second)), (500, 500));
        assert_eq!((words(&first), words(&second)), (300, 150));
    }
}

#[tokio::test]
async fn a_model_that_thinks_unasked_gets_room_for_it() {
    for thought in ["", "<think>\nThe user wants", "<|channel|>analysis<|message|>We need"] {
        let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::CutOff(thought.to_owned())])).await;
        let outcome = run(&server, &history(), OnUpstreamFailure::Fail, |_| {}).await.unwrap();
        assert_eq!(outcome.history.as_deref(), Some(SUMMARY));
        let [first, second] = server.requests().try_into().expect("two requests");
        assert_eq!((max_tokens(&first), max_tokens(&second)), (500, 500 + 8_192));
        assert_eq!((words(&first), words(&second)), (300, 300));
    }
}

#[tokio::test]
async fn thinking_beside_the_answer_keeps_its_room() {
    let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::Truncated])).await;
    let thinks = |config: &mut UpstreamConfig| config.options.reasoning_tokens = Some(4_000);
    run(&server, &history(), OnUpstreamFailure::Fail, thinks).await.unwrap();
    let limits: Vec<u64> = server.requests().iter().map(max_tokens).collect();
    assert_eq!(limits, [4_500, 5_000]);
}

#[tokio::test]
async fn a_cut_off_answer_to_the_prefix_is_asked_for_with_more_room_there() {
    let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::Truncated])).await;
    let outcome = run_prefix(&server, |_| {}).await;
    assert!(outcome.upstream.prefix_reused);
    let [first, second] = server.requests().try_into().expect("two requests");
    assert_eq!((max_tokens(&first), max_tokens(&second)), (1_000, 2_000));
    server.play(Behaviour::CutOff(format!("{LONG}\n- [x] Comm")));
    let outcome = run_prefix(&server, |_| {}).await;
    assert_eq!((outcome.history.as_deref(), server.calls()), (Some(LONG), 3));
}

#[tokio::test]
async fn a_few_lines_of_a_split_turn_are_told_without_a_call() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let tasks = [task(SummaryPart::History, 12), task(SummaryPart::TurnPrefix, 2)];
    let outcome = run(&server, &tasks, OnUpstreamFailure::Fail, |_| {}).await.unwrap();
    assert_eq!((outcome.history.as_deref(), outcome.upstream.calls), (Some(SUMMARY), 1));
    assert!(!outcome.builtin && !outcome.fallback.used);
    assert!(outcome.turn_prefix.is_some_and(|told| told.contains("move the parser")));
}

#[tokio::test]
async fn no_model_is_asked_where_its_summary_can_not_pay() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let short = [task(SummaryPart::History, 2)];
    for (tasks, replaced_tokens) in [(history(), 1_200), (short, 50_000)] {
        let outcome = of(&server, &tasks, replaced_tokens, |_| {}).await.unwrap();
        assert!(outcome.builtin && outcome.history.is_some());
        let told = Fallback { used: true, from: Some("played".into()), reason: Some("too_small".into()) };
        assert_eq!((outcome.fallback, outcome.upstream.calls), (told, 0));
    }
    of(&server, &[task(SummaryPart::Branch, 2)], 1_024, |_| {}).await.unwrap();
    assert_eq!(server.calls(), 1, "a branch is told by whom it was asked of");
}

/// A span of about 60,000 tokens.
fn long() -> [SummaryTask; 1] {
    [task(SummaryPart::History, 560)]
}

#[tokio::test]
async fn a_tiny_window_is_planned_for_and_nothing_is_left_out() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let tiny = |config: &mut UpstreamConfig| config.context_window = 2_048;
    let outcome = of(&server, &long(), 60_000, tiny).await.unwrap();
    assert_eq!((outcome.history.as_deref(), outcome.builtin), (Some(SUMMARY), false));
    let told = Fallback { used: true, from: Some("played".into()), reason: Some("call_limit".into()) };
    assert_eq!(outcome.fallback, told, "code has told a part");
    let requests = server.requests();
    let without = PlayedUpstream::start(Behaviour::good()).await;
    let unbound = |config: &mut UpstreamConfig| (config.context_window, config.max_calls) = (2_048, 1_000);
    of(&without, &long(), 60_000, unbound).await.unwrap();
    println!("{} calls, {} without a bound", requests.len(), without.calls());
    assert!((6..=12).contains(&requests.len()) && without.calls() > 36, "{} calls", requests.len());
    assert!(requests.iter().any(|request| request.user().contains("Step 559:")), "the newest are read");
    let mut folds = requests.iter().filter(|request| request.user().contains("Notes on part 1 of"));
    assert!(folds.next_back().is_some_and(|fold| fold.user().contains("Step 0:")), "and code tells of the oldest");
}

#[tokio::test]
async fn a_setting_bounds_the_calls() {
    let window =
        |calls: u32| move |config: &mut UpstreamConfig| (config.context_window, config.max_calls) = (8_000, calls);
    for calls in [2, 5, 100] {
        let server = PlayedUpstream::start(Behaviour::good()).await;
        let outcome = of(&server, &long(), 60_000, window(calls)).await.unwrap();
        assert_eq!(outcome.fallback.used, calls < 100, "{calls}: {} calls", server.calls());
        assert!(server.calls() <= calls as usize, "{calls}: {} calls", server.calls());
    }
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let failure = of(&server, &long(), 60_000, window(1)).await.unwrap_err();
    assert_eq!((failure.code(), server.calls()), ("call_limit", 0));
}

#[tokio::test]
async fn the_calls_of_a_split_turn_are_shared_by_size() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let tasks = [task(SummaryPart::History, 20), task(SummaryPart::TurnPrefix, 560)];
    let small = |config: &mut UpstreamConfig| config.context_window = 4_096;
    let outcome = of(&server, &tasks, 60_000, small).await.unwrap();
    assert_eq!((outcome.history.as_deref(), outcome.turn_prefix.as_deref()), (Some(SUMMARY), Some(SUMMARY)));
    assert!(server.calls() <= 12, "{} calls", server.calls());
}

#[tokio::test]
async fn what_finds_the_window_counts_against_the_bound() {
    // The window is a sixteenth of what the configuration says.
    let server = PlayedUpstream::start(Behaviour::OverflowAbove(32_000, Box::new(Behaviour::good()))).await;
    let outcome = of(&server, &long(), 60_000, |_| {}).await.unwrap();
    assert_eq!(outcome.history.as_deref(), Some(SUMMARY));
    println!("{} calls", server.calls());
    assert!(server.calls() <= 12, "{} calls", server.calls());
}
