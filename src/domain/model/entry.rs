//! Entries: the nodes of a session's tree.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::message::Role;
use super::shape::Shape;
use crate::domain::model::entry_type::EntryType;
use crate::domain::model::format::Format;

/// The small columns of an entry: all that planning needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EntryMeta {
    pub id: Uuid,
    /// Position in its session, given under the session's lock: 0, 1, 2, …
    pub seq: i64,
    /// Distance from the root of its path: 0 for the first entry. A path holds each depth once.
    pub depth: i64,
    pub kind: EntryType,
    pub role: Option<Role>,
    /// Tokens that this entry adds to a context (0 where it adds none), by the session's estimator.
    pub tokens: u32,
    /// Sum of `tokens` from the root to this entry, itself included.
    pub path_tokens: i64,
    /// The context size that the provider reported with this answer, where it is trustworthy.
    pub usage: Option<u32>,
    pub shape: Shape,
}

impl EntryMeta {
    /// Says that the entry puts a message before the model by itself.
    pub fn is_visible(&self) -> bool {
        self.kind.holds_message() && self.role.is_some()
    }

    /// Says that it is the agent's.
    pub fn is_answer(&self) -> bool {
        self.role == Some(Role::Assistant)
    }

    /// Says that the user wrote it, as far as that was told when it arrived: no harness, and none of these agents.
    pub fn is_by_user(&self, agents: &[String]) -> bool {
        let is_agents = self.shape.speaker.as_ref().is_some_and(|speaker| agents.contains(speaker));
        self.role == Some(Role::User) && !self.shape.by_harness && !is_agents
    }

    /// Says that it holds words of the user's, be it beside results.
    pub fn has_users_words(&self, agents: &[String]) -> bool {
        self.is_by_user(agents) && (self.shape.results.is_empty() || self.shape.mixed) && !self.shape.chapter_task
    }

    /// Says that a turn begins here: with something that is not the agent's own doing.
    pub fn starts_turn(&self) -> bool {
        let by_role = match self.role {
            Some(Role::User) => self.shape.results.is_empty(),
            Some(Role::BashExecution | Role::Custom | Role::BranchSummary) => true,
            _ => false,
        };
        self.is_visible() && (by_role || self.kind == EntryType::Chapter)
    }

    /// Says that it is an instruction rather than history: not counted among the newest messages.
    pub fn is_instruction(&self) -> bool {
        matches!(self.role, Some(Role::System | Role::Developer))
    }
}

/// A whole entry: the head and the item as it came.
#[derive(Debug, Clone)]
pub struct Entry {
    pub head: EntryMeta,
    pub parent_id: Option<Uuid>,
    pub source_id: Option<String>,
    pub source_format: Format,
    /// The raw JSON text of the item, byte for byte.
    pub item: String,
    pub created_at: DateTime<Utc>,
}
