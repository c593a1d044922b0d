//! What a summariser is asked.

use std::collections::{HashMap, HashSet};

use uuid::Uuid;

use super::Material;
use crate::domain::compaction::Elision;
use crate::domain::mask;
use crate::domain::message::Message;
use crate::domain::prepare::Plan;
use crate::domain::summary::{SummaryPart, SummaryTask};
use crate::service::error::Result;
use crate::service::history::message_of;
use crate::service::view::Loaded;

/// Shares of the reserve that bound a summary of the history and of a split turn's beginning, in percent.
const HISTORY_SHARE: u64 = 80;
const TURN_PREFIX_SHARE: u64 = 50;

/// What a summariser is asked: the history where there is any, and the beginning of a split turn.
pub(super) fn tasks(
    material: &Material<'_>,
    messages: &HashMap<usize, Message>,
    plan: &Plan,
    pruned: &[Elision],
) -> Result<Vec<SummaryTask>> {
    if material.request.summary.is_some() {
        return Ok(Vec::new());
    }
    let mut by_entry: HashMap<Uuid, Vec<Elision>> = HashMap::new();
    for elision in pruned {
        by_entry.entry(elision.entry_id).or_default().push(elision.clone());
    }
    let shortened = |index: &usize| -> Option<Message> {
        let mut message = messages.get(index)?.clone();
        if let Some(elisions) = by_entry.get(&material.loaded.heads[*index].id) {
            mask::apply(&mut message, elisions);
        }
        Some(message)
    };
    let history = match material.originals {
        Some(originals) => original_history(material, originals, plan)?,
        None => plan.history.iter().filter_map(shortened).collect(),
    };
    let previous = material
        .loaded
        .record()
        .filter(|_| material.originals.is_none())
        .and_then(|record| record.summary_body.clone().or_else(|| record.summary.clone()))
        .filter(|summary| !summary.is_empty());
    let prefix: Vec<Message> = plan.turn_prefix.iter().filter_map(shortened).collect();
    let mut tasks = Vec::new();
    if !history.is_empty() {
        tasks.push(task(material, SummaryPart::History, previous, history));
    }
    if !prefix.is_empty() {
        tasks.push(task(material, SummaryPart::TurnPrefix, None, prefix));
    }
    Ok(tasks)
}

/// Everything before the cut, from the root on, anchors aside.
fn original_history(material: &Material<'_>, originals: &Loaded, plan: &Plan) -> Result<Vec<Message>> {
    let history_end = plan.turn_prefix.first().copied().unwrap_or(plan.first_kept);
    let end = material.loaded.heads.get(history_end).map_or(i64::MAX, |head| head.depth);
    let anchors: HashSet<Uuid> = plan.anchors.iter().map(|index| material.loaded.heads[*index].id).collect();
    let mut history = Vec::new();
    for stored in &originals.stored {
        let head = &stored.entry.head;
        if head.depth < end && head.is_visible() && !anchors.contains(&head.id) {
            history.extend(message_of(stored)?);
        }
    }
    Ok(history)
}

fn task(material: &Material<'_>, part: SummaryPart, previous: Option<String>, messages: Vec<Message>) -> SummaryTask {
    let settings = material.settings;
    let share = if part == SummaryPart::TurnPrefix { TURN_PREFIX_SHARE } else { HISTORY_SHARE };
    let bound = u32::try_from(u64::from(settings.reserve_tokens) * share / 100).unwrap_or(u32::MAX).max(1);
    SummaryTask {
        part,
        template: settings.template,
        prompt: settings.prompt.clone(),
        previous,
        messages,
        focus_topic: settings.focus_topic.clone(),
        instructions: settings.instructions.clone(),
        max_output_tokens: settings.summary_max_tokens.map_or(bound, |most| most.min(bound)),
    }
}
