//! The book in `docs/`: its reference pages are what `pitot list` prints, its pages are all in the table of contents, and its
//! links lead somewhere.
//!
//! With `PITOT_WRITE_DOCS=1` in its environment the first test writes the reference pages.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

use crate::support::{PITOT, assert_generated, stderr};

mod pages;

use pages::{PAGES, Page, Part};

fn root() -> PathBuf {
    fs::canonicalize(Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")).unwrap()
}

#[test]
fn reference_pages_are_what_the_program_lists() {
    for page in PAGES {
        assert_generated(&root().join("docs").join(page.file), &render(page));
    }
}

fn render(page: &Page) -> String {
    let mut text = format!("# {}\n\n{}\n", page.title, page.intro);
    for part in page.parts {
        if !part.heading.is_empty() {
            text += &format!("\n## {}\n", part.heading);
        }
        if !part.intro.is_empty() {
            text += &format!("\n{}\n", part.intro);
        }
        let header: String = part.columns.iter().map(|(head, _)| format!(" {head} |")).collect();
        let table = format!("\n|{header}\n|{}\n", "---|".repeat(part.columns.len()));
        let mut group = None;
        for row in rows(part) {
            let of = part.group.map(|template| filled(template, &row));
            if group.as_ref() != Some(&of) {
                text += &of
                    .iter()
                    .filter(|of| !of.is_empty())
                    .map(|of| format!("\n### {of}\n"))
                    .collect::<String>();
                text += &table;
                group = Some(of);
            }
            let cells: String =
                part.columns.iter().map(|(_, cell)| format!(" {} |", filled(cell, &row))).collect();
            text += &format!("|{cells}\n");
        }
    }
    text
}

/// The rows of a part: what is listed.
fn rows(part: &Part) -> Vec<Map<String, Value>> {
    let output = Command::new(PITOT).args(["list", part.list, "--format", "json"]).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A template with each `{key}` replaced, fit for a cell of a table.
fn filled(template: &str, row: &Map<String, Value>) -> String {
    let mut text = template.to_owned();
    for (key, value) in row {
        text = text.replace(&format!("{{{key}}}"), &words(value));
    }
    // Code of nothing is nothing.
    text.replace("``", "").replace('|', "\\|").replace('\n', " ").trim().to_owned()
}

fn words(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(words).collect::<Vec<_>>().join(", "),
        Value::Object(one) => one.get("name").map(words).unwrap_or_default(),
        Value::Bool(yes) => if *yes { "yes" } else { "no" }.into(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The pages of the book and those at the root that people read, by their paths from the root.
fn pages() -> Vec<String> {
    let of = |folder: &str| {
        let entries = fs::read_dir(root().join(folder)).unwrap().map(|entry| entry.unwrap().file_name());
        let names = entries.map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".md"));
        names.map(|name| format!("{folder}{name}")).collect::<Vec<_>>()
    };
    [of(""), of("docs/"), of("docs/answers/")].concat()
}

/// The targets of the links of a page, code left out.
fn links(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut is_code = false;
    for line in text.lines() {
        is_code ^= line.trim_start().starts_with("```");
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join(" ");
        let targets = prose.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        found.extend(targets.filter(|_| !is_code).map(str::to_owned));
    }
    found
}

/// The anchors of a page's headings, as mdBook and GitHub make them.
fn anchors(text: &str) -> BTreeSet<String> {
    let mut is_code = false;
    let mut of = BTreeSet::new();
    for line in text.lines() {
        is_code ^= line.starts_with("```");
        if line.starts_with('#') && !is_code {
            let words = line.trim_start_matches('#').trim().to_lowercase().replace(' ', "-");
            of.insert(words.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).collect());
        }
    }
    of
}

#[test]
fn links_of_the_book_lead_to_a_page_and_a_heading() {
    let mut broken = Vec::new();
    for page in pages() {
        let text = fs::read_to_string(root().join(&page)).unwrap();
        for link in
            links(&text).into_iter().filter(|link| !link.contains("://") && !link.starts_with("mailto:"))
        {
            let (file, anchor) = link.split_once('#').unwrap_or((&link, ""));
            let target = match file {
                "" => root().join(&page),
                file => root().join(&page).parent().unwrap().join(file),
            };
            let is_there = match anchor {
                "" => target.exists(),
                anchor => fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor)),
            };
            if !is_there {
                broken.push(format!("{page}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "broken links: {broken:#?}");
}

#[test]
fn the_table_of_contents_has_every_page() {
    let summary = fs::read_to_string(root().join("docs/SUMMARY.md")).unwrap();
    let listed: BTreeSet<String> = links(&summary).into_iter().map(|link| format!("docs/{link}")).collect();
    let there: BTreeSet<String> = pages()
        .into_iter()
        .filter(|page| page.starts_with("docs/") && !page.ends_with("/SUMMARY.md"))
        .collect();
    assert_eq!(listed, there);
}

/// Words that this project once used for what its field has other words for, and what stands in their place.
const OLD_WORDS: &[(&str, &str)] = &[
    ("cure", "fix"),
    ("mend", "fix"),
    ("mends", "fixes"),
    ("mended", "fixed"),
    ("heed", "respect, or ignore"),
    ("heeds", "respects, or ignores"),
    ("heeded", "respected, or ignored"),
    ("twin", "control"),
    ("anew", "again"),
    ("whoever", "any client that"),
    ("receipt", "durability"),
    ("receipts", "durability"),
    ("by chance", "random"),
    ("in vain", "without success"),
    ("gone on with", "resumed"),
    ("set off are", "shaded:"),
    ("worth a thought", "consider"),
    ("is met by", "met:"),
    ("holds the limit", "includes the limit"),
    ("nobody said when to start", "no start signal received"),
    ("the options are right", "options are valid"),
    ("an answer to another question", "unexpected reply"),
    ("was seen to find", "validation"),
    ("what becomes of", "what happens to"),
    ("what was not done", "limitations"),
    ("that nobody reads", "a closed pipe"),
    ("longer than nothing", "greater than zero"),
    ("not significant", "not shown to exceed the tolerance"),
    ("is told", "is reported"),
    ("are told", "are reported"),
    ("has it that", "says that"),
    ("is to be", "will be"),
    ("are to be", "will be"),
];

/// All that `--help` and `pitot list` print, by command.
fn printed() -> Vec<(String, String)> {
    let run = |words: &[&str]| {
        let output = Command::new(PITOT).args(words).output().unwrap();
        (format!("pitot {}", words.join(" ")), String::from_utf8(output.stdout).unwrap())
    };
    let options = run(&["list", "options", "--format", "json"]).1;
    let options: Vec<Map<String, Value>> = serde_json::from_str(&options).unwrap();
    let commands: BTreeSet<&str> = options.iter().map(|row| row["command"].as_str().unwrap()).collect();
    let helps = commands.into_iter().map(|command| {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        run(&words)
    });
    let lists = run(&["list", "--format", "json"]).1;
    let lists: Vec<Map<String, Value>> = serde_json::from_str(&lists).unwrap();
    let lists = lists.iter().map(|row| run(&["list", row["name"].as_str().unwrap(), "--format", "json"]));
    helps.chain(lists).collect()
}

#[test]
fn help_lists_and_the_book_use_the_words_of_the_field() {
    let read = |page: String| (page.clone(), fs::read_to_string(root().join(page)).unwrap());
    let licences = |page: &String| page == "THIRD-PARTY.md";
    let texts = pages().into_iter().filter(|page| !licences(page)).map(read).chain(printed());
    let mut found = Vec::new();
    for (place, text) in texts {
        let words = text.to_lowercase().replace(|c: char| !c.is_alphanumeric() && c != '-', " ");
        let words = format!(" {} ", words.split_whitespace().collect::<Vec<_>>().join(" "));
        let old = OLD_WORDS.iter().filter(|(old, _)| words.contains(&format!(" {old} ")));
        found.extend(old.map(|(old, new)| format!("{place}: `{old}`: say {new}")));
    }
    assert!(found.is_empty(), "{found:#?}");
}
