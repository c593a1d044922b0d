//! The whole transcript through pairing and its format's writer, as a rebuilt context goes.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use uuid::Uuid;

use super::doc::Doc;
use super::report::Report;
use crate::context::pairing::{self, StoredSource};
use crate::context::view::ViewItem;
use crate::format;
use crate::format::note_code::NoteCode;
use crate::format::violation_code::ViolationCode;
use crate::format::write::{ItemFault, Note};
use crate::model::entry::EntryMeta;
use crate::model::entry_type::EntryType;
use crate::model::format::Format;
use crate::model::open_calls::OpenCalls;
use crate::model::shape::Shape;

/// Items of a format, each with the index that it was given at and with its head, written so that the provider takes them.
pub fn rewrite(format: Format, items: &[(usize, Doc)], heads: &[EntryMeta], report: &mut Report) -> Vec<Doc> {
    let view: Vec<ViewItem> = (0..heads.len()).map(|index| ViewItem::Entry { index, elisions: Vec::new() }).collect();
    let mut notes = Vec::new();
    let source = |index: usize| {
        let item = items.get(index).map_or("", |(_, doc)| doc.text.get());
        StoredSource { format, item, is_examined: true, keeps_ids: false }
    };
    let pieces = pairing::pieces(&view, heads, source, |_| String::new(), format, &mut notes);
    let written = format::write(format, &pieces, &mut notes);
    drop(pieces);
    name(&notes, items, report);
    let known: HashMap<&str, &Doc> = items.iter().map(|(_, doc)| (doc.text.get(), doc)).collect();
    let doc = |text: String| match known.get(text.as_str()).copied() {
        Some(doc) => doc.clone(),
        // We wrote it ourselves, so it is an item.
        None => Doc::parse(&text).unwrap_or_else(|_| Doc::of(&Value::Null)),
    };
    written.into_iter().map(doc).collect()
}

/// The items as entries of a path: told of each while it is parsed, so that none is parsed for it once more.
pub struct Heads {
    format: Format,
    open: OpenCalls,
    pub found: Vec<EntryMeta>,
}

impl Heads {
    pub fn new(format: Format) -> Heads {
        Heads { format, open: OpenCalls::default(), found: Vec::new() }
    }

    pub fn add(&mut self, value: &Value) {
        let seq = i64::try_from(self.found.len()).unwrap_or(i64::MAX);
        let item = format::read_value(self.format, value).ok();
        let shape = item.as_ref().map(|item| Shape::of(item, seq, &self.open, &[])).unwrap_or_default();
        self.open.apply(seq, &shape);
        let kind = item.as_ref().map_or(EntryType::Message, |item| item.kind);
        self.found.push(EntryMeta {
            id: Uuid::nil(),
            seq,
            depth: seq,
            kind,
            role: item.and_then(|item| item.message).filter(|_| kind.holds_message()).map(|message| message.role),
            tokens: 0,
            path_tokens: 0,
            usage: None,
            shape,
        });
    }
}

/// The machinery's notes as violations.
fn name(notes: &[Note], items: &[(usize, Doc)], report: &mut Report) {
    let mut seen: HashSet<(ViolationCode, usize)> =
        report.found.iter().map(|violation| (violation.code, violation.index)).collect();
    for note in notes {
        let index = note.entry.and_then(|place| items.get(place)).map_or(0, |(index, _)| *index);
        if let Some(code) = code(note).filter(|code| seen.insert((*code, index))) {
            report.at(index, code, note.detail.clone());
        }
    }
}

/// The violation that a note tells of. `None`: the note says that something was rewritten, and others say why.
pub(super) fn code(note: &Note) -> Option<ViolationCode> {
    if let Some(ItemFault::Refused(code)) = note.fault {
        return Some(code);
    }
    Some(match note.code {
        NoteCode::CallIdRenamed if note.fault == Some(ItemFault::IdRefused) => ViolationCode::InvalidCallId,
        NoteCode::CallIdRenamed => ViolationCode::DuplicateCallId,
        NoteCode::ThinkingDropped if note.fault == Some(ItemFault::EndsWithThinking) => ViolationCode::EndsWithThinking,
        NoteCode::ThinkingDropped => ViolationCode::UnsignedThinking,
        NoteCode::SignaturePlaceholder => ViolationCode::UnsignedCall,
        NoteCode::ItemRepaired | NoteCode::ErrorFlagDropped | NoteCode::ParentChanged => return None,
        NoteCode::OrphanResultDropped => ViolationCode::OrphanResult,
        NoteCode::DuplicateResultDropped => ViolationCode::DuplicateResult,
        NoteCode::SyntheticResult => ViolationCode::CallWithoutResult,
        NoteCode::ResultMoved => ViolationCode::ResultOutOfPlace,
        NoteCode::MessagesMerged => ViolationCode::SplitBatch,
        NoteCode::ItemUnreadable => ViolationCode::InvalidItem,
        NoteCode::UserMessageInserted => ViolationCode::FirstMessageNotUser,
        NoteCode::ResponseFieldsRemoved => ViolationCode::ResponseFields,
        NoteCode::EmptyMessageDropped => ViolationCode::EmptyContent,
        NoteCode::EmptyTextDropped => ViolationCode::EmptyText,
        NoteCode::ReasoningUnpaired => ViolationCode::ReasoningWithoutItem,
        NoteCode::ArgumentsWrapped => ViolationCode::InvalidArguments,
        NoteCode::ToolNameRenamed => ViolationCode::InvalidToolName,
        NoteCode::MediaDropped => ViolationCode::InvalidMedia,
        NoteCode::ImageDropped => ViolationCode::ImageDropped,
        NoteCode::ServerToolUnpaired => ViolationCode::ServerToolUnpaired,
        NoteCode::MissingLink => ViolationCode::MissingLink,
        NoteCode::TrailingSpaceTrimmed => ViolationCode::TrailingSpaceTrimmed,
        NoteCode::ItemIdChanged => ViolationCode::ItemIdChanged,
        NoteCode::ItemIdRemoved => ViolationCode::ItemIdRemoved,
        NoteCode::HalfCharacterReplaced => ViolationCode::HalfCharacter,
        NoteCode::CacheMarksRemoved => ViolationCode::TooManyCacheMarks,
        NoteCode::DuplicateItemDropped => ViolationCode::DuplicateItemDropped,
        NoteCode::ProviderCompactionAsText => ViolationCode::ProviderCompactionAsText,
        // From one format to another only.
        NoteCode::ServerToolAsText
        | NoteCode::SystemAsUser
        | NoteCode::ResultMediaMoved
        | NoteCode::DocumentDropped
        | NoteCode::DocumentAsLink
        | NoteCode::DocumentAsText
        | NoteCode::RawDropped
        | NoteCode::RawBlockDropped
        | NoteCode::ProviderCompactionDropped => return None,
        // Of a session's settings, which there are none of here.
        NoteCode::ThinkingOfOtherModel
        | NoteCode::ThinkingMissing
        | NoteCode::ThinkingAfterCompaction
        | NoteCode::ThinkingStripped
        | NoteCode::ReasoningByReference
        | NoteCode::NameDropped
        | NoteCode::TasksNumbered => return None,
    })
}
