//! What has to hold after every step.

use std::collections::{HashMap, HashSet};

use contextd::domain::context::pairing::STAND_IN_TOKENS;
use contextd::domain::format::note_code::NoteCode;
use contextd::domain::model::format::Format;
use contextd::domain::tokens::accounting::{Snapshot, Source};
use contextd::service::compaction::prepare::{PlannedMessage, PrepareRequest};
use contextd::service::core::page::PageRequest;
use contextd::service::core::state::{Options, Service};
use contextd::service::path::entries::{EntryQuery, EntryView};
use contextd::service::rebuild::{Context, Rebuild};
use serde_json::Value;
use uuid::Uuid;

use super::checkers::{parse, traffic, violation};
use super::items::PROVIDERS_TOOLS;
use super::world::{Effect, World, same_prefix, texts};
use crate::queue_support::jobs;

impl World {
    pub async fn check(&mut self, effect: Effect, step: usize) {
        let left = jobs(self.service.pool(), self.tenant.0).await;
        assert!(left.is_empty(), "a job is left over: {left:?}");
        let entries = self.check_entries().await;
        let mut contexts = HashMap::new();
        for format in Format::OF_CONTEXTS.iter().copied() {
            contexts.insert(format, self.context(format, None).await);
        }
        for (format, context) in &contexts {
            self.check_context(*format, context, &entries);
        }
        self.check_prefixes(effect, &contexts);
        self.check_determinism(step, &contexts).await;
        let native = &contexts[&Format::Native];
        self.check_partition(native, &entries).await;
        self.check_calls(&entries).await;
        self.check_account(&entries, native).await;
        self.check_elsewhere(step, &contexts).await;
    }

    /// 1: everything that was accepted is there, byte for byte.
    async fn check_entries(&self) -> Vec<EntryView> {
        let model = self.model();
        let all = self.entries(EntryQuery { all: true, leaf_id: None }).await;
        let ids: Vec<Uuid> = all.iter().map(|entry| entry.id).collect();
        assert_eq!(ids, model.order, "entries were lost, made up or put out of order");
        for entry in &all {
            let node = &model.nodes[&entry.id];
            assert_eq!(entry.parent_id, node.parent);
            match &node.given {
                Some((format, item)) => assert_eq!((entry.source_format, entry.item.get()), (*format, item.as_str())),
                None => assert!(matches!(entry.kind, "compaction" | "chapter")),
            }
        }
        let path = self.path_entries().await;
        assert_eq!(path.iter().map(|entry| entry.id).collect::<Vec<_>>(), model.path(model.leaf));
        path
    }

    /// 2: no orphan. 1: what is in this format goes out as it came, but for what is noted.
    fn check_context(&self, format: Format, context: &Context, path: &[EntryView]) {
        let messages: Vec<Value> = context.messages.iter().map(|message| parse(message.get())).collect();
        violation(format, &messages).unwrap_or_else(|refusal| panic!("{refusal}"));
        let noted: HashSet<Uuid> = context.conversion_notes.iter().filter_map(|note| note.entry_id).collect();
        let elided: HashSet<Uuid> = context.elided.iter().map(|elided| elided.entry_id).collect();
        let shown: HashSet<Uuid> = context.entry_ids.iter().copied().collect();
        let by_id: HashMap<Uuid, &EntryView> = path.iter().map(|entry| (entry.id, entry)).collect();
        // A repair may touch every message of its batch: calls and results up to where somebody else speaks.
        let mut batches: Vec<Vec<&EntryView>> = vec![Vec::new()];
        for entry in context.entry_ids.iter().map(|id| by_id[id]) {
            let acts = matches!(entry.role, Some("assistant" | "tool"))
                || ["tool_result", "functionResponse"].iter().any(|word| entry.item.get().contains(word));
            if !acts {
                batches.push(Vec::new());
            }
            batches.last_mut().unwrap().push(entry);
        }
        assert!(shown.len() == context.entry_ids.len(), "an entry is shown twice");
        let mut sent = context.messages.iter().map(|message| message.get());
        let mut leads = true;
        for entry in batches.iter().filter(|batch| !batch.iter().any(|entry| noted.contains(&entry.id))).flatten() {
            leads &= entry.role == Some("system") && matches!(format, Format::Anthropic | Format::Gemini);
            if entry.kind == "chapter" || entry.source_format != format || elided.contains(&entry.id) || leads {
                continue;
            }
            let item = entry.item.get();
            assert!(sent.any(|message| message == item), "{format:?}: went out otherwise, unnoted: {item}");
        }
        let foreign = path.iter().any(|entry| entry.source_format != format);
        let chapters = context.entry_ids.iter().any(|id| by_id[id].kind == "chapter");
        let silent = context.conversion_notes.is_empty() && context.summary_entry_id.is_none() && !chapters;
        if silent && !foreign && elided.is_empty() && !leading_system(format, path) {
            let items: Vec<&str> = context.entry_ids.iter().map(|id| by_id[id].item.get()).collect();
            assert_eq!(texts(&context.messages), items);
        }
    }

