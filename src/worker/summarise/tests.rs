//! Summaries against an upstream that plays a script.

use std::time::Duration;

use serde_json::Map;

use super::*;
use crate::domain::message::{Message, Role};
use crate::domain::settings::{self, Template};
use crate::llm::UpstreamConfig;
use crate::llm::played_upstream::{Behaviour, PlayedUpstream, SUMMARY};

fn settings(on_failure: OnUpstreamFailure) -> Settings {
    let mut settings = settings::resolve(&Map::new(), &Map::new(), None).expect("the defaults");
    settings.on_upstream_failure = on_failure;
    settings
}

fn task(part: SummaryPart, messages: usize) -> SummaryTask {
    let said = |at| {
        Message::text(Role::User, format!("Step {at}: {}", "move the parser and keep the tests green. ".repeat(10)))
    };
    SummaryTask {
        part,
        template: Template::Checkpoint,
        prompt: None,
        previous: None,
        messages: (0..messages).map(said).collect(),
        focus_topic: None,
        instructions: None,
        max_output_tokens: 500,
    }
}

fn upstreams(server: &PlayedUpstream, change: impl FnOnce(&mut UpstreamConfig)) -> Upstreams {
    let mut config = UpstreamConfig {
        base_url: server.base_url(),
        model: "played".to_owned(),
        max_retries: 0,
        price_input_per_mtok: 1.0,
        price_output_per_mtok: 10.0,
        ..UpstreamConfig::new("played", UpstreamKind::Openai)
    };
    change(&mut config);
    Upstreams::new(vec![config], Some("played")).expect("a valid configuration")
}

/// Runs `tasks` by the played upstream.
async fn run(
    server: &PlayedUpstream,
    tasks: &[SummaryTask],
    on_failure: OnUpstreamFailure,
    change: impl FnOnce(&mut UpstreamConfig),
) -> Result<SummaryOutcome, Failure> {
    let settings = settings(on_failure);
    let request = Request { tasks, settings: &settings, builtin: false, upstream: None, replaced_tokens: 100_000, prefix: None };
    summarise(&upstreams(server, change), &request).await
}

fn history() -> [SummaryTask; 1] {
    [task(SummaryPart::History, 3)]
}

#[tokio::test]
async fn an_answer_is_taken_with_what_it_cost() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let outcome = run(&server, &history(), OnUpstreamFailure::Fail, |_| {}).await.unwrap();
    assert_eq!(outcome.history.as_deref(), Some(SUMMARY));
    assert_eq!((outcome.turn_prefix, outcome.builtin, outcome.fallback), (None, false, Fallback::default()));
    let spent = outcome.upstream;
    assert_eq!((spent.name.as_deref(), spent.model.as_deref(), spent.calls), (Some("played"), Some("played"), 1));
    assert_eq!((spent.input_tokens, spent.output_tokens, spent.cached_tokens), (100, 20, 40));
    assert!((spent.cost_usd - 300.0 / 1e6).abs() < 1e-12, "{}", spent.cost_usd);
}

#[tokio::test]
async fn nothing_is_asked_where_nothing_or_the_builtin_is_wanted() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let outcome = run(&server, &[], OnUpstreamFailure::Fail, |_| {}).await.unwrap();
    assert_eq!((outcome.history, outcome.builtin), (None, false));

    let (settings, tasks) = (settings(OnUpstreamFailure::Fail), history());
    for (builtin, upstream) in [(true, None), (true, Some("played")), (false, Some("builtin"))] {
        let request = Request { tasks: &tasks, settings: &settings, builtin, upstream, replaced_tokens: 1_000, prefix: None };
        let outcome = summarise(&upstreams(&server, |_| {}), &request).await.unwrap();
        assert!(outcome.builtin && outcome.history.is_some());
        assert_eq!((outcome.upstream, outcome.fallback), (UpstreamReport::default(), Fallback::default()));
    }
    assert_eq!(server.calls(), 0);
}

#[tokio::test]
async fn a_split_turn_takes_two_calls_at_a_time_unless_the_limit_is_one() {
    let tasks = [task(SummaryPart::History, 3), task(SummaryPart::TurnPrefix, 2)];
    for limit in [1, 2] {
        let server = PlayedUpstream::start(Behaviour::Slow(Duration::from_millis(100), SUMMARY.to_owned())).await;
        let outcome =
            run(&server, &tasks, OnUpstreamFailure::Fail, |config| config.max_concurrency = limit).await.unwrap();
        assert_eq!((outcome.history.as_deref(), outcome.turn_prefix.as_deref()), (Some(SUMMARY), Some(SUMMARY)));
        assert_eq!((server.peak_concurrency(), outcome.upstream.calls), (limit, 2));
    }
}

