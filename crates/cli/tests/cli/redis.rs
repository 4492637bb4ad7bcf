//! `pitot load redis://`: logging in, databases and commands, as a server sees them.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};

use pitot_needs::needs;
use serde_json::Value;

use crate::support::{PITOT, Running, text};

fn load(arguments: &[&str]) -> Output {
    Command::new(PITOT).arg("load").args(arguments).output().unwrap()
}

/// The words of one command, or none at the end.
fn command(from: &mut impl BufRead) -> Option<Vec<String>> {
    let mut line = String::new();
    from.read_line(&mut line).ok().filter(|&n| n > 0)?;
    let count: usize = line.trim_end().strip_prefix('*').unwrap().parse().unwrap();
    let mut words = Vec::new();
    for _ in 0..count {
        let mut line = String::new();
        from.read_line(&mut line).ok()?;
        let length: usize = line.trim_end().strip_prefix('$').unwrap().parse().unwrap();
        let mut word = vec![0; length + 2];
        from.read_exact(&mut word).ok()?;
        word.truncate(length);
        words.push(String::from_utf8(word).unwrap());
    }
    Some(words)
}

/// A server with one user, `ann` with the password `s3cretpw`, that keeps what it is asked on each connection.
struct Scripted {
    address: String,
    seen: Arc<Mutex<Vec<Vec<Vec<String>>>>>,
}

impl Scripted {
    fn start() -> Scripted {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&seen);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let kept = Arc::clone(&kept);
                std::thread::spawn(move || Scripted::serve(stream, &kept));
            }
        });
        Scripted { address, seen }
    }

    fn serve(mut stream: TcpStream, kept: &Mutex<Vec<Vec<Vec<String>>>>) {
        let connection = {
            let mut kept = kept.lock().unwrap();
            kept.push(Vec::new());
            kept.len() - 1
        };
        let mut from = BufReader::new(stream.try_clone().unwrap());
        let mut is_known = false;
        while let Some(words) = command(&mut from) {
            let asked: Vec<&str> = words.iter().map(String::as_str).collect();
            let reply = match asked[..] {
                ["AUTH", "ann", "s3cretpw"] => {
                    is_known = true;
                    "+OK\r\n"
                }
                ["AUTH", ..] => "-WRONGPASS invalid username-password pair or user is disabled.\r\n",
                _ if !is_known => "-NOAUTH Authentication required.\r\n",
                ["SELECT", "99"] => "-ERR DB index is out of range\r\n",
                ["SELECT", _] => "+OK\r\n",
                ["GET", _] => "$-1\r\n",
                _ => "*2\r\n:1\r\n$2\r\nok\r\n",
            };
            kept.lock().unwrap()[connection].push(words);
            if stream.write_all(reply.as_bytes()).is_err() {
                return;
            }
        }
    }
}

#[test]
fn each_connection_logs_in_and_selects_its_database_before_its_commands() {
    let server = Scripted::start();
    let url = format!("redis://ann:s3cretpw@{}/2", server.address);
    let json = tempfile::NamedTempFile::new().unwrap();
    let file = json.path().to_str().unwrap();
    let commands = ["--command", "LPUSH 'my list' k{rand:1..9} {seq:1}", "--command", "GET nothing"];
    let output = load(
        &[&[&*url], &commands[..], &["--choice", "turn", "-c", "3", "-n", "60", "--json", file]].concat(),
    );
    let said = text(&output);
    assert_eq!(output.status.code(), Some(0), "{said}");
    let stored = std::fs::read_to_string(file).unwrap();
    assert!(!said.contains("s3cretpw") && !stored.contains("s3cretpw"), "{said}{stored}");
    let result: Value = serde_json::from_str(&stored).unwrap();
    assert_eq!((&result["requests"]["ok"], &result["protocol"]["nil"]), (&60.into(), &30.into()), "{result}");
    let seen = server.seen.lock().unwrap();
    let mut counted = BTreeSet::new();
    for connection in seen.iter() {
        assert_eq!(connection[..2].concat(), ["AUTH", "ann", "s3cretpw", "SELECT", "2"]);
        for words in &connection[2..] {
            match &words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
                ["GET", "nothing"] => {}
                ["LPUSH", "my list", key, number] => {
                    let drawn: u32 = key.strip_prefix('k').unwrap().parse().unwrap();
                    assert!((1..=9).contains(&drawn) && counted.insert(number.parse::<u32>().unwrap()));
                }
                other => panic!("{other:?}"),
            }
        }
    }
    assert_eq!((seen.len(), counted.len()), (3, 30));
}

#[test]
fn a_refused_login_is_shown_in_the_servers_words_without_the_password() {
    let server = Scripted::start();
    for (account, path, words) in [
        ("ann:wr0ngpw@", "/", "WRONGPASS invalid username-password pair or user is disabled."),
        ("ann:s3cretpw@", "/99", "ERR DB index is out of range"),
        ("", "/", "NOAUTH Authentication required."),
    ] {
        let url = format!("redis://{account}{}{path}", server.address);
        let output = load(&[&url, "--command", "PING", "-n", "5"]);
        let said = text(&output);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(said.contains(&format!("the server says: {words}")), "{said}");
        // The keys of a mix are written first, which the server refuses as well.
        let filled = load(&[&format!("{url}?keys=10"), "-n", "5"]);
        let fill = text(&filled);
        assert!(filled.status.code() == Some(1) && fill.contains(words), "{fill}");
        for secret in ["wr0ngpw", "s3cretpw"] {
            assert!(!said.contains(secret) && !fill.contains(secret), "{said}{fill}");
        }
    }
}

#[needs("redis-server")]
#[test]
fn redis_is_filled_behind_a_login_and_carries_out_commands() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("redis.sock").to_str().unwrap().to_owned();
    let options = ["--port", "0", "--unixsocket", &socket, "--requirepass", "s3cretpw", "--save", ""];
    let mut server = Command::new("redis-server");
    let mut server = Running::start(server.args(options).current_dir(&directory).stdout(Stdio::piped()));
    let mut lines = BufReader::new(server.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("eady to accept connections")));
    std::thread::spawn(move || lines.for_each(drop));
    let run = |path: &str, more: &[&str]| {
        let url = format!("redis://:s3cretpw@localhost{path}");
        let arguments = [&*url, "--unix", &socket, "-c", "4", "-n", "2000", "--json", "-"];
        let output = load(&[&arguments, more].concat());
        let result: Value =
            serde_json::from_slice(&output.stdout).unwrap_or_else(|e| panic!("{e}: {}", text(&output)));
        assert_eq!((&result["requests"]["ok"], output.status.code()), (&2000.into(), Some(0)), "{result}");
        result["protocol"].clone()
    };
    assert_eq!(run("/3?keys=100&get=1", &["--verify"])["hits"], 2000);
    // What was written to another database is not there.
    let there = |path| run(path, &["--command", "GET {rand:00..99}--------------"])["nil"].clone();
    assert_eq!((there("/3"), there("/4")), (0.into(), 2000.into()));
    run(
        "/5",
        &["--command", "LPUSH \"a list\" {seq:1}", "--command", "LRANGE 'a list' 0 3", "--pipeline", "8"],
    );
    run("/5", &["--command", "EVAL 'return {{1,2},ARGV[1]}' 0 {rand:1..9}"]);
}