    /// 10: between compactions every message that was sent is sent again.
    fn check_prefixes(&mut self, effect: Effect, contexts: &HashMap<Format, Context>) {
        for (format, context) in contexts {
            // What is so only while nothing follows.
            let made_up =
                ["synthetic_result", "reasoning_unpaired", "result_moved", "messages_merged", "trailing_space_trimmed"];
            let settled = !context.conversion_notes.iter().any(|note| made_up.contains(&note.code.into_str()));
            let now = texts(&context.messages);
            let model = self.model_mut();
            if let Some((before, true)) = model.last.insert(*format, (now.clone(), settled))
                && effect == Effect::Grew
            {
                let same = same_prefix(&before, &now);
                // Gemini's calls join the answer before them.
                let joined = *format == Format::Gemini
                    && context.conversion_notes.iter().any(|note| note.code.into_str() == "messages_merged");
                let is_user = |message: &String| parse(message)["role"] == "user";
                let answered = before.iter().rposition(is_user).map_or(0, |place| place + 1);
                let kept = if joined { answered } else { before.len() };
                assert!(same >= kept, "{format:?}: an append changed an earlier message");
            }
        }
    }

    /// 10: the same bytes again, also from an instance that knows nothing yet.
    async fn check_determinism(&self, step: usize, contexts: &HashMap<Format, Context>) {
        let format = Format::OF_CONTEXTS[step % Format::OF_CONTEXTS.len()];
        let fresh = Service::new(self.service.pool().clone(), Options::default());
        let rebuild = Rebuild { leaf_id: self.model().leaf, ..Rebuild::of_leaf(format) };
        let again = self.context(format, None).await;
        let elsewhere = fresh.rebuild(self.tenant, self.id(), rebuild).await.unwrap();
        for other in [&again, &elsewhere] {
            assert_eq!(texts(&other.messages), texts(&contexts[&format].messages));
            assert_eq!((other.tokens, &other.entry_ids), (contexts[&format].tokens, &contexts[&format].entry_ids));
        }
        assert_eq!(again.stable_prefix_messages, again.messages.len());
    }

    /// 3: summarised, prefix, kept and anchors are the visible entries, each once.
    async fn check_partition(&self, native: &Context, path: &[EntryView]) {
        let prepared = self.service.prepare(self.tenant, self.id(), PrepareRequest::default()).await.unwrap();
        let Some(plan) = prepared.preparation else { return };
        let id = |message: &PlannedMessage| match message {
            PlannedMessage::Id(id) => *id,
            PlannedMessage::Message { entry_id, .. } => *entry_id,
        };
        let anchors: HashSet<Uuid> = plan.anchor_entry_ids.iter().copied().collect();
        let replaced: Vec<Uuid> = plan.messages_to_summarize.iter().chain(&plan.turn_prefix_messages).map(id).collect();
        // A chapter counts where it is shown.
        let place = |entry: &EntryView| fold(entry).map(|(from, _)| from);
        let depth = |(depth, entry): (usize, &EntryView)| (entry.id, place(entry).unwrap_or(depth));
        let depths: HashMap<Uuid, usize> = path.iter().enumerate().map(depth).collect();
        let others: Vec<Uuid> = native.entry_ids.iter().copied().filter(|id| !anchors.contains(id)).collect();
        assert!(anchors.iter().all(|id| native.entry_ids.contains(id)), "an anchor is not shown");
        if replaced.is_empty() {
            // There is nothing to summarise: results and arguments are shown shorter, and all messages stay.
            assert_eq!((plan.tokens_to_summarize, plan.is_split_turn), (0, false));
            return;
        }
        let (first, kept) = others.split_at(replaced.len().min(others.len()));
        assert_eq!(first, replaced, "summarised and prefix are no prefix of the context");
        let cut = depths[&plan.first_kept_entry_id.unwrap()];
        assert!(kept.iter().all(|id| depths[id] >= cut), "neither summarised nor kept");
        assert!(replaced.iter().chain(&anchors).all(|id| depths[id] < cut), "summarised or anchored, and kept");
        assert_eq!(plan.is_split_turn, !plan.turn_prefix_messages.is_empty());
    }

