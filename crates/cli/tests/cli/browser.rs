//! `pitot load --browser` against a server that notes what it receives: on which connection, from which address, in what
//! order.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{BufRead, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use pitot_proto_harness::http2::Either;
use serde_json::Value;

use crate::support::{PITOT, Port, Running, stderr, stdout, text};

/// A request as the server received it.
#[derive(Clone, Debug)]
struct Seen {
    peer: SocketAddr,
    path: String,
    /// Connections from the same source address that had an unanswered request or were idle then.
    open_from_there: usize,
}

/// What the server answers to a path: status, headers, content.
type Site = HashMap<&'static str, (&'static str, &'static str, String)>;

struct Server {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    stop: Arc<AtomicBool>,
    accepting: Option<JoinHandle<()>>,
}

impl Server {
    fn start(site: Site) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, stop) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (site, open) = (Arc::new(site), Arc::new(Mutex::new(HashMap::new())));
        let (all, stopped) = (Arc::clone(&seen), Arc::clone(&stop));
        let accepting = std::thread::spawn(move || {
            let mut threads = Vec::new();
            for stream in listener.incoming().map_while(Result::ok) {
                if stopped.load(Ordering::SeqCst) {
                    break;
                }
                let (site, all, open) = (Arc::clone(&site), Arc::clone(&all), Arc::clone(&open));
                threads.push(std::thread::spawn(move || serve(stream, &site, &all, &open)));
            }
            for thread in threads {
                thread.join().unwrap();
            }
        });
        Server { address, seen, stop, accepting: Some(accepting) }
    }

    fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(accepting) = self.accepting.take()
            && accepting.join().is_err()
            && !std::thread::panicking()
        {
            panic!("the server failed");
        }
    }
}

/// Answers the requests of one connection until its end.
fn serve(
    stream: TcpStream,
    site: &Site,
    all: &Mutex<Vec<Seen>>,
    open: &Mutex<HashMap<std::net::IpAddr, usize>>,
) {
    let peer = stream.peer_addr().unwrap();
    let count = |change: isize| {
        let mut open = open.lock().unwrap();
        let count = open.entry(peer.ip()).or_insert(0_usize);
        *count = count.strict_add_signed(change);
        *count
    };
    count(1);
    let Ok(stream) = Either::accept(stream) else {
        count(-1);
        return;
    };
    let mut stream = BufReader::new(stream);
    while let Some(request) = line(&mut stream) {
        while line(&mut stream).is_some_and(|line| !line.is_empty()) {}
        let path = request.split(' ').nth(1).unwrap_or_default().to_owned();
        let open_from_there = count(0);
        all.lock().unwrap().push(Seen { peer, path: path.clone(), open_from_there });
        let missing = ("404 Not Found", "", String::new());
        let (status, headers, content) = site.get(&*path).unwrap_or(&missing);
        let head = format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", content.len());
        let closes = headers.contains("close");
        if closes {
            // Whoever has read the reply may come again before this thread goes on.
            count(-1);
        }
        let sent = stream.get_mut().write_all(format!("{head}{content}").as_bytes());
        if closes {
            return;
        }
        if sent.is_err() {
            break;
        }
    }
    count(-1);
}

/// The next line of a connection, without its end.
fn line(stream: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    let length = stream.read_line(&mut line).ok()?;
    (length > 0).then(|| line.trim_end().to_owned())
}

const HTML: &str = "Content-Type: text/html\r\n";

/// A page with eight objects: six in the page, of which one style sheet and one frame refer to one each.
fn site() -> Site {
    let page = "<link rel=stylesheet href=s.css><script src=/app.js></script><img src=a.png><img src=b.png><img src=a.png>\
                <img src=../c.png><img src=http://elsewhere.invalid/><iframe src=frame.html></iframe>";
    let ok = |headers, content: &str| ("200 OK", headers, content.to_owned());
    HashMap::from([
        ("/dir/page.html", ok(HTML, page)),
        ("/dir/s.css", ok("Content-Type: text/css\r\n", "body { background: url(bg.png) }")),
        ("/dir/frame.html", ok(HTML, "<img src=in-frame.png>")),
        ("/app.js", ok("", "img")),
        ("/dir/a.png", ok("", "png")),
        ("/dir/b.png", ok("", "png")),
        ("/c.png", ok("", "png")),
        ("/dir/bg.png", ok("", "png")),
        ("/dir/in-frame.png", ok("", "<img src=not-looked-at.png>")),
        ("/moved", ("302 Found", "Location: /dir/page.html\r\n", String::new())),
        ("/moved-twice", ("301 Moved", "Location: /moved\r\n", String::new())),
        ("/moved-away", ("301 Moved", "Location: http://elsewhere.invalid/\r\n", String::new())),
        ("/broken.html", ok(HTML, "<img src=gone.png><img src=c.png>")),
        (
            "/closing.html",
            ok("Content-Type: text/html\r\nConnection: close\r\n", "<img src=c.png><img src=/dir/a.png>"),
        ),
    ])
}

