//! "Here is my whole transcript": what is new in it is appended, what is stored is recognised.
//!
//! Everything happens under the session's row lock, in one transaction: of two clients that post at once, the second is
//! compared with what the first one left.

mod basis;
mod news;
mod numbers;
mod request;
mod summary_place;

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use serde_json::value::RawValue;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::background::{LargeValue, at_usual_priority};
use crate::domain::model::format::Format;
use crate::domain::settings::OnUpstreamFailure;
use crate::domain::tokens::accounting::FillState;
use crate::service::compaction::carry::{Carried, carry, fallen, take_up};
use crate::service::compaction::commit::write_head;
use crate::service::compaction::committing::committing;
use crate::service::compaction::save;
use crate::service::core::acknowledgement::Proof;
use crate::service::core::clock;
use crate::service::core::error::Result;
use crate::service::core::handles::OpenedHandles;
use crate::service::core::head::Head;
use crate::service::core::idempotency::{Outcome, seal};
use crate::service::core::offload::{is_bulky, load, offload, size};
use crate::service::core::state::Service;
use crate::service::core::tenant::Tenant;
use crate::service::ingest::append::{Append, count_landed};
use crate::service::ingest::returned_context::LeafAnswer;
use crate::service::navigation::land;
use crate::service::path::entries::load_entry;
use crate::service::path::view::{self, ReadMode};
use crate::service::rebuild::Context;
use crate::service::sessions::count_fixed;
use crate::store::entries::StoredEntry;
use crate::store::sessions::{self, SessionRow};
use basis::Posted;
use news::{DiffOutcome, NewItems};

pub use request::{Put, PutTranscript};

/// A transcript with more text than this takes a lane of the large writes.
const LARGE_BYTES: usize = 1 << 20;
const LONGEST_WAIT: Duration = Duration::from_secs(60);
/// Share of a context that may be replaced without making another of it: a clock, a reminder.
const LITTLE: u64 = 50;

impl Service {
    /// Takes a whole transcript, and answers as [`Service::append_returning`] does.
    ///
    /// # Errors
    /// Those of [`Service::put_transcript`]; those of [`Service::rebuild`] once what is new is stored.
    pub async fn put_transcript_returning(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        put: PutTranscript,
        wanted: Option<Format>,
    ) -> Result<(Put, Option<Context>)> {
        let mut put = self.put_transcript(tenant, session_id, put).await?;
        count_landed(put.appended);
        if put.falls && at_usual_priority(Box::pin(self.retell(tenant, session_id))).await? {
            let head = self.inner.heads.read(self.pool(), tenant, session_id).await?;
            (put.leaf_id, put.snapshot, put.newest) = (head.row.leaf_id, head.snapshot(), newest_of(&head));
        }
        let Put { leaf_id, snapshot, compaction, .. } = &mut put;
        let answer = LeafAnswer { leaf_id, snapshot, compaction };
        let context = self.context_left(tenant, session_id, wanted, answer).await?;
        Ok((put, context))
    }

    /// Takes a whole transcript.
    ///
    /// # Errors
    /// `NotFound`; `Invalid` and `HandleRefused` with pointers into the body, the former also where the transcript departs
    /// before a summary of ours: what that stands for could not be told from what was changed.
    pub async fn put_transcript(&self, tenant: Tenant, session_id: Uuid, put: PutTranscript) -> Result<Put> {
        let (put, order) = put.parents_first().await?;
        let answer = self.put_in_order(tenant, session_id, put).await;
        match order {
            None => answer,
            Some(order) => answer
                .map(|put| put.at_posted_places(&order))
                .map_err(|error| error.with_pointers(|pointer| request::at_posted_place(pointer, &order))),
        }
    }

    async fn put_in_order(&self, tenant: Tenant, session_id: Uuid, put: PutTranscript) -> Result<Put> {
        let put = Arc::new(put);
        let opened = self.inner.handles.open(tenant, put.format, &put, |put| &put.items).await?;
        let is_bulky = is_bulky(&put.items);
        let posted = if is_bulky { None } else { Some(Posted::read(&put, opened.clone()).await?) };
        // Appends of this process wait for this one instead of losing a race against it.
        let slot = self.inner.cached_heads.slot(tenant, session_id);
        let mut cached = slot.lock().await;
        *cached = None;
        // Two transcripts are compared with the session's row locked, on a connection that others would wait for.
        let _lane = match is_bulky || size(&put.items) > LARGE_BYTES {
            true => Some(self.inner.bulk_lanes.enter_within(tenant, LONGEST_WAIT).await?),
            false => None,
        };
        let posted = match posted {
            Some(posted) => posted,
            None => Posted::read(&put, opened.clone()).await?,
        };
        let answer = committing(self.put(tenant, session_id, put, posted, opened)).await?;
        self.inner.feed.touch(tenant, session_id);
        Ok(answer)
    }