    /// 4: every call of the path is listed.
    async fn check_calls(&self, path: &[EntryView]) {
        let calls_of = |entry: &EntryView| traffic(entry.source_format, &parse(entry.item.get())).calls;
        let mut expected = Vec::new();
        for entry in path.iter().filter(|entry| entry.kind == "message") {
            expected.extend(calls_of(entry).into_iter().map(|(id, name)| (entry.id, id, name)));
        }
        let mut rows = Vec::new();
        let mut after = None;
        loop {
            let page = PageRequest { limit: 50, after };
            let page = self.service.queries().tool_calls(self.tenant, self.id(), page).await.unwrap();
            rows.extend(page.items.into_iter().filter(|row| !PROVIDERS_TOOLS.contains(&row.name.as_str())));
            after = page.next_cursor;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(rows.len(), expected.len());
        for (row, (entry, id, name)) in rows.iter().zip(&expected) {
            assert_eq!((row.entry_id, &row.name), (*entry, name));
            assert!(row.tool_call_id == *id || id.is_empty() || id.starts_with("legacy "));
        }
    }

    /// 5: the account says what the context is.
    async fn check_account(&self, path: &[EntryView], native: &Context) {
        let snapshot = self.service.queries().snapshot(self.tenant, self.id()).await.unwrap();
        // A context's size is of what it holds: of what can't be handed out, a note tells.
        match native.conversion_notes.is_empty() {
            true => assert_eq!(snapshot.tokens, native.tokens),
            false => assert!(native.tokens <= snapshot.tokens, "{} of {}", native.tokens, snapshot.tokens),
        }
        let parts = &snapshot.breakdown;
        let total = parts.system + parts.tools + parts.summary + parts.messages + parts.tool_results + parts.unposted;
        assert_eq!(total, snapshot.tokens, "the parts do not add up: {parts:?}");
        // The fixed parts are known where they are not scaled, or where there are none.
        let session = self.service.queries().session(self.tenant, self.id()).await.unwrap();
        let known = snapshot.calibration == 1.0 || session.system.is_none();
        if native.elided.is_empty() && snapshot.source == Source::Estimate && known {
            let shown: HashSet<Uuid> = native.entry_ids.iter().copied().chain(native.summary_entry_id).collect();
            let entries = path.iter().filter(|entry| shown.contains(&entry.id));
            let fixed = if session.system.is_some() { parts.system } else { 0 };
            let sum = fixed + entries.map(|entry| u64::from(entry.tokens)).sum::<u64>();
            let with = |more: u64| parts.unposted + ((sum + more) as f64 * snapshot.calibration).round() as u64;
            // What stands in for a result that did not come counts, once the conversation has gone on without it.
            let made_up = native.conversion_notes.iter().filter(|note| note.code == NoteCode::SyntheticResult).count();
            let one = u64::try_from(STAND_IN_TOKENS).unwrap();
            let mut expected = (0..=u64::try_from(made_up).unwrap()).map(|count| with(count * one));
            // Results that answer no call, and second ones, are in no context and count nowhere.
            let unsent = [NoteCode::OrphanResultDropped, NoteCode::DuplicateResultDropped];
            match native.conversion_notes.iter().any(|note| unsent.contains(&note.code)) {
                true => {
                    let most = expected.next_back().unwrap();
                    assert!(snapshot.tokens <= most, "{} of {most}: {parts:?}", snapshot.tokens);
                }
                false => assert!(expected.any(|tokens| tokens == snapshot.tokens), "the account is off: {parts:?}"),
            }
        }
        let fork = self.service.fork_session(self.tenant, self.id(), None).await.unwrap();
        let plain = |snapshot: &Snapshot| {
            let mut value = serde_json::to_value(snapshot).unwrap();
            for name in ["anti_thrash", "should_compact", "recounting"] {
                value.as_object_mut().unwrap().remove(name);
            }
            value
        };
        assert_eq!(plain(&snapshot), plain(&fork.snapshot), "running totals and those of the whole path differ");
    }

    /// An earlier place looks the same from here and from a fork of it; and a bounded context is whole too.
    async fn check_elsewhere(&self, step: usize, contexts: &HashMap<Format, Context>) {
        let model = self.model();
        let format = Format::OF_CONTEXTS[(step * 7 + 3) % Format::OF_CONTEXTS.len()];
        if let Some(id) = model.order.get((step * 31) % model.order.len().max(1)) {
            let here = self.context(format, Some(*id)).await;
            let fork = self.service.fork_session(self.tenant, self.id(), Some(*id)).await.unwrap();
            // With a bound, so that one larger than the window is not compacted for being a leaf now.
            let rebuild = Rebuild { max_tokens: Some(u64::from(u32::MAX)), ..Rebuild::of_leaf(format) };
            let there = self.service.rebuild(self.tenant, fork.id, rebuild).await.unwrap();
            assert_eq!((texts(&here.messages), here.tokens), (texts(&there.messages), there.tokens));
        }
        let whole = contexts[&format].tokens;
        if let Ok(bounded) = self.bounded(format, None, Some(whole * 2 / 3)).await {
            assert!(bounded.tokens <= whole * 2 / 3);
            let messages: Vec<Value> = bounded.messages.iter().map(|message| parse(message.get())).collect();
            violation(format, &messages).unwrap_or_else(|refusal| panic!("bounded: {refusal}"));
        }
    }
}

/// Where a chapter is shown, and up to where it hides.
fn fold(entry: &EntryView) -> Option<(usize, usize)> {
    let item = (entry.kind == "chapter").then(|| parse(entry.item.get()))?;
    let depth = |name: &str| Some(item["fold"][name].as_u64()? as usize);
    Some((depth("place")?, depth("to")?))
}

fn leading_system(format: Format, path: &[EntryView]) -> bool {
    matches!(format, Format::Anthropic | Format::Gemini)
        && path.first().is_some_and(|entry| entry.role == Some("system"))
}
