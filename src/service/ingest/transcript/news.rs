//! New items of a posted transcript, and where they go.

use std::borrow::Cow;
use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::Context as _;
use serde_json::value::RawValue;
use uuid::Uuid;

use crate::domain::model::format::Format;
use crate::domain::model::json;
use crate::domain::model::message::{Block, Message, Role, ToolCall};
use crate::domain::transcript::{Alignment, ExpectedEntry, Said, ShownBesides, StoredCalls, StoredResult, text_key};
use crate::domain::{format, transcript};
use crate::service::core::error::{Result, ServiceError};
use crate::service::ingest::transcript::PutTranscript;
use crate::service::ingest::transcript::basis::{Posted, StoredBasis};
use crate::service::ingest::transcript::numbers::PostedNumbers;
use crate::service::path::entries::message_of;

/// How many messages a client may leave out at the head of a context.
const MOST_LEFT_OUT: usize = 8;

/// Items to append, and the entry that they go behind.
pub struct NewItems {
    pub items: Vec<Box<RawValue>>,
    /// Where each of them was posted.
    pub places: Vec<usize>,
    /// The entry that the leaf has to go to first; `Some(None)`: before the first entry.
    pub departs_at: Option<Option<Uuid>>,
    /// The items follow one another, whatever parents they name.
    pub chained: bool,
}

impl DiffOutcome {
    /// The posted transcript says something else than the stored one.
    pub fn departs(&self) -> bool {
        match self {
            DiffOutcome::News(news) => news.departs_at.is_some(),
            DiffOutcome::DepartsBefore(..) => true,
        }
    }
}

impl NewItems {
    /// Everything, into an empty session. A pi file keeps its tree.
    pub fn all(put: Arc<PutTranscript>) -> NewItems {
        let items = Arc::unwrap_or_clone(put).items;
        NewItems { places: (0..items.len()).collect(), items, departs_at: None, chained: false }
    }
}

/// Outcome of a comparison.
pub enum DiffOutcome {
    News(NewItems),
    /// The posted transcript holds the summary at this place, but not what its context has before it.
    DepartsBefore(usize, ServiceError),
}

/// Compares the posted transcript with the stored one.
pub fn find(basis: &StoredBasis, posted: &Posted, put: &PutTranscript, system: Option<&str>) -> Result<DiffOutcome> {
    let originals = StoredCallIndex::of(basis);
    let mut said = without_attachments(posted, &originals);
    pass_over_cut_words(&mut said, &originals);
    pass_over_system(&mut said, system);
    let (mut from, fitting) = match basis.summary {
        Some(summary) => {
            let (head, rest) = summary.around(posted.said[summary.item].as_ref());
            let rest = rest.and_then(|rest| transcript::without_running(rest, &basis.running));
            let mut before: Vec<Option<Said>> = said[..summary.item].to_vec();
            before.push(head);
            let from = summary.item + usize::from(rest.is_none());
            said[summary.item] = rest;
            pass_over_running(&mut said, basis);
            match behind_summary(basis, &before, &said[from..])? {
                Ok(fitting) => (from, fitting),
                Err(error) => return Ok(DiffOutcome::DepartsBefore(summary.item, error)),
            }
        }
        None => {
            pass_over_running(&mut said, basis);
            (0, fitting(basis, &said)?)
        }
    };
    let fitting = match trimmed(basis, &said, &fitting)? {
        Some((skipped, goes_on)) => {
            from = skipped;
            goes_on
        }
        None => fitting,
    };
    added(&fitting, &Comparison { basis, posted, put, said: &said, from, originals }).map(DiffOutcome::News)
}

