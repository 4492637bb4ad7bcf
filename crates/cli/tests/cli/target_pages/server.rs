//! A target that a test starts as its user would by hand.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{PITOT, Port, TIMEOUT, stderr, stdout, until, until_ok};

/// Where the commands that are shown listen.
const SHOWN: &str = "127.0.0.1:18080";

/// A server, which ends with the test.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
    pub(crate) dir: tempfile::TempDir,
    /// Keeps its port.
    held: Option<Port>,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Server {
    /// How many threads of it and of its children have a name that contains this, which the kernel cuts to 15 bytes.
    pub(crate) fn threads(&self, name: &str) -> usize {
        let mut count = 0;
        let mut left = vec![self.child.id()];
        while let Some(process) = left.pop() {
            for task in std::fs::read_dir(format!("/proc/{process}/task")).unwrap() {
                let read = |file| std::fs::read_to_string(task.as_ref().unwrap().path().join(file));
                count += usize::from(read("comm").unwrap_or_default().contains(name));
                let children = read("children").unwrap_or_default();
                left.extend(children.split_whitespace().map(|child| child.parse::<u32>().unwrap()));
            }
        }
        count
    }
}

/// Starts a target that is asked for a page, with these lines of a plan's table `[target]`, and waits until it answers.
pub(crate) fn start(target: &str, page: &str, settings: &str) -> Server {
    let port = Port::new();
    let mut server = launch(target, page, settings, port.address.to_string());
    server.held = Some(port);
    until(&format!("{target} is ready"), || {
        assert!(server.child.try_wait().unwrap().is_none(), "{target} has ended");
        ask(&server.address, "GET", "/dynamic", b"").is_some_and(|reply| reply.0 == 200)
    });
    server
}

/// Starts a target at a port that is taken, and waits until it has printed one of these texts.
pub(crate) fn says_that_its_port_is_taken(target: &str, texts: &[String]) {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let server = launch(target, "dynamic", "", taken.local_addr().unwrap().to_string());
    until_ok(&format!("{target} says one of {texts:?}"), || {
        let printed: String = ["printed", "errors"]
            .iter()
            .filter_map(|name| std::fs::read_to_string(server.dir.path().join(name)).ok())
            .collect();
        if texts.iter().any(|text| printed.contains(text)) { Ok(()) } else { Err(printed) }
    });
}

fn launch(target: &str, page: &str, settings: &str, address: String) -> Server {
    let plans = tempfile::tempdir().unwrap();
    let plan = plans.path().join("plan.toml");
    let text = format!(
        "[server]\nprotocol = \"http\"\n[load]\nurl = \"http://{{address}}/{page}\"\nconnections = 1\n\
         [target]\n{settings}\n[factors]\nserver = [\"{target}\"]\n"
    );
    std::fs::write(&plan, text).unwrap();
    let output = Command::new(PITOT).arg("run").arg(&plan).arg("--dry-run").output().unwrap();
    let shown = stdout(&output);
    let told = stderr(&output);
    let (start, _) = shown.split_once(&format!(" load http://{SHOWN}")).unwrap_or_else(|| panic!("{told}"));
    // The last line begins with the path of Pitot and makes the load; the server's command is the one before.
    let (script, _) = start.rsplit_once('\n').unwrap();
    let (files, command) = script.rsplit_once('\n').unwrap();
    // The CPU that it is pinned to may be busy with something else.
    let (before, pinned) = command.split_once("taskset -c ").unwrap();
    let (_, program) = pinned.split_once(' ').unwrap();
    let command = format!("{before}{program}");
    let dir = tempfile::tempdir().unwrap();
    // Processes that are nobody's have to read there.
    let mut all = std::fs::metadata(dir.path()).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut all, 0o755);
    std::fs::set_permissions(dir.path(), all).unwrap();
    let (_, port) = address.rsplit_once(':').unwrap();
    let place = format!("{}/pitot-plan-1", std::env::temp_dir().display());
    let script = format!("{files}\nexec {command}\n")
        .replace(&place, &dir.path().to_string_lossy())
        .replace(SHOWN, &address)
        .replace("18080", port);
    let child = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        // Some have their access log there.
        .stdout(std::fs::File::create(dir.path().join("printed")).unwrap())
        .stderr(std::fs::File::create(dir.path().join("errors")).unwrap())
        // httpd sends the signal that stops it to its whole group.
        .process_group(0)
        .spawn()
        .unwrap();
    Server { child, address, dir, held: None }
}

/// The status and the content of a reply; none if there was none.
pub(crate) fn ask(address: &str, method: &str, path: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
    let mut stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).ok()?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {length}\r\n\
         Content-Type: application/octet-stream\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat()).ok()?;
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).ok()?;
    let end = reply.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = String::from_utf8_lossy(&reply[..end]).to_lowercase();
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let content = &reply[end..];
    let content =
        if head.contains("transfer-encoding: chunked") { whole(content)? } else { content.to_vec() };
    Some((status, content))
}

/// Whether a connection is kept for a second request.
pub(crate) fn keeps(address: &str) -> bool {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    let mut replies = BufReader::new(&stream);
    for _ in 0..2 {
        // What the other side has closed may also refuse the request.
        let request = format!("GET /dynamic HTTP/1.1\r\nHost: {address}\r\n\r\n");
        if (&stream).write_all(request.as_bytes()).is_err() || !whole_reply(&mut replies) {
            return false;
        }
    }
    true
}

/// Reads a page, whose last line is known.
fn whole_reply(replies: &mut impl BufRead) -> bool {
    let mut line = String::new();
    while !line.ends_with("</p>\n") {
        line.clear();
        if !replies.read_line(&mut line).is_ok_and(|length| length > 0) {
            return false;
        }
    }
    true
}

/// The content of chunks.
fn whole(mut chunks: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let line = chunks.windows(2).position(|two| two == b"\r\n")?;
        let length = usize::from_str_radix(std::str::from_utf8(&chunks[..line]).ok()?.trim(), 16).ok()?;
        if length == 0 {
            return Some(content);
        }
        content.extend_from_slice(chunks.get(line + 2..line + 2 + length)?);
        chunks = chunks.get(line + 2 + length + 2..)?;
    }
}
