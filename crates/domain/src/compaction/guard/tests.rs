use std::io::BufRead;

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::*;
use crate::data::Source;
use crate::model::anti_thrash::{AntiThrash, TrippedBy};
use crate::settings::resolve;
use crate::summary::testing::settings;

fn count(value: &Value) -> u64 {
    value.to_string().parse().expect("a count")
}

#[test]
fn follows_the_rules_trace_by_trace() {
    assert_eq!(followed(Source::Own), (12, 12));
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn follows_every_recorded_trace() {
    assert_eq!(followed(Source::Shared), (360, 360));
}

/// How many traces it follows, of how many.
fn followed(source: Source) -> (u32, u32) {
    let (mut matched, mut total) = (0, 0);
    for line in source.reader("oracle/praison/anti-thrash.ndjson").lines() {
        let trace: Value = serde_json::from_str(&line.expect("a line")).expect("JSON");
        let patch = Map::from_iter([("min_savings_pct".to_owned(), trace["config"]["min_savings_pct"].clone())]);
        let resolved = resolve(&Map::new(), &patch, None).expect("settings");
        let mut settings = Settings { min_savings_pct: resolved.min_savings_pct, ..settings() };
        settings.max_consecutive_low_savings = count(&trace["config"]["max_consecutive_low_savings"]) as u32;
        let threshold = count(&trace["config"]["max_tokens"]);
        assert_ne!(settings.max_consecutive_low_savings, 0, "a cap of 0 means something else here");
        total += 1;
        matched += u32::from(follows(&trace, &settings, threshold));
    }
    (matched, total)
}

fn follows(trace: &Value, settings: &Settings, threshold: u64) -> bool {
    let mut guard = AntiThrash::new(settings);
    trace["passes"].as_array().into_iter().flatten().all(|pass| {
        let (before, after) = (count(&pass["original_tokens"]), count(&pass["compacted_tokens"]));
        let mut skipped = false;
        if before > threshold {
            skipped = !guard.admit(before, 0, settings);
            if !skipped {
                guard.record(before, after, 0, settings);
            }
        }
        pass["skipped"] == skipped
            && count(&pass["streak_after"]) == u64::from(guard.low_savings_streak)
            && count(&pass["latched_at_after"]) == guard.tripped_at_tokens.unwrap_or(0)
    })
}

fn tripped(settings: &Settings) -> AntiThrash {
    let mut guard = AntiThrash::new(settings);
    guard.record(1000, 990, 10, settings);
    guard.record(1001, 1001, 10, settings);
    guard
}

#[test]
fn trips_and_retries_after_growth() {
    let settings = settings();
    let mut guard = tripped(&settings);
    assert!(guard.tripped);
    assert_eq!((guard.tripped_at_tokens, guard.retry_at_tokens), (Some(1001), Some(1252)));
    assert!(!guard.admit(1251, 99, &settings));
    assert!(guard.admit(1252, 10, &settings));
    assert_eq!((guard.low_savings_streak, guard.reset_reason.as_deref()), (0, Some("growth")));
    assert_eq!(guard.retry_at_tokens, None);
}

#[test]
fn new_messages_re_arm_where_asked() {
    let mut settings = settings();
    settings.reset = GuardReset::NewMessages;
    let mut guard = tripped(&settings);
    assert_eq!(guard.retry_at_tokens, None);
    assert!(!guard.admit(99_999, 10, &settings));
    assert!(guard.admit(1, 11, &settings));
    assert_eq!(guard.reset_reason.as_deref(), Some("new_messages"));
}

#[test]
fn a_cap_of_zero_turns_it_off() {
    let mut settings = settings();
    let mut guard = tripped(&settings);
    settings.max_consecutive_low_savings = 0;
    assert!(guard.admit(1, 1, &settings));
    for _ in 0..9 {
        guard.record(100, 100, 1, &settings);
    }
    assert!(!guard.tripped && guard.admit(100, 1, &settings));
}

/// However much smaller it left the context.
#[test]
fn a_compaction_at_a_loss_counts_as_low_savings() {
    let settings = settings();
    let mut guard = AntiThrash::new(&settings);
    guard.record_weighed(1000, 600, true, 10, &settings);
    assert_eq!((guard.low_savings_streak, guard.last_savings_pct), (1, Some(40.0)));
    guard.record_weighed(1000, 600, false, 10, &settings);
    assert_eq!(guard.low_savings_streak, 0);
    for (losses, by) in
        [([true, true], TrippedBy::Cost), ([true, false], TrippedBy::Both), ([false, false], TrippedBy::Savings)]
    {
        let mut guard = AntiThrash::new(&settings);
        for is_loss in losses {
            guard.record_weighed(1000, if is_loss { 600 } else { 999 }, is_loss, 10, &settings);
        }
        assert_eq!((guard.tripped, guard.tripped_by), (true, Some(by)));
    }
}

#[test]
fn only_settings_that_matter_re_arm() {
    let old = settings();
    let mut new = old.clone();
    (new.ahead_at, new.pays_at) = (None, Some(0.5));
    let mut guard = tripped(&old);
    guard.on_settings_change(&old, &new);
    assert!(guard.tripped);
    new.keep_recent_tokens = 1;
    guard.on_settings_change(&old, &new);
    assert!(!guard.tripped);
    assert_eq!(guard.reset_reason.as_deref(), Some("settings"));
}

proptest! {
    /// Nothing latches for good: some growth always gets a compaction through.
    #[test]
    fn growth_always_re_arms(passes in prop::collection::vec((1u64..100_000, 0u64..100_000), 1..20)) {
        let settings = settings();
        let mut guard = AntiThrash::new(&settings);
        for (before, after) in passes {
            if guard.admit(before, 0, &settings) {
                guard.record(before, after, 0, &settings);
            }
            prop_assert!(guard.tripped == guard.retry_at_tokens.is_some());
            prop_assert!(guard.clone().admit(guard.retry_at_tokens.unwrap_or(0), 0, &settings));
        }
    }

    #[test]
    fn state_survives_storage(before in 1u64..1000, after in 0u64..1000) {
        let settings = settings();
        let mut guard = AntiThrash::new(&settings);
        guard.record(before, after, 3, &settings);
        guard.record(before, after, 4, &settings);
        let stored = serde_json::to_string(&guard).expect("serialises");
        let mut read: AntiThrash = serde_json::from_str(&stored).expect("reads");
        // JSON text may cost a float its last digit.
        prop_assert!((read.last_savings_pct.unwrap_or(0.0) - guard.last_savings_pct.unwrap_or(1.0)).abs() < 1e-9);
        read.last_savings_pct = guard.last_savings_pct;
        prop_assert_eq!(read, guard);
    }
}
