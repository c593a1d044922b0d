//! Slugs: the folder names of chapters.

use std::collections::{HashMap, HashSet};

/// Slug of a name without a single letter or digit.
const UNNAMED: &str = "unnamed";

/// Gives out slugs that are unique among siblings.
#[derive(Debug, Default)]
pub struct Slugs {
    taken: HashSet<String>,
    /// The number that the next chapter of this name begins to look at: a thousand equal names stay linear.
    next: HashMap<String, u32>,
}

impl Slugs {
    pub fn new(taken: impl IntoIterator<Item = String>) -> Slugs {
        Slugs { taken: taken.into_iter().collect(), next: HashMap::new() }
    }

    /// The slug of a name: the bare one where it is free, else with `-2`, `-3`, …
    pub fn take(&mut self, name: &str) -> String {
        let bare = slug(name);
        if self.taken.insert(bare.clone()) {
            return bare;
        }
        let next = self.next.entry(bare.clone()).or_insert(2);
        loop {
            let numbered = format!("{bare}-{next}");
            *next += 1;
            if self.taken.insert(numbered.clone()) {
                return numbered;
            }
        }
    }
}

/// Lower case; letters, digits and hyphens stay, runs of spaces and underscores become one hyphen, all else goes. So a
/// slug is a single path segment that climbs nowhere, whatever the name.
fn slug(name: &str) -> String {
    let lower = name.to_lowercase();
    let mut slug = String::with_capacity(lower.len());
    let mut gap = false;
    for letter in lower.trim().chars() {
        if letter.is_whitespace() || letter == '_' {
            gap = true;
        } else if letter.is_alphanumeric() || letter == '-' {
            if std::mem::take(&mut gap) {
                slug.push('-');
            }
            slug.push(letter);
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { UNNAMED.to_owned() } else { slug.to_owned() }
}
