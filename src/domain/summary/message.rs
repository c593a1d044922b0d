//! The summary message put together: the body, and what code adds to it.

use super::{Allowance, framing};
use crate::domain::model::compaction::FileLists;
use crate::domain::model::identifier::TrackedIdentifier;
use crate::domain::model::ledger::Ledger;
use crate::domain::settings::Settings;
use crate::domain::summary::identifiers;

/// Parts of a summary message.
#[derive(Debug, Clone, Copy)]
pub struct SummaryMessage<'a> {
    pub body: &'a str,
    pub ledger: &'a Ledger,
    pub files: &'a FileLists,
    pub identifiers: &'a [TrackedIdentifier],
}

impl SummaryMessage<'_> {
    /// Body, the user's words and identifiers that nothing else in it names, files that the ledger does not name, and the
    /// ledger, framed.
    pub fn text(&self, settings: &Settings, allowance: Allowance) -> String {
        let ledger = self.ledger.render(allowance.appendix);
        let files = self.files.beside(&ledger).within(allowance.appendix);
        let body = identifiers::disclaimed(self.body);
        let frame = |identifiers: Option<&str>| {
            framing::frame(settings, framing::DEFAULT_PREFIX, &body, identifiers, &files, &ledger)
        };
        let bare = frame(None);
        let (missing, _) = identifiers::check(&bare, self.identifiers);
        let restored = identifiers::restore(&missing, allowance.identifiers);
        restored.map_or(bare, |restored| frame(Some(&restored.block)))
    }
}
