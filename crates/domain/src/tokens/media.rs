//! Costs, in tokens, of what is not text: pictures and pages by each provider's published formula where their size can
//! be read, a stated cost where not.

use serde_json::Value;

use super::counted::saturate;
use crate::model::format::Format;
use crate::model::message::Media;
use crate::model::pictures;
use crate::settings::Pictures;
use crate::settings::pictures::{CLAUDE, OPENAI};

/// An image whose size is not known.
pub const IMAGE_TOKENS: u32 = 1_200;
/// A page of a document that did not come as text; a document has at least one.
pub const PAGE_TOKENS: u32 = 1_500;
/// How many bytes of a document (before base64) are taken for a page where its pages can't be counted.
pub const PAGE_BYTES: usize = 50_000;
/// An opaque block (encrypted reasoning, a provider's own block), besides its strings.
pub const OPAQUE_TOKENS: u32 = 32;
/// Bytes of an opaque block's strings for one token: base64 of text that would take about 4 bytes a token.
pub const OPAQUE_BYTES_PER_TOKEN: usize = 6;

/// The way of the provider whose format it is, where nothing is known of the model.
pub fn of_format(format: Format) -> Option<Pictures> {
    match format {
        Format::Anthropic | Format::ClaudeCode => Some(CLAUDE),
        Format::OpenaiChat | Format::OpenaiResponses | Format::Codex => Some(OPENAI),
        Format::Gemini => Some(Pictures::Gemini),
        Format::Native | Format::Pi => None,
    }
}

fn way(known: Option<Pictures>, source: &Media) -> Option<Pictures> {
    known.or_else(|| source.opaque.as_ref().and_then(|own| of_format(own.format)))
}

/// A picture, by its size and the way in which it is counted.
pub fn image_tokens(known: Option<Pictures>, source: &Media) -> u32 {
    let size = || {
        let inline = source.url.as_deref().and_then(|url| url.strip_prefix("data:")?.split_once(";base64,"));
        pictures::size(source.data.as_deref().or(inline.map(|(_, data)| data))?)
    };
    match way(known, source) {
        Some(Pictures::Tiles { base, .. }) if detail(source) == Some("low") => base,
        Some(way) => size().map_or(IMAGE_TOKENS, |size| by_formula(way, size)),
        None => IMAGE_TOKENS,
    }
}

const GEMINI_TILE: u32 = 258;
/// The most patches that a picture is made of, and their side.
const MOST_PATCHES: f64 = 1_536.0;
const PATCH: f64 = 32.0;
/// The side of a patch that is a token of Claude's.
const CLAUDE_PATCH: u32 = 28;

fn by_formula(way: Pictures, (width, height): (u32, u32)) -> u32 {
    let (wide, high) = (f64::from(width), f64::from(height));
    let tiles = |wide: f64, high: f64, side: f64| saturate(((wide / side).ceil() * (high / side).ceil()) as usize);
    match way {
        Pictures::Anthropic { side, most } => claude_tokens(width.max(height), width.min(height), side, most),
        // Within 2,048 by 2,048, then the shorter side 768, in tiles of 512.
        Pictures::Tiles { base, tile } => {
            let within = (2_048.0 / wide.max(high)).min(1.0);
            let scale = within * (768.0 / (wide.min(high) * within)).min(1.0);
            base.saturating_add(tile.saturating_mul(tiles((wide * scale).round(), (high * scale).round(), 512.0)))
        }
        Pictures::Patches { milli } => {
            let patches = f64::from(tiles(wide, high, PATCH)).min(MOST_PATCHES);
            saturate((patches * f64::from(milli) / 1_000.0).ceil() as usize)
        }
        // Small ones are one tile; others are cut into tiles of two thirds of the shorter side, 256 to 768.
        Pictures::Gemini if width <= 384 && height <= 384 => GEMINI_TILE,
        Pictures::Gemini => {
            let side = (wide.min(high) / 1.5).floor().clamp(256.0, 768.0);
            GEMINI_TILE.saturating_mul(tiles(wide, high, side))
        }
    }
}

