//! Where a summary of ours stands in a posted transcript: a client may have merged it with messages beside it.

use crate::domain::model::message::{Block, Message};
use crate::domain::transcript::{EnclosedSummary, Said, enclosed_summaries};

/// Where a posted summary stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryPlace {
    pub item: usize,
    /// `None`: it is the whole item.
    pub part: Option<SummaryPart>,
}

/// The part of an item that a summary is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SummaryPart {
    pub block: usize,
    /// In the block's text.
    pub start: usize,
    pub end: usize,
}

impl SummaryPlace {
    /// What the item that holds the summary says before and behind it.
    pub fn around(self, item: Option<&Said>) -> (Option<Said>, Option<Said>) {
        let (Some(part), Some(Said::Message(message))) = (self.part, item) else { return (None, None) };
        let text = |from: usize, to: Option<usize>| match message.content.get(part.block) {
            Some(Block::Text { text, opaque }) => {
                let text = text.get(from..to.unwrap_or(text.len())).unwrap_or_default().trim();
                (!text.is_empty()).then(|| Block::Text { text: text.to_owned(), opaque: opaque.clone() })
            }
            _ => None,
        };
        let (head, rest) = message.content.split_at_checked(part.block).unwrap_or_default();
        let head = head.iter().cloned().chain(text(0, Some(part.start))).collect();
        let rest = text(part.end, None).into_iter().chain(rest.iter().skip(1).cloned()).collect();
        let said =
            |content: Vec<Block>| (!content.is_empty()).then(|| Said::Message(Message { content, ..message.clone() }));
        (said(head), said(rest))
    }
}

/// What may be summaries of ours in a message, by block.
pub fn enclosed(said: &Said) -> Vec<(usize, EnclosedSummary)> {
    let Said::Message(message) = said else { return Vec::new() };
    let texts = message.content.iter().enumerate().filter_map(|(block, content)| match content {
        Block::Text { text, .. } => Some((block, text)),
        _ => None,
    });
    texts.flat_map(|(block, text)| enclosed_summaries(text).into_iter().map(move |found| (block, found))).collect()
}
