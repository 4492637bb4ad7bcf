//! A panic in a worker ends its process with a message: where workers are threads that is the server, where they are
//! processes they are replaced. Half a server is never left.
//!
//! The test has a main function of its own, as a server must be started before any thread is, and starts itself as
//! the server.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::SocketAddr;
use std::net::TcpStream;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::Duration;

use pitot_proto::{
    Context, Exchange, Next, Protocol, ProtocolEntry, ProtocolOptions, ServerConn, Step, TlsBegins, Violation,
};
use pitot_serve::store::Acknowledged;
use pitot_serve::{
    FileCache, Limits, RingFeatures, ServePlan, Steering, default_mechanism, find_model, run,
    serve_standard_input,
};

/// Says what it hears, and panics at an exclamation mark.
static FRAGILE: ProtocolEntry = ProtocolEntry {
    name: "fragile",
    summary: "an echo that panics",
    doc: "An echo that panics at an exclamation mark.",
    files: false,
    load_url: "fragile://{address}",
    tls: TlsBegins::AtOnce { alpn: &[] },
    build: |_| Ok(Box::new(Fragile)),
};

struct Fragile;

impl Protocol for Fragile {
    fn connect(&self) -> Box<dyn ServerConn> {
        Box::new(Fragile)
    }
}

impl ServerConn for Fragile {
    fn receive(&mut self, _: &Context<'_>, input: &[u8], exchange: &mut Exchange) -> Result<Step, Violation> {
        assert!(!input.contains(&b'!'), "the input asks for a panic");
        exchange.out.bytes(input);
        Ok(Step { consumed: input.len(), next: Next::Read })
    }
}

fn plan(model: &str) -> ServePlan {
    let model = find_model(model).expect("a model");
    let this = env::current_exe().expect("a path");
    ServePlan {
        protocol: &FRAGILE,
        protocol_options: ProtocolOptions::default(),
        model,
        mechanism: default_mechanism(model).expect("a mechanism"),
        listen: SocketAddr::from(([127, 0, 0, 1], 0)).into(),
        unix_mode: None,
        backlog: 16,
        congestion: None,
        cork: true,
        ring: RingFeatures::default(),
        workers: (model.takes_workers && model.workers_max > 1).then_some(2),
        steering: Steering::Hash,
        cpus: Vec::new(),
        root: None,
        file_cache: FileCache::default(),
        access_log: None,
        disk: None,
        links: 1,
        maildir: None,
        acknowledged: Acknowledged::OnDisk,
        tls: None,
        limits: Limits::default(),
        connection_command: [this.into(), OsString::from("connection"), model.name.into()].into(),
        user: None,
        confine: false,
    }
}

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["server", model] => {
            run(&plan(model), |addr| println!("{addr}")).expect("a server");
        }
        ["connection", model, counters, parent] => {
            let number = |text: &str| text.parse().expect("a number");
            serve_standard_input(&plan(model), number(counters), number(parent)).expect("a connection");
        }
        // Whatever the test runner says: there is one test.
        _ => {
            for model in ["thread", "pool", "loop", "handoff", "hybrid", "tokio"] {
                check(model, |server| {
                    let status = server.child.wait().expect("an exit code");
                    assert_eq!(status.code(), Some(101), "{model}");
                });
            }
            for model in ["fork", "spawn", "prefork", "preloop"] {
                check(model, |server| {
                    assert_eq!(echo(&server.addr, b"still there"), b"still there", "{model}");
                    assert!(server.child.try_wait().expect("a child").is_none(), "{model}");
                });
            }
        }
    }
    ExitCode::SUCCESS
}

struct Server {
    child: Child,
    addr: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // Its processes die with it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn check(model: &str, after_panic: impl Fn(&mut Server)) {
    let mut command = Command::new(env::current_exe().expect("a path"));
    command.args(["server", model]).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("the server starts");
    let (stdout, mut stderr) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let mut server = Server { child, addr: String::new() };
    BufReader::new(stdout).read_line(&mut server.addr).expect("an address");
    server.addr.truncate(server.addr.trim_end().len());
    assert_eq!(echo(&server.addr, b"hello"), b"hello", "{model}");
    assert_eq!(echo(&server.addr, b"now!"), b"", "{model}");
    after_panic(&mut server);
    drop(server);
    let mut said = String::new();
    stderr.read_to_string(&mut said).expect("text");
    assert!(said.contains("the input asks for a panic"), "{model}: {said}");
}

/// Sends `bytes` and returns what comes back.
fn echo(addr: &str, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(addr).expect("a connection");
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("an option");
    stream.write_all(bytes).expect("the server reads");
    stream.shutdown(std::net::Shutdown::Write).expect("a connection");
    let mut back = Vec::new();
    match stream.read_to_end(&mut back) {
        Err(e) if e.kind() != std::io::ErrorKind::ConnectionReset => {
            panic!("{addr} {}: {e}", bytes.escape_ascii())
        }
        _ => back,
    }
}
