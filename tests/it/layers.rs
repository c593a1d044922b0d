//! The arrows between the layers: read from the source, refused when there is one too many.

mod arrows;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A layer, what it may use of ours, and what it must not use of others'.
const LAYERS: [(&str, &[&str], &[&str]); 13] = [
    ("domain", &[], &["axum", "sqlx", "tokio", "reqwest", "rand", "nix"]),
    ("store", &["background", "domain", "trace"], &["axum", "reqwest"]),
    ("background", &[], &["axum", "sqlx", "reqwest"]),
    ("backoff", &[], &["axum", "sqlx", "tokio", "reqwest"]),
    ("families", &[], &["axum", "sqlx", "tokio", "reqwest"]),
    ("trace", &[], &["axum", "sqlx", "tokio"]),
    ("llm", &["backoff", "trace", "domain", "families"], &["axum", "sqlx"]),
    ("hooks", &["backoff", "trace", "domain"], &["axum", "sqlx"]),
    ("service", &["background", "trace", "domain", "families", "store", "hooks"], &["axum", "reqwest"]),
    ("api", &["service", "trace", "domain", "families"], &["sqlx", "reqwest"]),
    ("proxy", &["service", "trace", "domain", "families"], &["sqlx"]),
    ("ui", &["service", "domain", "families"], &["sqlx", "reqwest"]),
    ("worker", &["background", "backoff", "families", "trace", "service", "store", "llm", "domain"], &["axum"]),
];
/// What tests alone use: `tests/support`.
const TEST_SUPPORT: [&str; 3] = ["codes_page", "data", "made_up"];
/// May use everything.
const COMPOSITION: [&str; 5] = ["cli", "config", "lifecycle", "lib", "main"];

fn layer_of(file: &Path) -> String {
    let first = file.components().next().unwrap();
    Path::new(first.as_os_str()).file_stem().unwrap().to_str().unwrap().to_owned()
}

/// The roots of the crates that are read: the folder of their sources, and the module under which this crate shows them.
const ROOTS: [(&str, &str); 2] = [("src", ""), ("crates/domain/src", "domain")];

/// Every source file of the crates: its place as a module of this crate, and its text with paths from there.
pub fn crates() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for (root, module) in ROOTS {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join(root);
        let mut files = Vec::new();
        sources(&root, &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let place = file.strip_prefix(&root).unwrap();
            found.push(match module {
                "" => (place.to_owned(), text),
                _ if place == Path::new("lib.rs") => (format!("{module}.rs").into(), text),
                _ => (Path::new(module).join(place), text.replace("crate::", &format!("crate::{module}::"))),
            });
        }
    }
    found
}

/// Every source file below a directory.
pub fn sources(directory: &Path, into: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// Every `NAME` of `crate::NAME` and of `crate::{NAME, …}`, comments aside.
fn used_modules(source: &str) -> BTreeSet<String> {
    let code: String = source.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n");
    let mut used = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        let rest = &code[at + path.len()..];
        match rest.strip_prefix('{') {
            Some(group) => used.extend(group_names(group)),
            None => used.extend(leading_name(rest)),
        }
    }
    used
}

fn leading_name(text: &str) -> Option<String> {
    let name: String = text.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    (!name.is_empty()).then_some(name)
}

/// The names at the first level of `a::{b, c}, d}`.
fn group_names(group: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut start) = (0, 0);
    for (at, c) in group.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth > 0 => depth -= 1,
            ',' | '}' if depth == 0 => {
                names.extend(leading_name(&group[start..at]));
                start = at + 1;
                if c == '}' {
                    break;
                }
            }
            _ => {}
        }
    }
    names
}

/// Whether `source` names the crate `name` in a path.
fn uses_crate(source: &str, name: &str) -> bool {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or(""));
    let path = format!("{name}::");
    code.into_iter().any(|line| {
        line.match_indices(&path)
            .any(|(at, _)| !line[..at].ends_with(|c: char| c.is_alphanumeric() || "_:".contains(c)))
    })
}

#[test]
fn layers_use_only_what_is_below_them() {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for (relative, source) in crates() {
        let layer = layer_of(&relative);
        seen.insert(layer.clone());
        let Some((_, allowed, banned)) = LAYERS.iter().find(|(name, _, _)| *name == layer) else {
            continue;
        };
        for used in used_modules(&source) {
            if used != layer && !TEST_SUPPORT.contains(&used.as_str()) && !allowed.contains(&used.as_str()) {
                wrong.push(format!("{}: {layer} uses {used}", relative.display()));
            }
        }
        for name in banned.iter().filter(|name| uses_crate(&source, name)) {
            wrong.push(format!("{}: {layer} uses the crate {name}", relative.display()));
        }
    }
    let placed = |layer: &String| {
        LAYERS.iter().any(|(name, _, _)| name == layer) || COMPOSITION.contains(&layer.as_str()) || layer == "telemetry"
    };
    wrong.extend(seen.iter().filter(|layer| !placed(layer)).map(|layer| format!("src/{layer}: in no layer")));
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// The files of `src`, and the arrows between them.
fn arrows_of_files() -> arrows::Arrows {
    arrows::of_files(&crates())
}

#[test]
fn no_files_use_one_another_in_a_circle() {
    let circles = arrows::circles(&arrows_of_files());
    assert!(circles.is_empty(), "{circles:#?}");
}

/// A room is a folder of a layer, with the file that bears its name.
#[test]
fn no_rooms_of_a_layer_use_one_another_in_a_circle() {
    let files = arrows_of_files();
    for layer in ["domain", "service"] {
        let room = |module: &arrows::Module| (module.first()? == layer).then(|| module.get(..2).map(<[_]>::to_vec))?;
        let rooms = arrows::between(&files, room);
        println!("{layer}: {} rooms, {} arrows", rooms.len(), rooms.values().map(BTreeSet::len).sum::<usize>());
        assert!((10..=14).contains(&rooms.len()), "{rooms:?}");
        let circles = arrows::circles(&rooms);
        assert!(circles.is_empty(), "{circles:#?}");
    }
}

/// Files that the docs name, as `name.rs` or `folder/name.rs`.
fn named_files(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).filter(|code| code.ends_with(".rs") && !code.contains(' ')).collect()
}

