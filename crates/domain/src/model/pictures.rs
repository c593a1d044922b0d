//! How large pictures are and how many pages documents have, read from the beginning of their bytes.

use std::borrow::Cow;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};

/// Bytes by which the kind of a picture is told.
const MOST_BEGINNING: usize = 48;
/// Bytes of a picture that are looked through for its size: a photograph's comes behind its preview.
const MOST_PICTURE: usize = 256 << 10;
/// Bytes of a document that are looked through for its pages.
const MOST_DOCUMENT: usize = 32 << 20;

const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true),
);

/// Width and height in pixels of a PNG, GIF, JPEG or WebP, given in base64.
pub fn size(data: &str) -> Option<(u32, u32)> {
    let bytes = beginning(data, MOST_PICTURE)?;
    let size = png(&bytes).or_else(|| gif(&bytes)).or_else(|| webp(&bytes)).or_else(|| jpeg(&bytes))?;
    (size.0 > 0 && size.1 > 0).then_some(size)
}

/// What a picture in base64 is, told by how it begins.
pub fn media_type(data: &str) -> Option<&'static str> {
    let bytes = beginning(data, MOST_BEGINNING)?;
    let begins = |sign: &[u8]| bytes.starts_with(sign);
    Some(match () {
        () if begins(b"\x89PNG") => "image/png",
        () if begins(b"\xff\xd8\xff") => "image/jpeg",
        () if begins(b"GIF87a") || begins(b"GIF89a") => "image/gif",
        () if begins(b"RIFF") && bytes.get(8..12)? == b"WEBP" => "image/webp",
        () => return None,
    })
}

/// The pages of a PDF in base64, where its page objects or its page tree can be seen; they may be packed.
pub fn pages(data: &str) -> Option<u32> {
    let bytes = beginning(data, MOST_DOCUMENT)?;
    if !bytes.starts_with(b"%PDF") {
        return None;
    }
    let mut pages = 0_u32;
    for at in places(&bytes, b"/Type") {
        let rest = trimmed(bytes.get(at + 5..).unwrap_or_default());
        let is_page = rest.starts_with(b"/Page") && !rest.get(5).is_some_and(u8::is_ascii_alphanumeric);
        pages = pages.saturating_add(u32::from(is_page));
    }
    if pages > 0 {
        return Some(pages);
    }
    let mut most = 0_u32;
    for at in places(&bytes, b"/Count") {
        let digits = trimmed(bytes.get(at + 6..).unwrap_or_default()).iter().take_while(|byte| byte.is_ascii_digit());
        let count: String = digits.take(7).map(|byte| char::from(*byte)).collect();
        most = most.max(count.parse().unwrap_or(0));
    }
    (most > 0).then_some(most)
}

fn beginning(data: &str, most: usize) -> Option<Vec<u8>> {
    let end = (most / 3 * 4).min(data.len());
    let text = data.as_bytes().get(..end)?;
    let text = match text.iter().any(u8::is_ascii_whitespace) {
        true => Cow::Owned(text.iter().copied().filter(|byte| !byte.is_ascii_whitespace()).collect()),
        false => Cow::Borrowed(text),
    };
    // A number of whole groups, but for the end of all.
    let whole = if end < data.len() { text.len() / 4 * 4 } else { text.len() };
    LENIENT.decode(text.get(..whole)?).ok()
}

fn places<'b>(bytes: &'b [u8], word: &'b [u8]) -> impl Iterator<Item = usize> + 'b {
    bytes.windows(word.len()).enumerate().filter(move |(_, window)| *window == word).map(|(at, _)| at)
}

