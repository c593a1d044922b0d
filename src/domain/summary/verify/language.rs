//! The language that a text is written in, by its script and its commonest words.
//!
//! Names, code and quotations are of no language; only a text that is plainly of one is judged.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::reason::RejectReason;
use super::voice::Voice;

const LANGUAGES: usize = 14;
/// Where the languages of one script begin and end in [`NAMES`].
const LATIN: std::ops::Range<usize> = 0..7;
const ENGLISH: usize = 0;
const GERMAN: usize = 1;
const CHINESE: usize = 12;
const JAPANESE: usize = 13;

const NAMES: [&str; LANGUAGES] = [
    "English",
    "German",
    "French",
    "Spanish",
    "Portuguese",
    "Italian",
    "Dutch",
    "Russian or another Slavic language",
    "Greek",
    "Arabic",
    "Hebrew",
    "Korean",
    "Chinese",
    "Japanese",
];

/// Common words of the languages in Latin script, such as no other of them and no code has often.
const COMMON: [&[&str]; 7] = [
    &[
        "the", "and", "of", "to", "is", "was", "with", "that", "this", "are", "from", "been", "has", "have", "it",
        "by", "be", "were", "which", "should",
    ],
    &[
        "und", "der", "die", "das", "nicht", "ist", "mit", "für", "wurde", "wurden", "eine", "einen", "auf", "werden",
        "wird", "den", "dem", "noch", "sind", "zu",
    ],
    &[
        "les", "et", "est", "une", "des", "pour", "dans", "qui", "pas", "été", "avec", "sur", "du", "aux", "cette",
        "sont", "ont", "le", "au", "être",
    ],
    &[
        "el", "los", "las", "una", "para", "con", "por", "está", "fue", "del", "se", "como", "y", "más", "esta", "sin",
        "hay", "han", "ya", "al",
    ],
    &[
        "não", "uma", "foi", "os", "dos", "da", "em", "são", "às", "ao", "pela", "pelo", "mais", "foram", "já", "das",
        "na", "no", "com", "ser",
    ],
    &[
        "il", "che", "di", "della", "non", "è", "stato", "gli", "nel", "sono", "alla", "dei", "delle", "anche", "più",
        "una", "sul", "ha", "questo", "per",
    ],
    &[
        "het", "een", "van", "niet", "zijn", "voor", "met", "wordt", "naar", "maar", "ook", "aan", "bij", "uit",
        "werd", "nog", "moet", "hebben", "deze", "de",
    ],
];

/// In which of the languages a word is common, one bit each.
static LANGUAGES_OF: LazyLock<HashMap<&'static str, u8>> = LazyLock::new(|| {
    let mut languages = HashMap::new();
    for (at, common) in COMMON.iter().enumerate() {
        common.iter().for_each(|word| *languages.entry(*word).or_default() |= 1 << at);
    }
    languages
});

/// The language of a span is clear after so many bytes.
const MOST_READ: usize = 4 << 20;
/// Common words that a text must have to be of a language.
const LEAST_HITS: f64 = 12.0;
/// Share of all common words that must be of one language.
const CLEAR: f64 = 0.6;
/// Characters of another script that make up for one common word.
const LETTERS_A_HIT: f64 = 10.0;
/// The same of scripts without letters.
const SIGNS_A_HIT: f64 = 5.0;
/// A language with more than this share of what people and models wrote is one of the conversation's.
const HEARD: f64 = 0.03;
/// The same of all that stands in the span, for English: it is the language of programs.
const HEARD_ENGLISH: f64 = 0.05;
/// A span with fewer common words has no language that is known.
const LEAST_HEARD: f64 = 12.0;
/// A word of another language may be a name.
const BY_CHANCE: f64 = 1.5;

/// How much of each language a text has, in common words.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    hits: [f64; LANGUAGES],
    kana: f64,
    han: f64,
    read: usize,
}

/// Languages of a span: of what people and models wrote, and of all.
#[derive(Debug, Clone, Default)]
pub(super) struct Profile {
    written: Counts,
    all: Counts,
}

impl Profile {
    pub(super) fn add(&mut self, voice: Voice, text: &str) {
        if matches!(voice, Voice::User | Voice::Model | Voice::Note) {
            self.written.add(text);
        }
        self.all.add(text);
    }
}

/// Returns true if a text is in German: every noun looks like a name there.
pub(super) fn capitalises_nouns(text: &str) -> bool {
    let mut counts = Counts::default();
    counts.add(text);
    let hits = |language: usize| counts.hits.get(language).copied().unwrap_or_default();
    hits(GERMAN) > hits(ENGLISH)
}

/// Refuses a text in a language that nobody uses in the span.
pub(super) fn check(text: &str, span: &Profile) -> Result<(), RejectReason> {
    let mut counts = Counts::default();
    counts.add(text);
    let Some(language) = counts.language() else { return Ok(()) };
    let (heard, share) = match language {
        ENGLISH => (span.all.finished(), HEARD_ENGLISH),
        _ => (span.written.finished(), HEARD),
    };
    let total: f64 = heard.iter().sum();
    let own = heard.get(language).copied().unwrap_or_default();
    let is_foreign = total >= LEAST_HEARD && own < BY_CHANCE.max(total * share);
    let written = NAMES.get(language).copied().unwrap_or_default();
    if is_foreign { Err(RejectReason::WrongLanguage { written }) } else { Ok(()) }
}

