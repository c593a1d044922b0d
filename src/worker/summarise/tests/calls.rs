//! How many calls a summary takes, and what they ask for: counted at an upstream that plays a script.

use super::*;
use crate::llm::played_upstream::PlayedRequest;

/// A summary that reaches what was done, and goes on.
const LONG: &str = "## Goal\n- Move the parser (u1)\n\n## Constraints & Preferences\n- Keep the tests green (u1)\n\n## Progress\n\
                    ### Done\n- [x] Parser moved (u1)\n- [x] Tests run (u1)";

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
    task: &SummaryTask,
    replaced_tokens: u64,
    change: impl FnOnce(&mut UpstreamConfig),
) -> Result<SummaryOutcome, Failure> {
    let settings = settings(OnUpstreamFailure::Fail);
    let request = Request {
        task: Some(task),
        settings: &settings,
        builtin: false,
        wants_model: true,
        upstream: None,
        replaced_tokens,
        record: None,
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
    let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::Truncated])).await;
    let change = |config: &mut UpstreamConfig| config.max_output_tokens = Some(500);
    run(&server, &history(), OnUpstreamFailure::Fail, change).await.unwrap();
    let [first, second] = server.requests().try_into().expect("two requests");
    assert_eq!((max_tokens(&first), max_tokens(&second)), (500, 500));
    assert_eq!((words(&first), words(&second)), (300, 150));
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
    assert_eq!((max_tokens(&first), max_tokens(&second)), (500, 1_000));
    server.play(Behaviour::CutOff(format!("{LONG}\n- [x] Comm")));
    let outcome = run_prefix(&server, |_| {}).await;
    assert_eq!((outcome.history.as_deref(), server.calls()), (Some(LONG), 3));
}

#[tokio::test]
async fn no_model_is_asked_where_its_summary_can_not_pay() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let short = task(SummaryPart::History, 2);
    for (task, replaced_tokens) in [(history(), 1_200), (short, 50_000)] {
        let outcome = of(&server, &task, replaced_tokens, |_| {}).await.unwrap();
        assert!(outcome.builtin && outcome.history.is_some());
        let told = Fallback { used: true, from: Some("played".into()), reason: Some("too_small".into()) };
        assert_eq!((outcome.fallback, outcome.upstream.calls), (told, 0));
    }
    of(&server, &task(SummaryPart::Branch, 2), 1_024, |_| {}).await.unwrap();
    assert_eq!(server.calls(), 1, "a branch is told by whom it was asked of");
}

/// A span of about 60,000 tokens.
fn long() -> SummaryTask {
    task(SummaryPart::History, 560)
}

#[tokio::test]
async fn a_tiny_window_takes_one_call_and_one_without_room_none() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let outcome = of(&server, &long(), 60_000, |config| config.context_window = 4_096).await.unwrap();
    assert_eq!((outcome.history.as_deref(), outcome.builtin, server.calls()), (Some(SUMMARY), false, 1));
    let [request] = server.requests().try_into().expect("one request");
    assert!(request.user().contains("Step 559:"), "the newest is read");
    let failure = of(&server, &long(), 60_000, |config| config.context_window = 1_024).await.unwrap_err();
    assert_eq!((failure.code(), server.calls()), ("context_overflow", 1));
}

#[tokio::test]
async fn what_finds_the_window_counts_against_the_bound() {
    // The window is a sixteenth of what the configuration says.
    let server = PlayedUpstream::start(Behaviour::OverflowAbove(32_000, Box::new(Behaviour::good()))).await;
    let outcome = of(&server, &long(), 60_000, |_| {}).await.unwrap();
    assert_eq!(outcome.history.as_deref(), Some(SUMMARY));
    println!("{} calls", server.calls());
    assert!(server.calls() <= 12, "{} calls", server.calls());
    let server = PlayedUpstream::start(Behaviour::Overflow).await;
    let failure = of(&server, &long(), 60_000, |config| config.max_calls = 2).await.unwrap_err();
    assert_eq!((failure.code(), server.calls()), ("call_limit", 2));
}