    async fn put(
        &self,
        tenant: Tenant,
        session_id: Uuid,
        put: Arc<PutTranscript>,
        posted: LargeValue<Posted>,
        opened: OpenedHandles,
    ) -> Result<Put> {
        let (mut transaction, mut row, mut head) = self.inner.heads.begin_locked(tenant, session_id).await?;
        set_fixed(&mut transaction, tenant, &mut row, &mut head, &put).await?;
        let given = Given { format: put.format, items: put.items.len(), usage: put.usage.clone() };
        let news = self.news(&mut transaction, tenant, &head, &row, put, Arc::new(posted)).await?;
        let answer = self.take(&mut transaction, tenant, (row, head), given, news, opened).await?;
        seal(&mut transaction, Outcome::Done, &answer).await?;
        let proof = answer.entries.last().map(|entry| Proof::Entry(entry.id));
        self.inner.heads.commit(transaction, tenant, session_id, proof).await?;
        Ok(answer)
    }

    /// Moves the leaf where the transcript departs, and appends what is new.
    async fn take(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        (mut row, mut head): (SessionRow, Head),
        given: Given,
        news: NewItems,
        opened: OpenedHandles,
    ) -> Result<Put> {
        let forked = news.departs_at.is_some();
        let mut departure = Departure::default();
        if let Some(parent) = news.departs_at {
            let more = i64::try_from(news.items.len()).unwrap_or(i64::MAX);
            departure = depart(connection, tenant, (&mut row, &mut head), parent, more).await?;
            self.check_candidate(connection, tenant, &mut head).await?;
        }
        let matched = given.items - news.items.len();
        if news.items.is_empty() {
            departure.let_go(&mut head);
            if forked {
                head.state.pass_over_calls();
            }
            let snapshot = head.state.write_to(&mut row.head, &head.settings)?;
            if forked {
                sessions::update(connection, tenant.0, &row, clock::now()).await?;
            }
            let leaf_id = row.head.leaf_id;
            let (entries, warnings) = (Vec::new(), Vec::new());
            let newest = newest_of(&head);
            return Ok(Put {
                appended: 0,
                matched,
                forked,
                leaf_id,
                snapshot,
                compaction: None,
                entries,
                places: Vec::new(),
                warnings,
                newest,
                falls: head.is_to_retell(),
            });
        }
        let append = Append {
            format: given.format,
            items: news.items,
            parent_id: None,
            expected_leaf_id: None,
            usage: given.usage.filter(|_| !departure.changes_the_view),
            provider_error: None,
            is_whole: true,
        };
        let done = self
            .append_to(connection, tenant, &mut head, append, opened, news.chained)
            .await
            .map_err(|error| error.with_pointers(|pointer| request::at_posted_place(pointer, &news.places)))?;
        if departure.let_go(&mut head) {
            save(connection, tenant, &mut head).await?;
        }
        let put = Put {
            appended: done.entries.len(),
            matched,
            forked,
            leaf_id: done.leaf_id,
            snapshot: done.snapshot,
            compaction: done.compaction,
            entries: done.entries,
            places: (0..news.places.len()).collect(),
            warnings: done.warnings,
            newest: newest_of(&head),
            falls: head.is_to_retell(),
        };
        Ok(put.at_posted_places(&news.places))
    }

    async fn news(
        &self,
        connection: &mut PgConnection,
        tenant: Tenant,
        head: &Head,
        row: &SessionRow,
        put: Arc<PutTranscript>,
        posted: Arc<LargeValue<Posted>>,
    ) -> Result<NewItems> {
        let looks_like_ours = posted.may_hold_summary || posted.may_hold_chapter();
        if head.row.leaf_id.is_none() && (head.row.entry_count == 0 || !looks_like_ours) {
            return Ok(NewItems::all(put));
        }
        let basis = basis::basis(&self.inner.paths, &mut *connection, tenant, head, &posted).await?;
        let input = || (Arc::clone(&posted), Arc::clone(&put), row.system.clone());
        // Taking two transcripts apart is work for a core of its own.
        let bytes = load(&put.items) + basis.loaded.load();
        let (said, items, system) = input();
        let is_view = basis.is_view;
        let mut found = offload(bytes, move || news::find(&basis, &said, &items, system.as_deref())).await??;
        if is_view && found.departs() && basis::has_twins(&mut *connection, tenant, head, &posted).await? {
            let basis = basis::whole_basis(&self.inner.paths, &mut *connection, tenant, head, &posted).await?;
            let bytes = load(&put.items) + basis.loaded.load();
            let (said, items, system) = input();
            found = offload(bytes, move || news::find(&basis, &said, &items, system.as_deref())).await??;
        }
        let (place, error) = match found {
            DiffOutcome::News(news) => return Ok(news),
            DiffOutcome::DepartsBefore(place, error) => (place, error),
        };
        // Somebody may have said the summary's words, too: then the raw history stands before them. A handle says itself what
        // it stands for: what is posted before it may be anything.
        let least = if posted.is_handle(place) { 0 } else { place };
        let basis = basis::raw_basis(&self.inner.paths, connection, tenant, head, &posted).await?;
        let bytes = load(&put.items) + basis.loaded.load();
        let (said, items, system) = input();
        let quoted = offload(bytes, move || news::find_quoted(&basis, &said, &items, system.as_deref(), least));
        quoted.await??.ok_or(error)
    }
}

