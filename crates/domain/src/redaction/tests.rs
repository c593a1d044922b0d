use std::collections::HashMap;
use std::time::Instant;

use super::*;

const SECRETS: &str = include_str!("../../../../tests/data/redaction/secrets.tsv");
const HARMLESS: &str = include_str!("../../../../tests/data/redaction/harmless.tsv");
/// Each form is tried with so many values.
const VALUES: u64 = 20;

/// Numbers by chance, the same in each run.
struct Chance(u64);

impl Chance {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }

    fn of(&mut self, alphabet: &str, count: usize) -> String {
        let letters: Vec<char> = alphabet.chars().collect();
        (0..count).map(|_| letters[self.below(letters.len())]).collect()
    }

    fn fill(&mut self, template: &str) -> String {
        const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
        const UPPER: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
        const DIGITS: &str = "0123456789";
        let alphabet = |name: &str| match name {
            "AN" => [LOWER, UPPER, DIGITS].concat(),
            "an" => [LOWER, DIGITS].concat(),
            "UN" => [UPPER, DIGITS].concat(),
            "UP" => [UPPER, "234567"].concat(),
            "L" => [LOWER, UPPER].concat(),
            "d" => DIGITS.to_owned(),
            "hex" => [DIGITS, "abcdef"].concat(),
            "HEX" => [DIGITS, "ABCDEF"].concat(),
            "BECH" => "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L".to_owned(),
            other => panic!("no alphabet {other}"),
        };
        let places = Regex::new(r"\{(uuid|[A-Za-z]+:\d+)\}").unwrap();
        let mut filled = String::new();
        let mut from = 0;
        for place in places.find_iter(template) {
            filled.push_str(&template[from..place.start()]);
            from = place.end();
            let inner = place.as_str().trim_matches(['{', '}']);
            let value = match inner.split_once(':') {
                Some((name, count)) => self.of(&alphabet(name), count.parse().unwrap()),
                None => [8, 4, 4, 4, 12].map(|count| self.of(&alphabet("hex"), count)).join("-"),
            };
            filled.push_str(&value);
        }
        filled.push_str(&template[from..]);
        filled.replace(r"\\n", "\u{1}").replace(r"\n", "\n").replace(r"\t", "\t").replace('\u{1}', r"\n")
    }
}

fn rows(table: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    table.lines().filter(|line| !line.starts_with('#')).map(|line| line.split_once('\t').unwrap())
}

fn auto() -> Redaction {
    Redaction::of(&RedactSetting::default())
}

#[test]
fn tables_are_understood() {
    let (all, read) = tokens::read_rows();
    assert_eq!(all, read);
    let (all, read) = patterns::read_rows();
    assert_eq!(all, read);
}

#[test]
fn finds_every_kind_of_secret() {
    let redaction = auto();
    let (mut kinds, mut missed, mut values) = (0, Vec::new(), 0);
    for (kind, template) in rows(SECRETS) {
        kinds += 1;
        for seed in 0..VALUES {
            let text = Chance(seed * 7_919 + kinds).fill(template);
            let (before, rest) = text.split_once('«').unwrap();
            let (secret, after) = rest.split_once('»').unwrap();
            let plain = format!("{before}{secret}{after}");
            let redacted = redaction.redact(&plain, Some("call #47")).into_owned();
            values += 1;
            let mark = redacted.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            let is_whole = mark.is_some_and(|mark| {
                mark.starts_with("[redacted: ") && mark.ends_with(", call #47]") && mark.len() < 60
            });
            if !is_whole {
                missed.push(format!("{kind}: {plain}\n    {redacted}"));
            }
        }
    }
    println!("{kinds} kinds, {values} values, {} missed", missed.len());
    assert!(missed.is_empty(), "{} of {values}:\n{}", missed.len(), missed.join("\n"));
    assert!(kinds >= 200);
}

#[test]
fn leaves_what_only_looks_like_a_secret() {
    let redaction = auto();
    let mut alarms = Vec::new();
    let mut texts = 0;
    for (kind, template) in rows(HARMLESS) {
        for seed in 0..VALUES {
            texts += 1;
            let text = Chance(seed * 104_729 + texts).fill(template);
            if let Cow::Owned(redacted) = redaction.redact(&text, None) {
                alarms.push(format!("{kind}: {text}\n    {redacted}"));
            }
        }
    }
    println!("{texts} texts without secrets, {} false alarms", alarms.len());
    assert!(alarms.is_empty(), "{} of {texts}:\n{}", alarms.len(), alarms.join("\n"));
}

#[test]
fn what_is_redacted_once_stays_as_it_is() {
    let own = OwnPatterns { patterns: vec!["#[0-9]+".into(), "redacted|token".into()] };
    for redaction in [auto(), Redaction::of(&RedactSetting::Own(own))] {
        for (_, template) in rows(SECRETS) {
            let plain = Chance(5).fill(template).replace(['«', '»'], "");
            let once = redaction.redact(&plain, Some("call #47")).into_owned();
            assert_eq!(redaction.redact(&once, None), once);
        }
    }
}

