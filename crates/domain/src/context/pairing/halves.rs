//! Tools that the provider runs inside its own turn: their calls and results may stand in neighbouring messages, and go out
//! only together.

use std::collections::HashMap;

use super::step::ViewStep;
use crate::model::message::Role;

/// For each step, whether it holds a call whose turn ended without the result, or a result without its call. A turn that
/// the view ends with may still go on.
pub fn alone(steps: &[ViewStep<'_>]) -> Vec<bool> {
    let mut alone = vec![false; steps.len()];
    let mut open: HashMap<&str, usize> = HashMap::new();
    for (at, step) in steps.iter().enumerate() {
        if !matches!(step.role, Role::Assistant | Role::Tool) {
            open.drain().for_each(|(_, call)| alone[call] = true);
        }
        for id in step.server_calls() {
            if let Some(earlier) = open.insert(id, at) {
                alone[earlier] = true;
            }
        }
        for id in step.server_results() {
            alone[at] |= open.remove(id).is_none();
        }
    }
    alone
}
