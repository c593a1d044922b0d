//! Pieces that the writers of contexts are given, and notes that they leave.

use std::borrow::Cow;

use super::note_code::NoteCode;
use super::violation_code::ViolationCode;
use crate::model::message::{Media, Message};

/// One step of a context on its way out, pairing already repaired: every `Function` or `Custom` call is answered
/// by the `Tool` pieces that directly follow its message, and no result stands alone. The calls of a Responses
/// context may stand in several consecutive messages before their results, as that format has them.
#[derive(Debug, Clone)]
pub enum Piece<'a> {
    /// The stored item, valid as it is in the target format: it goes out byte for byte, but for halves of characters.
    Verbatim { entry: usize, item: Cow<'a, str> },
    /// A message to be written. `entry` is its place in the path; `None`: made up by the service
    /// (a summary, a synthetic result). A message made of several entries names the first.
    Message { entry: Option<usize>, message: Message },
}

impl Piece<'_> {
    /// The place in the path of what it is made of.
    pub fn entry(&self) -> Option<usize> {
        match self {
            Piece::Verbatim { entry, .. } => Some(*entry),
            Piece::Message { entry, .. } => *entry,
        }
    }
}

/// Something that the context says otherwise than the stored items do, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    pub code: NoteCode,
    /// Index into the path.
    pub entry: Option<usize>,
    pub detail: String,
    /// Fault of the item, where the code alone leaves it open.
    pub fault: Option<ItemFault>,
}

/// Faults of an item that are mended in the same way, and so told under one code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemFault {
    /// The provider takes no such id of a call.
    IdRefused,
    /// An earlier call has the id.
    IdTaken,
    /// Thinking at the end of an answer.
    EndsWithThinking,
    /// A row of what the provider refuses.
    Refused(ViolationCode),
}

impl Note {
    pub fn new(code: NoteCode, entry: Option<usize>, detail: impl Into<String>) -> Note {
        Note { code, entry, detail: detail.into(), fault: None }
    }

    pub fn of(self, fault: ItemFault) -> Note {
        Note { fault: Some(fault), ..self }
    }
}

/// A document that is elsewhere, for a format that takes no link to one.
pub fn document_link(url: &str) -> String {
    format!("[document: {url}]")
}

/// Where the bytes are, as one URL: a `data:` URL or the media's own. `None` where only the provider knows.
pub fn media_url(media: &Media, default_type: &str) -> Option<String> {
    match (&media.data, &media.url) {
        (Some(data), _) => Some(format!("data:{};base64,{data}", media.media_type.as_deref().unwrap_or(default_type))),
        (None, Some(url)) => Some(url.clone()),
        (None, None) => None,
    }
}

/// The media behind a URL: its bytes where it is a base64 `data:` URL, else the URL itself.
pub fn media_from_url(url: &str) -> Media {
    let inline = url.strip_prefix("data:").and_then(|rest| rest.split_once(";base64,"));
    match inline {
        Some((media_type, data)) => {
            let media_type = Some(media_type.to_owned()).filter(|name| !name.is_empty());
            Media { media_type, data: Some(data.to_owned()), ..Media::default() }
        }
        None => Media { url: Some(url.to_owned()), ..Media::default() },
    }
}
