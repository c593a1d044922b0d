//! The context that a path shows: its view, paired and sized, with elisions and chapters in place.

pub mod composition;
pub mod diff;
pub mod elision;
pub mod fit;
pub mod pairing;
pub mod placeholder;
pub mod thinking;
pub mod ties;
pub mod timeline;
pub mod view;
pub mod whole;