/// The patches of a picture, of which there are whole ones alone. A picture that is too large is shrunk to the largest
/// size of its proportions that keeps to both bounds. That size is looked for as the provider's documents do it, since
/// near a bound another rounding gives another row of patches.
fn claude_tokens(long: u32, short: u32, side: u32, most: u32) -> u32 {
    let fitting = |long: u32, short: u32| {
        let (along, across) = (long.div_ceil(CLAUDE_PATCH), short.div_ceil(CLAUDE_PATCH));
        let tokens = along.saturating_mul(across);
        (along <= side / CLAUDE_PATCH && tokens <= most).then_some(tokens)
    };
    if let Some(tokens) = fitting(long, short) {
        return tokens;
    }
    let proportion = f64::from(long) / f64::from(short);
    let (mut fits, mut exceeds, mut tokens) = (1_u32, long, 1_u32);
    while exceeds - fits > 1 {
        let middle = fits.midpoint(exceeds);
        let across = (f64::from(middle) / proportion).round_ties_even().max(1.0) as u32;
        match fitting(middle, across) {
            Some(found) => (fits, tokens) = (middle, found),
            None => exceeds = middle,
        }
    }
    tokens
}

/// How closely OpenAI's models are to look.
fn detail(source: &Media) -> Option<&str> {
    let own = &source.opaque.as_ref()?.value;
    own.get("detail").or_else(|| own.get("image_url")?.get("detail"))?.as_str()
}

/// A document at the stated cost: its text where it has one, counted by `text`, else pages by the size of its data.
pub fn stated_document_tokens(source: &Media, text: impl Fn(&str) -> u32) -> u32 {
    let pages = || pages_by_bytes(source.data.as_deref().unwrap_or_default());
    source.text.as_deref().map_or_else(|| pages().saturating_mul(PAGE_TOKENS), text)
}

fn pages_by_bytes(data: &str) -> u32 {
    saturate((data.len() / 4 * 3).div_ceil(PAGE_BYTES).max(1))
}

/// A document: its text where it has one, counted by `text`, else its pages.
pub fn document_tokens(known: Option<Pictures>, source: &Media, text: impl Fn(&str) -> u32) -> u32 {
    if let Some(plain) = &source.text {
        return text(plain);
    }
    let data = source.data.as_deref().unwrap_or_default();
    let pages = pictures::pages(data).unwrap_or_else(|| pages_by_bytes(data));
    let page = match way(known, source) {
        // Text and picture of each page; Gemini's pages are a tile each.
        Some(Pictures::Anthropic { .. }) => 2 * PAGE_TOKENS,
        Some(Pictures::Gemini) => GEMINI_TILE,
        Some(Pictures::Tiles { .. } | Pictures::Patches { .. }) | None => PAGE_TOKENS,
    };
    pages.saturating_mul(page)
}

/// A block that only its provider can read, by the size of its strings.
pub fn opaque_tokens(value: &Value) -> u32 {
    OPAQUE_TOKENS.saturating_add(saturate(string_bytes(value) / OPAQUE_BYTES_PER_TOKEN))
}