/// The alignment behind a summary. Where several compactions say it, the one whose context the posted one says most of. The
/// inner error: none of them has before it what is posted there.
fn behind_summary<'b>(
    basis: &'b StoredBasis,
    before: &[Option<Said>],
    said: &[Option<Said>],
) -> Result<std::result::Result<BestAlignment<'b>, ServiceError>> {
    let own = (basis.before.as_slice(), basis.after.as_slice());
    let twins = basis.twins.iter().map(|(before, after)| (before.as_slice(), after.as_slice()));
    let mut best: Option<BestAlignment<'b>> = None;
    let mut refused = None;
    for (place, (shown_before, after)) in std::iter::once(own).chain(twins).enumerate() {
        if let Err(error) = check_before(basis, shown_before, before) {
            refused = refused.or(Some(error));
            continue;
        }
        let other = if place == 0 { fitting(basis, said)? } else { fit(basis, after, said)? };
        let ends = other.ends();
        if ends || best.as_ref().is_none_or(|best| other.alignment.matched > best.alignment.matched) {
            best = Some(other);
        }
        if ends {
            break;
        }
    }
    match (best, refused) {
        (Some(best), _) => Ok(Ok(best)),
        (None, Some(error)) => Ok(Err(error)),
        (None, None) => Ok(Ok(fitting(basis, said)?)),
    }
}

/// The alignment of a transcript whose front is missing, with what it leaves out: it goes on with the compaction that says
/// so, if all of it that is left of the covered span matches. Leading system messages may have stayed.
fn trimmed<'b>(
    basis: &'b StoredBasis,
    said: &[Option<Said>],
    found: &BestAlignment<'b>,
) -> Result<Option<(usize, BestAlignment<'b>)>> {
    let newest = basis.loaded.newest.as_ref().filter(|newest| newest.folds.is_empty());
    let (Some(newest), None) = (newest, basis.summary) else { return Ok(None) };
    let is_lead = |said: &Option<Said>| matches!(said, Some(Said::Message(message)) if is_system(message));
    let lead = said.iter().take_while(|said| said.is_none() || is_lead(said)).count();
    if found.alignment.matched > lead {
        return Ok(None);
    }
    let tail = newest.first_kept_depth.unwrap_or(newest.depth);
    let after = basis.after.as_slice();
    let covered = after.partition_point(|at| basis.loaded.heads[*at].depth < tail);
    let all = steps(basis, after)?;
    for start in transcript::starts(&all, &said[lead..]) {
        let (after, steps) = (&after[start..], all[start..].to_vec());
        let shown = basis.shown(after);
        let alignment = transcript::align(&steps, &said[lead..], &shown);
        if start + alignment.steps >= covered && alignment.matched > 1 {
            return Ok(Some((lead, BestAlignment { after, steps, shown, alignment })));
        }
    }
    Ok(None)
}

/// As [`find`], where a summary stands at `place` and may be quoted: it is, if the raw history leads to it, and there is
/// news then.
pub fn find_quoted(
    basis: &StoredBasis,
    posted: &Posted,
    put: &PutTranscript,
    system: Option<&str>,
    place: usize,
) -> Result<Option<NewItems>> {
    let originals = StoredCallIndex::of(basis);
    let mut said = without_attachments(posted, &originals);
    pass_over_cut_words(&mut said, &originals);
    pass_over_system(&mut said, system);
    pass_over_running(&mut said, basis);
    let fitting = fitting(basis, &said)?;
    if fitting.alignment.matched < place {
        return Ok(None);
    }
    added(&fitting, &Comparison { basis, posted, put, said: &said, from: 0, originals }).map(Some)
}

/// Both sides, and what was made of the posted one.
struct Comparison<'b> {
    basis: &'b StoredBasis,
    posted: &'b Posted,
    put: &'b PutTranscript,
    /// Words of the posted items themselves; `None`: what the item says is ours.
    said: &'b [Option<Said>],
    /// The first of them behind the summary.
    from: usize,
    originals: StoredCallIndex<'b>,
}

