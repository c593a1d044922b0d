//! The words in which formats say what they have no block for.

use crate::format::{outgoing, write};
use crate::model::message::{Block, CallKind, Media};

/// Texts that may stand in a context in place of a block, or around it.
pub fn texts(block: &Block) -> Vec<String> {
    match block {
        Block::ToolCall(call) if call.kind == CallKind::Server => vec![outgoing::server_call_text(call)],
        Block::ToolResult(result) if result.kind == CallKind::Server => {
            outgoing::server_result_text(result).into_iter().collect()
        }
        Block::Text { text, opaque: Some(opaque) } if opaque.is_compaction() => vec![outgoing::compaction_text(text)],
        Block::Image { source } => medium("image", source),
        Block::Document { source } => medium("document", source),
        _ => Vec::new(),
    }
}

fn medium(kind: &str, source: &Media) -> Vec<String> {
    let mut texts = vec![outgoing::media_stand_in(kind, source)];
    texts.extend(source.url.as_deref().map(write::document_link));
    texts.extend(source.text.clone());
    texts
}
