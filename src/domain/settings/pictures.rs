//! How the providers of known models count pictures, from their public documentation.

use super::models::of_family;

/// A provider's way to count a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pictures {
    Anthropic,
    Gemini,
    /// OpenAI: so many tokens for a picture, and for each tile of it.
    Tiles {
        base: u32,
        tile: u32,
    },
    /// OpenAI's small models: so many thousandths of a token for each patch.
    Patches {
        milli: u32,
    },
}

/// OpenAI's, where nothing more is known of the model.
pub const OPENAI: Pictures = Pictures::Tiles { base: 85, tile: 170 };

const MINI: Pictures = Pictures::Patches { milli: 1_620 };
const NANO: Pictures = Pictures::Patches { milli: 2_460 };

/// By the beginnings of models' names; the longest wins.
const FAMILIES: &[(&str, Pictures)] = &[
    ("claude", Pictures::Anthropic),
    ("gemini", Pictures::Gemini),
    ("gpt-4", OPENAI),
    ("gpt-4o-mini", Pictures::Tiles { base: 2_833, tile: 5_667 }),
    ("gpt-4.1-mini", MINI),
    ("gpt-4.1-nano", NANO),
    ("gpt-5", Pictures::Tiles { base: 70, tile: 140 }),
    ("gpt-5-mini", MINI),
    ("gpt-5-nano", NANO),
    ("gpt-5.4-mini", MINI),
    ("gpt-5.4-nano", NANO),
    ("o1", Pictures::Tiles { base: 75, tile: 150 }),
    ("o3", Pictures::Tiles { base: 75, tile: 150 }),
    ("o4-mini", Pictures::Patches { milli: 1_720 }),
    ("computer-use", Pictures::Tiles { base: 65, tile: 129 }),
];

impl Pictures {
    /// The way of a model's provider. `None`: it is not known.
    pub fn of(model: &str) -> Option<Pictures> {
        of_family(FAMILIES, model)
    }
}
