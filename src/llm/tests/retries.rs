use std::sync::Arc;
use std::time::Instant;

use super::*;

#[tokio::test]
async fn passing_failures_are_tried_again() {
    let failures = [
        Behaviour::Status(408, None),
        Behaviour::Status(409, None),
        Behaviour::Status(429, None),
        Behaviour::Status(500, None),
        Behaviour::Status(529, None),
        Behaviour::Drop,
    ];
    for failure in failures {
        let server = PlayedUpstream::start(Behaviour::then_good([failure.clone(), failure.clone()])).await;
        let completion = upstream(&server, |_| ()).summarise(&task()).await.unwrap();
        assert_eq!((completion.calls, server.calls()), (3, 3), "{failure:?}");
    }
}

#[tokio::test]
async fn lasting_failures_are_not() {
    let failures = [
        Behaviour::Status(400, None),
        Behaviour::Status(401, None),
        Behaviour::Status(404, None),
        Behaviour::Overflow,
        Behaviour::Quota,
        Behaviour::Malformed,
        Behaviour::Huge(9 << 20),
    ];
    for failure in failures {
        let server = PlayedUpstream::start(Behaviour::then_good([failure.clone()])).await;
        assert!(upstream(&server, |_| ()).summarise(&task()).await.is_err(), "{failure:?}");
        assert_eq!(server.calls(), 1, "{failure:?}");
    }
}

#[tokio::test]
async fn retries_end() {
    for max_retries in [0, 1, 3] {
        let server = PlayedUpstream::start(Behaviour::Status(503, None)).await;
        let error = upstream(&server, |config| config.max_retries = max_retries).summarise(&task()).await.unwrap_err();
        assert_eq!(error.code(), "server_error");
        assert_eq!(server.calls(), max_retries as usize + 1);
    }
}

#[tokio::test]
async fn retry_after_is_waited_for() {
    let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::Status(429, Some("1".to_owned()))])).await;
    let started = Instant::now();
    upstream(&server, |_| ()).summarise(&task()).await.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!(server.calls(), 2);
}

#[tokio::test]
async fn a_retry_after_beyond_the_bound_gives_up_at_once() {
    let server = PlayedUpstream::start(Behaviour::then_good([Behaviour::Status(429, Some("3600".to_owned()))])).await;
    let error = upstream(&server, |_| ()).summarise(&task()).await.unwrap_err();
    assert_eq!(error.retry_after(), Some(Duration::from_secs(3600)));
    assert_eq!(server.calls(), 1);
}

#[tokio::test]
async fn a_slow_answer_times_out_and_is_tried_again() {
    let slow = Behaviour::Held("late".to_owned());
    let server = PlayedUpstream::start(Behaviour::then_good([slow.clone()])).await;
    let quick = |config: &mut UpstreamConfig| config.timeout = Duration::from_secs(3);
    assert_eq!(upstream(&server, quick).summarise(&task()).await.unwrap().calls, 2);
    server.play(slow);
    let once = |config: &mut UpstreamConfig| (config.timeout, config.max_retries) = (Duration::from_secs(3), 0);
    let error = upstream(&server, once).summarise(&task()).await.unwrap_err();
    assert_eq!(error, UpstreamError::Timeout(Duration::from_secs(3)));
}

#[tokio::test]
async fn no_more_calls_at_a_time_than_allowed() {
    for limit in [1, 2] {
        let server = PlayedUpstream::start(Behaviour::Held("fine".to_owned())).await;
        let upstream = upstream(&server, |config| config.max_concurrency = limit);
        let task = task();
        let calls = futures::future::join_all((0..6).map(|_| upstream.summarise(&task)));
        let answered = async {
            server.wait_for_running(limit).await;
            server.play(Behaviour::good());
            server.release();
        };
        let (results, ()) = tokio::join!(calls, answered);
        assert!(results.iter().all(Result::is_ok));
        assert_eq!((server.calls(), server.peak_concurrency()), (6, limit));
    }
}

#[tokio::test]
async fn waiting_for_a_slot_ends() {
    let server = PlayedUpstream::start(Behaviour::Held("fine".to_owned())).await;
    let wait = Duration::from_millis(50);
    let upstream = Arc::new(upstream(&server, |config| (config.max_concurrency, config.max_wait) = (1, wait)));
    let first = tokio::spawn({
        let upstream = upstream.clone();
        async move { upstream.summarise(&task()).await }
    });
    server.wait_for_calls(1).await;
    assert_eq!(upstream.summarise(&task()).await, Err(UpstreamError::Busy(wait)));
    first.abort();
}

#[tokio::test]
async fn dropping_the_call_ends_it_and_frees_its_slot() {
    let server = PlayedUpstream::start(Behaviour::Held("late".to_owned())).await;
    let upstream = Arc::new(upstream(&server, |config| config.max_concurrency = 1));
    let call = tokio::spawn({
        let upstream = upstream.clone();
        async move { upstream.summarise(&task()).await }
    });
    server.wait_for_calls(1).await;
    call.abort();
    server.play(Behaviour::good());
    assert!(upstream.summarise(&task()).await.is_ok());
    // The server works no more for a client that is gone.
    server.wait_for_running(0).await;
}

#[tokio::test]
async fn an_upstream_that_keeps_failing_is_left_alone_for_a_while() {
    let server = PlayedUpstream::start(Behaviour::Status(503, None)).await;
    let upstream = upstream(&server, |config| {
        (config.max_retries, config.breaker_failures) = (0, 2);
        config.breaker_rest = Duration::from_secs(3);
    });
    let word = async || upstream.summarise(&task()).await.err().map(|error| error.code());
    let failed = [word().await, word().await, word().await];
    assert_eq!(failed, [Some("server_error"), Some("server_error"), Some("circuit_open")]);
    assert_eq!(server.calls(), 2);
    let rested = async || loop {
        match word().await {
            Some("circuit_open") => tokio::time::sleep(Duration::from_millis(20)).await,
            other => return other,
        }
    };
    assert_eq!([rested().await, word().await], [Some("server_error"), Some("circuit_open")]);
    server.play(Behaviour::good());
    assert_eq!([rested().await, word().await], [None, None]);
}

#[tokio::test]
async fn refusals_of_single_calls_do_not_open_the_breaker() {
    let server = PlayedUpstream::start(Behaviour::Overflow).await;
    let upstream = upstream(&server, |config| config.breaker_failures = 1);
    for _ in 0..3 {
        assert_eq!(upstream.summarise(&task()).await.unwrap_err().code(), "context_overflow");
    }
}
