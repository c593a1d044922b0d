//! One question to a model.

use super::budget::OutputBudget;
use super::config::ModelOptions;
use crate::domain::summary::prefix::SessionPrefix;

pub(super) struct ModelRequest<'a> {
    pub model: &'a str,
    pub options: &'a ModelOptions,
    /// Beginning of the prompt, before the user's words.
    pub before: Before<'a>,
    pub user: &'a str,
    pub budget: OutputBudget,
}

/// Beginning of a prompt, which the model reads first.
#[derive(Clone, Copy)]
pub(super) enum Before<'a> {
    System(&'a str),
    /// A session's context, of the format that is written.
    Session(&'a SessionPrefix),
}

impl ModelRequest<'_> {
    /// Texts of the whole prompt.
    pub(super) fn texts(&self) -> Vec<&str> {
        let mut texts = match self.before {
            Before::System(system) => vec![system],
            Before::Session(prefix) => prefix.texts(),
        };
        texts.push(self.user);
        texts
    }
}
