//! How far the size of the next request is foretold, over recorded sessions whose answers carry usage.

use std::io::BufRead;

use serde_json::Value;

use super::*;
use crate::data::Source as Data;
use crate::format;
use crate::model::format::Format;
use crate::model::message::Role;
use crate::tokens::count_item;

/// One step of a replay: what was foretold, what was told.
struct Step {
    foretold: u64,
    told: u64,
    /// The first marks of a session teach.
    nth: usize,
    /// The client has taken something out by itself, or has gone to another model: no transcript tells.
    is_apart: bool,
}

/// Replays a session: each request's size is foretold from what was known before.
fn replay(items: &[Value], metas: &Value) -> Vec<Step> {
    let settings = window(1_000_000);
    let (mut account, mut answered, mut steps) = (Account::default(), false, Vec::new());
    let (mut last, mut model) = (None, None);
    for (n, item) in items.iter().enumerate() {
        if metas[n]["isSidechain"] == true {
            continue;
        }
        let raw = item.to_string();
        let Ok(read) = format::accept(Format::Anthropic, &raw) else { continue };
        let Some(message) = read.message.as_ref() else { continue };
        let counted = i64::from(count_item(Estimator::O200k, Format::Anthropic, &raw, message).total);
        if metas[n]["isCompactSummary"] == true {
            // The client has compacted: its context begins here.
            account.rebase(0, 0, 0);
        }
        let answers = message.role == Role::Assistant;
        if answers && !answered {
            account.path_calls += 1;
            account.answer_from = account.path_tokens;
        }
        answered = answers;
        account.asked_since |= message.role == Role::User && !raw.contains("tool_result");
        let before = account.clone();
        account.path_tokens += counted;
        let trusted = read.stop.is_none_or(|stop| !stop.spoils_usage());
        let Some(usage) = read.usage.filter(|usage| trusted && usage.request_tokens() > 0) else { continue };
        let (request, total) = (usage.request_tokens(), usage.context_tokens());
        let foretold = before.tokens(Estimator::O200k).0;
        if last != Some(request) {
            let other_model = model.is_some() && model.as_ref() != Some(&item["model"]);
            let is_apart = other_model || last.is_some_and(|last| request < last);
            steps.push(Step { foretold, told: request, nth: steps.len(), is_apart });
            (last, model) = (Some(request), Some(item["model"].clone()));
        }
        account.report(Reported { request, answer: total - request }, &settings);
    }
    steps
}

fn sessions() -> Vec<(String, Vec<Value>, Value)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(Data::Shared.path("corpus")).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        if !name.ends_with(".jsonl") && !name.ends_with(".gz") {
            continue;
        }
        for line in Data::Shared.reader(&format!("corpus/{name}")).lines() {
            let mut session: Value = serde_json::from_str(&line.unwrap()).unwrap();
            if session["format"] != "anthropic-messages" {
                continue;
            }
            let Value::Array(items) = session["messages"].take() else { continue };
            found.push((format!("{name} {}", session["session_id"]), items, session["meta"].take()));
        }
    }
    found
}

#[test]
#[cfg_attr(not(shared), ignore = "needs ../shared")]
fn the_next_request_is_foretold() {
    let (mut errors, mut apart) = (Vec::new(), Vec::new());
    for (name, items, metas) in sessions() {
        let steps = replay(&items, &metas);
        // Made by hand, some of them: a handful of tokens, and figures to match.
        let known = steps.iter().filter(|step| step.nth >= 3 && step.told >= 1_000);
        let error = |step: &&Step| step.foretold.abs_diff(step.told) as f64 / step.told as f64 * 100.0;
        apart.extend(known.clone().filter(|step| step.is_apart).map(|step| error(&step)));
        let mut own: Vec<f64> = known.filter(|step| !step.is_apart).map(|step| error(&step)).collect();
        own.sort_by(f64::total_cmp);
        if let (Some(worst), Some(middle)) = (own.last(), own.get(own.len() / 2)) {
            println!("{name} | {} | {middle:.2} | {worst:.2}", own.len());
        }
        errors.extend(own);
    }
    for all in [&mut errors, &mut apart] {
        all.sort_by(f64::total_cmp);
    }
    let at = |all: &[f64], share: f64| all[((all.len() - 1) as f64 * share) as usize];
    for (name, all) in [("all", &errors), ("apart", &apart)] {
        let [half, most, worst] = [0.5, 0.99, 1.0].map(|share| at(all, share));
        println!("{name}: {} steps, median {half:.2} %, 99th {most:.2} %, worst {worst:.2} %", all.len());
    }
    assert!(errors.len() > 500 && at(&errors, 0.5) < 3.0 && at(&errors, 1.0) < 15.0);
}