fn trimmed(bytes: &[u8]) -> &[u8] {
    bytes.get(..bytes.len().min(64)).unwrap_or_default().trim_ascii_start()
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let header = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n")?;
    Some((big(header.get(8..12)?), big(header.get(12..16)?)))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a")).then_some(())?;
    Some((little(bytes.get(6..8)?), little(bytes.get(8..10)?)))
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    (bytes.starts_with(b"RIFF") && bytes.get(8..12)? == b"WEBP").then_some(())?;
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes.get(24..27)?) + 1, little(bytes.get(27..30)?) + 1)),
        b"VP8 " => Some((little(bytes.get(26..28)?) & 0x3fff, little(bytes.get(28..30)?) & 0x3fff)),
        b"VP8L" => {
            let bits = little(bytes.get(21..25)?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

/// Walks over the segments to the one that begins the frame.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut rest = bytes.strip_prefix(b"\xff\xd8")?;
    loop {
        let marker = *rest.get(1)?;
        if rest.first() != Some(&0xff) {
            return None;
        }
        match marker {
            0xff => rest = rest.get(1..)?,
            0x01 | 0xd0..=0xd8 => rest = rest.get(2..)?,
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(rest.get(7..9)?), big(rest.get(5..7)?)));
            }
            _ => rest = rest.get(2 + big(rest.get(2..4)?) as usize..)?,
        }
    }
}

fn big(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

fn little(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

#[cfg(test)]
mod tests {
    use base64::prelude::BASE64_STANDARD;

    use super::*;

    fn told(bytes: &[u8]) -> Option<(u32, u32)> {
        size(&BASE64_STANDARD.encode(bytes))
    }

    #[test]
    fn the_size_of_every_kind_of_picture_is_read() {
        let png = [&b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"[..], &[0, 0, 4, 0, 0, 0, 3, 0, 8, 6, 0, 0, 0]].concat();
        assert_eq!(told(&png), Some((1024, 768)));
        assert_eq!(told(b"GIF89a\x40\x01\xf0\x00\0\0\0"), Some((320, 240)));
        let preview = [&[0xff, 0xd8, 0xff, 0xe1, 0x10, 0x02][..], &[7; 0x1000]].concat();
        let jpeg = [&preview[..], &[0xff, 0xff, 0xc2, 0, 17, 8, 0x04, 0x38, 0x07, 0x80, 3]].concat();
        assert_eq!(told(&jpeg), Some((1920, 1080)));
        let riff = |kind: &[u8], rest: &[u8]| [b"RIFF\0\0\0\0WEBP", kind, b"\0\0\0\0", rest].concat();
        assert_eq!(told(&riff(b"VP8X", &[0, 0, 0, 0, 0xff, 3, 0, 0xff, 2, 0])), Some((1024, 768)));
        assert_eq!(told(&riff(b"VP8 ", &[0, 0, 0, 0x9d, 1, 0x2a, 0, 4, 0, 3])), Some((1024, 768)));
        let bits = 1023_u32 | 767 << 14;
        assert_eq!(told(&riff(b"VP8L", &[&[0x2f][..], &bits.to_le_bytes()].concat())), Some((1024, 768)));
    }

    #[test]
    fn pictures_are_known_by_how_they_begin() {
        let kind = |bytes: &[u8]| media_type(&BASE64_STANDARD.encode(bytes));
        let long = [&b"RIFF\0\0\0\0WEBPVP8 "[..], &[7; 200]].concat();
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n"[..], Some("image/png")),
            (b"\xff\xd8\xff\xe0", Some("image/jpeg")),
            (b"GIF89a", Some("image/gif")),
            (&long, Some("image/webp")),
            (b"RIFF\0\0\0\0WAVE", None),
            (b"<svg/>", None),
            (b"", None),
        ] {
            assert_eq!(kind(bytes), expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_picture_has_no_size() {
        for data in ["", "AAAA", "aGVsbG8=", "not base64 at all!", "/9j/", "iVBORw0KGgo="] {
            assert_eq!(size(data), None, "{data}");
        }
        // A segment that leads nowhere, and one that ends at itself.
        assert_eq!(told(&[0xff, 0xd8, 0xff, 0xe1, 0xff, 0xff]), None);
        assert_eq!(told(&[0xff, 0xd8, 0xff, 0xe1, 0, 0, 0, 0]), None);
    }

    #[test]
    fn the_pages_of_a_document_are_counted() {
        let pdf = |body: &str| BASE64_STANDARD.encode(format!("%PDF-1.7\n{body}"));
        assert_eq!(
            pages(&pdf("<</Type /Pages /Count 3>> <</Type/Page>> <</Type /Page\n>> <</Type  /Page/X>>")),
            Some(3)
        );
        assert_eq!(pages(&pdf("<</Type/Pages/Count 12>>")), Some(12));
        assert_eq!(pages(&pdf("all of it packed")), None);
        assert_eq!(pages("AAAA"), None);
    }
}
