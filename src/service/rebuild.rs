//! Rebuilding: the context that a provider is sent.

mod leading;
mod left_out;
mod numbers;
mod prefix;

use std::collections::HashSet;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use uuid::Uuid;

use crate::background::{FreeingLoad, at_usual_priority};
use crate::domain::compaction::excess::{Excess, ExcessReason, FixedParts};
use crate::domain::context::fit::fit;
use crate::domain::context::pairing::StoredSource;
use crate::domain::context::view::ViewItem;
use crate::domain::context::{pairing, thinking};
use crate::domain::format;
use crate::domain::format::anthropic;
use crate::domain::format::note_code::NoteCode;
use crate::domain::format::openai_responses::ItemIds;
use crate::domain::format::write::{Note, Piece};
use crate::domain::model::compaction::ElidedPart;
use crate::domain::model::format::Format;
use crate::domain::model::json as domain_json;
use crate::domain::model::json::mend_surrogates;
use crate::domain::model::message::Role;
use crate::domain::settings::models::takes_system_messages;
use crate::domain::settings::{OnUpstreamFailure, Settings, Thinking};
use crate::domain::tokens::accounting::{Account, FillState, Snapshot};
use crate::service::compaction::{CompactionRef, save};
use crate::service::core::answer_room::AnswerRoom;
use crate::service::core::error::{Result, ServiceError};
use crate::service::core::head::{Head, Newest, SessionState};
use crate::service::core::offload::{in_place, offload, size};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::path::view::{self, PathSlice, ReadMode, ViewOrigin, view_origin};
use leading::lead_system;
use left_out::{WrittenContext, unsaid, unsent_tokens};
use numbers::{TaskNumbers, chapter_texts};

/// Reading more bytes than this takes a turn, however few the entries.
const LARGE_READ: usize = 4 << 20;

/// Which context.
#[derive(Debug, Clone)]
pub struct Rebuild {
    pub format: Format,
    /// Another leaf than the session's.
    pub leaf_id: Option<Uuid>,
    /// The context must fit in this many tokens.
    pub max_tokens: Option<u64>,
    pub item_ids: ItemIds,
}

impl Rebuild {
    /// The context of the leaf, as its provider is sent it.
    pub fn of_leaf(format: Format) -> Rebuild {
        Rebuild { format, leaf_id: None, max_tokens: None, item_ids: ItemIds::Sendable }
    }
}

/// A context, ready to be sent.
#[derive(Debug, Serialize, ToSchema)]
pub struct Context {
    pub session_id: Uuid,
    pub leaf_id: Option<Uuid>,
    pub format: Format,
    /// The system prompt that travels beside the messages, in the form that `format` gives it: as it was given where
    /// that is its own. For `anthropic` and `gemini`, system messages that lead the transcript are here too.
    #[schema(value_type = Option<serde_json::Value>)]
    pub system: Option<Box<RawValue>>,
    #[schema(value_type = Vec<Object>)]
    pub messages: Vec<Box<RawValue>>,
    /// Of what is handed out, system prompt and tools included.
    pub tokens: u64,
    pub state: FillState,
    /// Why the context is larger than the window, and what of it can't be compacted. Null: it fits.
    pub exceeds_window: Option<Excess>,
    /// The entries shown, in order.
    pub entry_ids: Vec<Uuid>,
    pub summary_entry_id: Option<Uuid>,
    pub elided: Vec<Elided>,
    /// Leading messages unchanged since the previous rebuild at this format.
    pub stable_prefix_messages: usize,
    pub conversion_notes: Vec<ConversionNote>,
    /// What a large one takes of the room for answers, from its reading on.
    #[serde(skip)]
    pub room: Option<AnswerRoom>,
}

/// A tool result, or the arguments of a call, shown shorter than they are; `tool-calls/{tool_call_id}` gives the whole.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Elided {
    pub tool_call_id: String,
    pub entry_id: Uuid,
    pub part: ElidedPart,
    /// Tokens of the original.
    pub tokens: u32,
}

/// What the context says otherwise than the stored items do.
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct ConversionNote {
    pub code: NoteCode,
    pub entry_id: Option<Uuid>,
    pub detail: String,
}

/// A context of the leaf, the account of it, and the compaction that made it fit.
#[derive(Debug)]
pub(crate) struct Rebuilt {
    pub context: Context,
    pub snapshot: Snapshot,
    pub relieved: Option<CompactionRef>,
}

