//! The numbers of tasks that come back with a context and are stored anew: on another branch, or in an edited message.

use anyhow::Context as _;
use serde_json::value::RawValue;

use crate::domain::chapter::{numbered, unnumber};
use crate::domain::format;
use crate::domain::model::format::Format;
use crate::domain::model::message::{Message, Role};
use crate::domain::transcript::{Alignment, ExpectedEntry, Said, ShownBesides};
use crate::service::core::error::Result;

/// Which numbers were put there by this service. They ascend along a context, and no context has more of them than there
/// are tasks; what comes behind a context has none of ours.
pub struct PostedNumbers {
    last: usize,
    /// The highest that may be ours; 0: none is.
    most: usize,
    /// Text of the first edited task as it is stored: its own words may begin with a number.
    departed: Option<String>,
}

impl PostedNumbers {
    pub fn of(steps: &[ExpectedEntry], alignment: &Alignment, shown: &ShownBesides) -> PostedNumbers {
        // Before the first entry a context of ours can only be one of another branch.
        let departs = alignment.steps < steps.len() || (steps.is_empty() && shown.has_chapters());
        let tasks = |steps: &[ExpectedEntry]| steps.iter().filter(|step| step.is_task).count();
        let said = steps.get(..alignment.steps).unwrap_or_default();
        // The tasks before would have shown theirs.
        let is_context = alignment.number.is_some() || tasks(said) == 0;
        let most = if shown.numbered && departs && is_context { tasks(steps) + 1 } else { 0 };
        let departed = steps.get(alignment.steps).filter(|step| step.is_task).and_then(|step| match &step.said {
            Said::Message(message) => Some(message.plain_text()),
            Said::Nothing(_) => None,
        });
        PostedNumbers {
            last: alignment.number.unwrap_or(0),
            most,
            departed: departed.filter(|_| alignment.number.is_none()),
        }
    }

    /// The item as it was said, without our number.
    pub fn taken_off(&mut self, format: Format, said: &Said, raw: &RawValue) -> Result<(Said, Box<RawValue>)> {
        let as_it_is = || (said.clone(), raw.to_owned());
        let Said::Message(message) = said else { return Ok(as_it_is()) };
        let departed = self.departed.take_if(|_| is_task(message));
        if self.most == 0 || !is_task(message) {
            return Ok(as_it_is());
        }
        let Some((number, item)) = unnumber(format, raw.get()) else { return Ok(as_it_is()) };
        let own_words = departed.is_some_and(|text| numbered(&text).is_some_and(|(own, _)| own == number));
        if own_words {
            // It is the raw history.
            self.most = 0;
        }
        if number <= self.last || number > self.most {
            return Ok(as_it_is());
        }
        self.last = number;
        let Ok(Some(message)) = format::read_message(format, &item) else { return Ok(as_it_is()) };
        Ok((Said::Message(message), RawValue::from_string(item).context("an item without its number")?))
    }
}

fn is_task(message: &Message) -> bool {
    message.role == Role::User && message.tool_results().next().is_none()
}
