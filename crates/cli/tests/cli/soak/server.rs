//! Servers of the tests that leak, hang or forget: this program once more, in a process whose children are nobody else's.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::support::Running;

/// Set for the process that is the server; it says which.
const SERVER: &str = "PITOT_TEST_SERVER";
/// A descriptor and a thread are lost for every so many requests.
pub const REQUESTS_PER_LEAK: u64 = 50;
/// Bytes that are lost for every request.
pub const LEAK_BYTES: usize = 4096;

/// Of this many uploads on a connection one is forgotten and one is kept in part.
const UPLOADS_PER_LOSS: u64 = 25;

/// The words that start the server that acknowledges uploads and forgets some of them. It listens at a plan's `{address}`, keeps
/// files in the directory `kept` and a line for each that it forgot in the file `forgot`.
pub fn forgetful(dir: &Path) -> Vec<String> {
    let own = std::env::current_exe().unwrap();
    let words = [
        "env",
        &format!("{SERVER}=forgetful"),
        "PITOT_TEST_ADDRESS={address}",
        &format!("PITOT_TEST_DIRECTORY={}", dir.display()),
        &own.display().to_string(),
        "--ignored",
        "--exact",
        "soak::server::server",
        "--nocapture",
    ];
    words.map(str::to_owned).to_vec()
}

#[test]
#[ignore = "no test: the server that the tests of soaks start"]
fn server() {
    let kind = std::env::var(SERVER).expect("a test has started it");
    let address = std::env::var("PITOT_TEST_ADDRESS").unwrap_or_else(|_| "127.0.0.1:0".into());
    let listener = TcpListener::bind(address).unwrap();
    eprintln!("ready {}", listener.local_addr().unwrap());
    if kind == "silent" {
        // It keeps what it takes, until the test is over.
        listener.incoming().flatten().for_each(std::mem::forget);
    }
    if kind == "forgetful" {
        let dir = PathBuf::from(std::env::var_os("PITOT_TEST_DIRECTORY").unwrap());
        for stream in listener.incoming().flatten() {
            let dir = dir.clone();
            std::thread::spawn(move || forget(stream, &dir));
        }
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

/// Acknowledges each upload, of which some are not kept.
fn forget(stream: TcpStream, dir: &Path) -> Option<()> {
    let mut stream = BufReader::new(stream);
    loop {
        let mut lines = (&mut stream).lines().map_while(Result::ok);
        let request = lines.next()?;
        let length = "content-length: ";
        let header: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
        let length = header.iter().find_map(|line| line.to_lowercase().strip_prefix(length)?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        stream.read_exact(&mut body).ok()?;
        let name = request.split([' ', '/']).find(|word| word.starts_with("request-"))?;
        let number = u64::from_str_radix(name.rsplit_once('-')?.1, 16).ok()?;
        let kept = match number % UPLOADS_PER_LOSS {
            7 => 0,
            9 => body.len() / 2,
            _ => body.len(),
        };
        if kept > 0 {
            std::fs::write(dir.join("kept").join(name), &body[..kept]).ok()?;
        }
        if kept < body.len() {
            let mut forgot = File::options().append(true).create(true).open(dir.join("forgot")).ok()?;
            writeln!(forgot, "{name}").ok()?;
        }
        stream.get_mut().write_all(b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n").ok()?;
    }
}

/// Starts the server that `leaks`, that does `nothing` of the kind, or that is `silent`. Returns its address.
pub fn start(kind: &str) -> (Running, String) {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--ignored", "--exact", "soak::server::server", "--nocapture"]).env(SERVER, kind);
    let mut server = Running::start(command.stdout(Stdio::null()).stderr(Stdio::piped()));
    let mut said = BufReader::new(server.stderr.take().unwrap());
    let mut line = String::new();
    while !line.starts_with("ready ") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "the server has ended");
    }
    (server, line["ready ".len()..].trim().to_owned())
}
