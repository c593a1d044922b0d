//! Chapters and numbers, as a posted context shows them.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

use super::Said;
use super::lines::{TextKey, text_key};
use crate::chapter;
use crate::model::message::{Block, Message, Role};

/// A chapter that a context may show, and the steps that it stands for, ascending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Standing {
    /// How contexts show it, or once did.
    pub texts: Vec<String>,
    pub hides: Vec<Range<usize>>,
}

/// Chapters and numbers that contexts of a session show besides what was said.
#[derive(Debug, Default)]
pub struct ShownBesides {
    chapters: Vec<Standing>,
    by_text: HashMap<TextKey, Vec<usize>>,
    /// Tasks begin with their number.
    pub numbered: bool,
}

/// A chapter's message, as it was posted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Quoted<'a> {
    pub number: Option<usize>,
    /// Those that it may be.
    pub chapters: &'a [usize],
}

impl ShownBesides {
    pub fn new(chapters: Vec<Standing>, numbered: bool) -> ShownBesides {
        let mut by_text: HashMap<TextKey, Vec<usize>> = HashMap::new();
        for (place, standing) in chapters.iter().enumerate() {
            let keys: BTreeSet<TextKey> = standing.texts.iter().map(|text| text_key(text)).collect();
            keys.into_iter().for_each(|key| by_text.entry(key).or_default().push(place));
        }
        ShownBesides { chapters, by_text, numbered }
    }

    /// The chapters whose message this text is, with a number before it or without.
    pub fn quoted(&self, text: &str) -> Option<Quoted<'_>> {
        if self.by_text.is_empty() || !chapter::may_be_shown(text) {
            return None;
        }
        let find = |text: &str| self.by_text.get(&text_key(text)).map(Vec::as_slice);
        let (number, rest) = chapter::numbered(text).map_or((None, text), |(number, rest)| (Some(number), rest));
        find(rest).map(|chapters| Quoted { number, chapters })
    }

    pub fn has_chapters(&self) -> bool {
        !self.chapters.is_empty()
    }

    pub fn hides(&self, chapter: usize) -> &[Range<usize>] {
        self.chapters.get(chapter).map(|standing| standing.hides.as_slice()).unwrap_or_default()
    }

    /// The chapters' messages within a message; never in what the agent says.
    pub fn chapter_blocks<'a>(&'a self, message: &'a Message) -> impl Iterator<Item = (usize, Quoted<'a>)> {
        let texts = message.content.iter().enumerate().filter(|_| message.role != Role::Assistant);
        texts.filter_map(|(place, block)| match block {
            Block::Text { text, .. } => Some((place, self.quoted(text)?)),
            _ => None,
        })
    }

    /// The message without chapters. `None`: there are none in it.
    pub fn without_chapters(&self, message: &Message) -> Option<Message> {
        let chapters: Vec<usize> = self.chapter_blocks(message).map(|(place, _)| place).collect();
        let content = || {
            let rest = message.content.iter().enumerate().filter(|(place, _)| chapters.binary_search(place).is_err());
            rest.map(|(_, block)| block.clone()).collect()
        };
        (!chapters.is_empty()).then(|| Message { content: content(), ..message.clone() })
    }

    /// Returns true if a posted message is nothing but chapters.
    pub fn is_chapter(&self, said: &Said) -> bool {
        match said {
            Said::Message(message) => self.without_chapters(message).is_some_and(|rest| rest.content.is_empty()),
            Said::Nothing(_) => false,
        }
    }
}
