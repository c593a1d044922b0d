//! From preset, server-wide defaults and a session's patch to settings with every field resolved.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::value::{self, ReadValue};
use super::{Pictures, Preset, Settings, WindowSource, presets};
use crate::settings::models::{self, ModelLimits};

/// Why a setting is refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingError {
    /// A JSON pointer that begins with `/settings/<name>`.
    pub pointer: String,
    pub detail: String,
}

/// Whom a session talks to, and the window that a refusal named.
#[derive(Debug, Clone, Copy, Default)]
pub struct Talked<'a> {
    pub model: Option<&'a str>,
    pub refused: Option<u32>,
}

impl<'a> From<Option<&'a str>> for Talked<'a> {
    fn from(model: Option<&'a str>) -> Talked<'a> {
        Talked { model, refused: None }
    }
}

/// No smaller window is learnt.
const LEAST_LEARNT: u32 = 1_024;

/// Settings for which `null` is a value of its own; for any other, `null` means "not set".
const NULLABLE: [&str; 13] = [
    "red_at",
    "ahead_at",
    "pays_at",
    "target_tokens",
    "focus_topic",
    "instructions",
    "prompt",
    "compaction_prefix",
    "summary_max_tokens",
    "upstream",
    "policy",
    "chaptering_trigger",
    "context_window",
];

/// Resolves the settings of a session that talks to `model`: the preset's values, then the server's `defaults`, then the session's
/// `patch`. What nobody set is fitted to the window, so that a small window needs no further settings:
/// `reserve_tokens` is at most a quarter of the window, `keep_recent_tokens` at most a seventh of it, `yellow_at` and
/// `ahead_at` are at most `red_at`; a `policy` gives `red_at` and `target_tokens`.
///
/// # Errors
/// Every unknown name, wrong type, value out of range, and pair of values that contradict each other.
pub fn resolve<'a>(
    defaults: &Map<String, Value>,
    patch: &Map<String, Value>,
    talked: impl Into<Talked<'a>>,
) -> Result<Settings, Vec<SettingError>> {
    let talked = talked.into();
    let mut errors = Vec::new();
    let preset = [patch, defaults].into_iter().find_map(|layer| layer.get("preset").filter(|value| !value.is_null()));
    // A preset that cannot be read is reported with its layer below.
    let preset = preset.and_then(|word| value::word(word).ok()).unwrap_or(Preset::Auto);
    let limits = talked.model.and_then(models::limits);
    let model_window = limits.map_or(models::UNKNOWN_MODEL_WINDOW, |limits| limits.window);
    let mut settings = presets::settings(preset, model_window);
    let mut explicit = HashSet::new();
    for layer in [defaults, patch] {
        apply_layer(&mut settings, layer, model_window, &mut explicit, &mut errors);
    }
    settings.preset = preset;
    bound(&mut settings, talked, limits, &explicit);
    settings.pictures = talked.model.and_then(Pictures::of);
    fit(&mut settings, &explicit);
    if settings.window_source == WindowSource::Refusal {
        shrink(&mut settings);
    }
    if errors.is_empty() {
        check(&settings, &mut errors);
    }
    if errors.is_empty() { Ok(settings) } else { Err(errors) }
}

/// A session's stored patch after a PATCH with `new`: values replace each other whole, and `null` takes a setting back, unless
/// `null` is one of its values.
pub fn merge_patch(old: &Map<String, Value>, new: &Map<String, Value>) -> Map<String, Value> {
    let mut merged = old.clone();
    for (name, value) in new {
        if value.is_null() && !NULLABLE.contains(&name.as_str()) {
            merged.shift_remove(name);
        } else {
            merged.insert(name.clone(), value.clone());
        }
    }
    merged
}

