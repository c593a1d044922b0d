use super::compaction::Elision;
use super::message::Message;

pub fn apply(_message: &mut Message, _elisions: &[Elision]) {}
