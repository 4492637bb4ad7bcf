//! `THIRD-PARTY.md`: the licences of what is linked into the binary, as they ask to be handed on with it.
//!
//! It is made of what cargo knows of the dependencies and of the licences in their sources. With `PITOT_WRITE_DOCS=1` in its
//! environment the test writes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::support::{assert_generated, stderr};

/// What the page is made for. On other architectures the binary has no other crates.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";
/// How files with licences are called, in small letters.
const NAMES: [&str; 5] = ["license", "licence", "copying", "copyright", "notice"];
/// Those that say whose it is, whatever the licence.
const NOTICES: [&str; 2] = ["copyright", "notice"];
/// What every MIT licence grants.
const MIT_GRANT: &str = "Permission is hereby granted, free of charge";

const HEAD: &str = "# Licences of third parties

What is linked into the binary `pitot`, and the licences under which it is. A binary that is handed on takes this page with it.
Pitot itself is under [Apache-2.0](LICENSE). Where a crate may be had under one licence or another, and MIT is among them, it is
had under MIT.

SQLite, which is part of the crate `libsqlite3-sys`, is in the public domain.

This page is generated: `PITOT_WRITE_DOCS=1 cargo test -p pitot-cli --test cli third_party`.
";

/// A crate of others.
struct Dependency {
    name: String,
    version: String,
    licence: String,
    texts: Vec<String>,
}

#[test]
fn third_party_md_has_the_licences_of_all_that_the_binary_is_linked_with() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    assert_generated(&root.join("THIRD-PARTY.md"), &page(&dependencies(&root)));
}

fn dependencies(root: &Path) -> Vec<Dependency> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let told = Command::new(cargo)
        .args([
            "metadata",
            "--offline",
            "--locked",
            "--all-features",
            "--format-version",
            "1",
            "--filter-platform",
            PLATFORM,
        ])
        .current_dir(root)
        .output()
        .unwrap();
    assert!(told.status.success(), "{}", stderr(&told));
    let told: Value = serde_json::from_slice(&told.stdout).unwrap();
    let list = |value: &Value| value.as_array().unwrap().clone();
    let by_id = |all: &Value| -> BTreeMap<String, Value> {
        list(all).into_iter().map(|one| (one["id"].as_str().unwrap().to_owned(), one)).collect()
    };
    let (packages, nodes) = (by_id(&told["packages"]), by_id(&told["resolve"]["nodes"]));
    let (binary, _) = packages.iter().find(|(_, package)| package["name"] == "pitot-cli").unwrap();
    // What only builds or tests is not in the binary, and neither are macros.
    let is_linked =
        |dependency: &Value| list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
    let is_macro = |id: &str| {
        let kinds = list(&packages[id]["targets"]).into_iter().flat_map(|target| list(&target["kind"]));
        kinds.into_iter().any(|kind| kind == "proc-macro")
    };
    let (mut found, mut open) = (BTreeSet::new(), vec![binary.clone()]);
    while let Some(id) = open.pop() {
        let needed = list(&nodes[&id]["deps"]).into_iter().filter(is_linked);
        let needed = needed.map(|dependency| dependency["pkg"].as_str().unwrap().to_owned());
        open.extend(needed.filter(|id| !found.contains(id) && !is_macro(id)));
        found.insert(id);
    }
    let of_others = found.iter().map(|id| &packages[id]).filter(|package| !package["source"].is_null());
    let mut dependencies: Vec<Dependency> = of_others.map(|package| read(root, package)).collect();
    dependencies.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    dependencies
}

fn read(root: &Path, package: &Value) -> Dependency {
    let text = |key: &str| package[key].as_str().unwrap_or_default().to_owned();
    let (name, licence) = (text("name"), text("license"));
    let folder = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let called = |file: &Path, names: &[&str]| {
        let file_name = file.file_name().unwrap().to_string_lossy().to_lowercase();
        file.is_file() && names.iter().any(|name| file_name.starts_with(name))
    };
    files.retain(|file| called(file, &NAMES));
    let text_of = |file: &Path| String::from_utf8_lossy(&fs::read(file).unwrap()).replace('\r', "");
    // A choice, and nothing besides.
    let is_choice = [" OR ", "/"].iter().any(|or| licence.contains(or)) && !licence.contains(" AND ");
    let is_mit = |file: &Path| text_of(file).contains(MIT_GRANT);
    if is_choice && files.iter().any(|file| is_mit(file)) {
        files.retain(|file| is_mit(file) || called(file, &NOTICES));
    }
    let mut texts: Vec<String> = files.iter().map(|file| text_of(file)).collect();
    if texts.is_empty() {
        texts.push(match licence.as_str() {
            "Apache-2.0" => fs::read_to_string(root.join("LICENSE")).unwrap(),
            "MIT" => mit(package),
            other => panic!("{name} is under {other}, and does not have its text"),
        });
    }
    Dependency { name, version: text("version"), licence, texts }
}

/// The licence of a crate that names it and does not have its text.
fn mit(package: &Value) -> String {
    let authors: Vec<&str> =
        package["authors"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(!authors.is_empty(), "{} names no author", package["name"]);
    format!("MIT License\n\nCopyright (c) {}\n\n{}", authors.join(", "), include_str!("third_party/mit.txt"))
}

fn page(dependencies: &[Dependency]) -> String {
    // Texts that differ in their line breaks alone are one.
    let folded = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut texts: Vec<(String, &str, Vec<String>)> = Vec::new();
    let mut out = String::from(HEAD);
    out.push_str("\n| crate | version | licence |\n|---|---|---|\n");
    for one in dependencies {
        let _ = writeln!(out, "| {} | {} | {} |", one.name, one.version, one.licence.replace('/', " OR "));
        for text in &one.texts {
            let (key, user) = (folded(text), format!("{} {}", one.name, one.version));
            match texts.iter_mut().find(|(known, ..)| *known == key) {
                Some((_, _, users)) if users.last() == Some(&user) => {}
                Some((_, _, users)) => users.push(user),
                None => texts.push((key, text, vec![user])),
            }
        }
    }
    for (_, text, users) in &texts {
        let _ = write!(out, "\n## {}\n\n", users.join(", "));
        // Indented, whatever is in it is text.
        for line in text.trim_matches('\n').lines() {
            let _ = writeln!(out, "{}", format!("    {line}").trim_end());
        }
    }
    out
}