#[test]
fn the_docs_name_files_that_are_there() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> = crates().into_iter().map(|(file, _)| Path::new("src").join(file)).collect();
    for directory in ["tests", "benches"] {
        sources(&root.join(directory), &mut files);
    }
    let mut gone = Vec::new();
    for doc in std::fs::read_dir(root.join("docs")).unwrap().map(|entry| entry.unwrap().path()) {
        if doc.extension().is_some_and(|extension| extension == "md") {
            let text = std::fs::read_to_string(&doc).unwrap();
            let is_gone = |name: &&str| !files.iter().any(|file| file.ends_with(name));
            gone.extend(
                named_files(&text).into_iter().filter(is_gone).map(|name| format!("{}: {name}", doc.display())),
            );
        }
    }
    assert!(gone.is_empty(), "{gone:#?}");
}

/// A stranger follows them with twelve files open at most.
#[test]
fn the_walks_name_each_file_once() {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/ARCHITECTURE.md")).unwrap();
    let walks = text.split("\n## ").find(|section| section.starts_with("Two walks")).unwrap();
    let walks: Vec<Vec<&str>> = walks.split("\n**").skip(1).map(named_files).collect();
    assert_eq!(walks.len(), 2);
    for walk in walks {
        assert!((8..=12).contains(&walk.len()), "{walk:?}");
        let once: BTreeSet<&&str> = walk.iter().collect();
        assert_eq!(once.len(), walk.len(), "{walk:?}");
    }
}

#[test]
fn circles_can_be_seen() {
    let sources = |all: &[(&str, &str)]| -> BTreeMap<arrows::Module, String> {
        let module = |path: &str| path.split('/').map(str::to_owned).collect();
        all.iter().map(|(path, code)| (module(path), arrows::code_of(code))).collect()
    };
    let circles = |all: &[(&str, &str)]| -> Vec<String> {
        let found = arrows::circles(&arrows::of_sources(&sources(all)));
        found.iter().map(|circle| circle.iter().map(|module| module.join("/")).collect::<Vec<_>>().join(" ")).collect()
    };
    let parent = ("a", "mod b;\nuse b::run;\npub struct Of;");
    assert_eq!(circles(&[parent, ("a/b", "use super::Of;\npub fn run(of: Of) {}")]), ["a a/b"]);
    assert_eq!(circles(&[parent, ("a/b", "pub fn run(of: super::Of) {}")]), ["a a/b"]);
    assert_eq!(circles(&[parent, ("a/b", "// super::Of\nconst A: &str = \"crate::a::Of\";")]), [""; 0]);
    assert_eq!(circles(&[parent, ("a/b", "#[cfg(test)]\nmod tests {\n    use crate::a::Of;\n}")]), [""; 0]);
    // What a parent only passes on is its child's.
    let passing = ("a", "mod b;\nmod c;\nuse c::run;\npub use b::{Of, With};");
    assert_eq!(circles(&[passing, ("a/b", "pub struct Of;"), ("a/c", "use super::{Of, With};")]), [""; 0]);
    assert_eq!(circles(&[passing, ("a/b", "use super::c;"), ("a/c", "use crate::a::b::Of;")]), ["a/b a/c"]);
    let three = [("a", "use crate::b::{c::X, Y};"), ("b", "use crate::z;"), ("b/c", ""), ("z", "use crate::a::W;")];
    assert_eq!(circles(&three), ["a b z"]);
}

#[test]
fn the_check_can_see() {
    let source =
        "use crate::domain::x;\nuse crate::{store::{a, b}, llm};\n// crate::api::no\nlet y = crate::worker::z();";
    assert_eq!(used_modules(source).into_iter().collect::<Vec<_>>(), ["domain", "llm", "store", "worker"]);
    assert!(uses_crate("use sqlx::PgPool;", "sqlx"));
    assert!(!uses_crate("use our_sqlx::X; // sqlx::Y", "sqlx"));
}

/// Who else writes to a terminal might show what somebody else has written raw.
#[test]
fn one_place_writes_to_the_terminal() {
    // The bridge speaks a protocol on it, `top` draws on it through `crossterm`, and logs are lines of their own.
    const OTHERS: [&str; 3] = ["cli/mcp.rs", "cli/people/top/screen.rs", "telemetry.rs"];
    let writes = |line: &str| {
        ["print!(", "println!(", "eprint!(", "eprintln!(", "dbg!(", "stdout()", "stderr()", "io::stdout", "io::stderr"]
            .iter()
            .any(|word| line.contains(word))
    };
    let mut wrong = Vec::new();
    for (relative, source) in crates() {
        let relative = relative.display().to_string();
        let is_test = relative.contains("tests") || relative.ends_with("measured.rs") || relative.contains("corpus");
        if relative == "cli/output.rs" || OTHERS.contains(&relative.as_str()) || is_test {
            continue;
        }
        let own = source.split("#[cfg(test)]").next().unwrap();
        wrong.extend(own.lines().filter(|line| writes(line)).map(|line| format!("{relative}: {}", line.trim())));
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
