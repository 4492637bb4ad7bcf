//! The table of docs/load-from-other-tools.md: every command line in its last column is one, and does what it says to a
//! server.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use super::server::{Act, Server};
use crate::support::{PITOT, Running, stderr, stdout};

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
    ("transfer.sql", "BEGIN;\nSELECT 1;\nCOMMIT;\n"),
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

struct Table {
    directory: tempfile::TempDir,
    /// What each row is about, and the words of its last column.
    rows: Vec<(String, Vec<String>)>,
}

/// The table, and a directory with the files that it names.
fn table() -> Table {
    let directory = tempfile::tempdir().unwrap();
    for (name, content) in FILES {
        fs::write(directory.path().join(name), content).unwrap();
    }
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    for (certificate, private) in [("ca.pem", "ca.key"), ("client.pem", "client.key")] {
        let made = rcgen::generate_simple_self_signed(names.clone()).unwrap();
        fs::write(directory.path().join(certificate), made.cert.pem()).unwrap();
        fs::write(directory.path().join(private), made.signing_key.serialize_pem()).unwrap();
    }
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/load-from-other-tools.md");
    let docs = fs::read_to_string(docs).unwrap();
    let mut rows = docs.lines().filter(|line| line.starts_with('|')).map(cells);
    let head = rows.next().unwrap();
    assert_eq!((&*head[1], head.last().map(String::as_str)), ("wrk", Some("Pitot")));
    let rows: Vec<(String, Vec<String>)> = rows
        .skip(1)
        .map(|row| {
            assert_eq!(row.len(), head.len(), "{row:?}");
            let command = row.last().unwrap().strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
            let mut words = words(command.unwrap_or_else(|| panic!("{}: not one piece of code", row[0])));
            if !words.iter().any(|word| word.contains("://")) {
                words.insert(0, "http://127.0.0.1:8080/".into());
            }
            (row[0].clone(), words)
        })
        .collect();
    assert!(rows.len() > 40);
    Table { directory, rows }
}

impl Table {
    /// Runs a row, or others words in its place, where the files are; the file of URLs is standard input.
    fn load(&self, words: &[impl AsRef<std::ffi::OsStr>]) -> Output {
        let urls = fs::File::open(self.directory.path().join("urls.txt"));
        Command::new(PITOT)
            .arg("load")
            .args(words)
            .current_dir(self.directory.path())
            .stdin(urls.map_or_else(|_| Stdio::null(), Stdio::from))
            .output()
            .unwrap()
    }
}

#[test]
fn every_row_of_the_table_is_a_command_line() {
    let table = table();
    for (what, words) in &table.rows {
        let output = table.load(&[words, &["--dry-run".to_owned()][..]].concat());
        let said = stderr(&output);
        assert!(output.status.success(), "{what}: {words:?}: {said}");
    }
}

/// `pitot serve` until the end of the test.
struct Serving {
    _child: Running,
    /// What it says it listens on.
    address: String,
}

impl Serving {
    fn start(arguments: &[&str]) -> Serving {
        let command = [&["serve", "http"], arguments].concat();
        let mut child = Running::start(Command::new(PITOT).args(command).stdout(Stdio::piped()));
        let address = child.ready();
        Serving { _child: child, address }
    }
}

/// The times and numbers of the table, in a length that fits a test.
fn shortened(word: &str) -> String {
    match word {
        "30s" | "5s" | "1s" => "300ms".into(),
        "10000" => "50".into(),
        // Processes and connections.
        "30" => "3".into(),
        "60" => "6".into(),
        "100,10,0.5" => "4,10,0.01".into(),
        "100,2,sessions.txt" => "4,0.01,sessions.txt".into(),
        word if word.starts_with("--wsess=") => "--wsess=4,10,0.01".into(),
        word if word.starts_with("--wsesslog=") => "--wsesslog=4,0.01,sessions.txt".into(),
        word if word.contains("rps:") => "0:200rps:150ms,200:200rps:150ms".into(),
        word => word.into(),
    }
}

/// Each of them has servers and files of its own, so that what a server has seen is what one row has sent.
const ROWS_AT_A_TIME: usize = 4;

#[test]
fn every_row_of_the_table_is_carried_out() {
    std::thread::scope(|scope| {
        for first in 0..ROWS_AT_A_TIME {
            scope.spawn(move || carry_out_rows(first));
        }
    });
}

/// HTTP/2 with several streams is tried with servers that have it (tests/http2), and other protocols by their own tests; of all other rows one in `ROWS_AT_A_TIME` is
/// carried out here, from the `first` on.
fn carry_out_rows(first: usize) {
    let table = table();
    let plain = Server::start(|request| {
        let body = if request.method == "HEAD" { "" } else { "hello" };
        Act::Reply(200, "Set-Cookie: id=7\r\n", body.into())
    });
    let port = plain.url().rsplit(':').next().unwrap().to_owned();
    let [certificate, key] =
        ["ca.pem", "ca.key"].map(|name| table.directory.path().join(name).to_str().unwrap().to_owned());
    let tls = Serving::start(&["--listen", "127.0.0.1:0", "--tls", &certificate, "--key", &key]);
    let socket = table.directory.path().join("server.sock").to_str().unwrap().to_owned();
    let _unix = Serving::start(&["--listen", &format!("unix:{socket}")]);
    for name in ["urls.txt", "targets.json", "site.har"] {
        let path = table.directory.path().join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(path, text.replace(":8080", &format!(":{port}"))).unwrap();
    }
    let ends = ["-d", "-n", "--stages", "--search", "--wsess", "--wsesslog", "--replay"];
    let is_other = |word: &String| word.starts_with("redis:") || word.starts_with("postgres:");
    let rows =
        table.rows.iter().filter(|(what, words)| !what.starts_with("HTTP/2") && !words.iter().any(is_other));
    for (what, words) in rows.skip(first).step_by(ROWS_AT_A_TIME) {
        let is_secure = words.iter().any(|word| word.starts_with("https"));
        let is_unix = words.iter().any(|word| word == "--unix");
        let mut words: Vec<String> = words
            .iter()
            .map(|word| match &**word {
                "/run/server.sock" => socket.clone(),
                "http://www.example.com/" => format!("http://www.example.com:{port}/"),
                "www.example.com:80:127.0.0.1" => format!("www.example.com:{port}:127.0.0.1"),
                word => shortened(word)
                    .replace("127.0.0.1:8080", &format!("127.0.0.1:{port}"))
                    .replace("127.0.0.1:8443", &tls.address),
            })
            .collect();
        let has_end = |word: &String| ends.contains(&word.split('=').next().unwrap());
        if !words.iter().any(has_end) {
            words.extend(["-n".into(), "20".into()]);
        } else if words.iter().any(|word| word == "--search") {
            words.extend(["-d", "50ms", "-c", "2"].map(str::to_owned));
        }
        let asked = plain.seen().len();
        let output = table.load(&words);
        let said = stderr(&output);
        // How fast a test is decides about thresholds and a search.
        let judges = ["--fail-if", "--abort-on", "--search"];
        let is_judged = words.iter().any(|word| judges.contains(&&**word));
        let code = output.status.code();
        assert!(code == Some(0) || code == Some(1) && is_judged, "{what}: {words:?}: {code:?} {said}");
        if is_secure || is_unix {
            let summary = stdout(&output);
            assert!(summary.contains("replies by status: 200"), "{what}: {words:?}: {summary}");
        } else {
            assert!(plain.seen().len() > asked, "{what}: {words:?}: {said}");
        }
    }
}
