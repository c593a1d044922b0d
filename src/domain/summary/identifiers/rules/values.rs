//! Values of which a rule names one: a rule that names another of the same kind, for the same thing, takes its place.

/// Kind of every number.
pub const NUMBER: usize = 1_000;

const KINDS: &[&[&str]] = &[
    &[
        "tab",
        "space",
        "leerzeichen",
        "espace",
        "espacio",
        "タブ",
        "スペース",
        "制表符",
        "空格",
        "табы",
        "табуляция",
        "табуляцию",
        "пробелы",
        "탭",
        "스페이스",
    ],
    &["single", "double"],
    &[
        "short",
        "brief",
        "briefly",
        "concise",
        "terse",
        "kurz",
        "knapp",
        "long",
        "detailed",
        "verbose",
        "ausfuhrlich",
        "thorough",
    ],
    &[
        "english",
        "german",
        "french",
        "spanish",
        "japanese",
        "chinese",
        "russian",
        "korean",
        "italian",
        "portuguese",
        "dutch",
        "deutsch",
        "englisch",
        "franzosisch",
        "spanisch",
        "francais",
        "anglais",
        "allemand",
        "espagnol",
        "espanol",
        "ingles",
        "frances",
        "aleman",
        "中文",
        "英文",
        "英语",
        "日语",
        "德语",
        "法语",
        "日本語",
        "英語",
        "中国語",
        "русском",
        "по-русски",
        "английском",
        "по-английски",
        "немецком",
        "한국어",
        "영어",
    ],
    &["camelcase", "snake_case", "snakecase", "kebab-case", "pascalcase", "camel", "snake", "kebab", "pascal"],
    &["npm", "pnpm", "yarn", "bun"],
    &["pip", "poetry", "uv", "conda", "pipenv"],
    &["jest", "vitest", "mocha"],
    &["pytest", "unittest"],
    &["postgres", "postgresql", "mysql", "sqlite", "mariadb"],
    &["react", "vue", "svelte", "angular"],
    &["light", "dark"],
    &["formal", "informal", "casual"],
    &["rebase", "merge", "squash"],
    &["british", "american"],
    &["rgb", "hex", "hsl"],
    &[
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "tomorrow",
        "tonight",
        "montag",
        "dienstag",
        "mittwoch",
        "donnerstag",
        "freitag",
        "samstag",
        "sonntag",
        "lundi",
        "mardi",
        "mercredi",
        "jeudi",
        "vendredi",
        "lunes",
        "martes",
        "miercoles",
        "jueves",
        "viernes",
    ],
];

/// The kind of value that a word is.
pub fn kind_of(word: &str) -> Option<usize> {
    let listed = KINDS.iter().position(|kind| kind.contains(&word) || kind.contains(&singular(word)));
    listed.or_else(|| word.trim_start_matches('$').starts_with(|c: char| c.is_ascii_digit()).then_some(NUMBER))
}

/// The values in letters that are written without spaces.
pub fn unspaced() -> impl Iterator<Item = &'static str> {
    KINDS.iter().flat_map(|kind| kind.iter().copied()).filter(|value| value.chars().any(is_wide))
}

/// Returns true for letters of Chinese, Japanese and Korean.
pub fn is_wide(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}')
}

/// The word without the s of a plural.
pub fn singular(word: &str) -> &str {
    word.strip_suffix('s').filter(|stem| stem.len() > 2 && !stem.ends_with('s')).unwrap_or(word)
}
