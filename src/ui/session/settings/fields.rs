//! The settings that have a field on the page, and how each is written and read.

use maud::{Markup, html};
use serde_json::Value;

use crate::ui::fault::{Fault, Result};
use crate::ui::session::actions::text;

const MOST_PROSE_CHARS: usize = 20_000;

/// A setting on the page.
pub struct Field {
    pub name: &'static str,
    label: &'static str,
    kind: Kind,
}

enum Kind {
    Whole,
    /// Of one; or percent.
    Number,
    Words(&'static [&'static str]),
    Prose,
}

const SWITCH: Kind = Kind::Words(&["true", "false"]);

const fn field(name: &'static str, label: &'static str, kind: Kind) -> Field {
    Field { name, label, kind }
}

pub const FIELDS: [Field; 17] = [
    field("enabled", "Compacts by itself", SWITCH),
    field(
        "strategy",
        "Strategy",
        Kind::Words(&["auto", "mask", "prune", "truncate", "sliding", "smart", "summarize", "llm_summarize"]),
    ),
    field("context_window", "Window, tokens", Kind::Whole),
    field("reserve_tokens", "Kept free for the answer, tokens", Kind::Whole),
    field("keep_recent_tokens", "Newest context that stays, tokens", Kind::Whole),
    field("yellow_at", "Yellow from, of the usable window (0–1)", Kind::Number),
    field("red_at", "Red from, of the usable window (0–1)", Kind::Number),
    field("ahead_at", "Prepared ahead from (0–1)", Kind::Number),
    field("keep_recent_results", "Newest tool results that stay whole", Kind::Whole),
    field("max_tool_result_size", "Longest result after pruning, characters", Kind::Whole),
    field("template", "Template of the summary", Kind::Words(&["checkpoint", "six_section", "continuity", "prose"])),
    field("summary_max_tokens", "Longest summary, tokens", Kind::Whole),
    field("thinking", "Thinking", Kind::Words(&["auto", "keep", "strip"])),
    field("min_savings_pct", "Least savings, percent", Kind::Number),
    field("max_consecutive_low_savings", "The guard gives up after", Kind::Whole),
    field("focus_topic", "Focus", Kind::Prose),
    field("instructions", "Instructions", Kind::Prose),
];

impl Field {
    pub fn input(&self, now: &Value) -> Markup {
        let shown = match now {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        html! {
            label { (self.label)
                @match self.kind {
                    Kind::Words(words) => select name=(self.name) {
                        option value="" { "default" }
                        @for word in words { option value=(word) selected[shown == *word] { (told(word)) } }
                    },
                    Kind::Prose => textarea name=(self.name) rows="2" maxlength=(MOST_PROSE_CHARS) { (shown) },
                    Kind::Whole => input name=(self.name) inputmode="numeric" pattern="[0-9]*" maxlength="10" value=(shown);,
                    Kind::Number => input name=(self.name) inputmode="decimal" maxlength="12" value=(shown);,
                }
            }
        }
    }

    /// What the form says; a field left empty is null, which is the default.
    pub fn read(&self, sent: &str) -> Result<Value> {
        let sent = sent.trim();
        if sent.is_empty() {
            return Ok(Value::Null);
        }
        let wrong =
            || Fault::invalid(format!("{}: this is not a value that it can have. (validation_failed)", self.label));
        match self.kind {
            Kind::Whole => sent.parse::<u32>().map(Value::from).map_err(|_| wrong()),
            Kind::Number => {
                let number = sent.parse::<f64>().ok().filter(|number| number.is_finite()).ok_or_else(wrong)?;
                Ok(Value::from(number))
            }
            Kind::Words(words) => match sent {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                word if words.contains(&word) => Ok(Value::from(word)),
                _ => Err(wrong()),
            },
            Kind::Prose => Ok(text(self.label, Some(sent), MOST_PROSE_CHARS)?.map_or(Value::Null, Value::String)),
        }
    }
}

fn told<'w>(word: &'w &'static str) -> &'w str {
    match *word {
        "true" => "yes",
        "false" => "no",
        word => word,
    }
}

/// Whether two values say the same; `0.8` and `0.80` do.
pub fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one == other,
        // A browser sends line ends its own way.
        _ => match (one.as_str(), other.as_str()) {
            (Some(one), Some(other)) => one.replace("\r\n", "\n").trim() == other.replace("\r\n", "\n").trim(),
            _ => one == other,
        },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(name: &str, sent: &str) -> Result<Value> {
        FIELDS.iter().find(|field| field.name == name).unwrap().read(sent)
    }

    #[test]
    fn what_a_form_says_is_read_or_refused() {
        assert_eq!(read("enabled", "true").unwrap(), json!(true));
        assert_eq!(read("strategy", " mask ").unwrap(), json!("mask"));
        assert_eq!(read("context_window", "").unwrap(), Value::Null);
        assert_eq!(read("red_at", "0.80").unwrap(), json!(0.8));
        for (name, bad) in
            [("strategy", "best"), ("context_window", "-1"), ("context_window", "1e9"), ("red_at", "NaN")]
        {
            assert!(read(name, bad).is_err(), "{name} {bad}");
        }
        assert!(
            same(&json!(1), &json!(1.0)) && same(&json!("a\r\nb"), &json!("a\nb")) && !same(&json!("a"), &Value::Null)
        );
    }
}