fn string_bytes(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(string_bytes).sum(),
        Value::Object(fields) => fields.values().map(string_bytes).sum(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::prelude::BASE64_STANDARD;
    use serde_json::json;

    use super::*;
    use crate::model::message::Opaque;

    fn picture(width: u32, height: u32) -> Media {
        let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
        let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &size, &[8, 6, 0, 0, 0]].concat();
        Media { data: Some(BASE64_STANDARD.encode(png)), ..Media::default() }
    }

    #[test]
    fn pictures_cost_what_their_providers_say() {
        let cost = |format, (width, height)| image_tokens(of_format(format), &picture(width, height));
        for (size, tokens) in [((200, 200), 64), ((1000, 1000), 1_296), ((1092, 1092), 1_521), ((4032, 3024), 4_740)] {
            assert_eq!(cost(Format::Anthropic, size), tokens, "{size:?}");
        }
        for (size, tokens) in [((1024, 1024), 765), ((2048, 4096), 1_105), ((512, 512), 255), ((100, 100), 255)] {
            assert_eq!(cost(Format::OpenaiChat, size), tokens, "{size:?}");
        }
        for (size, tokens) in [((384, 384), 258), ((960, 540), 6 * 258), ((3000, 3000), 16 * 258)] {
            assert_eq!(cost(Format::Gemini, size), tokens, "{size:?}");
        }
        let low = Media {
            opaque: Some(Opaque { format: Format::OpenaiChat, value: json!({"image_url": {"detail": "low"}}) }),
            ..picture(3000, 3000)
        };
        assert_eq!(image_tokens(Some(OPENAI), &low), 85);
        let elsewhere = Media { url: Some("https://example.com/a.png".to_owned()), ..Media::default() };
        assert_eq!(image_tokens(Some(CLAUDE), &elsewhere), IMAGE_TOKENS);
    }

    #[test]
    fn models_of_one_provider_count_in_ways_of_their_own() {
        let cost = |model| image_tokens(Pictures::of(model), &picture(1024, 1024));
        for (model, tokens) in [
            ("gpt-4o", 765),
            ("gpt-4o-mini", 25_501),
            ("gpt-5", 630),
            ("openai/gpt-5-mini", 1_659),
            ("gpt-4.1-nano", 2_520),
            ("o4-mini", 1_762),
            ("o3", 675),
            ("claude-sonnet-4-6", 1_369),
            ("claude-opus-4-8", 1_369),
            ("gemini-2.5-pro", 1_032),
        ] {
            assert_eq!(cost(model), tokens, "{model}");
        }
        assert_eq!(image_tokens(Pictures::of("gpt-5-mini"), &picture(4000, 4000)), 2_489);
        assert_eq!(cost("nobody-knows"), IMAGE_TOKENS);
    }

    /// Sizes and tokens as Anthropic's documents have them for the models before Claude 4.7 and for those from it on.
    #[test]
    fn newer_models_of_anthropic_take_larger_pictures() {
        let sizes = [(1092, 1092), (1920, 1080), (2000, 1500), (3840, 2160), (1075, 1520), (20_000, 100)];
        let cost = |model: &str| sizes.map(|size| image_tokens(Pictures::of(model), &picture(size.0, size.1)));
        for model in [
            "claude-3-5-sonnet-20241022",
            "claude-haiku-4-5-20251001",
            "claude-opus-4-6",
            "anthropic/claude-sonnet-4.6",
            "us.anthropic.claude-opus-4-1-20250805-v1:0",
            "claude-4-opus",
            "claude-mythos-preview",
        ] {
            assert_eq!(cost(model), [1_521, 1_560, 1_564, 1_560, 1_551, 56], "{model}");
        }
        for model in [
            "claude-opus-4-7",
            "anthropic/claude-opus-4.7",
            "us.anthropic.claude-opus-4-8-v1:0",
            "claude-opus-5-5",
            "claude-sonnet-5",
            "claude-haiku-5-5",
            "claude-fable-5-1",
            "claude-mythos-5",
            "claude-not-yet-named-6",
        ] {
            assert_eq!(cost(model), [1_521, 2_691, 3_888, 4_784, 2_145, 92], "{model}");
        }
        let least = picture(1, 1);
        let largest = picture(u32::MAX, u32::MAX);
        assert_eq!(image_tokens(Some(CLAUDE), &least), 1);
        assert!((4_700..=4_784).contains(&image_tokens(Some(CLAUDE), &largest)));
    }

    #[test]
    fn documents_cost_by_the_page() {
        let data = BASE64_STANDARD.encode("%PDF-1.4 <</Type/Page>> <</Type/Page>> <</Type/Page>>");
        let source = Media { data: Some(data), ..Media::default() };
        let cost = |format| document_tokens(of_format(format), &source, |_| 0);
        assert_eq!((cost(Format::Anthropic), cost(Format::Gemini), cost(Format::OpenaiChat)), (9_000, 774, 4_500));
    }
}