/// Settings of a rendering, taken from the session's settings and state.
#[derive(Debug, Clone)]
struct RenderOptions {
    thinking: Thinking,
    /// The session's model takes system messages among the others.
    takes_systems: bool,
    /// How many pictures a request to the session's model may have.
    pictures: usize,
    /// The session's tools, whose cache marks count with those of the context.
    tools: Option<String>,
    /// Tasks carry their numbers.
    numbered: bool,
    /// The first `seq` since the session's model was changed.
    model_since: i64,
    item_ids: ItemIds,
}

impl RenderOptions {
    fn of(head: &Head, model: Option<&str>, tools: Option<String>) -> RenderOptions {
        RenderOptions {
            thinking: head.settings.thinking,
            takes_systems: model.is_none_or(takes_system_messages),
            pictures: anthropic::pictures::most(head.settings.context_window),
            tools,
            numbered: head.settings.chaptering_trigger.is_some(),
            model_since: head.state.model_since,
            item_ids: ItemIds::Sendable,
        }
    }
}

/// The messages of a view, written.
struct WrittenMessages {
    system: Option<Box<RawValue>>,
    messages: Vec<Box<RawValue>>,
    entry_ids: Vec<Uuid>,
    summary_entry_id: Option<Uuid>,
    elided: Vec<Elided>,
    notes: Vec<ConversionNote>,
    /// Estimated tokens of what stands in the system prompt instead.
    led: u64,
}

impl Context {
    /// How large an answer this makes, about.
    pub fn bytes(&self) -> usize {
        let notes: usize = self.conversion_notes.iter().map(|note| note.detail.len() + 128).sum();
        size(&self.messages)
            + self.system.as_ref().map_or(0, |system| system.get().len())
            + notes
            + 40 * self.entry_ids.len()
            + 160 * self.elided.len()
            + 512
    }
}

impl Service {
    /// Rebuilds the context of the leaf, or of another entry.
    ///
    /// # Errors
    /// `NotFound`; `ContextDoesNotFit` when what must be kept exceeds `max_tokens`.
    pub async fn rebuild(&self, tenant: Tenant, session_id: Uuid, rebuild: Rebuild) -> Result<Context> {
        Ok(self.rebuild_at(tenant, session_id, rebuild, false).await?.context)
    }

