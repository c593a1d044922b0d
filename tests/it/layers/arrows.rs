//! Which file of `src` takes names from which: read from the paths that begin with `crate`, `super`, `self` or a child
//! module. A name that a module only passes on is taken from the file that holds it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

/// A module's path from the root of the crate; a file holds one.
pub type Module = Vec<String>;
pub type Arrows = BTreeMap<Module, BTreeSet<Module>>;

/// A path in the code, and whether it is passed on (`pub use`).
struct Found {
    path: Vec<String>,
    is_passed_on: bool,
}

/// The arrows between the files, tests aside.
pub fn of_files(files: &[(PathBuf, String)]) -> Arrows {
    let sources: BTreeMap<Module, String> = files
        .iter()
        .filter(|(file, _)| !file.ends_with("main.rs"))
        .map(|(file, text)| (module_of(file), code_of(text)))
        .collect();
    of_sources(&sources)
}

/// The same of modules and their code.
pub fn of_sources(sources: &BTreeMap<Module, String>) -> Arrows {
    let tests: BTreeSet<Module> = sources.iter().flat_map(|(module, code)| test_modules(module, code)).collect();
    let is_test = |module: &Module| (1..=module.len()).any(|length| tests.contains(&module[..length]));
    let paths: BTreeMap<&Module, Vec<Found>> = sources
        .iter()
        .filter(|(module, _)| !is_test(module))
        .map(|(module, code)| (module, paths_of(module, code, sources)))
        .collect();
    let mut passed_on: HashMap<(&Module, &str), Module> = HashMap::new();
    for (module, found) in &paths {
        for one in found.iter().filter(|one| one.is_passed_on) {
            let holder = holder_of(&one.path, sources);
            if let Some(name) = one.path.last().filter(|_| &holder != *module) {
                passed_on.insert((module, name), holder);
            }
        }
    }
    let mut arrows = Arrows::new();
    for (module, found) in &paths {
        let taken = found.iter().filter(|one| !one.is_passed_on).map(|one| {
            let holder = holder_of(&one.path, sources);
            let name = one.path.get(holder.len()).map(String::as_str).unwrap_or_default();
            passed_on.get(&(&holder, name)).cloned().unwrap_or(holder)
        });
        let taken = taken.filter(|holder| holder != *module && !holder.is_empty() && !is_test(holder));
        arrows.insert((*module).clone(), taken.collect());
    }
    arrows
}

/// The groups of modules that reach one another, each sorted.
pub fn circles(arrows: &Arrows) -> Vec<Vec<Module>> {
    let reached: BTreeMap<&Module, BTreeSet<&Module>> = arrows.keys().map(|from| (from, reach(arrows, from))).collect();
    let mut found: Vec<Vec<Module>> = Vec::new();
    for (module, from) in &reached {
        let back = |other: &&&Module| reached.get(**other).is_some_and(|there| there.contains(*module));
        let circle: Vec<Module> = from.iter().filter(back).map(|other| (*other).clone()).collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

fn reach<'a>(arrows: &'a Arrows, from: &Module) -> BTreeSet<&'a Module> {
    let mut seen = BTreeSet::new();
    let mut next: Vec<&Module> = arrows.get(from).into_iter().flatten().collect();
    while let Some(module) = next.pop() {
        if seen.insert(module) {
            next.extend(arrows.get(module).into_iter().flatten());
        }
    }
    seen
}

/// The arrows between groups of modules; those that belong to none are left out.
pub fn between(arrows: &Arrows, group: impl Fn(&Module) -> Option<Module>) -> Arrows {
    let mut between = Arrows::new();
    for (from, to) in arrows {
        let Some(from) = group(from) else { continue };
        let to = to.iter().filter_map(&group).filter(|to| *to != from);
        between.entry(from.clone()).or_default().extend(to);
    }
    between
}

fn module_of(file: &Path) -> Module {
    let file = file.with_extension("");
    let module: Module = file.iter().map(|part| part.to_str().unwrap().to_owned()).collect();
    if module == ["lib"] { Module::new() } else { module }
}

