//! The record: what an agent reads in place of what its context no longer holds.
//!
//! Code quotes. It states what the protocol states, and judges no prose, in no language.

pub mod ending;
pub mod values;
