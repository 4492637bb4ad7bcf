//! The files of a crate use each other in one direction.
//!
//! A circle can only be read and changed as a whole. The test reads the sources of all crates as text: every `use`, and every path that
//! starts with `crate`, `self`, `super` or the name of a child module. It reads them twice. Followed, a name that a module merely re-exports is a use of the
//! file that defines it; plainly, it is a use of the file that the path names, as a reader sees it. What the root of a crate
//! re-exports does not count, nor that it calls its children, nor do tests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How the paths of a source are read.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Reading {
    /// To the file that defines what they name.
    Followed,
    /// To the file that they name.
    Plain,
}

#[test]
fn no_files_depend_on_each_other_in_a_circle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the directory of all crates");
    let mut all = Vec::new();
    for entry in fs::read_dir(crates).expect("the crates are there") {
        let directory = entry.expect("a directory").path();
        let name = directory.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let sources = Crate::read(&directory.join("src"));
        for reading in [Reading::Followed, Reading::Plain] {
            let circles = sources.circles(reading);
            all.extend(
                circles.into_iter().map(|circle| format!("{name} ({reading:?}): {}", circle.join(", "))),
            );
        }
    }
    assert!(all.is_empty(), "circles of files:\n{}", all.join("\n"));
}

#[test]
fn circles_are_found_through_re_exports_and_nested_paths() {
    let read = |files: &[(&str, &str)]| {
        let files = files.iter().map(|(path, text)| (module_of(Path::new(path)), Source::parse(path, text)));
        Crate { files: files.collect() }
    };
    let circles = |files: &[(&str, &str)]| read(files).circles(Reading::Followed);
    // Through what `a` re-exports from its child, and no further.
    let files =
        [("a/mod.rs", "pub use b::B; mod b;"), ("a/b.rs", "use crate::c::C;"), ("c.rs", "use crate::a::B;")];
    assert_eq!(circles(&files), [["a/b.rs", "c.rs"]]);
    // A child that uses what is defined in its parent.
    let files = [
        ("a/mod.rs", "use self::{b::{B, f}, c::C}; pub struct A;"),
        ("a/b.rs", "fn f() { super::c::g(super::A) }"),
        ("a/c.rs", "use super::A; // use crate::d::D;"),
        ("d.rs", "use crate::a::A; #[cfg(test)] mod tests { use super::*; use crate::a::b; }"),
    ];
    assert_eq!(circles(&files), [["a/b.rs", "a/c.rs", "a/mod.rs"]]);
    // A parent that calls its child; a name that only looks like one does not count.
    let files = [
        ("a/mod.rs", "mod r#loop; mod c; fn f() { r#loop::g(); d::c::h() } pub struct A;"),
        ("a/loop.rs", "use super::A;"),
        ("a/c.rs", "use super::A;"),
    ];
    assert_eq!(circles(&files), [["a/loop.rs", "a/mod.rs"]]);
    // The root of a crate re-exports, and calls.
    let files = [("lib.rs", "pub use a::A; mod a; fn f() { a::g() }"), ("a.rs", "use crate::ROOT;")];
    assert!(circles(&files).is_empty());
}

/// The names that lead to a module, from the root of its crate.
type ModulePath = Vec<String>;

struct Crate {
    files: BTreeMap<ModulePath, Source>,
}

struct Source {
    file: String,
    /// What the file mentions: whole paths from the root of the crate.
    mentions: Vec<ModulePath>,
    /// Names that it imports, each with the path that it stands for.
    imports: BTreeMap<String, ModulePath>,
}

impl Crate {
    fn read(src: &Path) -> Crate {
        let mut files = BTreeMap::new();
        let mut directories = vec![src.to_path_buf()];
        while let Some(directory) = directories.pop() {
            for entry in fs::read_dir(&directory).expect("a directory of sources") {
                let path: PathBuf = entry.expect("a file").path();
                // Of tests alone.
                if path.ends_with("tests") || path.ends_with("tests.rs") {
                    continue;
                }
                if path.is_dir() {
                    directories.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    let name = path.strip_prefix(src).expect("it is below");
                    let text = fs::read_to_string(&path).expect("a source");
                    files.insert(module_of(name), Source::parse(&name.to_string_lossy(), &text));
                }
            }
        }
        Crate { files }
    }

