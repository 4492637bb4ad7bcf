//! Rights that are given up: servers and programs of another user (`--user`), and servers that are confined (`--confine`).

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{ChildStderr, Command, Stdio};

use pitot_needs::needs;
use pitot_sys::processes::ProcessTable;
use rustix::process::{Signal, geteuid};

use crate::support::{PITOT, Running, TIMEOUT, text, until, until_some};

/// Numbers that no user of a test machine has.
const USER: &str = "65533:65532";

/// A directory that anybody can read and write, with a copy of the program that anybody can execute, and a root.
struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let dir = tempfile::tempdir().unwrap();
        let bed = Bed { dir };
        // By a process of its own: a child of another test that had inherited the open copy would keep it from being executed.
        let copied = Command::new("cp").arg(PITOT).arg(bed.at("pitot")).status();
        assert!(copied.unwrap().success());
        fs::create_dir(bed.at("root")).unwrap();
        fs::write(bed.at("root/file"), "content").unwrap();
        bed.mode("", 0o777);
        bed.mode("root", 0o755);
        bed
    }

    fn at(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn mode(&self, name: &str, mode: u32) {
        fs::set_permissions(self.at(name), fs::Permissions::from_mode(mode)).unwrap();
    }

    fn pitot(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.at("pitot"));
        command.args(arguments).current_dir(self.dir.path()).env("TMPDIR", self.dir.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn serve(&self, arguments: &[&str]) -> Server {
        let mut child = Running::start(&mut self.pitot(&[&["serve"], arguments].concat()));
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let stderr = child.stderr.take().unwrap();
        let Some(address) = line.trim().strip_prefix("ready ") else {
            child.wait().unwrap();
            panic!("it is not ready: {}", read(stderr));
        };
        Server { address: address.to_owned(), child, stderr: Some(stderr) }
    }

    fn refused(&self, arguments: &[&str]) -> String {
        let output = self.pitot(arguments).output().unwrap();
        let said = text(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        said
    }
}

fn read(mut from: impl Read) -> String {
    let mut text = String::new();
    from.read_to_string(&mut text).unwrap();
    text
}

/// A server, which is killed if it was not stopped.
struct Server {
    address: String,
    child: Running,
    stderr: Option<ChildStderr>,
}

impl Server {
    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        stream
    }

    /// Sends a request over a connection that is kept, and returns the status and the body.
    fn ask(stream: &mut TcpStream, method: &str, path: &str, body: &str) -> (u16, String) {
        write!(stream, "{method} {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{body}", body.len())
            .unwrap();
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let status = line.split(' ').nth(1).unwrap().parse().unwrap();
        let mut length = 0;
        loop {
            line.clear();
            reader.read_line(&mut line).unwrap();
            let line = line.trim().to_ascii_lowercase();
            match line.strip_prefix("content-length:") {
                Some(value) => length = value.trim().parse().unwrap(),
                None if line.is_empty() => break,
                None => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        (status, String::from_utf8(body).unwrap())
    }

    fn get(&self, path: &str) -> (u16, String) {
        Server::ask(&mut self.connect(), "GET", path, "")
    }

    /// Stops it, and returns what it has said on standard error.
    fn stop(mut self) -> String {
        self.child.signal(Signal::TERM);
        let status = self.child.wait().unwrap();
        let said = read(self.stderr.take().unwrap());
        assert!(status.success(), "{status}: {said}");
        said
    }
}

/// A line of /proc/PID/status, its words.
fn status(pid: u32, name: &str) -> Vec<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(&format!("{name}:")));
    line.unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

fn assert_has_no_rights(pid: u32, what: &str) {
    assert_eq!(status(pid, "Uid"), ["65533"; 4], "{what}");
    assert_eq!(status(pid, "Gid"), ["65532"; 4], "{what}");
    assert_eq!(status(pid, "Groups"), [""; 0], "{what}");
    assert_eq!(status(pid, "NoNewPrivs"), ["1"], "{what}");
    assert_eq!((status(pid, "CapEff"), status(pid, "CapPrm")), (vec!["0".repeat(16)], vec!["0".repeat(16)]));
}

#[needs("root", "other-users")]
#[test]
fn every_process_of_every_model_is_the_users_and_has_no_group_and_no_way_back() {
    let bed = Bed::new();
    for model in pitot_serve::MODELS {
        let root = bed.at("root");
        let server =
            bed.serve(&["http", "--model", model.name, "--user", USER, "--root", root.to_str().unwrap()]);
        // Models that have a process for each connection have one now.
        let mut stream = server.connect();
        assert_eq!(Server::ask(&mut stream, "GET", "/file", ""), (200, "content".into()), "{}", model.name);
        let table = ProcessTable::read();
        let processes = table.of(server.child.id());
        assert!(processes.len() > usize::from(!model.is_one_process), "{}", model.name);
        processes.iter().for_each(|process| assert_has_no_rights(process.pid, model.name));
        drop(stream);
        server.stop();
    }
}

#[needs("root", "other-users")]
#[test]
fn a_privileged_port_and_files_of_root_are_opened_before_the_user_changes() {
    let bed = Bed::new();
    let port = (600..1024).rev().find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap();
    let (log, root) = (bed.at("access.log"), bed.at("root"));
    fs::write(&log, "").unwrap();
    bed.mode("access.log", 0o600);
    let server = bed.serve(&[
        "http",
        "--listen",
        &format!("127.0.0.1:{port}"),
        "--user",
        USER,
        "--root",
        root.to_str().unwrap(),
        "--access-log",
        log.to_str().unwrap(),
    ]);
    assert_has_no_rights(server.child.id(), "the server");
    assert_eq!(server.get("/file").0, 200);
    server.stop();
    assert!(fs::read_to_string(&log).unwrap().contains("/file"));
}

#[needs("root", "other-users")]
#[test]
fn what_the_user_may_not_read_or_write_is_refused_before_anything_is_served() {
    let bed = Bed::new();
    let root = bed.at("root");
    let serve = ["serve", "http", "--user", USER, "--root", root.to_str().unwrap()];
    let said = bed.refused(&[&serve[..], &["--writable"]].concat());
    assert!(
        said.contains("user 65533 of group 65532 has no permission to write") && said.contains("chown"),
        "{said}"
    );
    bed.mode("root", 0o700);
    let said = bed.refused(&serve);
    assert!(said.contains("user 65533 of group 65532 has no permission to read"), "{said}");
}

#[test]
fn unknown_users_root_and_others_than_root_are_refused() {
    let bed = Bed::new();
    for command in
        [&["serve", "http"][..], &["serve", "dns"], &["agent"], &["run", "--server", "x {address}"]]
    {
        for (user, why) in
            [("no-such-user", "no user in /etc/passwd is called `no-such-user`"), ("0:0", "is root")]
        {
            let said = bed.refused(&[command, &["--user", user]].concat());
            assert!(said.contains(why) && said.contains("UID:GID"), "{command:?}: {said}");
        }
        if !geteuid().is_root() {
            let said = bed.refused(&[command, &["--user", USER]].concat());
            assert!(said.contains("only root may use --user"), "{command:?}: {said}");
        }
    }
    let said = bed.refused(&["serve", "trade", "--confine"]);
    assert!(said.contains("--confine has no effect on trade"), "{said}");
}

#[needs("root")]
#[test]
fn dns_answers_as_the_user() {
    let bed = Bed::new();
    let server = bed.serve(&["dns", "--user", USER]);
    assert_has_no_rights(server.child.id(), "dns");
    server.stop();
}

#[needs("root", "other-users")]
#[test]
fn the_brokerage_and_its_data_are_the_users() {
    let bed = Bed::new();
    let port = (600..1024).rev().find(|port| TcpListener::bind(("127.0.0.1", *port)).is_ok()).unwrap();
    let listen = format!("127.0.0.1:{port}");
    let server = bed.serve(&["trade", "--listen", &listen, "--users", "10", "--user", USER]);
    assert_eq!(server.address, listen);
    let table = ProcessTable::read();
    table.of(server.child.id()).iter().for_each(|process| assert_has_no_rights(process.pid, "trade"));
    assert_eq!(server.get("/audit").0, 200);
    server.stop();
    let root = bed.at("root/trade.db");
    let said =
        bed.refused(&["serve", "trade", "--database", &format!("sqlite:{}", root.display()), "--user", USER]);
    assert!(said.contains("as a database") && said.contains("a writable SQLite database"), "{said}");
}

#[needs("root", "other-users")]
#[test]
fn the_programs_of_a_run_are_the_users_and_the_lab_stays_roots() {
    let bed = Bed::new();
    let plan = format!(
        r#"
duration = "300ms"
warmup = "50ms"
repetitions = 2
[load]
url = "http://{{address}}/bytes/10"
connections = 2
[servers.noting]
command = ["sh", "-c", "cat made >> {dir}/made; echo x > written && cat /proc/self/status >> {dir}/status; exec {dir}/pitot serve http --listen {{address}} --stats json"]
version = ["sh", "-c", "cat /proc/self/status >> {dir}/version"]
ready = {{ get = "/bytes/10" }}
files.made = "made by root\n"
[factors]
server = ["noting"]
"#,
        dir = bed.dir.path().display(),
    );
    fs::write(bed.at("plan.toml"), plan).unwrap();
    let mut lab = bed.pitot(&["run", "--user", USER, "plan.toml", "-o", "run.pitot"]);
    let mut lab = Running::start(lab.stdout(Stdio::null()).stderr(fs::File::create(bed.at("said")).unwrap()));
    // The user of each process below the lab, by its subcommand.
    let mut seen: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let program = bed.at("pitot").display().to_string();
    let ended = until_some("the run ends", || {
        let table = ProcessTable::read();
        for process in table.of(lab.id()) {
            let line = fs::read(format!("/proc/{}/cmdline", process.pid)).unwrap_or_default();
            let words: Vec<_> = line.split(|&b| b == 0).map(String::from_utf8_lossy).collect();
            if let [first, subcommand, ..] = &words[..]
                && *first == program
                // A child has the lab's words until it executes its own, and is the user's before that.
                && (subcommand != "run" || process.pid == lab.id())
                && let [uid, ..] = &status(process.pid, "Uid")[..]
            {
                let users = seen.entry(subcommand.to_string()).or_default();
                if !users.contains(uid) {
                    users.push(uid.clone());
                }
            }
        }
        lab.try_wait().unwrap()
    });
    let said = fs::read_to_string(bed.at("said")).unwrap();
    assert!(ended.success(), "{said}");
    assert_eq!(seen["run"], ["0"], "{seen:?}");
    assert_eq!((&seen["serve"], &seen["load"]), (&vec!["65533".into()], &vec!["65533".into()]), "{said}");
    for name in ["status", "version"] {
        let text = fs::read_to_string(bed.at(name)).unwrap();
        assert!(text.contains("Uid:\t65533\t65533\t65533\t65533\n"), "{name}: {text}");
        assert!(!text.contains("Uid:\t0\t"), "{name}: {text}");
    }
    assert!(fs::read_to_string(bed.at("made")).unwrap().starts_with("made by root\n"));
}

/// Whether servers can be confined here. Where not, it is refused with the reason.
fn can_confine(bed: &Bed) -> bool {
    match pitot_sys::landlock::abi() {
        Ok(_) => true,
        Err(missing) => {
            let said = bed.refused(&["serve", "http", "--confine"]);
            assert!(said.contains("Landlock is not available") && said.contains(&missing.fix), "{said}");
            false
        }
    }
}

#[test]
fn a_confined_server_of_every_model_serves_its_root_and_nothing_beside() {
    let bed = Bed::new();
    if !can_confine(&bed) {
        return;
    }
    let root = bed.at("root");
    fs::write(bed.at("secret"), "secret").unwrap();
    bed.mode("secret", 0o600);
    symlink("../secret", root.join("relative")).unwrap();
    symlink(bed.at("secret"), root.join("absolute")).unwrap();
    for model in pitot_serve::MODELS {
        let line = ["http", "--model", model.name, "--confine", "--root", root.to_str().unwrap()];
        if model.executes || model.connects {
            let said = bed.refused(&[&["serve"], &line[..]].concat());
            assert!(
                said.contains(&format!("--confine cannot be combined with model {}", model.name)),
                "{said}"
            );
            continue;
        }
        let server = bed.serve(&line);
        assert_eq!(status(server.child.id(), "NoNewPrivs"), ["1"]);
        assert_eq!(server.get("/file"), (200, "content".into()), "{}", model.name);
        for path in ["/relative", "/absolute", "/../secret"] {
            let (status, body) = server.get(path);
            assert!((400..500).contains(&status) && !body.contains("secret"), "{path}: {status} {body}");
        }
        let said = server.stop();
        assert!(said.contains("pitot: confined by Landlock"), "{said}");
    }
}

#[test]
fn a_confined_load_measures_as_any_other_and_starts_no_program() {
    let bed = Bed::new();
    if !can_confine(&bed) {
        return;
    }
    let server = bed.serve(&["http"]);
    let url = format!("http://{}/bytes/10", server.address);
    let load = ["load", &url, "-c", "4", "-t", "2", "-n", "400", "--confine"];
    let output = bed.pitot(&[&load[..], &["--json", "load.json"]].concat()).output().unwrap();
    let said = text(&output);
    assert!(output.status.success() && said.contains("pitot: confined by Landlock"), "{said}");
    let result: serde_json::Value = serde_json::from_slice(&fs::read(bed.at("load.json")).unwrap()).unwrap();
    assert_eq!(result["requests"]["completed"], 400, "{result}");
    let said = bed.refused(&[&load[..], &["--processes", "2"]].concat());
    assert!(said.contains("--confine forbids executing programs"), "{said}");
}

/// A report whose output is a pipe waits for its reader, and can be looked at meanwhile.
#[test]
fn a_report_gives_up_its_rights_before_it_reads_and_writes_where_it_is_told() {
    let bed = Bed::new();
    let run = bed.at("runs/some.pitot");
    for directory in ["runs", "elsewhere"] {
        fs::create_dir(bed.at(directory)).unwrap();
    }
    let plan = ["run", "--server", "loop", "-d", "200ms", "--repetitions", "1"];
    let measured = bed.pitot(&[&plan[..], &["-o", run.to_str().unwrap()]].concat()).output().unwrap();
    assert!(run.exists(), "{}", text(&measured));
    symlink("../elsewhere/there.md", bed.at("runs/link.md")).unwrap();
    symlink("runs/some.pitot", bed.at("by-a-link.pitot")).unwrap();
    fs::write(bed.at("elsewhere/there.md"), "old").unwrap();
    let summary = bed.at("elsewhere/summary");
    for (arguments, made) in [
        (&["report", "runs/some.pitot"][..], "runs/some.html"),
        (&["report", "by-a-link.pitot"], "by-a-link.html"),
        (&["report", "runs/some.pitot", "-o", "elsewhere/new.csv"], "elsewhere/new.csv"),
        (&["report", "runs/some.pitot", "-o", "runs/link.md"], "elsewhere/there.md"),
        (&["report", "runs/some.pitot", "--format", "github"], "elsewhere/summary"),
        (&["compare", "runs/some.pitot", "by-a-link.pitot", "--format", "html"], "some-vs-by-a-link.html"),
    ] {
        let output = bed.pitot(arguments).env("GITHUB_STEP_SUMMARY", &summary).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", text(&output));
        assert!(fs::read_to_string(bed.at(made)).unwrap().len() > "old".len(), "{arguments:?}");
    }
    let output = bed.pitot(&["report", "runs/some.pitot", "-o", "/dev/stdout"]).output().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty(), "{}", text(&output));
    let said = bed.pitot(&["report", "none/some.pitot"]).output().unwrap();
    assert!(text(&said).contains("No such file"), "{}", text(&said));

    if pitot_sys::landlock::abi().is_err() {
        return;
    }
    rustix::fs::mknodat(rustix::fs::CWD, bed.at("fifo"), rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .unwrap();
    let mut report = bed.pitot(&["report", "runs/some.pitot", "-o", "fifo"]).spawn().unwrap();
    until("it gives up its rights", || {
        assert!(report.try_wait().unwrap().is_none(), "it kept its rights");
        status(report.id(), "NoNewPrivs") == ["1"]
    });
    assert!(!fs::read(bed.at("fifo")).unwrap().is_empty());
    assert!(report.wait().unwrap().success());
}

#[test]
fn a_confined_server_stores_where_it_may_and_removes_its_socket() {
    let bed = Bed::new();
    if !can_confine(&bed) {
        return;
    }
    let (root, socket) = (bed.at("root"), bed.at("socket"));
    for mechanism in ["epoll-et", "uring"] {
        let server = bed.serve(&[
            "http",
            "--mechanism",
            mechanism,
            "--confine",
            "--root",
            root.to_str().unwrap(),
            "--writable",
        ]);
        let (status, _) = Server::ask(&mut server.connect(), "PUT", "/new", mechanism);
        assert!((200..300).contains(&status), "{status}");
        assert_eq!(server.get("/new"), (200, mechanism.into()));
        server.stop();
    }
    let server = bed.serve(&["http", "--confine", "--listen", &format!("unix:{}", socket.display())]);
    assert!(socket.exists());
    server.stop();
    assert!(!socket.exists(), "the socket is left");
    let maildir = bed.at("mail");
    let server = bed.serve(&["smtp", "--confine", "--deliver", "maildir", maildir.to_str().unwrap()]);
    let mut stream = server.connect();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    for words in [
        "",
        "HELO x\r\n",
        "MAIL FROM:<a@x.test>\r\n",
        "RCPT TO:<b@x.test>\r\n",
        "DATA\r\n",
        "subject: x\r\n\r\nx\r\n.\r\n",
    ] {
        stream.write_all(words.as_bytes()).unwrap();
        line.clear();
        reader.read_line(&mut line).unwrap();
        assert!(line.starts_with(['2', '3']), "{words}: {line}");
    }
    assert_eq!(fs::read_dir(maildir.join("new")).unwrap().count(), 1);
    drop((stream, reader));
    server.stop();
}

/// A server opens nothing beside its root in any case, so that links do not show what Landlock adds. The file of its socket is removed
/// by its path: where another directory has taken the place of the one that it was allowed, only Landlock is in the way.
#[test]
fn what_takes_the_place_of_a_directory_is_safe_from_a_confined_server_alone() {
    let bed = Bed::new();
    if !can_confine(&bed) {
        return;
    }
    for confined in [false, true] {
        let (directory, moved) = (bed.at("sockets"), bed.at("moved"));
        fs::create_dir(&directory).unwrap();
        let socket = directory.join("socket");
        let listen = format!("unix:{}", socket.display());
        let line = ["http", "--listen", &listen, "--confine"];
        let server = bed.serve(&line[..if confined { 4 } else { 3 }]);
        fs::rename(&directory, &moved).unwrap();
        fs::create_dir(&directory).unwrap();
        // The same file: the server looks whether it is its own.
        fs::rename(moved.join("socket"), &socket).unwrap();
        server.stop();
        assert_eq!(socket.exists(), confined, "confined: {confined}");
        fs::remove_dir_all(&directory).unwrap();
        fs::remove_dir_all(&moved).unwrap();
    }
}

#[needs("root", "other-users")]
#[test]
fn a_server_that_is_confined_and_of_another_user_is_both() {
    let bed = Bed::new();
    if !can_confine(&bed) {
        return;
    }
    let root = bed.at("root");
    let server = bed.serve(&[
        "http",
        "--model",
        "preloop",
        "--confine",
        "--user",
        USER,
        "--root",
        root.to_str().unwrap(),
    ]);
    for process in ProcessTable::read().of(server.child.id()) {
        assert_has_no_rights(process.pid, "preloop");
    }
    assert_eq!(server.get("/file").0, 200);
    server.stop();
}

#[test]
fn the_help_names_both_options() {
    let help = Command::new(PITOT).args(["serve", "--help"]).output().unwrap();
    let help = text(&help);
    assert!(help.contains("--user <USER>") && help.contains("--confine"), "{help}");
}