fn apply_layer<'a>(
    settings: &mut Settings,
    layer: &'a Map<String, Value>,
    model_window: u32,
    explicit: &mut HashSet<&'a str>,
    errors: &mut Vec<SettingError>,
) {
    for (name, value) in layer {
        if name == "context_window" && value.is_null() {
            settings.context_window = model_window;
            continue;
        }
        let outcome = if value.is_null() && !NULLABLE.contains(&name.as_str()) {
            known(settings, name)
        } else {
            apply(settings, name, value).map(|()| {
                explicit.insert(name);
            })
        };
        if let Err(refusal) = outcome {
            let name = name.replace('~', "~0").replace('/', "~1");
            errors.push(SettingError { pointer: format!("/settings/{name}{}", refusal.below), detail: refusal.detail });
        }
    }
}

/// An unknown name is refused even when its value is `null`. No setting but the unknown one refuses `null` for its name.
fn known(settings: &Settings, name: &str) -> ReadValue<()> {
    match apply(&mut settings.clone(), name, &Value::Null) {
        Err(refusal) if refusal.detail == UNKNOWN => Err(refusal),
        _ => Ok(()),
    }
}

const UNKNOWN: &str = "is not a setting";

fn apply(settings: &mut Settings, name: &str, v: &Value) -> ReadValue<()> {
    let s = settings;
    match name {
        "preset" => s.preset = value::word(v)?,
        "enabled" => s.enabled = value::boolean(v)?,
        "estimator" => s.estimator = value::word(v)?,
        "context_window" => s.context_window = value::integer(v, 1..=u32::MAX)?,
        "reserve_tokens" => s.reserve_tokens = value::integer(v, 0..=u32::MAX)?,
        "keep_recent_tokens" => s.keep_recent_tokens = value::integer(v, 0..=u32::MAX)?,
        "yellow_at" => s.yellow_at = value::number(v, 0.0..=1.0)?,
        "red_at" => s.red_at = value::optional(v, |v| value::number(v, 0.0..=1.0))?,
        "ahead_at" => s.ahead_at = value::optional(v, |v| value::number(v, 0.0..=1.0))?,
        "pays_at" => s.pays_at = value::optional(v, |v| value::number(v, 0.0..=1.0))?,
        "strategy" => s.strategy = value::word(v)?,
        "target_tokens" => s.target_tokens = value::optional(v, |v| value::integer(v, 1..=u32::MAX))?,
        "preserve_recent" => s.preserve_recent = value::integer(v, 0..=u32::MAX)?,
        "anchor_first_user" => s.anchor_first_user = value::boolean(v)?,
        "keep_recent_results" => s.keep_recent_results = value::integer(v, 0..=u32::MAX)?,
        "exclude_tools" => s.exclude_tools = value::list(v, value::name)?,
        "redact" => s.redact = value::redact(v)?,
        "agents" => s.agents = value::agents(v)?,
        "min_gain_tokens" => s.min_gain_tokens = value::integer(v, 0..=u32::MAX)?,
        "tool_prune_before_summarise" => s.tool_prune_before_summarise = value::boolean(v)?,
        "max_tool_result_size" => s.max_tool_result_size = value::integer(v, 1..=u32::MAX)?,
        "thinking" => s.thinking = value::word(v)?,
        "template" => s.template = value::word(v)?,
        "iterative" => s.iterative = value::boolean(v)?,
        "focus_topic" => s.focus_topic = value::optional(v, value::text)?,
        "instructions" => s.instructions = value::optional(v, value::text)?,
        "prompt" => s.prompt = value::optional(v, value::name)?,
        "compaction_prefix" => s.compaction_prefix = value::optional(v, value::text)?,
        "summary_max_tokens" => s.summary_max_tokens = value::optional(v, |v| value::integer(v, 1..=u32::MAX))?,
        "upstream" => s.upstream = value::optional(v, value::name)?,
        "on_upstream_failure" => s.on_upstream_failure = value::word(v)?,
        "policy" => s.policy = value::optional(v, value::word)?,
        "min_savings_pct" => s.min_savings_pct = percent(value::number(v, 0.0..=100.0)?),
        "max_consecutive_low_savings" => s.max_consecutive_low_savings = value::integer(v, 0..=u32::MAX)?,
        "reset" => s.reset = value::word(v)?,
        "chaptering_trigger" => s.chaptering_trigger = value::optional(v, |v| value::integer(v, 1..=u32::MAX))?,
        "file_tools" => s.file_tools = value::file_tools(v)?,
        "pinned_entry_ids" => s.pinned_entry_ids = value::list(v, value::uuid)?,
        _ => return Err(UNKNOWN.into()),
    }
    Ok(())
}