/// Collects the items of the posted transcript that say more than what is stored.
fn added(fitting: &BestAlignment<'_>, both: &Comparison<'_>) -> Result<NewItems> {
    let Comparison { basis, posted, put, said, from, originals } = both;
    let BestAlignment { after, steps, shown, alignment } = fitting;
    let departs_at = after.get(alignment.steps).map(|at| basis.loaded.stored[*at].entry.parent_id);
    let mut numbers = PostedNumbers::of(steps, alignment, shown);
    let mut news = NewItems { items: Vec::new(), places: Vec::new(), departs_at, chained: true };
    for place in from + alignment.matched..put.items.len() {
        let (Some(said), Some(raw)) = (&said[place], put.items.get(place)) else { continue };
        if basis.is_branch_summary(posted, place, departs_at.is_some()) {
            continue;
        }
        let holds_summary = basis.summary.is_some_and(|summary| summary.item == place);
        let is_cut = holds_summary || posted.said[place].as_ref().is_some_and(|whole| is_shorter(said, whole));
        let (said, raw) =
            if is_cut { (said.clone(), raw.clone()) } else { numbers.taken_off(put.format, said, raw)? };
        let stored_blocks = if place == from + alignment.matched { alignment.stored_blocks } else { 0 };
        match mended(&said, is_cut, stored_blocks, originals, shown) {
            None => news.items.push(raw),
            Some(message) if message.content.is_empty() => continue,
            Some(message) => match written(put.format, message)? {
                Some(item) => news.items.push(item),
                None => continue,
            },
        }
        news.places.push(place);
    }
    Ok(news)
}

/// The posted items without media that are only attached to what is stored.
fn without_attachments(posted: &Posted, originals: &StoredCallIndex<'_>) -> Vec<Option<Said>> {
    let rest = |said: &Said| match said {
        Said::Message(message) if message.role == Role::User => match transcript::attachments(message, originals) {
            0 => Some(said.clone()),
            own if own == message.content.len() => None,
            own => Some(Said::Message(Message { content: message.content[own..].to_vec(), ..message.clone() })),
        },
        _ => Some(said.clone()),
    };
    posted.said.iter().map(|said| said.as_ref().and_then(rest)).collect()
}

fn is_shorter(rest: &Said, whole: &Said) -> bool {
    matches!((rest, whole), (Said::Message(rest), Said::Message(whole)) if rest.content != whole.content)
}

/// Answers that contexts show by head and tail say what the stored ones do.
fn pass_over_cut_words(said: &mut [Option<Said>], originals: &StoredCallIndex<'_>) {
    let messages = said.iter_mut().flatten().filter_map(|said| match said {
        Said::Message(message) => Some((transcript::cut_entry(message)?, message)),
        Said::Nothing(_) => None,
    });
    let cut: Vec<(Uuid, &mut Message)> = messages.collect();
    if cut.is_empty() {
        return;
    }
    let wanted: HashSet<Uuid> = cut.iter().map(|(id, _)| *id).collect();
    let heads = originals.basis.loaded.heads.iter().enumerate();
    let mut places: HashMap<Uuid, usize> =
        heads.filter(|(_, head)| wanted.contains(&head.id)).map(|(at, head)| (head.id, at)).collect();
    for (id, message) in cut {
        // A context shows it once.
        if let Some(whole) = originals.message(places.remove(&id).as_ref()) {
            transcript::put_whole_words(message, id, &whole);
        }
    }
}

/// Running requests that contexts show behind their summary: they say nothing new.
fn pass_over_running(said: &mut [Option<Said>], basis: &StoredBasis) {
    if basis.running.is_empty() {
        return;
    }
    for slot in said {
        *slot = slot.take().and_then(|said| transcript::without_running(said, &basis.running));
    }
}

/// Steps that the posted transcript is compared with in the end, and their alignment.
struct BestAlignment<'b> {
    after: &'b [usize],
    steps: Vec<ExpectedEntry>,
    shown: ShownBesides,
    alignment: Alignment,
}

impl BestAlignment<'_> {
    /// Everything that is stored is said.
    fn ends(&self) -> bool {
        self.alignment.steps == self.steps.len()
    }
}

fn fit<'b>(basis: &'b StoredBasis, after: &'b [usize], said: &[Option<Said>]) -> Result<BestAlignment<'b>> {
    let (steps, shown) = (steps(basis, after)?, basis.shown(after));
    let alignment = transcript::align(&steps, &without_opening(said, &steps), &shown);
    Ok(BestAlignment { after, steps, shown, alignment })
}

