//! Sentences, told from code and logs, and in which script they are.

/// Script of most of a sentence's letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    Latin,
    Cyrillic,
    EastAsian,
}

impl Script {
    /// A letter of Chinese, Japanese or Korean counts for four: it says as much.
    pub fn of(sentence: &str) -> Script {
        let (mut latin, mut cyrillic, mut east) = (0, 0, 0);
        for letter in sentence.chars().filter(|c| c.is_alphabetic()) {
            match letter {
                '\u{400}'..='\u{52f}' => cyrillic += 1,
                '\u{1100}'..='\u{11ff}' | '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => east += 4,
                _ => latin += 1,
            }
        }
        if east > latin.max(cyrillic) {
            Script::EastAsian
        } else if cyrillic > latin {
            Script::Cyrillic
        } else {
            Script::Latin
        }
    }
}

const SHORT: usize = 60;

/// Code and logs have the words of rules too.
pub fn is_prose(sentence: &str) -> bool {
    let opening = sentence.trim_start_matches(['"', '\'', '(', '[', '*', '`', '¡', '“', '「', '«', '$', '€']);
    let numbered = opening.split_once(['.', ')', ':']).is_some_and(|(number, rest)| {
        number.len() < 3 && number.bytes().all(|byte| byte.is_ascii_digit()) && rest.starts_with(' ')
    });
    // An amount may open a short sentence; a long line with a number in front is a log's.
    let amount = sentence.len() < SHORT && !sentence.contains(':') && opening.starts_with(|c: char| c.is_ascii_digit());
    let begins = opening.starts_with(char::is_alphabetic) || numbered || amount;
    let letters = sentence.chars().filter(|c| c.is_alphanumeric() || c.is_whitespace()).count();
    begins && letters * 4 >= sentence.chars().count() * 3 && (sentence.contains(' ') || !sentence.is_ascii())
}