#[test]
fn says_what_it_was_and_where() {
    let token = format!("{}_{}", "ghp", Chance(3).fill("{AN:36}"));
    let text = format!("Logged in with {token}.");
    let redaction = auto();
    assert_eq!(redaction.redact(&text, Some("u12")), "Logged in with [redacted: GitHub token, u12].");
    assert_eq!(redaction.redact(&text, None), "Logged in with [redacted: GitHub token].");
    assert_eq!(Redaction::of(&RedactSetting::Word(RedactWord::Off)).redact(&text, None), text);
    assert!(matches!(redaction.redact("Nothing here.", None), Cow::Borrowed(_)));
}

#[test]
fn own_patterns_come_on_top() {
    let own = RedactSetting::Own(OwnPatterns { patterns: vec![r"ACME-\d{4}".into(), r"pin=(\d+)".into()] });
    let redaction = Redaction::of(&own);
    assert_eq!(redaction.redact("ACME-1234, pin=77", None), "[redacted: own pattern], pin=[redacted: own pattern]");
    let nested = format!("spring.datasource.password=${{POSTGRES_PASSWORD:{}}}", "psqladmin");
    let told = redaction.redact(&nested, None);
    assert_eq!(told, "spring.datasource.password=${POSTGRES_PASSWORD:[redacted: password]}");
    assert!(redaction.redact(&format!("PASSWORD={}", "hunter22"), None).contains("[redacted: password]"));
    assert_ne!(redaction.digest(), auto().digest());
    assert_ne!(Redaction::of(&RedactSetting::Word(RedactWord::Off)).digest(), auto().digest());
    for bad in ["(", "a*", "(?=a)b", "(a{1000}){1000}", &"a".repeat(PATTERN_CHARS + 1)] {
        assert!(own_pattern(bad).is_err(), "{bad}");
    }
}

#[test]
fn setting_is_a_word_or_patterns() {
    let read = |text: &str| serde_json::from_str::<RedactSetting>(text);
    assert_eq!(read("\"auto\"").unwrap(), RedactSetting::default());
    assert_eq!(read("\"off\"").unwrap(), RedactSetting::Word(RedactWord::Off));
    let own = RedactSetting::Own(OwnPatterns { patterns: vec!["a".into()] });
    assert_eq!(read(&serde_json::to_string(&own).unwrap()).unwrap(), own);
    assert_eq!(serde_json::to_string(&RedactSetting::default()).unwrap(), "\"auto\"");
}

proptest::proptest! {
    #[test]
    fn never_panics(text in "(?s)([a-zé\"'=:\\\\\n-]|password|BEGIN PRIVATE KEY-----|ghp_|://|…|eyJ){0,60}") {
        auto().redact(&text, None);
    }
}

/// `cargo test --release … -- --ignored --nocapture redaction::tests::ten_megabytes`.
#[test]
#[ignore = "prints how long it takes"]
fn ten_megabytes() {
    let redaction = auto();
    redaction.redact("warm up", None);
    let mut chance = Chance(1);
    let every: String = rows(HARMLESS).map(|(_, row)| chance.fill(row) + "\n").collect();
    let texts: HashMap<&str, String> = [
        ("harmless", every.clone()),
        ("names", "password=token:secret_key=".to_owned()),
        ("beginnings", "sk-eyJ-ghp_-AKIA ".to_owned()),
        ("frames", "-----BEGIN PRIVATE KEY-----\nAAAA\n".to_owned()),
        ("ends", "AAAAAAAAAAAAAAAAAAAAAAAAAAAA\n-----END PRIVATE KEY-----".to_owned()),
        ("one run", "a1B2".to_owned()),
        ("lines", "a1B2c3D4e5F6g7H8i9J0\n".to_owned()),
        ("urls", "http://a:".to_owned()),
        ("quotes", "\\\"password\\\":\\\"".to_owned()),
        ("commands", "curl -u ".to_owned()),
    ]
    .into();
    for (name, piece) in texts {
        for megabytes in [5, 10] {
            let text = piece.repeat((megabytes << 20) / piece.len());
            let began = Instant::now();
            let found = redaction.found(&text).len();
            println!("{name}: {megabytes} MB, {found} found, {:?}", began.elapsed());
        }
    }
}

/// What is redacted in a corpus that lies outside of the repository, to be read by eye.
#[test]
#[ignore = "prints what it redacts in the folder that REDACTION_CORPUS names"]
fn corpus() {
    let Ok(folder) = std::env::var("REDACTION_CORPUS") else { return };
    let redaction = auto();
    let mut counts: HashMap<&str, u32> = HashMap::new();
    let mut bytes = 0;
    for file in std::fs::read_dir(folder).unwrap() {
        let path = file.unwrap().path();
        let Ok(text) = std::fs::read_to_string(&path) else { continue };
        bytes += text.len();
        for secret in redaction.found(&text) {
            *counts.entry(secret.kind).or_default() += 1;
            let around = |at: usize| (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
            let (from, to) = (around(secret.start.saturating_sub(60)), around((secret.end + 20).min(text.len())));
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let (before, it, after) =
                (&text[from..secret.start], &text[secret.start..secret.end], &text[secret.end..to]);
            println!("{} | {name} | {before:?} «{:?}» {after:?}", secret.kind, it.chars().take(90).collect::<String>());
        }
    }
    println!("{bytes} bytes: {counts:?}");
}
