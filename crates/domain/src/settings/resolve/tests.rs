use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::model::strategy::Strategy;
use crate::settings::{Estimator, FileKind, GuardReset, Template};

fn map(value: Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap()
}

fn session(patch: Value) -> Settings {
    resolve(&Map::new(), &map(patch), None).unwrap()
}

fn pointers(patch: Value) -> Vec<String> {
    resolve(&Map::new(), &map(patch), None).unwrap_err().into_iter().map(|error| error.pointer).collect()
}

#[test]
fn auto_is_the_default() {
    let s = session(json!({}));
    assert_eq!((s.preset, s.strategy, s.estimator), (Preset::Auto, Strategy::Auto, Estimator::O200k));
    assert_eq!((s.context_window, s.reserve_tokens, s.keep_recent_tokens), (128_000, 16_384, 16_384));
    assert_eq!((s.yellow_at, s.red_at, s.ahead_at), (0.6, Some(0.8), Some(0.7)));
    assert_eq!((s.min_savings_pct, s.max_consecutive_low_savings, s.reset), (10.0, 2, GuardReset::Growth));
    assert_eq!(s.file_tools["Read"].kind, FileKind::Read);
}

#[test]
fn presets_have_their_own_values() {
    let s = session(json!({"preset": "checkpoint"}));
    assert_eq!((s.red_at, s.strategy, s.template), (None, Strategy::LlmSummarize, Template::Checkpoint));
    assert!(!s.anchor_first_user && !s.tool_prune_before_summarise);
    let s = session(json!({"preset": "harness"}));
    assert_eq!((s.estimator, s.reserve_tokens, s.template), (Estimator::Cl100k, 4096, Template::Prose));
    assert_eq!((s.keep_recent_results, s.preserve_recent, s.anchor_first_user), (3, 6, true));
    let s = session(json!({"preset": "chat"}));
    assert_eq!((s.context_window, s.usable(), s.target_tokens), (8000, 8000, Some(6000)));
    assert_eq!((s.preserve_recent, s.template, s.iterative), (5, Template::SixSection, true));
}

#[test]
fn the_session_goes_before_the_server_before_the_preset() {
    let defaults = map(json!({"preset": "harness", "template": "prose", "min_gain_tokens": 5}));
    let s = resolve(&defaults, &map(json!({"preset": "chat", "min_gain_tokens": 6})), None).unwrap();
    assert_eq!((s.preset, s.preserve_recent, s.template, s.min_gain_tokens), (Preset::Chat, 5, Template::Prose, 6));
    let s = resolve(&defaults, &map(json!({"preset": null, "min_gain_tokens": null})), None).unwrap();
    assert_eq!((s.preset, s.min_gain_tokens), (Preset::Harness, 5));
}

#[test]
fn null_is_a_value_where_the_setting_has_it() {
    assert_eq!(session(json!({"red_at": null})).red_at, None);
    assert_eq!(session(json!({"yellow_at": null})).yellow_at, 0.6);
    let defaults = map(json!({"context_window": 5000}));
    let s = resolve(&defaults, &map(json!({"context_window": null})), Some("gpt-4o")).unwrap();
    assert_eq!(s.context_window, 128_000);
}

#[test]
fn the_model_gives_the_window_unless_it_is_set() {
    let window = |patch: Value, model| resolve(&Map::new(), &map(patch), Some(model)).unwrap().context_window;
    assert_eq!(window(json!({}), "claude-sonnet-4"), 200_000);
    assert_eq!(window(json!({}), "nobody-knows"), 128_000);
    assert_eq!(window(json!({"context_window": 9000}), "claude-sonnet-4"), 9000);
}

#[test]
fn a_window_says_what_it_rests_on() {
    let of = |patch: Value, model: Option<&str>| {
        let s = resolve(&Map::new(), &map(patch), model).unwrap();
        (s.context_window, s.window_source, s.usable())
    };
    assert_eq!(of(json!({}), Some("gpt-5-mini")), (400_000, WindowSource::Table, 272_000));
    assert_eq!(of(json!({"reserve_tokens": 200_000}), Some("gpt-5")), (400_000, WindowSource::Table, 200_000));
    assert_eq!(of(json!({"context_window": 30_000}), Some("gpt-5")), (30_000, WindowSource::Setting, 22_500));
    assert_eq!(of(json!({"context_window": 1_000_000}), Some("gpt-5")).2, 983_616, "whoever sets more knows better");
    assert_eq!(of(json!({}), Some("nobody-knows")), (128_000, WindowSource::Guess, 111_616));
    assert_eq!(of(json!({}), None).1, WindowSource::Guess);
    assert_eq!(of(json!({"preset": "chat"}), Some("gpt-5")).1, WindowSource::Setting);
    assert_eq!(of(json!({"context_window": null}), Some("gpt-4o")).1, WindowSource::Table);
}

#[test]
fn a_window_that_a_refusal_named_takes_the_place_of_what_was_not_set() {
    let of = |patch: Value, refused: u32| {
        let talked = Talked { model: Some("gpt-5"), refused: Some(refused) };
        let s = resolve(&Map::new(), &map(patch), talked).unwrap();
        (s.context_window, s.window_source, s.usable())
    };
    assert_eq!(of(json!({}), 8_192), (8_192, WindowSource::Refusal, 6_144));
    assert_eq!(of(json!({}), 1_000_000).0, 1_000_000);
    assert_eq!(of(json!({"context_window": 50_000}), 8_192).1, WindowSource::Refusal);
    assert_eq!(of(json!({"context_window": 50_000}), 80_000).0, 50_000, "never upwards");
    assert_eq!(of(json!({}), 12).0, 1_024);
    let all = json!({"reserve_tokens": 16_384, "keep_recent_tokens": 16_384, "target_tokens": 90_000});
    assert_eq!(of(all, 4_096), (4_096, WindowSource::Refusal, 3_072), "settings for a larger window do no harm");
}

