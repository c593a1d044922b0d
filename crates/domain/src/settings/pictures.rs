//! How the providers of known models count pictures, from their public documentation.

use super::models::of_family;

/// A provider's way to count a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pictures {
    /// Anthropic: a token for each patch of a picture, which is shrunk until its longest side has no more than so many
    /// pixels and all of it no more than so many tokens.
    Anthropic {
        side: u32,
        most: u32,
    },
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

/// Anthropic's from Claude 4.7 on: their documents name Opus 4.7 as the first that takes larger pictures, and all later
/// models after it. It stands for a model that is not known, too: counted as too large, a picture makes a context be
/// compacted early; counted as too small, it makes a prompt overflow.
pub const CLAUDE: Pictures = Pictures::Anthropic { side: 2_576, most: 4_784 };

/// Anthropic's before.
const OLDER_CLAUDE: Pictures = Pictures::Anthropic { side: 1_568, most: 1_568 };

/// OpenAI's, where nothing more is known of the model.
pub const OPENAI: Pictures = Pictures::Tiles { base: 85, tile: 170 };

const MINI: Pictures = Pictures::Patches { milli: 1_620 };
const NANO: Pictures = Pictures::Patches { milli: 2_460 };

/// By the beginnings of models' names; the longest wins.
const FAMILIES: &[(&str, Pictures)] = &[
    ("claude", CLAUDE),
    ("claude-3", OLDER_CLAUDE),
    ("claude-4", OLDER_CLAUDE),
    ("claude-4-7", CLAUDE),
    ("claude-4-8", CLAUDE),
    ("claude-haiku-4", OLDER_CLAUDE),
    ("claude-mythos-preview", OLDER_CLAUDE),
    ("claude-opus-4", OLDER_CLAUDE),
    ("claude-opus-4-7", CLAUDE),
    ("claude-opus-4-8", CLAUDE),
    ("claude-sonnet-4", OLDER_CLAUDE),
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
