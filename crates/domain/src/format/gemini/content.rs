//! A content of a context while it is written.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

use crate::model::json as domain_json;

/// A content on its way out.
pub struct OutgoingContent<'a> {
    pub entry: Option<usize>,
    pub is_model: bool,
    text: ContentText<'a>,
}

enum ContentText<'a> {
    Stored(&'a str),
    Built(Value),
}

impl<'a> OutgoingContent<'a> {
    /// A content as it came.
    pub fn stored(entry: usize, item: &'a str) -> OutgoingContent<'a> {
        #[derive(Deserialize)]
        struct ContentHeader<'h> {
            #[serde(borrow, default)]
            role: Option<Cow<'h, str>>,
        }
        let role = serde_json::from_str(item).ok().and_then(|header: ContentHeader<'_>| header.role);
        OutgoingContent {
            entry: Some(entry),
            is_model: role.is_some_and(|role| role == "model"),
            text: ContentText::Stored(item),
        }
    }

    pub fn built(entry: Option<usize>, is_model: bool, value: Value) -> OutgoingContent<'a> {
        OutgoingContent { entry, is_model, text: ContentText::Built(value) }
    }

    /// Returns false if a stored content surely lacks this text.
    pub fn may_hold(&self, text: &str) -> bool {
        match &self.text {
            ContentText::Stored(item) => item.contains(text),
            ContentText::Built(_) => true,
        }
    }

    pub fn value(&self) -> Value {
        match &self.text {
            ContentText::Stored(item) => domain_json::parse_lenient(item).unwrap_or_default(),
            ContentText::Built(value) => value.clone(),
        }
    }

    /// The value, without a copy; the content is to be rewritten or dropped.
    pub fn take_value(&mut self) -> Value {
        match std::mem::replace(&mut self.text, ContentText::Built(Value::Null)) {
            ContentText::Stored(item) => domain_json::parse_lenient(item).unwrap_or_default(),
            ContentText::Built(value) => value,
        }
    }

    /// Puts another content in the place of this one.
    pub fn rewrite(&mut self, value: Value) {
        self.text = ContentText::Built(value);
    }

    pub fn into_text(self) -> String {
        match self.text {
            ContentText::Stored(item) => item.to_owned(),
            ContentText::Built(value) => value.to_string(),
        }
    }
}
