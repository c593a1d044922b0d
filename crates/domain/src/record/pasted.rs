//! What a user pastes: of lines that are alike a few say what the others do, and of a long row of signs its ends.

use std::collections::HashMap;

use super::quote::{GAP, names_a_kind, shape};

/// A text of fewer lines is told as it is.
const LEAST_LINES: usize = 12;
/// Lines that are looked at.
const MOST_LINES: usize = 4_000;
/// How many lines of one shape are told.
const ALIKE: usize = 3;

/// Leaves out of a text with many lines those that differ from three others in names and numbers alone.
pub(super) fn drop_alike(text: &mut String) {
    if text.lines().take(LEAST_LINES).count() < LEAST_LINES {
        return;
    }
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut told: Vec<&str> = Vec::new();
    let mut is_cut = false;
    for (at, line) in text.lines().enumerate() {
        let of_kind = Some(shape(line)).filter(|shape| at < MOST_LINES && names_a_kind(shape));
        let count = of_kind.map_or(0, |shape| {
            let count = seen.entry(shape).or_default();
            *count += 1;
            *count
        });
        if count <= ALIKE {
            told.push(line);
        } else if told.last() != Some(&GAP) {
            told.push(GAP);
            is_cut = true;
        }
    }
    if is_cut {
        *text = told.join("\n");
    }
}

/// Bytes of what stands between two spaces and is told whole, and of its beginning and its end where it is longer.
const LONGEST_WORD: usize = 320;
const WORD_ENDS: (usize, usize) = (160, 80);

/// Leaves out of a text what is in the middle of long rows of signs, as cookies and encoded data are: no sentence is written so,
/// but in a script that puts no spaces.
pub(super) fn cut_long_words(text: &mut String) {
    let is_long = |word: &str| word.len() > LONGEST_WORD && word.is_ascii();
    if !text.split_whitespace().any(is_long) {
        return;
    }
    let mut told = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let bare = word.trim_end();
        if is_long(bare) {
            let (head, tail) = WORD_ENDS;
            told.push_str(&format!("{}{GAP}{}{}", &bare[..head], &bare[bare.len() - tail..], &word[bare.len()..]));
        } else {
            told.push_str(word);
        }
    }
    *text = told;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(text: &str) -> String {
        let mut text = text.to_owned();
        drop_alike(&mut text);
        text
    }

    #[test]
    fn of_lines_that_are_alike_three_are_told() {
        let frames: Vec<String> =
            (0..40).map(|n| format!("    at Router.loadPart{n} (src/app/file{n}.ts:{n}0:7)")).collect();
        let trace = format!("Das kommt beim Start:\nError: no port\n{}\nKannst du das beheben?", frames.join("\n"));
        let short = told(&trace);
        assert!(short.starts_with("Das kommt beim Start:\nError: no port\n    at Router.loadPart0"), "{short}");
        assert!(short.ends_with("[…]\nKannst du das beheben?"), "{short}");
        assert_eq!(short.matches("    at ").count(), 3, "{short}");
    }

    #[test]
    fn of_encoded_data_the_ends_stay() {
        let cookie = format!("token={}%3D", "a1B2%22".repeat(200));
        let mut text = format!(
            "Nimm das hier:\ncurl 'https://shop.test/a' -b '{cookie}' --data-raw 'Action=Price&Take=20'\nund sonst nichts."
        );
        cut_long_words(&mut text);
        assert!(
            text.starts_with("Nimm das hier:\ncurl 'https://shop.test/a' -b 'token=a1B2") && text.len() < 500,
            "{text}"
        );
        assert!(
            text.ends_with("%3D' --data-raw 'Action=Price&Take=20'\nund sonst nichts.") && text.contains(GAP),
            "{text}"
        );
        for whole in ["请把这个页面改成蓝色。".repeat(80), format!("https://shop.test/{}", "a/".repeat(120))]
        {
            let mut text = whole.clone();
            cut_long_words(&mut text);
            assert_eq!(text, whole);
        }
    }

    #[test]
    fn lists_of_wishes_and_of_files_stay() {
        let wishes = "Bitte:\n- Knopf rot\n- Liste sortieren\n- Preis zeigen\n- Bild größer\n- Text kürzen\n- Menü links\n\
                      - Fuß weg\n- Datum deutsch\n- Suche oben\n- Karte rund\n- Farbe hell\n- Schrift groß";
        assert_eq!(told(wishes), wishes);
        let files = (0..20).map(|n| format!("- src/part{n}.rs")).collect::<Vec<_>>().join("\n");
        assert_eq!(told(&files), files);
    }
}
