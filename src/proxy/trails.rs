//! What this process has heard of conversations that nothing names, beside what they are kept under: it tells one again
//! whose client has changed or summed up its beginning, what is asked beside one, and whether it was heard from its start.
//! All of it may be forgotten; then such a conversation begins anew.

use std::time::Duration;

use crate::proxy::conversation::Conversation;
use crate::proxy::identity::ByContent;
use crate::service::core::tenant::Tenant;

const MOST: u64 = 50_000;
const REMEMBERED_FOR: Duration = Duration::from_secs(3_600);

type Heard<T> = moka::sync::Cache<(Tenant, blake3::Hash), T>;

/// Cheap to clone.
#[derive(Clone)]
pub struct Trails {
    /// Where the conversation is kept that said these two messages last.
    ends: Heard<String>,
    /// Beginnings of conversations that have tools.
    worked: Heard<()>,
    /// What was asked before any answer.
    begun: Heard<()>,
}

impl Default for Trails {
    fn default() -> Trails {
        Trails { ends: heard(), worked: heard(), begun: heard() }
    }
}

fn heard<T: Clone + Send + Sync + 'static>() -> Heard<T> {
    moka::sync::Cache::builder().max_capacity(MOST).time_to_idle(REMEMBERED_FOR).build()
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
        if let Some(pair) = conversation.speech.newest_pair() {
            self.ends.insert((tenant, scoped(by, &pair)), name.to_owned());
        }
        if conversation.opening.has_tools {
            self.worked.insert((tenant, by.opening), ());
        }
    }

    /// Where a conversation is kept of which this is more, whatever it begins with by now.
    pub fn more_of(&self, tenant: Tenant, by: &ByContent, conversation: &Conversation) -> Option<String> {
        conversation.speech.pairs().iter().find_map(|pair| self.ends.get(&(tenant, scoped(by, pair))))
    }

    /// Returns true if the conversation's beginning is that of one that has tools, which this has not.
    pub fn is_aside(&self, tenant: Tenant, by: &ByContent, conversation: &Conversation) -> bool {
        !conversation.opening.has_tools && self.worked.contains_key(&(tenant, by.opening))
    }
}

fn scoped(by: &ByContent, pair: &blake3::Hash) -> blake3::Hash {
    let mut hasher = blake3::Hasher::new();
    hasher.update(by.scope.as_bytes()).update(pair.as_bytes());
    hasher.finalize()
}