    /// The groups of files of which each depends on every other.
    fn circles(&self, reading: Reading) -> Vec<Vec<String>> {
        let mut reached: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for source in self.files.values() {
            let uses = source.mentions.iter().filter_map(|path| match reading {
                Reading::Followed => self.definer(path, 0),
                Reading::Plain => self.named(path),
            });
            reached.insert(&source.file, uses.filter(|file| *file != source.file).collect());
        }
        loop {
            let before: usize = reached.values().map(BTreeSet::len).sum();
            for file in reached.keys().copied().collect::<Vec<_>>() {
                let further: Vec<&str> =
                    reached[file].iter().filter_map(|next| reached.get(next)).flatten().copied().collect();
                reached.get_mut(file).expect("it is a key").extend(further);
            }
            if reached.values().map(BTreeSet::len).sum::<usize>() == before {
                break;
            }
        }
        let circle = |file: &&str| -> Vec<&str> {
            reached
                .keys()
                .copied()
                .filter(|other| reached[file].contains(other) && reached[other].contains(file))
                .collect()
        };
        let circles: BTreeSet<Vec<&str>> =
            reached.keys().map(circle).filter(|circle| circle.len() > 1).collect();
        circles.into_iter().map(|circle| circle.into_iter().map(str::to_owned).collect()).collect()
    }

    /// The file that a path names: its longest part that is a module. None for what the root of the crate re-exports.
    fn named(&self, path: &[String]) -> Option<&str> {
        let len = (0..=path.len()).rev().find(|&len| self.files.contains_key(&path[..len]))?;
        let source = &self.files[&path[..len]];
        let is_of_root = len == 0 && path.first().is_some_and(|name| source.imports.contains_key(name));
        (!is_of_root).then_some(&source.file)
    }

    /// The file that defines what a path names: its longest part that is a module, or where that has its next name from.
    /// None for what the root of the crate re-exports.
    fn definer(&self, path: &[String], depth: usize) -> Option<&str> {
        let len = (0..=path.len()).rev().find(|&len| self.files.contains_key(&path[..len]))?;
        let source = &self.files[&path[..len]];
        if len == 0 && path.first().is_some_and(|name| source.imports.contains_key(name)) {
            return None;
        }
        if let Some(target) = path.get(len).filter(|_| depth < 8).and_then(|name| source.imports.get(name)) {
            let whole = [target, &path[len + 1..]].concat();
            // A name from another crate is this file's own.
            return self.definer(&whole, depth + 1).or(Some(&source.file));
        }
        Some(&source.file)
    }
}

/// `a/mod.rs` and `a.rs` are the module `a`; the root is the empty path.
fn module_of(file: &Path) -> ModulePath {
    let mut path: ModulePath =
        file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if path.last().is_some_and(|last| ["mod", "lib", "main"].contains(&last.as_str())) {
        path.pop();
    }
    path
}

impl Source {
    fn parse(file: &str, text: &str) -> Source {
        let own = module_of(Path::new(file));
        let mut source = Source { file: file.to_owned(), mentions: Vec::new(), imports: BTreeMap::new() };
        let words = words(text);
        let children: BTreeSet<&str> = words
            .windows(3)
            .filter(|three| three[0] == "mod" && three[2] == ";")
            .map(|three| three[1].as_str())
            .collect();
        let mut at = 0;
        // Modules within the file, each with the depth of braces at which it ends.
        let (mut inner, mut depth): (Vec<(String, usize)>, usize) = (Vec::new(), 0);
        let mut is_public = false;
        while at < words.len() {
            match words[at].as_str() {
                "#" if words[at..]
                    .starts_with(&["#", "[", "cfg", "(", "test", ")", "]"].map(String::from)) =>
                {
                    at = end_of_item(&words, at + 7);
                    continue;
                }
                "{" => depth += 1,
                "}" => {
                    depth = depth.saturating_sub(1);
                    if inner.last().is_some_and(|(_, end)| *end == depth) {
                        inner.pop();
                    }
                }
                "mod" if words.get(at + 2).is_some_and(|word| word == "{") => {
                    inner.push((words[at + 1].clone(), depth));
                }
                "pub" => is_public = true,
                ";" => is_public = false,
                "use" => {
                    let here: ModulePath =
                        own.iter().cloned().chain(inner.iter().map(|(name, _)| name.clone())).collect();
                    let mut paths = Vec::new();
                    at = use_tree(&words, at + 1, &mut Vec::new(), &mut paths);
                    for (path, name) in paths {
                        let is_local = children.contains(path[0].as_str());
                        let Some(path) = absolute(&path, &here, is_local) else { continue };
                        source.imports.insert(name, path.clone());
                        if !(own.is_empty() && is_public) {
                            source.mentions.push(path);
                        }
                    }
                    is_public = false;
                    continue;
                }
                // What follows `pub(in` is a region, not a use.
                "in" if words.get(at + 1).is_some_and(|word| word == "crate" || word == "super") => at += 1,
                first
                    if words.get(at + 1).is_some_and(|word| word == "::") && !is_within_path(&words, at) =>
                {
                    let here: ModulePath =
                        own.iter().cloned().chain(inner.iter().map(|(name, _)| name.clone())).collect();
                    let is_child = !own.is_empty() && inner.is_empty() && children.contains(first);
                    let mut path = vec![words[at].clone()];
                    while words.get(at + 1).is_some_and(|word| word == "::")
                        && words.get(at + 2).is_some_and(|word| is_name(word))
                    {
                        path.push(words[at + 2].clone());
                        at += 2;
                    }
                    source.mentions.extend(absolute(&path, &here, is_child));
                }
                _ => {}
            }
            at += 1;
        }
        source
    }
}

