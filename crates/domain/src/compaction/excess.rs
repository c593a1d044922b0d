//! Parts of a context larger than its window: those that no compaction takes away.

use serde::Serialize;
use utoipa::ToSchema;

use super::cut::cut_point;
use super::prepare::verbatim;
use crate::context::view::{NewestCompaction, ViewItem, item_tokens};
use crate::model::entry::EntryMeta;
use crate::model::message::Role;
use crate::settings::Settings;

/// Said with a context that is larger than the window.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct Excess {
    pub window: u32,
    /// Tokens beyond the window.
    pub over_by: u64,
    pub reason: ExcessReason,
    pub fixed: FixedParts,
}

/// Why such a context is handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExcessReason {
    /// Parts that have to stay are too large: see `fixed`.
    FixedOverhead,
    /// The session does not compact by itself (`enabled`).
    Disabled,
    /// The session takes no summary but its upstream's (`on_upstream_failure: fail`).
    UpstreamRequired,
    /// A change of estimator is still being counted.
    Recounting,
    /// The compaction that made it fit was just taken back.
    Reverted,
    /// It was asked for at another entry than the leaf: nothing is compacted there.
    NotTheLeaf,
}

/// Tokens of what stays, by why it stays. Each message counts once.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ToSchema)]
pub struct FixedParts {
    /// The system prompt beside the messages.
    pub system: u64,
    pub tools: u64,
    /// What the provider counts and the client never posts.
    pub unposted: u64,
    /// System messages of the transcript: those that lead it and the newest of their kind.
    pub instructions: u64,
    /// Pinned entries.
    pub pinned: u64,
    /// The first message that the user wrote, and what else earlier compactions keep word for word.
    pub anchors: u64,
    /// The newest message, with the calls and results that it can't be parted from.
    pub newest: u64,
}

impl FixedParts {
    /// Of a view. `system` and `tools` travel beside it.
    pub fn of(
        path: &[EntryMeta],
        newest: Option<NewestCompaction<'_>>,
        view: &[ViewItem],
        settings: &Settings,
    ) -> FixedParts {
        let stays = verbatim(path, newest, settings);
        let entries: Vec<(usize, u64)> = view.iter().filter_map(|item| entry(path, item)).collect();
        let heads: Vec<&EntryMeta> = entries.iter().filter_map(|(index, _)| path.get(*index)).collect();
        let tail = cut_point(&heads, 0, settings.most_open()).map_or(0, |cut| cut.first_kept);
        let mut parts = FixedParts::default();
        for (at, ((index, tokens), head)) in entries.iter().zip(&heads).enumerate() {
            let part = match head.role {
                _ if settings.pinned_entry_ids.contains(&head.id) => &mut parts.pinned,
                _ if at >= tail => &mut parts.newest,
                _ if !stays.contains(index) => continue,
                Some(Role::System | Role::Developer) => &mut parts.instructions,
                _ => &mut parts.anchors,
            };
            *part += tokens;
        }
        parts
    }

    pub fn total(&self) -> u64 {
        self.system + self.tools + self.unposted + self.instructions + self.pinned + self.anchors + self.newest
    }

    /// The same in another measure: provider-reported tokens in place of estimated ones, which `unposted` is in already.
    #[must_use]
    pub fn scaled(self, ratio: f64) -> FixedParts {
        let scale = |tokens: u64| (tokens as f64 * ratio).round() as u64;
        FixedParts {
            system: scale(self.system),
            tools: scale(self.tools),
            unposted: self.unposted,
            instructions: scale(self.instructions),
            pinned: scale(self.pinned),
            anchors: scale(self.anchors),
            newest: scale(self.newest),
        }
    }
}

fn entry(path: &[EntryMeta], item: &ViewItem) -> Option<(usize, u64)> {
    match item {
        ViewItem::Entry { index, .. } => Some((*index, item_tokens(path, item))),
        ViewItem::Summary { .. } => None,
    }
}
