//! What this process remembers of the sessions that it keeps conversations in. All of it can be found again in the
//! database, but for the usage of the last answer.

use std::time::Duration;

use serde_json::Value;
use uuid::Uuid;

use crate::domain::transcript::TextKey;
use crate::proxy::conversation::{Conversation, Opening};
use crate::proxy::identity::Identity;
use crate::service::core::tenant::Tenant;

const SESSIONS: u64 = 10_000;
const REMEMBERED_FOR: Duration = Duration::from_secs(600);

/// A tenant's conversation: the external id of its session.
pub type Key = (Tenant, String);

/// A session, as it was when the last request of its conversation came.
#[derive(Debug, Clone)]
pub struct Known {
    pub session: Uuid,
    pub model: Option<String>,
    /// None where nothing is stored yet.
    pub opening: Option<Opening>,
    /// Words of the user's own in it.
    pub words: Vec<TextKey>,
    /// The compaction that an answer has named last.
    pub compaction: Option<Uuid>,
    /// The compaction that a request has waited for last: no other one waits for it.
    pub awaited: Option<Uuid>,
    pub turn: Option<Turn>,
}

/// The last request that was handed on.
#[derive(Debug, Clone)]
pub struct Turn {
    /// The session's leaf then.
    pub leaf: Option<Uuid>,
    /// The entry of the newest message.
    pub end: Option<Uuid>,
    /// Items of the conversation: the next one is the answer.
    pub items: usize,
    /// Of the body.
    pub bytes: usize,
    /// Tokens that were left before red; 0 where the context was not green, or compacted.
    pub spare: u64,
    /// Of the answer.
    pub usage: Option<Value>,
}

/// The sessions, by conversation. Cheap to clone.
#[derive(Clone)]
pub struct KnownSessions {
    sessions: moka::sync::Cache<Key, Known>,
}

impl Known {
    /// Returns true if this session is where the conversation goes: it begins as what is stored does or is the same in
    /// another way, or is more of a conversation than that. Anything else would rewind it.
    pub fn admits(&self, identity: &Identity, conversation: &Conversation) -> bool {
        let Some(stored) = self.opening.as_ref().filter(|stored| stored.first.is_some()) else { return true };
        let posted = &conversation.opening;
        if posted.outweighs(stored) {
            return true;
        }
        let is_same = posted.first == stored.first
            || conversation.holds_summary()
            || identity.content.is_some()
            || self.is_told_anew(identity, conversation);
        is_same && (posted.has_tools || !stored.has_tools) && !self.is_aside(conversation)
    }

    /// The client has changed or summed up how its conversation begins: it speaks under the same system prompt, and either
    /// its id is this conversation's alone or the user's own words have been heard here.
    fn is_told_anew(&self, identity: &Identity, conversation: &Conversation) -> bool {
        let stored = self.opening.as_ref().and_then(|stored| stored.system);
        let goes_on = conversation.opening.hash.is_some() || conversation.opening.has_tools;
        stored == conversation.opening.system
            && goes_on
            && (identity.is_of_one() || conversation.speech.repeats(&self.words) || conversation.is_continued())
    }

    /// Another model is asked about a part of the conversation.
    fn is_aside(&self, conversation: &Conversation) -> bool {
        let is_shorter = self.turn.as_ref().is_some_and(|turn| conversation.items.len() < turn.items);
        is_shorter && conversation.model != self.model
    }

    /// Returns true if nothing can be compacted yet: the body has grown by fewer bytes than there are tokens to red.
    pub fn has_room_for(&self, identity: &Identity, conversation: &Conversation) -> bool {
        let grown = |turn: &Turn| conversation.body.len().saturating_sub(turn.bytes) as u64;
        let fits = self.turn.as_ref().is_some_and(|turn| grown(turn) < turn.spare);
        fits && conversation.goes_as_it_came()
            && conversation.model == self.model
            && self.admits(identity, conversation)
    }

    /// How the session's conversation begins once this one is stored.
    pub fn opening_with(&self, conversation: &Conversation) -> Opening {
        let posted = &conversation.opening;
        match &self.opening {
            Some(stored) if posted.first != stored.first && !posted.outweighs(stored) => stored.clone(),
            _ => posted.clone(),
        }
    }

    /// The usage of the answer that the conversation now holds, and the leaf that it counts at.
    pub fn usage(&self, conversation: &Conversation) -> Option<(Option<Uuid>, Value)> {
        let turn = self.turn.as_ref()?;
        let usage = turn.usage.clone()?;
        conversation.is_answer(turn.items).then_some((turn.leaf, usage))
    }
}

impl Default for KnownSessions {
    fn default() -> KnownSessions {
        let sessions = moka::sync::Cache::builder().max_capacity(SESSIONS).time_to_idle(REMEMBERED_FOR).build();
        KnownSessions { sessions }
    }
}

impl KnownSessions {
    pub fn get(&self, key: &Key) -> Option<Known> {
        self.sessions.get(key)
    }

    pub fn set(&self, key: Key, known: Known) {
        self.sessions.insert(key, known);
    }

    /// What is remembered by now, or else this.
    pub fn get_or_set(&self, key: Key, known: Known) -> Known {
        self.sessions.entry(key).or_insert(known).into_value()
    }

    pub fn forget(&self, key: &Key) {
        self.sessions.invalidate(key);
    }

    /// Notes that the context was compacted once more for the same request.
    pub fn compacted(&self, key: &Key, leaf: Option<Uuid>, compaction: Option<Uuid>) {
        let Some(mut known) = self.sessions.get(key) else { return };
        known.compaction = compaction;
        if let Some(turn) = &mut known.turn {
            // From now on the compacted context goes on.
            (turn.leaf, turn.spare) = (leaf, 0);
        }
        self.sessions.insert(key.clone(), known);
    }

    /// Keeps the usage of the answer to the request that left the session at this leaf.
    pub fn report(&self, key: &Key, leaf: Option<Uuid>, usage: Value) {
        let Some(mut known) = self.sessions.get(key) else { return };
        if let Some(turn) = known.turn.as_mut().filter(|turn| turn.leaf == leaf) {
            turn.usage = Some(usage);
            self.sessions.insert(key.clone(), known);
        }
    }
}