#[tokio::test]
async fn a_refused_answer_is_asked_for_once_more() {
    for bad in [Behaviour::Empty, Behaviour::Truncated, Behaviour::ToolCall, Behaviour::Refusal, Behaviour::EchoPrompt]
    {
        let server = PlayedUpstream::start(Behaviour::then_good([bad.clone()])).await;
        let outcome = run(&server, &history(), OnUpstreamFailure::Fail, |_| {}).await.unwrap();
        assert_eq!((outcome.history.as_deref(), outcome.upstream.calls), (Some(SUMMARY), 2), "{bad:?}");

        let server = PlayedUpstream::start(bad.clone()).await;
        let failure = run(&server, &history(), OnUpstreamFailure::Fail, |_| {}).await.unwrap_err();
        assert!(matches!(failure, Failure::Rejected(_)), "{bad:?}: {failure}");
        assert_eq!(server.calls(), 2, "{bad:?}");
    }
}

#[tokio::test]
async fn a_summary_larger_than_what_it_replaces_is_refused() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let (settings, tasks) = (settings(OnUpstreamFailure::Fail), history());
    let request = Request { tasks: &tasks, settings: &settings, builtin: false, upstream: None, replaced_tokens: 3, prefix: None };
    let failure = summarise(&upstreams(&server, |_| {}), &request).await.unwrap_err();
    assert_eq!(failure.code(), "too_large");
}

#[tokio::test]
async fn the_builtin_stands_in_for_a_failed_upstream_where_it_may() {
    let server = PlayedUpstream::start(Behaviour::Status(500, None)).await;
    let outcome = run(&server, &history(), OnUpstreamFailure::Fallback, |_| {}).await.unwrap();
    assert!(outcome.builtin && outcome.history.is_some());
    let fallback = Fallback { used: true, from: Some("played".into()), reason: Some("server_error".into()) };
    assert_eq!(outcome.fallback, fallback);
    assert_eq!(server.calls(), 1, "trying again is the upstream's own business");

    let failure = run(&server, &history(), OnUpstreamFailure::Fail, |_| {}).await.unwrap_err();
    assert_eq!(failure.code(), "server_error");
}

#[tokio::test]
async fn an_upstream_that_is_gone_from_the_configuration_is_a_failure() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let tasks = history();
    for on_failure in [OnUpstreamFailure::Fallback, OnUpstreamFailure::Fail] {
        let settings = settings(on_failure);
        let request = Request {
            tasks: &tasks,
            settings: &settings,
            builtin: false,
            upstream: Some("gone"),
            replaced_tokens: 1_000,
            prefix: None,
        };
        match summarise(&upstreams(&server, |_| {}), &request).await {
            Ok(outcome) => {
                assert_eq!(on_failure, OnUpstreamFailure::Fallback);
                assert_eq!(outcome.fallback.reason.as_deref(), Some("unknown_upstream"));
            }
            Err(failure) => {
                assert_eq!(on_failure, OnUpstreamFailure::Fail);
                assert_eq!(failure.to_string(), "the upstream `gone` is not configured");
            }
        }
    }
}

#[tokio::test]
async fn a_span_larger_than_the_window_goes_in_parts_and_is_folded() {
    let server = PlayedUpstream::start(Behaviour::good()).await;
    let tasks = [task(SummaryPart::History, 200)];
    let outcome = run(&server, &tasks, OnUpstreamFailure::Fail, |config| config.context_window = 8_000).await.unwrap();
    assert_eq!(outcome.history.as_deref(), Some(SUMMARY));
    let requests = server.requests();
    assert!(requests.len() >= 4, "{} calls", requests.len());
    assert_eq!(outcome.upstream.calls as usize, requests.len());
    let (fold, parts) = requests.split_last().unwrap();
    assert!(fold.user().contains(SUMMARY), "the fold reads the parts' summaries");
    for at in 0..200 {
        assert!(parts.iter().any(|part| part.user().contains(&format!("Step {at}:"))), "step {at} was read");
    }
}

#[tokio::test]
async fn a_window_smaller_than_configured_is_found_by_halving() {
    let overflow = Behaviour::OverflowAbove(40_000, Box::new(Behaviour::good()));
    let server = PlayedUpstream::start(overflow).await;
    let tasks = [task(SummaryPart::History, 200)];
    let outcome = run(&server, &tasks, OnUpstreamFailure::Fail, |_| {}).await.unwrap();
    assert_eq!(outcome.history.as_deref(), Some(SUMMARY));

    let server = PlayedUpstream::start(Behaviour::Overflow).await;
    let failure = run(&server, &tasks, OnUpstreamFailure::Fail, |_| {}).await.unwrap_err();
    assert_eq!(failure.code(), "context_overflow");
    assert!(server.calls() < 200, "{} calls", server.calls());
}
