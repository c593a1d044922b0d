use serde_json::Value;

use super::write::{Note, Piece};
use super::{Item, ItemError};

pub fn read(_value: &Value) -> Result<Item, ItemError> {
    Err(ItemError::new("", "not supported yet"))
}

pub fn write(_pieces: &[Piece<'_>], _notes: &mut Vec<Note>) -> Vec<String> {
    Vec::new()
}