impl Counts {
    fn add(&mut self, text: &str) {
        if self.read > MOST_READ {
            return;
        }
        self.read += text.len();
        let mut fenced = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if !fenced {
                self.add_line(line);
            }
        }
    }

    /// What stands between backticks is quoted.
    fn add_line(&mut self, line: &str) {
        for prose in line.split('`').step_by(2) {
            prose
                .split(|c: char| !c.is_alphabetic())
                .filter(|word| !word.is_empty())
                .for_each(|word| self.add_word(word));
        }
    }

    fn add_word(&mut self, word: &str) {
        if word.is_ascii() || word.chars().all(|c| c < '\u{250}') {
            if word.len() > 8 {
                return;
            }
            let languages = LANGUAGES_OF.get(word.to_lowercase().as_str()).copied().unwrap_or_default();
            for (at, hits) in self.hits.iter_mut().enumerate().take(COMMON.len()) {
                *hits += f64::from(languages >> at & 1);
            }
            return;
        }
        for c in word.chars() {
            match script(c) {
                Some(Script::Letters(language)) => self.hit(language, 1.0 / LETTERS_A_HIT),
                Some(Script::Han) => self.han += 1.0 / SIGNS_A_HIT,
                Some(Script::Kana) => self.kana += 1.0 / SIGNS_A_HIT,
                None => {}
            }
        }
    }

    fn hit(&mut self, language: usize, by: f64) {
        if let Some(hits) = self.hits.get_mut(language) {
            *hits += by;
        }
    }

    /// With the signs that Chinese and Japanese share given to the one that is written.
    fn finished(&self) -> [f64; LANGUAGES] {
        let mut counts = *self;
        let language = if counts.kana * 20.0 > counts.han { JAPANESE } else { CHINESE };
        counts.hit(language, counts.han + counts.kana);
        counts.hits
    }

    /// The language that the text is plainly of.
    fn language(&self) -> Option<usize> {
        let hits = self.finished();
        let total: f64 = hits.iter().sum();
        let (language, most) = hits.iter().copied().enumerate().max_by(|(_, a), (_, b)| a.total_cmp(b))?;
        // Neighbours share words: what a word counts for twice is no second language.
        let others = if LATIN.contains(&language) {
            hits.iter().enumerate().filter(|(at, _)| !LATIN.contains(at)).map(|(_, hits)| hits).sum::<f64>()
                + second(&hits, language)
        } else {
            total - most
        };
        (most >= LEAST_HITS && most >= CLEAR * (most + others)).then_some(language)
    }
}

/// The most common words of a Latin language other than this one.
fn second(hits: &[f64; LANGUAGES], language: usize) -> f64 {
    let others = hits.iter().enumerate().filter(|(at, _)| LATIN.contains(at) && *at != language);
    others.map(|(_, hits)| *hits).fold(0.0, f64::max)
}

enum Script {
    /// Of this language.
    Letters(usize),
    Han,
    Kana,
}

fn script(c: char) -> Option<Script> {
    Some(match c {
        '\u{400}'..='\u{52f}' => Script::Letters(7),
        '\u{370}'..='\u{3ff}' => Script::Letters(8),
        '\u{600}'..='\u{6ff}' => Script::Letters(9),
        '\u{590}'..='\u{5ff}' => Script::Letters(10),
        '\u{ac00}'..='\u{d7af}' => Script::Letters(11),
        '\u{3040}'..='\u{30ff}' => Script::Kana,
        '\u{4e00}'..='\u{9fff}' | '\u{3400}'..='\u{4dbf}' => Script::Han,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH_TEXT: &str = "The user wants the parser to be moved out of the file, and it has to keep the tests that are \
        there; the rest of it should be left as it was when the last of the changes was made by them. ";
    const GERMAN_TEXT: &str = "Der Nutzer will, dass die Datei nicht geändert wird, und die Tests sind noch nicht fertig, denn \
        der Parser ist mit der alten Fassung nicht zu vergleichen und die Funktion wurde für eine andere geschrieben. ";
    const RUSSIAN_TEXT: &str = "Пользователь хочет перенести разбор настроек в отдельный файл и сохранить все проверки, которые \
        уже есть, а остальное оставить как было. Часть работы уже сделана, осталось поправить одну проверку. ";

    fn is_foreign(spoken: &str, answer: &str) -> bool {
        let mut span = Profile::default();
        span.add(Voice::User, &spoken.repeat(3));
        check(answer, &span).is_err()
    }

    #[test]
    fn sees_languages_that_nobody_speaks() {
        let texts = [ENGLISH_TEXT, GERMAN_TEXT, RUSSIAN_TEXT];
        for spoken in texts {
            for answer in texts {
                assert_eq!(is_foreign(spoken, answer), spoken != answer, "{spoken} {answer}");
            }
        }
    }

    #[test]
    fn a_language_that_is_heard_now_and_then_will_do() {
        let spoken = format!("{}{GERMAN_TEXT}", ENGLISH_TEXT.repeat(8));
        assert!(!is_foreign(&spoken, GERMAN_TEXT));
        assert!(!is_foreign(ENGLISH_TEXT, "- `src/a.rs`: die Datei ist fertig"), "too short to tell");
        assert!(!is_foreign("ok", GERMAN_TEXT), "too little to tell");
    }

    /// English is the language of programs and of their output.
    #[test]
    fn english_is_known_where_tools_speak_it() {
        let mut span = Profile::default();
        span.add(Voice::User, &RUSSIAN_TEXT.repeat(2));
        assert!(check(ENGLISH_TEXT, &span).is_err());
        span.add(Voice::Tool, ENGLISH_TEXT);
        assert_eq!(check(ENGLISH_TEXT, &span), Ok(()));
    }
}
