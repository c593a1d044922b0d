//! What this process has heard of conversations that nothing names, beside what they are kept under: it tells one again
//! whose client has changed or summed up its beginning, what is asked beside one, and whether it was heard from its start.
//! All of it may be forgotten; then such a conversation begins anew.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use crate::proxy::conversation::Conversation;
use crate::proxy::identity::ByContent;
use crate::proxy::trail::Trail;
use crate::service::core::tenant::Tenant;

const MOST: u64 = 50_000;
/// Conversations with tools, for which all is remembered that was said in them.
const MOST_WORKED: u64 = 5_000;
/// Conversations are resumed days later.
const REMEMBERED_FOR: Duration = Duration::from_secs(7 * 24 * 3_600);
/// Conversations that have ended alike.
const MOST_ALIKE: usize = 16;
/// What is remembered of those that begin alike.
const MOST_SAID: usize = 1_024;

type Heard<T> = moka::sync::Cache<(Tenant, blake3::Hash), T>;

/// A conversation, as it was when a request of it came.
#[derive(Debug, Clone)]
struct Kept {
    name: String,
    trail: Arc<Trail>,
}

/// Cheap to clone.
#[derive(Clone)]
pub struct Trails {
    /// What is kept, by how it ended; the newest last.
    ends: Heard<Arc<Vec<Kept>>>,
    /// What was said in conversations that have tools, by how they begin under whatever system prompt.
    worked: Heard<Arc<HashSet<u64>>>,
    /// The same conversations, each by itself.
    with_tools: Heard<()>,
    /// What was asked before any answer.
    begun: Heard<()>,
}

impl Default for Trails {
    fn default() -> Trails {
        Trails { ends: heard(MOST), worked: heard(MOST_WORKED), with_tools: heard(MOST), begun: heard(MOST) }
    }
}

fn heard<T: Clone + Send + Sync + 'static>(most: u64) -> Heard<T> {
    moka::sync::Cache::builder().max_capacity(most).time_to_idle(REMEMBERED_FOR).build()
}

impl Trails {
    /// A conversation has begun, or begins anew.
    pub fn begins(&self, tenant: Tenant, conversation: &Conversation) {
        self.begun.insert((tenant, conversation.opening.asked), ());
    }

    /// Returns true if the conversation was heard from its start on. One that was not has been resumed here, or its client
    /// has put examples at its beginning.
    pub fn has_begun(&self, tenant: Tenant, conversation: &Conversation) -> bool {
        conversation.opening.hash.is_none() || self.begun.contains_key(&(tenant, conversation.opening.asked))
    }

    /// The conversation is kept there.
    pub fn keeps(&self, tenant: Tenant, by: &ByContent, conversation: &Conversation, name: &str) {
        let trail = Arc::new(Trail::of(conversation));
        if let Some(end) = trail.end() {
            let kept = Kept { name: name.to_owned(), trail };
            self.ends
                .entry((tenant, scoped(by, &end)))
                .and_upsert_with(|all| Arc::new(with(&all.map(moka::Entry::into_value).unwrap_or_default(), kept)));
        }
        if conversation.opening.has_tools {
            self.with_tools.insert((tenant, scoped(by, &by.opening)), ());
            let said: HashSet<u64> = conversation.speech.steps().iter().map(|step| step.said).collect();
            self.worked.entry((tenant, by.opening)).and_upsert_with(|before| {
                let before = before.map(moka::Entry::into_value).unwrap_or_default();
                let room = MOST_SAID.saturating_sub(said.len());
                let others = before.iter().filter(|one| !said.contains(one)).take(room);
                Arc::new(said.iter().chain(others).copied().collect())
            });
        }
    }

    /// Where a conversation is kept of which this is more, whatever it begins with by now; none where it may be more of
    /// several.
    pub fn more_of(&self, tenant: Tenant, by: &ByContent, conversation: &Conversation) -> Option<String> {
        let (trail, has_begun) = (Trail::of(conversation), self.has_begun(tenant, conversation));
        let names_at = |at: usize| {
            let alike = self.ends.get(&(tenant, scoped(by, &trail.mark(at)?)))?;
            let proven = alike.iter().filter(|older| trail.goes_on_from(at, &older.trail, has_begun));
            let names: HashSet<String> = proven.map(|older| older.name.clone()).collect();
            (!names.is_empty()).then_some(names)
        };
        let names = trail.backwards().find_map(names_at)?;
        if names.len() == 1 { names.into_iter().next() } else { None }
    }

    /// Returns true if this is something asked beside a conversation that has tools, which this has not: it begins as that
    /// does, and nothing was said in it before its newest message that was not said there.
    pub fn is_aside(&self, tenant: Tenant, by: &ByContent, conversation: &Conversation) -> bool {
        if conversation.opening.has_tools {
            return false;
        }
        self.worked.get(&(tenant, by.opening)).is_some_and(|said| {
            let steps = conversation.speech.steps();
            steps.iter().rev().skip(1).all(|step| said.contains(&step.said))
        })
    }

    /// Returns true if a conversation under the same system prompt that begins so has tools.
    pub fn has_tools(&self, tenant: Tenant, by: &ByContent) -> bool {
        self.with_tools.contains_key(&(tenant, scoped(by, &by.opening)))
    }
}

/// With one more, in place of what the same conversation was before.
fn with(all: &[Kept], kept: Kept) -> Vec<Kept> {
    let others: Vec<Kept> = all.iter().filter(|other| other.name != kept.name).cloned().collect();
    let from = (others.len() + 1).saturating_sub(MOST_ALIKE);
    others.into_iter().skip(from).chain([kept]).collect()
}

fn scoped(by: &ByContent, what: &blake3::Hash) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(by.scope.as_bytes()).update(what.as_bytes());
    hasher.finalize()
}
