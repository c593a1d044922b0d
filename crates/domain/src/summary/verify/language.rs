//! Whether an answer is written as its conversation is: in a script that is used there, and with the short words that are
//! used there. No language is known by name: every one of them repeats a few short words in every sentence.
//!
//! Names, code and quotations are of no language; only a text that is plainly of one is judged.

use std::collections::HashSet;

use super::reason::RejectReason;
use super::voice::Voice;
use crate::record::words;
use crate::summary::identifiers;

/// Scripts that are told apart.
const SCRIPTS: usize = 10;
const LATIN: usize = 0;
/// The language of a span is clear after so many bytes.
const MOST_READ: usize = 4 << 20;
/// Letters that a text must have to be of a script, and the share of them that must be of it.
const LEAST_LETTERS: f64 = 60.0;
const CLEAR: f64 = 0.6;
/// A script with more than this share of what people and models wrote is one of the conversation's.
const HEARD: f64 = 0.03;
/// A sign of a script that writes words without letters counts for so many.
const SIGN: f64 = 3.0;
/// Letters of a short word.
const SHORT: std::ops::RangeInclusive<usize> = 2..=5;
/// Short words that an answer must have to be judged by them.
const LEAST_SHORT: usize = 12;
/// Share of them that must stand somewhere in the span: in a short one, and in one that has many different ones. In the
/// answers of the tests and their spans, which are short, it is 0.23 and more in one language and 0.04 at most in two.
const LEAST_KNOWN: f64 = 0.10;
const LEAST_OF_MANY: f64 = 0.40;
const MANY: usize = 150;
/// Fewer different ones say nothing of a span in Latin letters.
const FEW: usize = 15;

/// The scripts and the short words of a span.
#[derive(Debug, Clone, Default)]
pub(super) struct Profile {
    written: Prose,
    /// Of all that stands in it: what tools print is mostly English, and its reader knows it.
    known: HashSet<u64>,
    read: usize,
}

/// How much of each script the prose of a text has, and its short words.
#[derive(Debug, Clone, Default)]
struct Prose {
    letters: [f64; SCRIPTS],
    short: Vec<u64>,
}

impl Profile {
    pub(super) fn add(&mut self, voice: Voice, text: &str) {
        if self.read > MOST_READ {
            return;
        }
        self.read += text.len();
        let prose = Prose::of(text);
        self.known.extend(prose.short);
        if matches!(voice, Voice::User | Voice::Model | Voice::Note) {
            self.written.letters.iter_mut().zip(prose.letters).for_each(|(sum, more)| *sum += more);
        }
    }

    /// Returns true if enough of these short words stand in the span.
    fn knows(&self, short: &[u64]) -> bool {
        let known = short.iter().filter(|word| self.known.contains(*word)).count();
        let least = if self.known.len() < MANY { LEAST_KNOWN } else { LEAST_OF_MANY };
        known as f64 >= least * short.len() as f64
    }
}

/// Refuses a text in a script or a language that nobody uses in the span.
pub(super) fn check(text: &str, span: &Profile) -> Result<(), RejectReason> {
    let prose = Prose::of(text);
    let Some(script) = prose.script() else { return Ok(()) };
    let Some(heard) = share(&span.written.letters, script) else { return Ok(()) };
    let is_foreign = match script {
        // Names are in Latin letters everywhere.
        LATIN => {
            let is_judged = heard < CLEAR || span.known.len() >= FEW;
            is_judged && prose.short.len() >= LEAST_SHORT && !span.knows(&prose.short)
        }
        _ => heard < HEARD,
    };
    if is_foreign { Err(RejectReason::WrongLanguage) } else { Ok(()) }
}

/// The share of one script. `None`: there is too little to tell.
fn share(letters: &[f64; SCRIPTS], script: usize) -> Option<f64> {
    let total: f64 = letters.iter().sum();
    let own = letters.get(script).copied().unwrap_or_default();
    (total >= LEAST_LETTERS).then_some(own / total)
}

impl Prose {
    fn of(text: &str) -> Prose {
        let mut prose = Prose::default();
        let mut fenced = false;
        for line in text.lines() {
            if line.trim_start().starts_with("```") {
                fenced = !fenced;
            } else if !fenced {
                // What stands between backticks is quoted.
                line.split('`').step_by(2).for_each(|said| prose.add(said));
            }
        }
        prose
    }