    /// As [`Service::rebuild`], with what the leaf is by then: making the context fit may have moved it. What
    /// `follows_a_change` is not refused for want of room before it has waited: a client would make the change again.
    ///
    /// # Errors
    /// Those of [`Service::rebuild`].
    pub(crate) async fn rebuild_at(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        rebuild: Rebuild,
        follows_a_change: bool,
    ) -> Result<Rebuilt> {
        let (mut row, mut head) = self.inner.heads.read_row(self.pool(), tenant, session_id).await?;
        let mut relieved = None;
        let is_leaf = rebuild.leaf_id.is_none_or(|id| Some(id) == head.row.leaf_id);
        if is_leaf && head.is_to_retell() && at_usual_priority(Box::pin(self.retell(tenant, session_id))).await? {
            (row, head) = self.inner.heads.read_row(self.pool(), tenant, session_id).await?;
        }
        if is_leaf && rebuild.max_tokens.is_none() && head.needs_force_fit() {
            relieved = at_usual_priority(Box::pin(self.force_fit(tenant, session_id))).await?;
            (row, head) = self.inner.heads.read_row(self.pool(), tenant, session_id).await?;
        }
        let mut reader = self
            .inner
            .long_reads
            .reader(tenant, if is_leaf { head.view_length() } else { head.row.entry_count })
            .await?;
        let connection = reader.on()?;
        let (from, state) = view_origin(&mut *connection, tenant, &head, rebuild.leaf_id.filter(|_| !is_leaf)).await?;
        let segments = view::visible_segments(&mut *connection, tenant, &from).await?;
        let estimator = head.settings.estimator;
        let bytes = self.inner.paths.measure(&mut *connection, tenant, estimator, &segments).await?;
        let taken = bytes.known.saturating_add(bytes.unread);
        let mut room = AnswerRoom::take(tenant, taken);
        if room.is_err() || bytes.unread > LARGE_READ && !reader.is_long() {
            // Others that read little take its connection meanwhile.
            reader.done();
            if room.is_err() && follows_a_change {
                room = AnswerRoom::wait(tenant, taken).await;
            }
            let taken = room?;
            reader = self.inner.long_reads.long_reader(tenant).await?;
            room = Ok(taken);
        }
        let room = room?;
        let connection = reader.on()?;
        let loaded = if state.recounting {
            view::load_view(connection, tenant, &from, ReadMode::Items).await?
        } else {
            let stored = self.inner.paths.load(connection, tenant, estimator, &segments).await?;
            PathSlice::new(stored, from.newest).fold()
        };
        reader.done();
        if is_leaf && state.account.unshown {
            self.note_shown(tenant, session_id, head.state.newest.as_ref().map(|newest| newest.id)).await;
        }
        let snapshot = state.snapshot(&head.settings);
        let system = row.system.map(|text| mend_surrogates(&text).into_owned());
        let system = system.map(RawValue::from_string).transpose().context("stored system prompt")?;
        let format = rebuild.format;
        let view = view_in(&loaded, format);
        let unsent = in_place(loaded.heads.freeing_load(), || unsent_tokens(&loaded, &view)).await?;
        let part = |count| state.account.part(count, head.settings.estimator);
        // An account of an older version has not left them out.
        let counted = unsent.saturating_sub(u64::try_from(state.account.unsent).unwrap_or(0));
        let handed = snapshot.tokens.saturating_sub(part(counted));
        let measure = (&*head.settings, &state.account);
        let (view, tokens) = bounded_view(&loaded, view, measure, handed, rebuild.max_tokens)?;
        let how = RenderOptions::of(&head, row.model.as_deref(), row.tools);
        let how = RenderOptions { item_ids: rebuild.item_ids, ..how };
        let load = loaded.load();
        let stood_in = u64::try_from(state.account.stood_in).unwrap_or(0);
        let job = move || {
            let written = write(&loaded, &view, format, how, system)?;
            let WrittenMessages { messages, led, .. } = &written;
            let said = WrittenContext { format, messages, is_noted: !written.notes.is_empty(), led: *led, stood_in };
            let unsaid = unsaid(&loaded, &view, &said, estimator);
            Ok::<_, ServiceError>((crate::service::core::digests::of(messages), written, unsaid, loaded))
        };
        let (digests, written, unsaid, loaded) = offload(load, job).await??;
        let tokens = tokens.saturating_sub(part(unsaid));
        let exceeds_window = excess(&loaded, &head, &state, tokens, is_leaf);
        let leaf_id = if is_leaf { head.row.leaf_id } else { rebuild.leaf_id };
        let stable_prefix_messages =
            self.inner.digests.compare(self.pool(), tenant, session_id, format, (digests, leaf_id)).await?;
        let context = Context {
            session_id,
            leaf_id,
            format,
            system: written.system,
            messages: written.messages,
            tokens,
            state: crate::domain::tokens::accounting::fill_state(tokens, &head.settings),
            exceeds_window,
            entry_ids: written.entry_ids,
            summary_entry_id: written.summary_entry_id,
            elided: written.elided,
            stable_prefix_messages,
            conversion_notes: written.notes,
            room,
        };
        Ok(Rebuilt { context, snapshot, relieved })
    }
}

