//! Servers of the tests that leak or hang: this program once more, in a process whose children are nobody else's.

use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use super::Running;

/// Set for the process that is the server; it says which.
const SERVER: &str = "PITOT_TEST_SERVER";
/// A descriptor and a thread are lost for every so many requests.
pub const REQUESTS_PER_LEAK: u64 = 50;
/// Bytes that are lost for every request.
pub const LEAK_BYTES: usize = 4096;

/// Not a test: the server that the tests start.
#[test]
fn server() {
    let Ok(kind) = std::env::var(SERVER) else { return };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    eprintln!("ready {}", listener.local_addr().unwrap());
    if kind == "silent" {
        // It keeps what it takes, until the test is over.
        listener.incoming().flatten().for_each(std::mem::forget);
    }
    let leaks = kind == "leaks";
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

/// Starts the server that `leaks`, that does `nothing` of the kind, or that is `silent`. Returns its address.
pub fn start(kind: &str) -> (Running, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "server::server", "--nocapture"]).env(SERVER, kind);
    let mut server = Running(command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap());
    let mut said = std::io::BufReader::new(server.0.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("ready ") {
        line.clear();
        assert!(std::io::BufRead::read_line(&mut said, &mut line).unwrap() > 0, "the server has ended");
    }
    (server, line["ready ".len()..].trim().to_owned())
}
