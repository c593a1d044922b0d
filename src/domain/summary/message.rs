//! The summary message put together: the body, and what code adds to it.

use super::{Allowance, framing};
use crate::domain::model::compaction::FileLists;
use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::model::ledger::Ledger;
use crate::domain::model::todo::Todo;
use crate::domain::settings::Settings;
use crate::domain::summary::identifiers;
use crate::domain::summary::ledger::ToldCalls;
use crate::domain::summary::recalled::{self, RecalledResult};
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
    pub recalled: &'a [RecalledResult],
}

impl SummaryMessage<'_> {
    /// Body, open tasks that it does not tell of, results that were asked for again, the user's words and identifiers that
    /// nothing else names, files that neither body nor ledger tell of, and the ledger of what the body does not tell, framed.
    /// Results asked for again take half of the identifiers' room at most.
    pub fn text(&self, settings: &Settings, allowance: Allowance) -> String {
        let body = identifiers::disclaimed(self.body);
        let open = todos::open_tasks(self.todos, &body, allowance.appendix);
        let (ledger, files) = self.appendices(&body, allowance.appendix);
        let recalled = recalled::block(self.recalled, &body, allowance.identifiers / 2);
        let (recalled, taken) = recalled.map_or((None, 0), |(block, taken)| (Some(block), taken));
        let frame = |identifiers: Option<&str>| {
            let before = open.as_deref().into_iter().chain(recalled.as_deref());
            let restored: Vec<&str> = before.chain(identifiers).collect();
            let restored = (!restored.is_empty()).then(|| restored.join("\n\n"));
            framing::frame(settings, framing::DEFAULT_PREFIX, &body, restored.as_deref(), &files, &ledger)
        };
        let bare = frame(None);
        let (missing, _) = identifiers::check(&bare, self.identifiers);
        let restored = identifiers::restore(&missing, allowance.identifiers.saturating_sub(taken), allowance.words);
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