impl Service {
    /// Remembers that the context behind its newest compaction was handed out: usage may be of it from now on. Once for
    /// each compaction. Nobody is refused a context for this.
    async fn note_shown(&self, tenant: Tenant, session_id: Uuid, newest: Option<Uuid>) {
        let noted = async {
            let (mut transaction, _, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
            let is_same = head.state.newest.as_ref().map(|newest| newest.id) == newest;
            if is_same && head.state.account.unshown {
                head.state.account.note_shown();
                save(&mut transaction, tenant, &mut head).await?;
                transaction.commit().await?;
            }
            Ok::<(), ServiceError>(())
        };
        if let Err(error) = noted.await {
            tracing::warn!(%session_id, %error, "that a context was handed out could not be noted");
        }
    }
}

/// Tells by how much a context of `tokens` is larger than the window, and why. `None`: it is not larger.
fn excess(loaded: &PathSlice, head: &Head, state: &SessionState, tokens: u64, is_leaf: bool) -> Option<Excess> {
    let settings = &head.settings;
    let over_by = tokens.checked_sub(u64::from(settings.context_window)).filter(|over| *over > 0)?;
    let stands = |newest: &Newest| newest.is_revert && Some(newest.id) == head.row.leaf_id;
    let reason = match () {
        () if !is_leaf => ExcessReason::NotTheLeaf,
        () if !settings.enabled => ExcessReason::Disabled,
        () if settings.on_upstream_failure == OnUpstreamFailure::Fail => ExcessReason::UpstreamRequired,
        () if state.recounting => ExcessReason::Recounting,
        () if state.unrelieved.is_some() && state.newest.as_ref().is_some_and(stands) => ExcessReason::Reverted,
        () => ExcessReason::FixedOverhead,
    };
    let (system, tools) = (u64::from(state.account.system), u64::from(state.account.tools));
    let parts = FixedParts::of(&loaded.heads, loaded.compaction(), &loaded.view(), settings);
    let learnt = state.account.learnt(settings.estimator);
    let unposted = u64::try_from(learnt.unposted).unwrap_or(0);
    let fixed = FixedParts { system, tools, unposted, ..parts }.scaled(learnt.factor);
    Some(Excess { window: settings.context_window, over_by, reason, fixed })
}

/// The view as it is written in a format.
fn view_in(loaded: &PathSlice, format: Format) -> Vec<ViewItem> {
    if format == Format::Pi { loaded.view_with_metadata() } else { loaded.view() }
}

/// The view, without its oldest turns where it would not fit otherwise; and its size.
fn bounded_view(
    loaded: &PathSlice,
    view: Vec<ViewItem>,
    (settings, account): (&Settings, &Account),
    tokens: u64,
    max_tokens: Option<u64>,
) -> Result<(Vec<ViewItem>, u64)> {
    match max_tokens {
        Some(max_tokens) if tokens > max_tokens => {
            // Entries are counted in estimates.
            let (needed, part) = (tokens - max_tokens, |count| account.part(count, settings.estimator));
            let over = account.estimate_of_part(needed, settings.estimator);
            let over = over + u64::from(part(over) < needed);
            let left = |freed: u64| tokens.saturating_sub(part(freed));
            fit(&loaded.heads, &view, over, settings)
                .map(|(view, freed)| (view, left(freed)))
                .map_err(|freed| ServiceError::ContextDoesNotFit { needed: left(freed), max_tokens })
        }
        _ => Ok((view, tokens)),
    }
}

/// Messages, and the system prompt that goes with them.
pub(crate) type Rendered = (Vec<Box<RawValue>>, Option<Box<RawValue>>);

/// The messages of a view and the system prompt beside them, without a session.
pub(crate) fn render(
    loaded: &PathSlice,
    format: Format,
    policy: Thinking,
    system: Option<Box<RawValue>>,
) -> Result<Rendered> {
    let view = view_in(loaded, format);
    let how = RenderOptions {
        thinking: policy,
        takes_systems: true,
        pictures: anthropic::pictures::MOST,
        tools: None,
        numbered: false,
        model_since: 0,
        item_ids: ItemIds::Sendable,
    };
    let written = write(loaded, &view, format, how, system)?;
    Ok((written.messages, written.system))
}

fn write(
    loaded: &PathSlice,
    view: &[ViewItem],
    format: Format,
    how: RenderOptions,
    system: Option<Box<RawValue>>,
) -> Result<WrittenMessages> {
    let policy = how.thinking;
    let mut notes: Vec<Note> = Vec::new();
    let numbers = if how.numbered { TaskNumbers::of(loaded) } else { TaskNumbers::default() };
    notes.extend(numbers.note());
    let source = |index: usize| {
        let entry = &loaded.stored[index].entry;
        let item = numbers.item(index).unwrap_or(entry.item.as_str());
        let keeps_ids = how.item_ids == ItemIds::Given;
        StoredSource { format: entry.source_format, item, is_examined: false, keeps_ids }
    };
    let texts = chapter_texts(loaded, view)?;
    let summary = |index: usize| {
        if let Some(text) = texts.get(&index) {
            return numbers.text(index, text);
        }
        let record = loaded.stored[index].record.as_ref();
        record.and_then(|record| record.summary.clone()).unwrap_or_default()
    };
    let mut pieces = pairing::pieces(view, &loaded.heads, source, summary, format, &mut notes);
    put_running(&mut pieces, loaded, view);
    let system = system.map(|given| in_form_of(given, format)).transpose()?.flatten();
    let mut led: Vec<usize> = pieces.iter().map_while(Piece::entry).collect();
    let system = match format {
        Format::Anthropic | Format::Gemini => lead_system(&mut pieces, &loaded.heads, system, format)?,
        _ => system,
    };
    let stayed: HashSet<usize> = pieces.iter().filter_map(Piece::entry).collect();
    led.retain(|entry| !stayed.contains(entry));
    let changes = thinking::Changes { model_since: how.model_since, shortened: shortened(view) };
    thinking::settle(&mut pieces, &loaded.heads, policy, format, &changes, &mut notes);
    notes.extend(format::names_dropped(format, &pieces));
    let pieces = format::with_names(format, &pieces);
    let messages = match format {
        Format::Anthropic => {
            let messages = anthropic::write_within(&pieces, how.pictures, &mut notes);
            beside(messages, &how, system.as_deref(), &mut notes)
        }
        Format::OpenaiResponses => format::openai_responses::write_with(&pieces, how.item_ids, &mut notes),
        _ => format::write(format, &pieces, &mut notes),
    };
    let messages = thinking::finish(messages, policy, format, &mut notes);
    let raw = |text: String| RawValue::from_string(text).context("a written message");
    let messages = messages.into_iter().map(raw).collect::<anyhow::Result<Vec<_>>>()?;
    let led = led.iter().filter_map(|index| loaded.heads.get(*index)).map(|head| u64::from(head.tokens)).sum();
    let id_at = |index: usize| loaded.heads.get(index).map(|head| head.id);
    let mut written = WrittenMessages {
        system,
        messages,
        entry_ids: Vec::with_capacity(view.len()),
        summary_entry_id: None,
        elided: Vec::new(),
        notes: notes
            .into_iter()
            .map(|note| ConversionNote { code: note.code, entry_id: note.entry.and_then(id_at), detail: note.detail })
            .collect(),
        led,
    };
    for item in view {
        match item {
            ViewItem::Summary { compaction } => written.summary_entry_id = Some(loaded.heads[*compaction].id),
            ViewItem::Entry { index, elisions } => {
                written.entry_ids.push(loaded.heads[*index].id);
                written.elided.extend(elisions.iter().map(|elision| Elided {
                    tool_call_id: elision.tool_call_id.clone(),
                    entry_id: elision.entry_id,
                    part: elision.part,
                    tokens: elision.tokens_before,
                }));
            }
        }
    }
    Ok(written)
}

/// Puts the running request behind the summary, or in the place of one that there is not.
fn put_running(pieces: &mut Vec<Piece<'_>>, loaded: &PathSlice, view: &[ViewItem]) {
    let shown = view.iter().any(|item| matches!(item, ViewItem::Summary { .. }));
    let record = loaded.record().filter(|_| shown);
    let Some(running) = record.and_then(|record| record.running.as_ref()) else { return };
    let is_summary = |piece: &Piece<'_>| match piece {
        Piece::Message { entry: None, message } => message.role == Role::CompactionSummary,
        _ => false,
    };
    let Some(place) = pieces.iter().position(is_summary) else { return };
    let behind = match pieces.get(place) {
        Some(Piece::Message { message, .. }) if message.plain_text().is_empty() => place..place + 1,
        _ => place + 1..place + 1,
    };
    pieces.splice(behind, [Piece::Message { entry: None, message: running.message() }]).for_each(drop);
}