/// The whole history, or the context that the posted transcript says more of.
fn fitting<'b>(basis: &'b StoredBasis, said: &[Option<Said>]) -> Result<BestAlignment<'b>> {
    let mut best = fit(basis, &basis.after, said)?;
    for after in &basis.others {
        if best.ends() {
            break;
        }
        let other = fit(basis, after, said)?;
        if other.ends() || other.alignment.matched > best.alignment.matched {
            best = other;
        }
    }
    Ok(best)
}

/// The posted items without what a context begins with where it would begin with an answer otherwise.
fn without_opening<'s>(said: &'s [Option<Said>], steps: &[ExpectedEntry]) -> Cow<'s, [Option<Said>]> {
    let spoken = |said: &Said| match said {
        Said::Message(message) if !is_system(message) => Some(message.clone()),
        _ => None,
    };
    let answers = steps.iter().find_map(|step| spoken(&step.said)).is_some_and(|first| first.role != Role::User);
    let first = said.iter().position(|said| said.as_ref().and_then(spoken).is_some());
    let first =
        first.filter(|place| matches!(&said[*place], Some(Said::Message(message)) if transcript::is_opening(message)));
    match first.filter(|_| answers) {
        None => Cow::Borrowed(said),
        Some(place) => {
            let mut rest = said.to_vec();
            rest[place] = None;
            Cow::Owned(rest)
        }
    }
}

/// Leading system messages that repeat the session's own system prompt: clients put it there to send it.
fn pass_over_system(said: &mut [Option<Said>], system: Option<&str>) {
    let Some(system) = system.and_then(|text| json::parse_lenient(text).ok()) else { return };
    let Some(text) = format::system::text(&system) else { return };
    for slot in said {
        match slot {
            Some(Said::Message(message)) if is_system(message) => {
                if text_key(&message.plain_text()) == text_key(&text) {
                    *slot = None;
                }
            }
            None => {}
            _ => return,
        }
    }
}

fn is_system(message: &Message) -> bool {
    matches!(message.role, Role::System | Role::Developer)
}

/// Checks that what comes before a summary is what the context had there: what the summary stands for can't be edited.
/// Clients put system messages of their own there, and leave out the first of ours.
fn check_before(basis: &StoredBasis, before: &[usize], said: &[Option<Said>]) -> Result<()> {
    let shown = basis.shown(&[]);
    let steps = steps(basis, before)?;
    let own = |said: &Option<Said>| said.clone().filter(|said| !shown.is_chapter(said));
    let whole: Vec<Option<Said>> = said.iter().map(own).collect();
    let is_spoken = |said: &Said| !matches!(said, Said::Message(message) if is_system(message));
    let spoken: Vec<Option<Said>> = whole.iter().map(|said| said.clone().filter(is_spoken)).collect();
    let says = |start: usize, said: &[Option<Said>]| {
        let steps = steps.get(start..).unwrap_or_default();
        transcript::align(steps, &without_opening(said, steps), &shown).matched == said.len()
    };
    if says(0, &whole) || (0..=steps.len().min(MOST_LEFT_OUT)).any(|start| says(start, &spoken)) {
        return Ok(());
    }
    let place = transcript::align(&steps, &spoken, &shown).matched;
    let detail = "departs from the stored history before the summary; post the raw transcript to edit it";
    Err(ServiceError::invalid(format!("/items/{place}"), detail))
}

fn steps(basis: &StoredBasis, places: &[usize]) -> Result<Vec<ExpectedEntry>> {
    places.iter().map(|at| basis.step(*at)).collect()
}

/// Where the stored calls and results are, by id.
struct StoredCallIndex<'b> {
    basis: &'b StoredBasis,
    calls: HashMap<&'b str, usize>,
    results: HashMap<&'b str, usize>,
    /// What was read of stored messages so far.
    read: RefCell<HashMap<usize, Option<Rc<StoredParts>>>>,
    /// Ids as providers are sent them where they take none so long.
    sent: OnceCell<HashSet<String>>,
}

