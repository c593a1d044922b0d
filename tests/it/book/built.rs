//! The book as mdbook builds it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use regex::Regex;

/// A built page: the places in it that can be led to, and where it leads.
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

fn read(file: &Path) -> Page {
    let text = std::fs::read_to_string(file).unwrap();
    let all = |pattern: &str| {
        let found = Regex::new(pattern).unwrap();
        found.captures_iter(&text).map(|found| found[1].replace("&amp;", "&")).collect::<Vec<_>>()
    };
    let links = all(r#"<(?:a|img|link|script)\s[^>]*?(?:href|src)="([^"]*)""#);
    Page { anchors: all(r#"\sid="([^"]*)""#).into_iter().collect(), links }
}

fn pages(folder: &Path, found: &mut BTreeMap<PathBuf, Page>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "html") {
            found.insert(path.canonicalize().unwrap(), read(&path));
        }
    }
}

/// Why a link of a page leads nowhere.
fn fault(from: &Path, link: &str, pages: &BTreeMap<PathBuf, Page>) -> Option<String> {
    let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
    let target = if file.is_empty() { from.to_owned() } else { from.parent().unwrap().join(file) };
    let Ok(target) = target.canonicalize() else { return Some(format!("{}: no file {link}", from.display())) };
    let is_there = match pages.get(&target) {
        Some(page) => anchor.is_empty() || page.anchors.contains(anchor),
        None => target.is_file() && anchor.is_empty(),
    };
    (!is_there).then(|| format!("{}: no such place {link}", from.display()))
}

#[test]
#[ignore = "needs mdbook: CONTEXTD_MDBOOK"]
fn it_has_no_dead_link() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("book");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("dev/book");
    let built = Command::new(script).arg(&out).output().unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut found = BTreeMap::new();
    pages(&out, &mut found);
    for chapter in super::chapters() {
        let file = out.join(chapter.replace(".md", ".html")).canonicalize().unwrap();
        assert!(found.contains_key(&file), "{chapter}");
    }
    let mut faults = Vec::new();
    for (from, page) in &found {
        let own = page.links.iter().filter(|link| !link.contains(':') && !link.is_empty());
        faults.extend(own.filter_map(|link| fault(from, link, &found)));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
