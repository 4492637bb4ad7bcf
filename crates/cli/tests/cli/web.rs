//! `pitot web`: the pages of runs, also of one in progress, as a browser asks for them, and as nobody should.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use pitot_record::{Run, RunState};
use rustix::process::Signal;

use crate::support::{Bed, PITOT, Running, TIMEOUT, stderr, text, until};

const PLAN: &str = "duration = \"200ms\"\nwarmup = \"50ms\"\nquestion = \"Which one?\"\n[server]\nprotocol = \"http\"\n\
                    [load]\nconnections = 2\n[factors]\nserver = [\"loop+epoll-et\", \"thread\"]\n\
                    [baseline]\nserver = \"thread\"\n";

/// A server of pages.
struct Web {
    process: Running,
    host: String,
    token: String,
}

/// A reply: its status, its head and its body.
struct Reply {
    status: u16,
    head: String,
    body: String,
}

fn command(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command
        .arg("web")
        .args(arguments)
        .current_dir(dir)
        .env("TMPDIR", dir)
        .env("XDG_CACHE_HOME", dir.join("cache"));
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

impl Web {
    fn start(dir: &Path, arguments: &[&str]) -> Web {
        let mut process =
            Running::start(&mut command(dir, &[arguments, &["--listen", "127.0.0.1:0"]].concat()));
        let url = process.ready();
        let (host, token) = url.strip_prefix("http://").unwrap().split_once("/?token=").unwrap();
        Web { process, host: host.to_owned(), token: token.to_owned() }
    }

    fn connect(&self, line: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let has_host = headers.iter().any(|(name, _)| *name == "Host");
        let own = (!has_host).then_some(("Host", &*self.host));
        let lines = own.iter().chain(headers).map(|(name, value)| format!("{name}: {value}\r\n"));
        let head = format!("{line} HTTP/1.1\r\n{}Connection: close\r\n\r\n", lines.collect::<String>());
        stream.write_all(head.as_bytes()).unwrap();
        stream
    }

    fn ask(&self, line: &str, headers: &[(&str, &str)]) -> Reply {
        let mut reply = String::new();
        self.connect(line, headers).read_to_string(&mut reply).unwrap();
        let (head, body) = reply.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{line}: {reply}"));
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Reply { status, head: head.to_lowercase(), body: body.to_owned() }
    }

    #[track_caller]
    fn page(&self, path: &str) -> String {
        let reply = self.ask(&format!("GET {path}"), &[]);
        assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        reply.body
    }

    /// The cookie that the address with the token gives.
    fn cookie(&self) -> String {
        let entered = self.ask(&format!("GET /?q=x&token={}", self.token), &[]);
        assert_eq!(entered.status, 303);
        assert!(entered.head.contains("location: /?q=x\r\n"), "{}", entered.head);
        let cookie = entered.head.split("set-cookie: ").nth(1).unwrap().lines().next().unwrap();
        assert!(cookie.contains("httponly") && cookie.contains("samesite=strict"), "{cookie}");
        cookie.split(';').next().unwrap().to_owned()
    }
}

/// A directory with a run, a copy of it, a damaged copy, an empty file and one that is none of the server's business.
fn bed() -> Bed {
    let bed = Bed::new(&format!("repetitions = 2\n{PLAN}"));
    let output = bed.command(&["plan.toml", "-o", "run.pitot"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let at = |name: &str| bed.dir.path().join(name);
    std::fs::copy(at("run.pitot"), at("ä copy.pitot")).unwrap();
    let whole = std::fs::read(at("run.pitot")).unwrap();
    std::fs::write(at("damaged.pitot"), &whole[..whole.len() / 2]).unwrap();
    std::fs::write(at("empty.pitot"), "").unwrap();
    std::fs::write(at("secret.txt"), "secret").unwrap();
    bed
}

#[test]
fn runs_are_listed_shown_and_compared_and_nothing_else_is_opened() {
    let bed = bed();
    let mut web = Web::start(bed.dir.path(), &[]);
    until("all files are read", || !web.page("/").contains("still to be read"));
    let list = web.page("/");
    for part in [
        "<a href=\"/report/run.pitot\">run</a>",
        "<a href=\"/report/%C3%A4%20copy.pitot\">",
        "Which one?",
        "2 files that cannot be read",
        "<strong>damaged.pitot</strong>",
        "<strong>empty.pitot</strong>",
        "Nothing in progress",
    ] {
        assert!(list.contains(part), "{part}: {list}");
    }
    assert!(web.page("/?q=nothing+like+that").contains("Nothing matches"));
    assert!(!web.page("/?q=copy").contains("/report/run.pitot"));

    let report = web.page("/report/run.pitot");
    assert!(Run::open(&bed.file()).unwrap().host_before.get("system", "host name").is_some());
    assert!(
        report.contains("Which one?") && !report.contains("<dt>host name</dt>"),
        "private facts are withheld"
    );
    assert!(report.contains("<a href=\"/plan/run.pitot\">Plan</a>") && !report.contains("EventSource"));
    assert!(web.page("/plan/run.pitot").contains("connections = 2"));
    assert!(web.page("/compare?run=run.pitot").contains("With its baseline"));
    assert!(web.page("/compare?run=run.pitot&run=%C3%A4+copy.pitot").contains("<h1>"));
    assert_eq!(web.ask("GET /compare?run=run.pitot&run=empty.pitot", &[]).status, 422);
    assert_eq!(web.ask("GET /compare?run=run.pitot&run=none.pitot", &[]).status, 404);
    assert_eq!(web.ask("GET /compare", &[]).status, 422);
    assert!(web.page("/history").contains("<a href=\"/report/run.pitot\">"), "a run leads to its report");
    for damaged in ["damaged.pitot", "empty.pitot"] {
        let reply = web.ask(&format!("GET /report/{damaged}"), &[]);
        assert_eq!(reply.status, 422, "{damaged}: {}", reply.body);
    }
    for hostile in [
        "/report/../secret.txt",
        "/report/%2e%2e/secret.txt",
        "/report/secret.txt",
        "/report//etc/passwd",
        "/report/%2Fetc%2Fpasswd",
        "/report/run.pitot%00",
        "/report/%00",
        "/report/",
        "/plan/..%2fsecret.txt",
        "/events/none.pitot",
        "/events/..%2fsecret.txt",
        "/none",
    ] {
        let reply = web.ask(&format!("GET {hostile}"), &[]);
        assert_eq!(reply.status, 404, "{hostile}");
        assert!(!reply.body.contains("secret\n") && !reply.body.contains("root:"), "{hostile}");
    }
    // A name that was made to lead here does not belong to this server.
    assert_eq!(web.ask("GET /", &[("Host", "evil.test")]).status, 421);
    assert_eq!(web.ask("GET /", &[("Host", "localhost:1")]).status, 200);
    assert_eq!(web.ask("GET /stop/run.pitot", &[]).status, 405);

    // A file that is deleted is gone, and one that comes is there.
    let at = |name: &str| bed.dir.path().join(name);
    std::fs::rename(at("ä copy.pitot"), at("new.pitot")).unwrap();
    until("the list follows the directory", || {
        let list = web.page("/");
        list.contains("/report/new.pitot") && !list.contains("copy.pitot")
    });
    assert_eq!(web.ask("GET /report/%C3%A4%20copy.pitot", &[]).status, 404);
    web.process.signal(Signal::TERM);
    assert!(web.process.ended().success());
}

#[test]
fn a_run_in_progress_is_followed_and_stopped_with_the_token_alone() {
    let bed = Bed::new(&format!("repetitions = 500\n{PLAN}"));
    let mut web = Web::start(bed.dir.path(), &["."]);
    assert!(web.page("/").contains("There are no run files here yet"));
    let mut lab = Running::start(
        bed.command(&["plan.toml", "-o", "run.pitot"]).stdout(Stdio::null()).stderr(Stdio::null()),
    );
    // The page was there before the run.
    until("the run is in progress", || web.page("/").contains("1 in progress"));
    let report = web.page("/report/run.pitot");
    assert!(report.contains("EventSource") && report.contains("In progress: "), "{report}");
    assert!(!report.contains("action=\"/stop/"), "the page was opened without the token");
    let events =
        report.split("data-events=\"").nth(1).unwrap().split('"').next().unwrap().replace("&amp;", "&");
    let stream = BufReader::new(web.connect(&format!("GET {events}"), &[]));
    let mut lines = stream.lines().map(|line| line.unwrap());
    assert!(lines.any(|line| line.starts_with("event: page")), "no content came");
    assert!(lines.any(|line| line.starts_with("data: ") && line.contains("<main")), "no content came");
    let progress = lines.find(|line| line.starts_with("data: {")).unwrap();
    assert!(progress.contains("\"over\":false") && progress.contains(" of 1000 repetitions"), "{progress}");

    let cookie = web.cookie();
    let with_cookie = [("Cookie", &*cookie)];
    assert!(
        web.ask("GET /report/run.pitot", &with_cookie)
            .body
            .contains("action=\"/stop/run.pitot\" method=\"post\"")
    );
    let stop = "POST /stop/run.pitot";
    assert_eq!(web.ask(stop, &[]).status, 403);
    assert_eq!(web.ask(stop, &[("Cookie", "pitot-1=0")]).status, 403);
    assert_eq!(web.ask(stop, &[("Cookie", &cookie), ("Origin", "http://127.0.0.1:1")]).status, 403);
    assert_eq!(web.ask("POST /stop/..%2frun.pitot", &with_cookie).status, 404);
    assert!(lab.try_wait().unwrap().is_none(), "nothing of that stopped it");
    let own = format!("http://{}", web.host);
    let stopped = web.ask(stop, &[("Cookie", &cookie), ("Origin", &own)]);
    assert_eq!(stopped.status, 303);
    assert!(stopped.head.contains("location: /report/run.pitot?stop=asked"), "{}", stopped.head);
    assert_eq!(lab.ended().code(), Some(1));
    // The open page learns the end, and its events end.
    let last = lines.filter(|line| line.starts_with("data: {")).last().unwrap();
    assert!(last.contains("\"over\":true") && last.contains("Stopped early"), "{last}");
    assert_eq!(Run::open(&bed.file()).unwrap().info.state, RunState::Interrupted);
    let again = web.ask(stop, &with_cookie);
    assert!(again.head.contains("?stop=over"), "{}", again.head);
    assert!(!web.page("/report/run.pitot").contains("EventSource"));
    until("the list has it", || web.page("/").contains("stopped early"));
    web.process.signal(Signal::INT);
    assert!(web.process.ended().success());
}

#[test]
fn an_address_that_others_reach_takes_a_token_for_every_page() {
    let bed = Bed::new("");
    let dir = bed.dir.path();
    let refused = |arguments: &[&str], what: &str| {
        let output = command(dir, arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(stderr(&output).contains(what), "{what}: {}", stderr(&output));
    };
    refused(&["--listen", "0.0.0.0:0"], "--token FILE");
    refused(&["none"], "none cannot be read");
    std::fs::write(dir.join("token"), "0123456789abcdef\n").unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode;
    std::fs::set_permissions(dir.join("token"), mode(0o666)).unwrap();
    refused(&["--token", "token"], "others can write it");
    std::fs::set_permissions(dir.join("token"), mode(0o600)).unwrap();
    std::fs::write(dir.join("short"), "0123").unwrap();
    refused(&["--token", "short"], "16 or more letters");

    let web = Web::start(dir, &["--token", "token"]);
    refused(&["--listen", &web.host], "cannot listen on");
    assert_eq!(web.token, "0123456789abcdef");
    for path in ["/", "/report/run.pitot", "/events/", "/none", "/?token=wrong"] {
        assert_eq!(web.ask(&format!("GET {path}"), &[]).status, 403, "{path}");
    }
    let cookie = web.cookie();
    let seen = web.ask("GET /", &[("Cookie", &cookie), ("Host", "lab.example:80")]);
    assert_eq!(seen.status, 200, "{}", seen.body);
}

#[test]
fn pages_come_over_tls_while_another_client_does_not_finish_its_handshake() {
    let bed = Bed::new("");
    let dir = bed.dir.path();
    std::fs::write(dir.join("cert.pem"), "no certificate").unwrap();
    let output = command(dir, &["--tls", "cert.pem"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(stderr(&output).contains("no certificate in PEM"), "{}", stderr(&output));

    let mut process = Running::start(&mut command(dir, &["--listen", "127.0.0.1:0", "--tls", "self-signed"]));
    let url = process.ready();
    let address = url.strip_prefix("https://").unwrap().split('/').next().unwrap().to_owned();
    let silent = TcpStream::connect(&address).unwrap();
    let loads = |url: &str| {
        let load = ["load", url, "-n", "20", "-c", "2", "--insecure"];
        Command::new(PITOT).args(load).output().unwrap()
    };
    let ran = loads(&format!("https://{address}/"));
    assert!(ran.status.success(), "{}", text(&ran));
    // Without TLS nothing is answered.
    let mut plain = TcpStream::connect(&address).unwrap();
    plain.set_read_timeout(Some(TIMEOUT)).unwrap();
    plain.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut reply = Vec::new();
    let _ = plain.read_to_end(&mut reply);
    assert!(!reply.starts_with(b"HTTP"), "{reply:?}");
    drop(silent);
    process.signal(Signal::TERM);
    assert!(process.ended().success());
}
