//! Traffic that goes out whole or not at all, told from shapes: no elision may touch it.
//!
//! - What a provider ran itself: it takes a result only as it gave it, and a call only beside its result.
//! - What code of a provider called: it may run that code again, and is to get the same results.

use std::collections::HashSet;

use crate::model::entry::EntryMeta;
use crate::model::shape::{CallRef, ResultRef, ShapeKind};

/// Tells what of a path's traffic can't be shown shorter.
pub struct WholeTraffic<'p> {
    by_code: HashSet<&'p str>,
}

impl<'p> WholeTraffic<'p> {
    pub fn of(path: &'p [EntryMeta]) -> WholeTraffic<'p> {
        let by_code = path.iter().filter(|head| !head.shape.links.needs.is_empty());
        let calls = by_code.flat_map(|head| &head.shape.calls);
        WholeTraffic { by_code: calls.map(|call| call.id.as_str()).collect() }
    }

    pub fn has_call(&self, call: &CallRef) -> bool {
        self.is_whole(call.kind, &call.id)
    }

    pub fn has_result(&self, result: &ResultRef) -> bool {
        self.is_whole(result.kind, &result.call_id)
    }

    /// The tokens of such results of an entry.
    pub fn result_tokens(&self, head: &EntryMeta) -> u32 {
        head.shape.results.iter().filter(|result| self.has_result(result)).map(|result| result.tokens).sum()
    }

    fn is_whole(&self, kind: ShapeKind, call_id: &str) -> bool {
        kind == ShapeKind::Server || self.by_code.contains(call_id)
    }
}