#[test]
fn what_is_not_set_fits_a_small_window() {
    let s = session(json!({"context_window": 32_768}));
    assert_eq!((s.reserve_tokens, s.keep_recent_tokens), (8192, 4681));
    let s = session(json!({"context_window": 65_536}));
    assert_eq!((s.reserve_tokens, s.keep_recent_tokens), (16_384, 9_362));
    let s = session(json!({"context_window": 32_768, "reserve_tokens": 16_384, "keep_recent_tokens": 16_000}));
    assert_eq!((s.reserve_tokens, s.keep_recent_tokens), (16_384, 16_000));
    assert_eq!(session(json!({"preset": "chat", "context_window": 4000})).target_tokens, Some(3000));
}

#[test]
fn thresholds_that_are_not_set_stay_below_red() {
    let s = session(json!({"red_at": 0.5}));
    assert_eq!((s.yellow_at, s.ahead_at), (0.5, Some(0.5)));
}

#[test]
fn a_policy_gives_trigger_and_target() {
    let s = session(json!({"preset": "chat", "policy": "balanced"}));
    assert_eq!((s.red_at, s.target_tokens), (Some(0.9), Some(5600)));
    let s = session(json!({"preset": "chat", "policy": "conservative", "red_at": 0.7, "target_tokens": 100}));
    assert_eq!((s.red_at, s.target_tokens), (Some(0.7), Some(100)));
}

#[test]
fn small_savings_figures_are_fractions() {
    for (given, resolved) in [(0.0, 0.0), (0.15, 15.0), (1.0, 1.0), (15.0, 15.0), (100.0, 100.0)] {
        assert_eq!(session(json!({"min_savings_pct": given})).min_savings_pct, resolved);
    }
}

#[test]
fn every_refusal_has_its_pointer() {
    let cases = [
        (json!({"nonsense": 1}), "/settings/nonsense"),
        (json!({"nonsense": null}), "/settings/nonsense"),
        (json!({"a/b~c": 1}), "/settings/a~1b~0c"),
        (json!({"preset": "best"}), "/settings/preset"),
        (json!({"enabled": "yes"}), "/settings/enabled"),
        (json!({"context_window": 0}), "/settings/context_window"),
        (json!({"context_window": 1.5}), "/settings/context_window"),
        (json!({"context_window": 4_294_967_296_u64}), "/settings/context_window"),
        (json!({"reserve_tokens": -1}), "/settings/reserve_tokens"),
        (json!({"red_at": 1.01}), "/settings/red_at"),
        (json!({"min_savings_pct": 101}), "/settings/min_savings_pct"),
        (json!({"max_tool_result_size": 0}), "/settings/max_tool_result_size"),
        (json!({"exclude_tools": ["a", 1]}), "/settings/exclude_tools/1"),
        (json!({"pinned_entry_ids": ["x"]}), "/settings/pinned_entry_ids/0"),
        (json!({"file_tools": {"r": {"kind": "read"}}}), "/settings/file_tools/r/path"),
        (json!({"file_tools": {"r": {"kind": "eat", "path": "p"}}}), "/settings/file_tools/r/kind"),
        (json!({"file_tools": {"r": {"kind": "read", "path": "p", "x": 1}}}), "/settings/file_tools/r/x"),
        (json!({"reserve_tokens": 128_000}), "/settings/reserve_tokens"),
        (json!({"yellow_at": 0.9}), "/settings/yellow_at"),
        (json!({"yellow_at": 0.4, "red_at": 0.3}), "/settings/yellow_at"),
    ];
    for (patch, pointer) in cases {
        assert_eq!(pointers(patch.clone()), [pointer], "{patch}");
    }
    assert_eq!(pointers(json!({"enabled": 1, "nonsense": 1})).len(), 2);
}

#[test]
fn file_tools_replace_the_table_as_a_whole() {
    let s = session(json!({"file_tools": {"cat": {"kind": "read", "path": "name"}}}));
    assert_eq!(s.file_tools.into_keys().collect::<Vec<_>>(), ["cat"]);
}

#[test]
fn a_patch_of_a_patch() {
    let old = map(json!({"enabled": false, "red_at": 0.7, "template": "prose"}));
    let new = map(json!({"enabled": null, "red_at": null, "iterative": false}));
    let merged = merge_patch(&old, &new);
    assert_eq!(Value::Object(merged), json!({"red_at": null, "template": "prose", "iterative": false}));
}

#[test]
fn resolved_settings_resolve_to_themselves() {
    for preset in ["auto", "checkpoint", "harness", "chat"] {
        let settings = session(json!({"preset": preset}));
        let written = map(serde_json::to_value(&settings).unwrap());
        let again = Settings { window_source: settings.window_source, ..resolve(&Map::new(), &written, None).unwrap() };
        assert_eq!(again, settings, "every field is a setting, and the other way round");
    }
}

proptest! {
    #[test]
    fn any_window_works_with_nothing_else_set(window in 1_u32.., preset in 0_usize..4) {
        let preset = ["auto", "checkpoint", "harness", "chat"][preset];
        let s = session(json!({"preset": preset, "context_window": window}));
        prop_assert!(s.reserve_tokens < s.context_window);
        prop_assert!(s.keep_recent_tokens < s.usable());
        prop_assert!(s.target_tokens.is_none_or(|target| target <= s.usable()));
    }
}