/// The path from the root of the crate; none if it leads into another crate.
fn absolute(path: &[String], here: &[String], is_local: bool) -> Option<ModulePath> {
    let mut whole = here.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            whole.clear();
            rest = &rest[1..];
        }
        "self" => rest = &rest[1..],
        "super" => {
            while rest.first().is_some_and(|name| name == "super") {
                whole.pop();
                rest = &rest[1..];
            }
        }
        _ if is_local => {}
        _ => return None,
    }
    whole.extend(rest.iter().cloned());
    Some(whole)
}

/// Collects the paths of a `use` from `at`, each with the name that it binds; returns where it ends.
fn use_tree(
    words: &[String],
    mut at: usize,
    prefix: &mut ModulePath,
    paths: &mut Vec<(ModulePath, String)>,
) -> usize {
    let len = prefix.len();
    let mut alias = None;
    while let Some(word) = words.get(at) {
        match word.as_str() {
            "::" => {}
            "{" => {
                at = use_tree(words, at + 1, prefix, paths);
                while words[at] == "," {
                    at = use_tree(words, at + 1, prefix, paths);
                }
                // What was in braces is complete.
                prefix.truncate(len);
                return at + 1;
            }
            "as" => {
                alias = words.get(at + 1).cloned();
                at += 1;
            }
            "," | "}" | ";" => break,
            name => prefix.push(name.to_owned()),
        }
        at += 1;
    }
    if prefix.len() > len {
        let glob_or_self = prefix.last().is_some_and(|last| last == "*" || last == "self");
        let last = prefix.last().cloned().unwrap_or_default();
        if glob_or_self && prefix.len() > 1 {
            prefix.pop();
        }
        let name = if last == "*" { last } else { prefix.last().cloned().unwrap_or_default() };
        paths.push((prefix.clone(), alias.unwrap_or(name)));
        prefix.truncate(len);
    }
    at
}

/// Where the item that starts at `at` ends: behind its block, or its semicolon.
fn end_of_item(words: &[String], mut at: usize) -> usize {
    let mut depth = 0;
    while let Some(word) = words.get(at) {
        at += 1;
        match word.as_str() {
            "{" => depth += 1,
            "}" => {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            ";" if depth == 0 => break,
            _ => {}
        }
    }
    at
}

/// Whether the word at `at` continues a path.
fn is_within_path(words: &[String], at: usize) -> bool {
    at > 0 && words[at - 1] == "::"
}

fn is_name(word: &str) -> bool {
    word.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Names, `::` and other characters, without comments, strings and white space.
fn words(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let (mut words, mut at) = (Vec::new(), 0);
    let find = |from: usize, end: &str| {
        let end: Vec<char> = end.chars().collect();
        (from..chars.len()).find(|&at| chars[at..].starts_with(&end)).map_or(chars.len(), |at| at + end.len())
    };
    while at < chars.len() {
        let next = chars.get(at + 1).copied();
        match chars[at] {
            '/' if next == Some('/') => at = find(at, "\n"),
            '/' if next == Some('*') => at = find(at, "*/"),
            'r' if next == Some('"') => at = find(at + 2, "\""),
            'r' if next == Some('#') && chars.get(at + 2) == Some(&'"') => at = find(at + 3, "\"#"),
            // A name that is also a word of the language.
            'r' if next == Some('#') => at += 2,
            '"' => {
                at += 1;
                while at < chars.len() && chars[at] != '"' {
                    at += if chars[at] == '\\' { 2 } else { 1 };
                }
                at += 1;
            }
            // A character, as opposed to a lifetime.
            '\'' if next == Some('\\') => at = find(at + 3, "'"),
            '\'' if chars.get(at + 2) == Some(&'\'') => at += 3,
            ':' if next == Some(':') => {
                words.push("::".to_owned());
                at += 2;
            }
            c if c.is_whitespace() => at += 1,
            c if c.is_alphanumeric() || c == '_' => {
                let end = (at..chars.len()).find(|&at| !chars[at].is_alphanumeric() && chars[at] != '_');
                let end = end.unwrap_or(chars.len());
                words.push(chars[at..end].iter().collect());
                at = end;
            }
            c => {
                words.push(c.to_string());
                at += 1;
            }
        }
    }
    words
}