/// What the Messages API refuses of messages for what stands beside them: its model, its system prompt, its tools.
fn beside(messages: Vec<String>, how: &RenderOptions, system: Option<&RawValue>, notes: &mut Vec<Note>) -> Vec<String> {
    let messages = if how.takes_systems { messages } else { anthropic::systems::pass_on_all(messages, notes) };
    let parts = [system.map(RawValue::get), how.tools.as_deref()].into_iter().flatten();
    let marked = parts.filter(|text| text.contains("cache_control"));
    let parts: Vec<Value> = marked.filter_map(|text| domain_json::parse_lenient(text).ok()).collect();
    anthropic::marks::bound_beside(messages, anthropic::marks::Beside::of(&parts), notes)
}

/// The entries that a view shows shorter than they are.
fn shortened(view: &[ViewItem]) -> HashSet<usize> {
    let elided = view.iter().filter_map(|item| match item {
        ViewItem::Entry { index, elisions } if !elisions.is_empty() => Some(*index),
        _ => None,
    });
    elided.collect()
}

/// The system prompt in the form that a format gives it, byte for byte where it has that. `None`: it says nothing.
fn in_form_of(given: Box<RawValue>, format: Format) -> Result<Option<Box<RawValue>>> {
    let Ok(value) = domain_json::parse_lenient(given.get()) else { return Ok(Some(given)) };
    match format::system::converted(&value, format) {
        None => Ok(Some(given)),
        Some(Value::Null) => Ok(None),
        Some(other) => {
            let text = serde_json::to_string(&other).context("a system prompt")?;
            Ok(Some(RawValue::from_string(text).context("a system prompt")?))
        }
    }
}
