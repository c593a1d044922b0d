//! Results that came before their calls.

use serde::{Deserialize, Serialize};

use super::open_calls::OpenCall;
use super::shape::{Shape, ShapeKind};

/// The ids of the newest results on a path that no open call asked for: a call of that id which comes later waits for
/// nothing. At most [`EarlyResults::LIMIT`] are remembered.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EarlyResults(Vec<String>);

impl EarlyResults {
    pub const LIMIT: usize = 64;

    /// Takes in an entry. `orphans` are its results without an open call.
    pub fn apply(&mut self, shape: &Shape, orphans: &[String]) {
        if !self.0.is_empty() {
            // A call that was answered behind itself did not need the other.
            let answered = shape.results.iter().filter(|result| result.kind == ShapeKind::Function);
            let answered: Vec<&String> = answered.map(|result| &result.call_id).collect();
            self.0.retain(|id| !answered.contains(&id));
        }
        let room = EarlyResults::LIMIT.min(orphans.len());
        self.0.extend(orphans.iter().rev().take(room).rev().filter(|id| !id.is_empty()).cloned());
        self.0.drain(..self.0.len().saturating_sub(EarlyResults::LIMIT));
    }

    /// Returns true if an open call has its result already.
    pub fn answer(&self, call: &OpenCall) -> bool {
        self.0.contains(&call.id)
    }
}
