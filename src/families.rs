//! The families of `/metrics`: their names, kinds, labels and descriptions, all of them here. Who records one names it by
//! its constant; `tests/it/metrics.rs` refuses a family that is only described or only recorded.
//!
//! Base units (seconds, bytes, tokens, ratios from 0 to 1), counters end in `_total`. Every label is of a closed set: words
//! of an enum, templates of routes, names from the configuration. Never an id, a path or a text that a client can make up.

pub mod amounts;

/// What Prometheus calls the type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case", const_into_str)]
pub enum Kind {
    Counter,
    Gauge,
    Histogram,
}

/// One family of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    pub help: &'static str,
}

macro_rules! families {
    ($($constant:ident: $kind:ident $name:literal [$($label:literal),*] $help:literal;)*) => {
        $(pub const $constant: &str = $name;)*

        /// Every family but those of the process, which are read as they are asked for.
        pub const ALL: &[Family] =
            &[$(Family { name: $name, kind: Kind::$kind, labels: &[$($label),*], help: $help }),*];
    };
}

families! {
    HTTP_REQUESTS: Counter "contextd_http_requests_total" ["method", "route", "status"]
        "HTTP requests answered, by method, route template and status.";
    HTTP_REQUEST_SECONDS: Histogram "contextd_http_request_duration_seconds" ["method", "route"]
        "Time from a request's head to its answer's head, by method and route.";
    HTTP_CONNECTIONS: Gauge "contextd_http_connections" []
        "Connections of clients that are open at this process.";
    HTTP_EVICTED: Counter "contextd_http_connections_evicted_total" []
        "Idle connections that were ended to make room for new ones.";
    EVENT_STREAMS: Gauge "contextd_event_streams" []
        "Event streams that are open at this process.";
    UI_CSP_REPORTS: Counter "contextd_ui_csp_reports_total" []
        "Reports of browsers that a page was kept from something.";

    APPENDS: Counter "contextd_appends_total" []
        "Appends that landed.";
    ENTRIES: Counter "contextd_entries_appended_total" []
        "Entries that appends added.";

    SESSIONS: Gauge "contextd_sessions" ["state"]
        "Sessions by fill state, as of the sessions' figures.";
    CONTEXT_TOKENS: Gauge "contextd_context_tokens" ["state"]
        "Tokens of all sessions' contexts by fill state, as of the sessions' figures.";
    GUARD_TRIPPED: Gauge "contextd_sessions_guard_tripped" []
        "Sessions whose anti-thrash guard holds compactions back, as of the sessions' figures.";
    FIGURES_TIME: Gauge "contextd_figures_timestamp_seconds" ["figures"]
        "Unix time at which a group of figures over the whole database was taken.";

    QUEUE_JOBS: Gauge "contextd_queue_jobs" ["status"]
        "Jobs by status, as of the queue's figures.";
    QUEUE_AGE: Gauge "contextd_queue_oldest_job_age_seconds" []
        "How long the oldest job that is due had been due, as of the queue's figures; 0 when none is.";
    QUEUE_ATTEMPTS: Counter "contextd_queue_attempts_total" ["kind", "outcome"]
        "Attempts at jobs that this process made, by the job's kind and how they ended.";
    QUEUE_ATTEMPT_SECONDS: Histogram "contextd_queue_attempt_duration_seconds" ["kind"]
        "Time of an attempt at a job, by its kind.";
    QUEUE_WAIT_SECONDS: Histogram "contextd_queue_wait_seconds" ["kind"]
        "Time from a job being due to its being claimed, by its kind.";
    QUEUE_REAPED: Counter "contextd_queue_reaped_total" []
        "Jobs that were taken from a worker that had gone silent.";

    COMPACTIONS: Counter "contextd_compactions_total" ["status", "strategy", "trigger"]
        "Compactions ended, by how, by strategy and by what started them.";
    COMPACTIONS_SKIPPED: Counter "contextd_compactions_skipped_total" ["reason"]
        "Compactions that were skipped, by reason.";
    COMPACTION_SAVINGS: Histogram "contextd_compaction_savings_ratio" []
        "Share of the context's tokens that a compaction saved, from 0 to 1.";
    COMPACTION_WAIT_SECONDS: Histogram "contextd_compaction_wait_seconds" ["trigger"]
        "Time from a context turning red to its compaction, by trigger.";
    COMPACTION_SECONDS: Histogram "contextd_compaction_duration_seconds" []
        "Time from a compaction's start to its end.";
    COMPACTION_SHED: Counter "contextd_compaction_tokens_shed_total" []
        "Tokens that compactions took out of contexts.";
    CHAPTER_REQUESTS: Counter "contextd_chapter_requests_total" []
        "Times an agent was to be asked to close chapters.";

    COMPACTION_UPSTREAM_FAILURES: Counter "contextd_compaction_upstream_failures_total" ["upstream", "reason"]
        "Summaries that an upstream was asked for and did not give, by upstream and reason.";
    COMPACTION_FALLBACKS: Counter "contextd_compaction_fallbacks_total" ["reason"]
        "Compactions whose summary was written, in whole or in part, by somebody else than was wanted, by reason.";
    UPSTREAM_REQUESTS: Counter "contextd_upstream_requests_total" ["upstream", "outcome"]
        "Attempts at calls of upstreams, by outcome: `ok`, `abandoned` or the error's code. A record is no call; what `builtin` writes of a branch is, and `stats` has none of it.";
    UPSTREAM_REQUEST_SECONDS: Histogram "contextd_upstream_request_duration_seconds" ["upstream"]
        "Time of an attempt at a call of an upstream.";
    UPSTREAM_TOKENS: Counter "contextd_upstream_tokens_total" ["upstream", "direction"]
        "Tokens of calls of upstreams; `cached` is part of `input`.";
    UPSTREAM_COST: Counter "contextd_upstream_cost_usd_total" ["upstream"]
        "What calls of upstreams cost by their configured prices, in US dollars; absent without prices.";
    UPSTREAM_BREAKER: Gauge "contextd_upstream_breaker_open" ["upstream"]
        "1 while an upstream is left alone because it failed too often in a row, until a call to it succeeds.";

    HOOK_CALLS: Counter "contextd_hook_calls_total" ["event", "outcome"]
        "Calls of hooks, by event and outcome; a question with its retries is one.";
    HOOK_CALL_SECONDS: Histogram "contextd_hook_call_duration_seconds" ["event"]
        "Time of a call of a hook, by event.";
    PROXY_REQUESTS: Counter "contextd_proxy_requests_total" ["route", "outcome"]
        "Requests handed on to a provider, by route and what was done to them.";

    DATABASE_UP: Gauge "contextd_database_up" []
        "1 while the database answered when it was last looked at, once a second.";
    DATABASE_CONNECTIONS: Gauge "contextd_database_connections" ["state"]
        "Connections of this process's pool: idle, and used.";
    DATABASE_CONNECTIONS_MAX: Gauge "contextd_database_connections_max" []
        "The most connections that this process's pool may have.";
    BUILD_INFO: Gauge "contextd_build_info" ["version"]
        "1, with the version of this process.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_conventions() {
        let mut names = std::collections::BTreeSet::new();
        for family in ALL {
            let Family { name, kind, labels, help } = *family;
            assert!(names.insert(name), "{name} is there twice");
            let plain = |c: char| c.is_ascii_lowercase() || c == '_';
            assert!(name.starts_with("contextd_") && name.chars().all(plain), "{name}");
            assert_eq!(name.ends_with("_total"), kind == Kind::Counter, "{name}");
            if kind == Kind::Histogram {
                assert!(name.ends_with("_seconds") || name.ends_with("_ratio"), "{name} is in no base unit");
            }
            assert!(
                labels.iter().all(|label| label.chars().all(plain) && !["le", "quantile"].contains(label)),
                "{name}"
            );
            assert!(help.ends_with('.') && !help.contains('\n'), "{name}");
        }
    }
}