/// What is still to be known of a posted transcript once its new items are.
struct Given {
    format: Format,
    items: usize,
    usage: Option<Value>,
}

/// What a transcript that departs from the stored one has changed.
#[derive(Default)]
struct Departure {
    /// What a provider measured before is not about what it would now: a compaction has fallen, or much was left.
    changes_the_view: bool,
    /// The compaction that fell covers more than the transcript has.
    ends_before: bool,
}

impl Departure {
    /// A transcript that ends before what its compaction covered has merely lost that, unless so much is left that the next
    /// compaction would follow at once: then its record is told again. True: it has lost it.
    fn let_go(&self, head: &mut Head) -> bool {
        let follows = head.settings.enabled && head.snapshot().state == FillState::Red;
        let is_lost = self.ends_before && head.state.retell.is_some() && !follows;
        head.state.retell = head.state.retell.filter(|_| !is_lost);
        is_lost
    }
}

/// Moves the leaf to where the transcript departs. The compaction in force comes along, or falls. `more`: entries that follow.
async fn depart(
    connection: &mut PgConnection,
    tenant: Tenant,
    (row, head): (&mut SessionRow, &mut Head),
    parent: Option<Uuid>,
    more: i64,
) -> Result<Departure> {
    let target = match parent {
        Some(id) => Some(end_of_history(connection, tenant, head.session_id, id, more > 0).await?),
        None => None,
    };
    let (before, auto_retry_at) = (head.state.newest.clone(), head.state.auto_retry_at);
    let shown = (head.state.account.sent, head.state.account.unshown);
    let path_tokens = head.state.account.path_tokens;
    let landing = land(connection, tenant, row, target.as_ref()).await?;
    let mut loaded = view::load_path(connection, tenant, landing.leaf, false, ReadMode::Heads).await?;
    head.row = row.head.clone();
    head.state.leaf_is_tip = landing.is_tip;
    take_up(head, &loaded);
    let carried = carry(connection, tenant, head, &mut loaded, before.as_ref(), more > 0).await?;
    head.state.auto_retry_at = auto_retry_at;
    let fallen = fallen(before.as_ref(), head.state.newest.as_ref(), carried.as_ref());
    // Where no code may stand in for a model, the next compaction is made as any.
    let may = head.settings.on_upstream_failure == OnUpstreamFailure::Fallback;
    head.state.retell = fallen.filter(|_| may).map(|fallen| fallen.id);
    if let Some(Carried { entry, branches, .. }) = carried {
        if before.is_some() && fallen.is_none() {
            // It is the same view, and an answer to the one before it may still come.
            (head.state.account.sent, head.state.account.unshown) = shown;
        }
        head.state.write_to(&mut head.row, &head.settings)?;
        write_head(connection, tenant, head, &[entry], &branches).await?;
        row.head = head.row.clone();
    }
    let left = u64::try_from(path_tokens - head.state.account.path_tokens).unwrap_or(0);
    Ok(Departure {
        changes_the_view: fallen.is_some() || left > head.snapshot().tokens / LITTLE,
        ends_before: fallen.is_some_and(|fallen| fallen.covers_beyond(landing.leaf.depth.saturating_add(more))),
    })
}

/// The entry that a history ends with. What came along from another path to a message's very end shows nothing of it: where
/// nothing follows, what is to be answered next would stand in a record alone, and the history ends with the message.
async fn end_of_history(
    connection: &mut PgConnection,
    tenant: Tenant,
    session_id: Uuid,
    id: Uuid,
    is_extended: bool,
) -> Result<StoredEntry> {
    let mut entry = load_entry(connection, tenant, session_id, id).await?;
    while !is_extended && keeps_nothing(&entry) {
        let Some(parent) = entry.entry.parent_id else { break };
        entry = load_entry(connection, tenant, session_id, parent).await?;
    }
    Ok(entry)
}

fn keeps_nothing(stored: &StoredEntry) -> bool {
    let carried = stored.record.as_ref().filter(|record| record.carries.is_some());
    carried.is_some_and(|record| record.first_kept_entry_id == stored.entry.head.id.to_string())
}

fn newest_of(head: &Head) -> Option<Uuid> {
    head.state.newest.as_ref().map(|newest| newest.id)
}

/// Records another system prompt or other tools.
async fn set_fixed(
    connection: &mut PgConnection,
    tenant: Tenant,
    row: &mut SessionRow,
    head: &mut Head,
    put: &PutTranscript,
) -> Result<()> {
    let text = |raw: &Option<Box<RawValue>>| raw.as_ref().map(|raw| raw.get().to_owned());
    let system = put.system.as_ref().map_or_else(|| row.system.clone(), text);
    let tools = put.tools.as_ref().map_or_else(|| row.tools.clone(), text);
    if (&system, &tools) == (&row.system, &row.tools) {
        return Ok(());
    }
    (row.system, row.tools) = (system, tools);
    count_fixed(&mut head.state, row, head.settings.estimator).await?;
    head.state.write_to(&mut row.head, &head.settings)?;
    sessions::update(&mut *connection, tenant.0, row, clock::now()).await?;
    row.head.version += 1;
    head.row = row.head.clone();
    Ok(())
}