const OBJECTS: [&str; 8] = [
    "/app.js",
    "/c.png",
    "/dir/a.png",
    "/dir/b.png",
    "/dir/bg.png",
    "/dir/frame.html",
    "/dir/in-frame.png",
    "/dir/s.css",
];

/// Runs it for its JSON.
fn load(arguments: &[&str]) -> Value {
    let output = Command::new(PITOT)
        .arg("load")
        .args(arguments)
        .args(["--json", "-"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    serde_json::from_str(stdout(&output)).unwrap_or_else(|e| panic!("{e}: {}", text(&output)))
}

/// How often each path was asked for.
fn counts(seen: &[Seen]) -> BTreeMap<String, usize> {
    let mut counts = BTreeMap::new();
    for request in seen {
        *counts.entry(request.path.clone()).or_default() += 1;
    }
    counts
}

/// With both engines and both versions of HTTP.
fn everywhere(mut each: impl FnMut(&str, &str)) {
    engines(|engine| ["1.1", "2"].into_iter().for_each(|http| each(engine, http)));
}

fn engines(mut each: impl FnMut(&str)) {
    for engine in ["epoll", "uring"] {
        each(engine);
    }
}

#[test]
fn a_page_comes_first_and_then_once_each_what_belongs_to_it() {
    everywhere(|engine, http| {
        let server = Server::start(site());
        let url = server.url("/dir/page.html");
        let how = ["--engine", engine, "--http", http];
        let result = load(&[&[&*url, "--browser", "-c", "1", "-n", "3"], &how[..]].concat());
        let seen = server.seen();
        assert_eq!(seen.len(), 27, "{engine} {http}: {result}");
        if http == "2" {
            let peers: HashSet<SocketAddr> = seen.iter().map(|r| r.peer).collect();
            assert_eq!((peers.len(), &result["connections"]["opened"]), (1, &1.into()));
        }
        for page in seen.chunks(9) {
            assert_eq!(page[0].path, "/dir/page.html");
            let mut objects: Vec<&str> = page[1..].iter().map(|r| &*r.path).collect();
            let at = |path: &str| objects.iter().position(|o| *o == path).unwrap();
            // What a style sheet refers to is known once that has come.
            assert!(at("/dir/s.css") < at("/dir/bg.png") && at("/dir/frame.html") < at("/dir/in-frame.png"));
            objects.sort_unstable();
            assert_eq!(objects, OBJECTS);
        }
        let pages = &result["pages"];
        for (name, count) in
            [("begun", 3), ("completed", 3), ("ok", 3), ("failed", 0), ("cut", 0), ("elsewhere", 3)]
        {
            assert_eq!(pages[name], count, "{name}: {pages}");
        }
        assert_eq!(pages["objects_per_page"], 8.0);
        assert_eq!((&pages["time_ns"]["count"], &pages["document_ns"]["count"]), (&3.into(), &3.into()));
        assert_eq!(pages["embedded_ns"]["count"], 24);
        assert_eq!((&result["requests"]["ok"], &result["options"]["users"]), (&27.into(), &1.into()));
        assert!(pages["time_ns"]["min"].as_u64() > pages["document_ns"]["min"].as_u64());
    });
}

#[test]
fn a_user_opens_no_more_connections_than_it_may_and_keeps_them() {
    engines(|engine| {
        for connections in [1, 2, 6] {
            let server = Server::start(site());
            let url = server.url("/dir/page.html");
            let browser = format!("--browser={connections}");
            let result = load(&[&url, &browser, "-c", "1", "-n", "5", "--engine", engine]);
            let seen = server.seen();
            let peers: HashSet<SocketAddr> = seen.iter().map(|r| r.peer).collect();
            assert!(peers.len() <= connections, "{} of {connections}", peers.len());
            assert!(seen.iter().all(|r| r.open_from_there <= connections));
            assert_eq!(result["pages"]["ok"], 5);
            assert_eq!(result["connections"]["opened"], peers.len());
        }
    });
}

#[test]
fn what_a_user_has_in_its_cache_is_not_got_again() {
    for http in ["1.1", "2"] {
        let server = Server::start(site());
        let url = server.url("/dir/page.html");
        let result =
            load(&[&url, "--browser", "--browser-cache", "-c", "2", "-n", "10", "-t", "2", "--http", http]);
        for (path, count) in counts(&server.seen()) {
            // Two users of one cache each; the page itself is always got again.
            assert_eq!(count, if path == "/dir/page.html" { 10 } else { 2 }, "{path}");
        }
        // What only the style sheet and the frame refer to is not known of where these are in the cache.
        assert_eq!((&result["pages"]["cached"], &result["pages"]["ok"]), (&(8 * 6).into(), &10.into()));
    }
}

#[test]
fn a_redirect_of_a_page_is_followed_once_on_the_same_host() {
    for http in ["1.1", "2"] {
        let server = Server::start(site());
        let result = load(&[&server.url("/moved"), "--browser", "-c", "1", "-n", "1", "--http", http]);
        assert_eq!(counts(&server.seen())["/dir/page.html"], 1);
        assert_eq!((&result["pages"]["ok"], &result["pages"]["redirected"]), (&1.into(), &1.into()));
        assert_eq!(result["pages"]["objects_per_page"], 8.0);
        for path in ["/moved-twice", "/moved-away"] {
            let server = Server::start(site());
            let result = load(&[&server.url(path), "--browser", "-c", "1", "-n", "1", "--http", http]);
            assert!(!counts(&server.seen()).contains_key("/dir/page.html"));
            assert_eq!(
                (&result["pages"]["completed"], &result["pages"]["ok"]),
                (&1.into(), &0.into()),
                "{path}"
            );
            assert_eq!(result["errors"][0]["kind"], "redirect");
        }
    }
}

#[test]
fn a_page_with_something_missing_is_not_right_and_one_whose_server_closes_is() {
    for http in ["1.1", "2"] {
        let server = Server::start(site());
        let result = load(&[&server.url("/broken.html"), "--browser", "-c", "1", "-n", "2", "--http", http]);
        let pages = &result["pages"];
        assert_eq!((&pages["completed"], &pages["ok"], &pages["failed"]), (&2.into(), &0.into(), &0.into()));
        assert_eq!(
            (&result["errors"][0]["kind"], &result["errors"][0]["count"]),
            (&"status-404".into(), &2.into())
        );
        let server = Server::start(site());
        let result = load(&[&server.url("/closing.html"), "--browser", "-c", "1", "-n", "4", "--http", http]);
        assert_eq!(result["pages"]["ok"], 4, "{http}: {result}");
        assert_eq!(server.seen().len(), 12);
    }
}

#[test]
fn a_gate_on_the_time_of_pages_decides_the_exit_code() {
    let server = Server::start(site());
    let url = server.url("/dir/page.html");
    let gate = |condition: &str, more: &[&str]| {
        let mut command = Command::new(PITOT);
        command.args(["load", &url, "-n", "3", "-c", "1", "--fail-if", condition]).args(more);
        command.output().unwrap()
    };
    assert_eq!(gate("page p99 > 60s", &["--browser"]).status.code(), Some(0));
    let failed = gate("page p50 > 1ns, page max > 60s", &["--browser"]);
    let error = stderr(&failed).to_owned();
    assert_eq!(failed.status.code(), Some(1), "{error}");
    assert!(error.contains("fail if page p50 > 1ns, and page p50 is"), "{error}");
    let refused = gate("page p99 > 60s", &[]);
    let error = stderr(&refused).to_owned();
    assert!(refused.status.code() == Some(2) && error.contains("--browser"), "{error}");
}

#[test]
fn pages_of_an_open_loop_are_due_at_a_rate() {
    everywhere(|engine, http| {
        let server = Server::start(site());
        let url = server.url("/dir/page.html");
        let result = load(&[
            &url,
            "--browser",
            "-c",
            "4",
            "-R",
            "50",
            "-n",
            "20",
            "--engine",
            engine,
            "--http",
            http,
            "--timeout",
            "60s",
            "-t",
            "2",
        ]);
        assert_eq!((&result["pages"]["ok"], &result["pages"]["missed"]), (&20.into(), &0.into()));
        assert_eq!(result["pages"]["asked_per_s"].as_f64().map(f64::round), Some(50.0));
        assert_eq!(server.seen().len(), 180);
        assert_eq!(result["asked_rps"], Value::Null);
    });
}

#[test]
fn pages_without_a_server_fail_and_the_run_ends() {
    let closed = Port::new();
    let result = load(&[&format!("http://{}/", closed.address), "--browser", "-c", "2", "-n", "4"]);
    assert_eq!((&result["pages"]["begun"], &result["pages"]["failed"]), (&4.into(), &4.into()));
    assert_eq!(result["pages"]["time_ns"]["count"], 0);
    assert_eq!(result["client"]["verdict"], "failed");
}

#[test]
fn what_makes_no_sense_with_a_browser_is_refused() {
    for wrong in [
        &["--browser=0"][..],
        &["--browser=3", "--http", "2"],
        &["--browser=257"],
        &["--browser", "--pipeline", "2"],
        &["--browser", "--storm"],
        &["--browser", "--churn", "5"],
        &["--browser", "-H", "Accept-Encoding: gzip"],
        &["--browser-cache"],
    ] {
        let output = Command::new(PITOT).args(["load", "http://127.0.0.1:9/"]).args(wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}");
    }
}

#[test]
fn each_user_has_a_source_address_of_its_own_and_keeps_it() {
    engines(|engine| {
        // Connections that are closed after each request come from the same address again.
        let server = Server::start(site());
        let url = server.url("/closing.html");
        let result = load(&[
            &url,
            "-c",
            "20",
            "-n",
            "200",
            "-t",
            "3",
            "--source",
            "127.7.0.0/27",
            "--source-per-user",
            "--engine",
            engine,
        ]);
        assert_eq!(result["requests"]["ok"], 200);
        let mut by_address: HashMap<String, usize> = HashMap::new();
        for request in server.seen() {
            *by_address.entry(request.peer.ip().to_string()).or_default() += 1;
            assert_eq!(request.open_from_there, 1, "another user has {}", request.peer.ip());
        }
        assert!(
            by_address.len() <= 20 && by_address.keys().all(|a| a.starts_with("127.7.0.")),
            "{by_address:?}"
        );
        // All connections of a browser come from its user's address.
        let server = Server::start(site());
        let url = server.url("/dir/page.html");
        let arguments = ["--browser=3", "-c", "5", "-n", "10", "-t", "2", "--source", "127.7.1.0/29"];
        let result = load(&[&[&*url, "--source-per-user", "--engine", engine], &arguments[..]].concat());
        assert_eq!(result["pages"]["ok"], 10);
        let mut pages: HashMap<String, usize> = HashMap::new();
        let mut objects: HashMap<String, usize> = HashMap::new();
        for request in server.seen() {
            let of = if request.path == "/dir/page.html" { &mut pages } else { &mut objects };
            *of.entry(request.peer.ip().to_string()).or_default() += 1;
            assert!(request.open_from_there <= 3);
        }
        assert_eq!(pages.len(), 5, "{pages:?}");
        for (address, pages) in pages {
            assert_eq!(objects[&address], pages * 8, "{address}");
        }
    });
}

#[test]
fn two_hundred_and_fifty_six_users_have_an_address_each() {
    let server = Server::start(site());
    let url = server.url("/dir/a.png");
    let arguments = ["-c", "256", "-n", "2560", "--source-per-user", "--timeout", "60s"];
    let result = load(&[&[&*url, "--source", "127.8.0.0/23"], &arguments[..]].concat());
    assert_eq!(result["requests"]["ok"], 2560);
    assert_eq!(result["connections"]["peak_open"], 256);
    let peers: HashSet<SocketAddr> = server.seen().iter().map(|r| r.peer).collect();
    let addresses: HashSet<_> = peers.iter().map(SocketAddr::ip).collect();
    assert_eq!((peers.len(), addresses.len()), (256, 256));
    let output = Command::new(PITOT)
        .args(["load", &url, "-c", "256", "--source", "127.8.0.0/24", "--source-per-user"])
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("--source 127.0.0.0/23"), "{said}");
}

#[test]
fn users_who_come_and_go_stand_in_place_of_their_number() {
    let server = Server::start(site());
    let url = server.url("/dir/page.html");
    let arguments = ["--browser=2", "--user-stages", "1:5:200ms,5:1:200ms", "--think", "5ms"];
    let result = load(&[&[&*url, "--source", "127.9.0.0/28", "--source-per-user"], &arguments[..]].concat());
    assert_eq!(result["options"]["users"], 5);
    assert_eq!(result["options"]["duration_s"], 0.4);
    assert!(result["pages"]["ok"].as_u64() > Some(0), "{}", result["pages"]);
    let output = Command::new(PITOT)
        .args(["load", &url, "--browser", "--user-stages", "1:5:1s", "-R", "5"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2));
}

#[test]
fn a_site_of_files_is_read_over_tls_as_without() {
    let root = tempfile::tempdir().unwrap();
    for (path, (_, _, content)) in site() {
        let file = root.path().join(&path[1..]);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, content).unwrap();
    }
    for (scheme, tls) in [("http", &[][..]), ("https", &["--tls", "self-signed"])] {
        let mut server = Running::start(
            Command::new(PITOT)
                .args(["serve", "http", "--listen", "127.0.0.1:0", "--root"])
                .arg(root.path())
                .args(tls)
                .stdout(Stdio::piped()),
        );
        let address = server.ready();
        engines(|engine| {
            let url = format!("{scheme}://{address}/dir/page.html");
            let mut arguments = vec![&*url, "--browser", "-c", "2", "-n", "6", "--engine", engine];
            arguments.extend((scheme == "https").then_some("--insecure"));
            let result = load(&arguments);
            assert_eq!(result["pages"]["ok"], 6, "{scheme} {engine}: {}", result["errors"]);
            assert_eq!(result["pages"]["objects_per_page"], 8.0);
        });
    }
}