/// 0.15 means 15 percent; 1 means 1 percent.
fn percent(value: f64) -> f64 {
    if value > 0.0 && value < 1.0 { value * 100.0 } else { value }
}

/// Adapts what nobody set to what somebody set.
fn fit(s: &mut Settings, explicit: &HashSet<&str>) {
    let unset = |name: &str| !explicit.contains(name);
    if unset("reserve_tokens") {
        s.reserve_tokens = s.reserve_tokens.min(s.context_window / 4);
    }
    if unset("keep_recent_tokens") {
        s.keep_recent_tokens = s.keep_recent_tokens.min(s.context_window / 7);
    }
    if let Some((trigger, target)) = s.policy.map(super::Policy::thresholds) {
        if unset("red_at") {
            s.red_at = Some(trigger);
        }
        if unset("target_tokens") {
            // In whole tokens, rounded down; a fraction below 1 of a `u32` is one too.
            s.target_tokens = Some(((f64::from(s.usable()) * target) as u32).max(1));
        }
    }
    if unset("target_tokens") && s.policy.is_none() {
        let usable = s.usable();
        s.target_tokens = s.target_tokens.map(|target| target.min((usable - usable / 4).max(1)));
    }
    if let Some(red) = s.red_at {
        if unset("yellow_at") {
            s.yellow_at = s.yellow_at.min(red);
        }
        if unset("ahead_at") {
            s.ahead_at = s.ahead_at.map(|ahead| ahead.min(red));
        }
    }
}

/// What the window rests on, and what its model or a refusal makes of it.
fn bound(s: &mut Settings, talked: Talked<'_>, limits: Option<ModelLimits>, explicit: &HashSet<&str>) {
    let is_set = explicit.contains("context_window") || s.preset == Preset::Chat;
    s.window_source = match limits {
        _ if is_set => WindowSource::Setting,
        Some(_) => WindowSource::Table,
        None => WindowSource::Guess,
    };
    // Whoever sets more than the table has knows better.
    let holds = |limits: &ModelLimits| s.context_window <= limits.window;
    s.greatest_input = limits.filter(holds).and_then(|limits| limits.input);
    if let Some(named) =
        talked.refused.map(|named| named.max(LEAST_LEARNT)).filter(|named| !is_set || *named < s.context_window)
    {
        (s.context_window, s.window_source, s.greatest_input) = (named, WindowSource::Refusal, None);
    }
}

/// What was set for a larger window must not make this one useless.
fn shrink(s: &mut Settings) {
    if s.reserve_tokens >= s.context_window {
        s.reserve_tokens = s.context_window / 4;
    }
    let usable = s.usable();
    s.keep_recent_tokens = s.keep_recent_tokens.min(usable / 3);
    s.target_tokens = s.target_tokens.map(|target| target.min((usable - usable / 4).max(1)));
}

fn check(s: &Settings, errors: &mut Vec<SettingError>) {
    let mut refuse = |name: &str, detail: String| {
        errors.push(SettingError { pointer: format!("/settings/{name}"), detail });
    };
    if s.reserve_tokens >= s.context_window {
        refuse("reserve_tokens", format!("must be less than the context window of {} tokens", s.context_window));
    }
    if let Some(red) = s.red_at.filter(|red| s.yellow_at > *red) {
        refuse("yellow_at", format!("must not be above red_at, which is {red}"));
    }
}

#[cfg(test)]
mod tests;