    fn add(&mut self, said: &str) {
        for token in said.split_whitespace().filter(|token| identifiers::extract(token, 1).is_empty()) {
            words::each(token, &mut |word| {
                for c in word.text.chars() {
                    if let Some((script, letters)) = script(c)
                        && let Some(sum) = self.letters.get_mut(script)
                    {
                        *sum += letters;
                    }
                }
                let is_short = SHORT.contains(&word.text.chars().count());
                if is_short && !word.is_pair && word.text.chars().all(|c| script(c).is_some_and(|of| of.0 == LATIN)) {
                    self.short.push(word.hash());
                }
            });
        }
    }

    /// The script that the text is plainly of.
    fn script(&self) -> Option<usize> {
        (0..SCRIPTS).find(|script| share(&self.letters, *script).is_some_and(|share| share >= CLEAR))
    }
}

/// The script of a letter, and how many letters it counts for.
fn script(c: char) -> Option<(usize, f64)> {
    Some(match c {
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' | '\u{1e00}'..='\u{1eff}' => (LATIN, 1.0),
        '\u{370}'..='\u{3ff}' => (1, 1.0),
        '\u{400}'..='\u{52f}' => (2, 1.0),
        '\u{590}'..='\u{5ff}' => (3, 1.0),
        '\u{600}'..='\u{6ff}' => (4, 1.0),
        '\u{900}'..='\u{dff}' => (5, 1.0),
        '\u{e00}'..='\u{e7f}' => (6, 1.0),
        '\u{ac00}'..='\u{d7af}' => (7, SIGN),
        // Signs that Chinese and Japanese share.
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' => (8, SIGN),
        '\u{3040}'..='\u{30ff}' => (9, SIGN),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const ENGLISH: &str = "The user wants the parser to be moved out of the file, and it has to keep the tests that are \
        there; the rest of it should be left as it was when the last of the changes was made by them. ";
    const GERMAN: &str = "Der Nutzer will, dass die Datei nicht geändert wird, und die Tests sind noch nicht fertig, denn \
        der Parser ist mit der alten Fassung nicht zu vergleichen und die Funktion wurde für eine andere geschrieben. ";
    const SPANISH: &str = "El usuario quiere que el analizador salga del archivo y que se conserven las pruebas que ya hay; \
        lo demás tiene que quedar como estaba, y el puerto no se toca hasta que lo diga él mismo por la tarde. ";
    const RUSSIAN: &str = "Пользователь хочет перенести разбор настроек в отдельный файл и сохранить все проверки, которые \
        уже есть, а остальное оставить как было. Часть работы уже сделана, осталось поправить одну проверку. ";
    const CHINESE: &str =
        "用户想把解析器移到单独的模块，并且保留所有已有的测试，其余的部分不要改动，端口必须保持不变，提交之前先询问。";

    fn is_foreign(spoken: &str, answer: &str) -> bool {
        let mut span = Profile::default();
        span.add(Voice::User, &spoken.repeat(3));
        check(answer, &span).is_err()
    }

    #[test]
    fn sees_languages_that_nobody_speaks() {
        let texts = [ENGLISH, GERMAN, SPANISH, RUSSIAN, CHINESE];
        for spoken in texts {
            for answer in texts {
                assert_eq!(is_foreign(spoken, answer), spoken != answer, "{spoken} {answer}");
            }
        }
    }

    #[test]
    fn a_language_that_is_heard_now_and_then_will_do() {
        let spoken = format!("{}{GERMAN}", ENGLISH.repeat(8));
        assert!(!is_foreign(&spoken, GERMAN));
        assert!(!is_foreign(&format!("{}{RUSSIAN}", ENGLISH.repeat(8)), RUSSIAN));
        assert!(!is_foreign(ENGLISH, "- `src/a.rs`: die Datei ist fertig"), "too short to tell");
        assert!(!is_foreign("ok", GERMAN), "too little to tell");
        assert!(
            !is_foreign(&"move the parser and keep the tests green. ".repeat(20), GERMAN),
            "few words over and over"
        );
    }

    /// English is the language of programs and of their output.
    #[test]
    fn english_is_known_where_tools_speak_it() {
        let mut span = Profile::default();
        span.add(Voice::User, &RUSSIAN.repeat(2));
        span.add(Voice::Tool, "src/config.rs: 412 lines\nok");
        let bare = span.clone();
        span.add(Voice::Tool, ENGLISH);
        assert_eq!(check(ENGLISH, &span), Ok(()));
        assert!(check(ENGLISH, &bare).is_err());
    }
}