/// The longest part of a path that is a file.
fn holder_of(path: &[String], sources: &BTreeMap<Module, String>) -> Module {
    let length = (0..=path.len()).rev().find(|length| sources.contains_key(&path[..*length])).unwrap_or(0);
    path[..length].to_vec()
}

/// The modules that are declared under `#[cfg(test)]`.
fn test_modules(module: &Module, code: &str) -> Vec<Module> {
    let declared = code.split("#[cfg(").skip(1).filter(|rest| rest.starts_with("test") || rest.starts_with("all(test"));
    let names = declared.filter_map(|rest| {
        let item = rest.split_once(']')?.1.trim_start();
        let (_, after) = item.split_once("mod ")?;
        let name = after.split_once(';')?.0;
        name.chars().all(is_word).then(|| name.to_owned())
    });
    names.map(|name| module.iter().cloned().chain([name]).collect()).collect()
}

/// Every path into this crate, from its root.
fn paths_of(module: &Module, code: &str, sources: &BTreeMap<Module, String>) -> Vec<Found> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("::") {
        let start = code[..at].rfind(|c: char| !is_word(c)).map_or(0, |before| before + 1);
        let (before, first) = (&code[..start], &code[start..at]);
        // The middle of a longer path.
        if before.ends_with(':') || first.is_empty() {
            continue;
        }
        let child: Module = module.iter().cloned().chain([first.to_owned()]).collect();
        let base = match first {
            "crate" => Module::new(),
            "self" => module.clone(),
            "super" => module[..module.len().saturating_sub(1)].to_vec(),
            _ if sources.contains_key(&child) => child,
            _ => continue,
        };
        let is_passed_on = passes_on(before);
        for path in expand(&code[at + 2..]).0 {
            let ups = path.iter().take_while(|name| *name == "super").count();
            let base = &base[..base.len().saturating_sub(ups)];
            let path = base.iter().cloned().chain(path.into_iter().skip(ups)).collect();
            found.push(Found { path, is_passed_on });
        }
    }
    found
}

/// Whether what follows is in a `pub use`.
fn passes_on(before: &str) -> bool {
    let statement = before.rsplit([';', '}']).next().unwrap_or("");
    let statement = statement.trim_start();
    statement.starts_with("pub") && statement.trim_end().ends_with("use")
}

/// The paths that `a::{b, c::d}` stands for, and how long it is.
fn expand(text: &str) -> (Vec<Vec<String>>, usize) {
    if let Some(group) = text.strip_prefix('{') {
        let (mut paths, mut at) = (Vec::new(), 1);
        while !group[at - 1..].starts_with('}') {
            let (found, length) = expand(&text[at..]);
            paths.extend(found);
            at += length.max(1);
            if at > group.len() {
                break;
            }
        }
        return (paths, at + 1);
    }
    let length = text.find(|c: char| !is_word(c) && c != '*').unwrap_or(text.len());
    let name = text[..length].to_owned();
    if name.is_empty() {
        return (Vec::new(), 0);
    }
    let Some(rest) = text[length..].strip_prefix("::") else { return (vec![vec![name]], length) };
    let (found, further) = expand(rest);
    let of = |path: Vec<String>| [name.clone()].into_iter().chain(path).collect();
    let paths: Vec<Vec<String>> = found.into_iter().map(of).collect();
    (if paths.is_empty() { vec![vec![name.clone()]] } else { paths }, length + 2 + further)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// The code without comments, texts and the tests inside the file.
pub fn code_of(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(first) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("r#\"") {
            rest.find("\"#").map_or(rest.len(), |end| end + 2)
        } else if first == '"' {
            closing_quote(rest)
        } else {
            0
        };
        if skipped == 0 {
            code.push(first);
        }
        rest = &rest[skipped.max(first.len_utf8())..];
    }
    match code.find("#[cfg(test)]\nmod tests {").or_else(|| code.find("\nmod tests {")) {
        Some(tests) => code[..tests].to_owned(),
        None => code,
    }
}

/// The length of a text in quotes.
fn closing_quote(text: &str) -> usize {
    let mut escaped = false;
    let end = text.char_indices().skip(1).find(|(_, c)| {
        let closes = *c == '"' && !escaped;
        escaped = *c == '\\' && !escaped;
        closes
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}
