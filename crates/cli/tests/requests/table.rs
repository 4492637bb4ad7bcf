//! The table of docs/load-from-other-tools.md: every command line in its last column is one.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

/// The files that the table names, and something that fits each.
const FILES: &[(&str, &str)] = &[
    ("body.txt", "hello"),
    ("urls.txt", "/a\nhttp://127.0.0.1:8080/b\n"),
    ("targets.json", "{\"method\": \"GET\", \"url\": \"http://127.0.0.1:8080/\"}\n"),
    (
        "site.har",
        "{\"log\": {\"entries\": [{\"request\": {\"method\": \"GET\", \"url\": \"http://127.0.0.1:8080/\"}}]}}",
    ),
    ("access.log", "::1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1\n"),
    ("uris", "/a\0/b\0"),
    ("sessions.txt", "/a\n  /b\n\n/c\n"),
    ("shop.toml", "[[session]]\n[[session.step]]\nurl = '/a'\n"),
];

/// What the cells of a row hold; a backslash takes a bar for itself.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim().trim_matches('|').replace("\\|", "\0");
    row.split('|').map(|cell| cell.trim().replace('\0', "|")).collect()
}

/// The words of a command line, with single quotation marks around some.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    for (n, part) in line.split('\'').enumerate() {
        match n % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

#[test]
fn every_row_of_the_table_is_a_command_line() {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in FILES {
        fs::write(directory.path().join(name), content).unwrap();
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/load-from-other-tools.md");
    let docs = fs::read_to_string(docs).unwrap();
    let mut rows = docs.lines().filter(|line| line.starts_with('|')).map(cells);
    let head = rows.next().unwrap();
    assert_eq!((&*head[1], head.last().map(String::as_str)), ("wrk", Some("Pitot")));
    let rows: Vec<Vec<String>> = rows.skip(1).collect();
    assert!(rows.len() > 40);
    for row in rows {
        assert_eq!(row.len(), head.len(), "{row:?}");
        let command = row.last().unwrap().strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
        let mut words = words(command.unwrap_or_else(|| panic!("{}: not one piece of code", row[0])));
        if !words.iter().any(|word| word.starts_with("http")) {
            words.insert(0, "http://127.0.0.1:8080/".into());
        }
        let output = Command::new(env!("CARGO_BIN_EXE_pitot"))
            .args(["load", "--dry-run"])
            .args(&words)
            .current_dir(directory.path())
            .stdin(
                fs::File::open(directory.path().join("urls.txt")).map_or_else(|_| Stdio::null(), Stdio::from),
            )
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {words:?}: {said}", row[0]);
    }
}
