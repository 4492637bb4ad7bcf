//! What targets serve is the same for all of them, byte by byte. Each is started by the commands that `--dry-run` shows, so
//! that these are tried as well.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use pitot_needs::needs;

const PITOT: &str = env!("CARGO_BIN_EXE_pitot");
/// Where the commands that are shown listen.
const SHOWN: &str = "127.0.0.1:18080";
/// Far more than a server of Java takes to start, on a busy machine too.
const PATIENCE: Duration = Duration::from_secs(300);

/// A server, which ends with the test.
struct Server {
    child: Child,
    address: String,
    dir: tempfile::TempDir,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child.id().to_string()).status();
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            if Instant::now() > deadline {
                let _ = self.child.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

/// Starts a target as its user would by hand.
fn start(target: &str) -> Server {
    let output = Command::new(PITOT)
        .args(["run", "--server", target, "--server", "loop", "--url", "http://{address}/dynamic", "-c", "1"])
        .arg("--dry-run")
        .output()
        .unwrap();
    let shown = String::from_utf8(output.stdout).unwrap();
    let (start, _) = shown.split_once(&format!(" load http://{SHOWN}")).expect(&shown);
    // The last line begins with the path of Pitot and makes the load; the server's command is the one before.
    let (script, _) = start.rsplit_once('\n').unwrap();
    let (files, command) = script.rsplit_once('\n').unwrap();
    let dir = tempfile::tempdir().unwrap();
    // Processes that are nobody's have to read there.
    let mut all = std::fs::metadata(dir.path()).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut all, 0o755);
    std::fs::set_permissions(dir.path(), all).unwrap();
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let (_, port) = address.rsplit_once(':').unwrap();
    let place = format!("{}/pitot-comparison-1", std::env::temp_dir().display());
    let script = format!("{files}\nexec {command}\n")
        .replace(&place, &dir.path().to_string_lossy())
        .replace(SHOWN, &address)
        .replace("18080", port);
    let child = Command::new("sh")
        .args(["-c", &script])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        // httpd sends the signal that stops it to its whole group.
        .process_group(0)
        .spawn()
        .unwrap();
    let mut server = Server { child, address, dir };
    let deadline = Instant::now() + PATIENCE;
    while ask(&server.address, "GET", "/dynamic", b"").is_none_or(|reply| reply.0 != 200) {
        assert!(server.child.try_wait().unwrap().is_none(), "{target} has ended: {script}");
        assert!(Instant::now() < deadline, "{target} is not ready");
        std::thread::sleep(Duration::from_millis(20));
    }
    server
}

/// The status and the content of a reply; none if there was none.
fn ask(address: &str, method: &str, path: &str, body: &[u8]) -> Option<(u16, Vec<u8>)> {
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

/// The entry of a target in the list.
fn listed() -> Vec<serde_json::Value> {
    let output = Command::new(PITOT).args(["list", "targets", "--format", "json"]).output().unwrap();
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Every page of a target is what all serve, but for those that its entry says it cannot serve.
fn conforms(target: &str) {
    let listed = listed();
    let entry = listed.iter().find(|entry| entry["name"] == target).unwrap();
    let can = |page: &str| !entry["cannot"].to_string().contains(&format!("\"{page}\""));
    let server = start(target);
    for (page, bytes) in [("1k", 1 << 10), ("16k", 16 << 10), ("1m", 1 << 20)] {
        let has_file = server.dir.path().join("html").join(page).is_file();
        if can(page) && has_file {
            let reply = ask(&server.address, "GET", &format!("/{page}"), b"").unwrap();
            assert!(reply == (200, vec![b'x'; bytes]), "{target} /{page}: {} {}", reply.0, reply.1.len());
        }
    }
    let (status, page) = ask(&server.address, "GET", "/dynamic", b"").unwrap();
    let page = String::from_utf8(page).unwrap();
    let time = page.strip_prefix("<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>");
    let time =
        time.and_then(|rest| rest.strip_suffix("</p>\n")).unwrap_or_else(|| panic!("{target}: {page:?}"));
    assert_eq!(
        (status, time.len(), &time[10..11], &time[19..]),
        (200, 25, "T", "+00:00"),
        "{target}: {page}"
    );
    if can("echo") {
        // All bytes, and twice, so that nothing of the first is left.
        for sent in [(0..=255).collect::<Vec<u8>>(), b"again".to_vec()] {
            let reply = ask(&server.address, "POST", "/echo", &sent).unwrap();
            assert_eq!(reply, (200, sent), "{target} /echo");
        }
    }
}

#[needs("nginx")]
#[test]
fn nginx_serves_what_all_serve() {
    conforms("nginx");
}

#[needs("apache2")]
#[test]
fn apache_serves_what_all_serve() {
    ["apache-event", "apache-worker", "apache-prefork"].into_iter().for_each(conforms);
}

#[needs("haproxy")]
#[test]
fn haproxy_serves_what_all_serve() {
    conforms("haproxy");
}

#[needs("lighttpd")]
#[test]
fn lighttpd_serves_what_all_serve() {
    conforms("lighttpd");
}

/// Those that `pitot target install` has installed, none on a fresh machine, and Node.
#[test]
fn what_pitot_has_installed_serves_what_all_serve() {
    let installed = listed().into_iter().filter(|entry| {
        let by_debian = entry["install"].to_string().contains("apt-get") && entry["name"] != "node";
        entry["protocol"] == "http" && entry["installed"] == true && !by_debian
    });
    for entry in installed {
        conforms(entry["name"].as_str().unwrap());
    }
}