impl<'b> StoredCallIndex<'b> {
    fn of(basis: &'b StoredBasis) -> StoredCallIndex<'b> {
        let (mut calls, mut results) = (HashMap::new(), HashMap::new());
        for (at, head) in basis.loaded.heads.iter().enumerate() {
            calls.extend(head.shape.calls.iter().map(|call| (call.id.as_str(), at)));
            results.extend(head.shape.results.iter().map(|result| (result.call_id.as_str(), at)));
        }
        StoredCallIndex { basis, calls, results, read: RefCell::default(), sent: OnceCell::new() }
    }

    /// A stored message, read anew.
    fn message(&self, place: Option<&usize>) -> Option<Message> {
        message_of(self.basis.loaded.stored.get(*place?)?).ok()?
    }

    /// The calls and results of a stored message, which is read once, however many ask for them.
    fn parts(&self, place: Option<&usize>) -> Option<Rc<StoredParts>> {
        let at = *place?;
        let mut read = self.read.borrow_mut();
        let parts = read.entry(at).or_insert_with(|| {
            let message = message_of(self.basis.loaded.stored.get(at)?).ok()??;
            Some(Rc::new(StoredParts::of(message, self.basis.sizes_at(at))))
        });
        parts.clone()
    }
}

/// Calls and results of one message, by id; of several of one id, the first.
#[derive(Default)]
struct StoredParts {
    calls: HashMap<String, Rc<ToolCall>>,
    results: HashMap<String, Rc<StoredResult>>,
}

impl StoredParts {
    fn of(message: Message, sizes: HashMap<String, Vec<u32>>) -> StoredParts {
        let mut parts = StoredParts::default();
        for block in message.content {
            match block {
                Block::ToolCall(call) => {
                    parts.calls.entry(call.id.clone()).or_insert_with(|| Rc::new(call));
                }
                Block::ToolResult(result) => {
                    let id = result.tool_call_id.clone();
                    let sizes = sizes.get(&id).cloned().unwrap_or_default();
                    let stored = || Rc::new(StoredResult { sizes, result });
                    parts.results.entry(id).or_insert_with(stored);
                }
                _ => {}
            }
        }
        parts
    }
}

impl StoredCalls for StoredCallIndex<'_> {
    fn call(&self, id: &str) -> Option<Rc<ToolCall>> {
        self.parts(self.calls.get(id))?.calls.get(id).cloned()
    }

    fn result(&self, id: &str) -> Option<Rc<StoredResult>> {
        self.parts(self.results.get(id))?.results.get(id).cloned()
    }

    fn is_known(&self, id: &str) -> bool {
        let sent = || self.sent.get_or_init(|| self.calls.keys().flat_map(|id| transcript::sent_ids(id)).collect());
        let has = |id: &str| self.calls.contains_key(id);
        let any = id.is_empty() && !self.calls.is_empty();
        any || has(id)
            || self.basis.calls_elsewhere(id)
            || transcript::without_count(id).is_some_and(has)
            || sent().contains(id)
    }
}

/// Returns the message to be stored in place of an item. `None`: the item is stored as it came.
fn mended(
    said: &Said,
    is_cut: bool,
    stored_blocks: usize,
    originals: &StoredCallIndex<'_>,
    shown: &ShownBesides,
) -> Option<Message> {
    let Said::Message(message) = said else { return None };
    if stored_blocks == 0 {
        let Some(rest) = shown.without_chapters(message) else {
            return transcript::whole_again(message, originals).or_else(|| is_cut.then(|| message.clone()));
        };
        return Some(transcript::whole_again(&rest, originals).unwrap_or(rest));
    }
    let content: Vec<_> = message.content.iter().skip(stored_blocks).cloned().collect();
    let holds_results = content.iter().any(|block| matches!(block, Block::ToolResult(_)));
    let role = if message.role == Role::Tool && !holds_results { Role::User } else { message.role };
    let rest = Message { role, content, ..message.clone() };
    Some(transcript::whole_again(&rest, originals).unwrap_or(rest))
}

fn written(format: Format, message: Message) -> Result<Option<Box<RawValue>>> {
    // By itself: what a context's place asks for is no part of what is stored.
    let item = format::write_alone(format, message, &mut Vec::new()).into_iter().next_back();
    Ok(item.map(RawValue::from_string).transpose().context("a mended item")?)
}
