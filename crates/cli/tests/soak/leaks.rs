//! Soaks with servers that leak: what grows is told, with its rate, and what does not is not.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use super::{PITOT, Running};

/// Set for the process that is the server; it says what leaks.
const SERVER: &str = "PITOT_TEST_SERVER";
/// Requests a second, which it is asked for whatever else the machine does.
const RATE: u64 = 200;
/// A descriptor and a thread are lost for every so many requests.
const REQUESTS_PER_LEAK: u64 = 50;
/// Bytes that are lost for every request.
const LEAK_BYTES: usize = 4096;
/// Twelve intervals are needed for an answer.
const LENGTH: &str = "14s";

/// Not a test: the server that the tests start, which is this program once more.
#[test]
fn server() {
    let Ok(leaks) = std::env::var(SERVER) else { return };
    let leaks = leaks == "leaks";
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    eprintln!("ready {}", listener.local_addr().unwrap());
    static SERVED: AtomicU64 = AtomicU64::new(0);
    for stream in listener.incoming().flatten() {
        std::thread::spawn(move || serve(stream, leaks, &SERVED));
    }
}

fn serve(mut stream: TcpStream, leaks: bool, served: &AtomicU64) {
    let mut request = [0; 4096];
    // A request of the load is one packet on the loopback.
    while stream.read(&mut request).is_ok_and(|length| length > 0) {
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").is_err() {
            return;
        }
        let count = served.fetch_add(1, Ordering::Relaxed);
        if leaks {
            std::mem::forget(vec![count as u8; LEAK_BYTES]);
            if count.is_multiple_of(REQUESTS_PER_LEAK) {
                std::mem::forget(File::open("/dev/null").unwrap());
                std::thread::spawn(std::thread::park);
            }
        }
    }
}

fn start(leaks: &str) -> (Running, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "leaks::server", "--nocapture"]).env(SERVER, leaks);
    let mut server = Running(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut said = std::io::BufReader::new(server.0.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("ready ") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0, "the server has ended");
    }
    (server, line["ready ".len()..].trim().to_owned())
}

fn soak(dir: &Path, server: &Running, address: &str) -> Output {
    let (url, pid, rate) = (format!("http://{address}/"), server.0.id().to_string(), RATE.to_string());
    let arguments =
        [&url, "--pid", &pid, "-c", "2", "-R", &rate, "--for", LENGTH, "--interval", "1s", "-o", "a.pitot"];
    super::soak(dir, &arguments).output().unwrap()
}

/// The drifts of a soak against a server that leaks or does not.
fn drifts(leaks: &str) -> (Vec<Value>, String) {
    let dir = tempfile::tempdir().unwrap();
    let (server, address) = start(leaks);
    let output = soak(dir.path(), &server, &address);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let report = |format: &str| {
        let mut command = Command::new(PITOT);
        command.args(["report", "a.pitot", "--format", format, "-o", "-"]).current_dir(dir.path());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let json: Value = serde_json::from_str(&report("json")).unwrap();
    (json["drifts"].as_array().unwrap().clone(), report("terminal"))
}

fn find<'a>(drifts: &'a [Value], figure: &str) -> &'a Value {
    let found = drifts.iter().find(|drift| drift["figure"] == figure);
    found.unwrap_or_else(|| panic!("no answer for {figure}: {drifts:#?}"))
}

#[test]
fn memory_descriptors_and_threads_that_are_lost_are_told_with_their_rate() {
    let (drifts, report) = drifts("leaks");
    let per_hour = (RATE * 3600) as f64;
    for (figure, expected) in [
        ("memory-private", per_hour * LEAK_BYTES as f64),
        ("descriptors", per_hour / REQUESTS_PER_LEAK as f64),
        ("threads", per_hour / REQUESTS_PER_LEAK as f64),
    ] {
        let drift = find(&drifts, figure);
        assert!(drift["declared"] == true && drift["leak"] == true, "{drift:#}");
        let ratio = drift["slope_per_hour"].as_f64().unwrap() / expected;
        // Stacks of the threads that are lost need memory too, and the machine may be too busy for the rate.
        let high = if figure == "memory-private" { 1.6 } else { 1.2 };
        assert!((0.5..high).contains(&ratio), "{ratio} of what was lost: {drift:#}");
    }
    assert!(report.contains("leak? the number of descriptors grew"), "{report}");
}

#[test]
fn descriptors_and_threads_that_stay_are_no_leak() {
    let (drifts, report) = drifts("nothing");
    for figure in ["descriptors", "threads", "processes"] {
        let drift = find(&drifts, figure);
        assert!(drift["declared"] == false && drift["leak"] == false, "{drift:#}");
    }
    assert!(report.contains("no drift of the number of descriptors above 0"), "{report}");
}
