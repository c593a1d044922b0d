//! The summary message put together: the body, and what code adds to it.

use super::{Allowance, framing};
use crate::domain::model::compaction::FileLists;
use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::model::ledger::Ledger;
use crate::domain::model::todo::Todo;
use crate::domain::settings::Settings;
use crate::domain::summary::identifiers;
use crate::domain::summary::ledger::ToldCalls;
use crate::domain::summary::text::quarters;
use crate::domain::summary::todos;

/// Parts of a summary message.
#[derive(Debug, Clone, Copy)]
pub struct SummaryMessage<'a> {
    pub body: &'a str,
    pub ledger: &'a Ledger,
    pub files: &'a FileLists,
    pub identifiers: &'a [TrackedIdentifier],
    pub todos: &'a [Todo],
}

impl SummaryMessage<'_> {
    /// Body, open tasks that it does not tell of, the user's words and identifiers that nothing else names, files that
    /// neither body nor ledger tell of, and the ledger of what the body does not tell, framed.
    pub fn text(&self, settings: &Settings, allowance: Allowance) -> String {
        let body = identifiers::disclaimed(self.body);
        let open = todos::open_tasks(self.todos, &body, allowance.appendix);
        let (ledger, files) = self.appendices(&body, allowance.appendix);
        let frame = |identifiers: Option<&str>| {
            let restored: Vec<&str> = open.as_deref().into_iter().chain(identifiers).collect();
            let restored = (!restored.is_empty()).then(|| restored.join("\n\n"));
            framing::frame(settings, framing::DEFAULT_PREFIX, &body, restored.as_deref(), &files, &ledger)
        };
        let bare = frame(None);
        let (missing, _) = identifiers::check(&bare, self.identifiers);
        let restored = identifiers::restore(&missing, allowance.identifiers, allowance.words);
        restored.map_or(bare, |restored| frame(Some(&restored.block)))
    }

    /// The ledger and the file lists, each in a share of `appendix` tokens. What the files don't need, the ledger may have.
    fn appendices(&self, body: &str, appendix: u32) -> (String, FileLists) {
        let told = ToldCalls::of(body);
        let beside = |ledger: &str, room: u32| self.files.beside(ledger, &told.paths).within(room);
        let ledger = self.ledger.render_beside(body, appendix);
        let files = beside(&ledger, appendix);
        let needed = size(&files);
        let ledger = self.ledger.render_beside(body, appendix.saturating_add(appendix.saturating_sub(needed)));
        let files = beside(&ledger, needed.saturating_add(1));
        (ledger, files)
    }
}

/// Tokens of file lists, four characters each.
fn size(files: &FileLists) -> u32 {
    let paths = files.read_files.iter().chain(&files.modified_files);
    let chars: usize = paths.map(|path| quarters(path) + 1).sum();
    u32::try_from(chars.div_ceil(4)).unwrap_or(u32::MAX)
}
