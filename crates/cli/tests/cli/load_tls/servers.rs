//! Servers that others wrote, each on a port of its own, which end with the test.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use super::certificates::{Identity, Pki};
use crate::support::{Port, Running, stderr};

/// The length of the file `bytes`: several records.
const BYTES: usize = 100_000;

/// A server that is killed when the test ends.
pub struct Server {
    _child: Running,
    folder: TempDir,
    pub port: u16,
    _held: Port,
}

impl Server {
    /// The folder that it serves and writes to.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }
}

fn start(command: impl Fn(&Path, u16) -> Command) -> Server {
    let (folder, held) = (tempfile::tempdir().unwrap(), Port::new());
    std::fs::write(folder.path().join("bytes"), vec![b'x'; BYTES]).unwrap();
    let mut command = command(folder.path(), held.number());
    let mut child = Running::start(command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()));
    child.listens(held.address);
    Server { _child: child, folder, port: held.number(), _held: held }
}

fn program(name: &str) -> String {
    let found = ["/usr/sbin", "/usr/local/sbin"].iter().map(|folder| format!("{folder}/{name}"));
    found.into_iter().find(|path| Path::new(path).exists()).unwrap_or_else(|| name.to_owned())
}

pub fn nginx(pki: &Pki, settings: &str) -> Server {
    nginx_with(&pki.server(), settings)
}

pub fn nginx_with(identity: &Identity, settings: &str) -> Server {
    start(|folder, port| {
        let at = folder.display();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .iter()
            .map(|kind| format!("{kind}_temp_path {at}/{kind};\n"))
            .collect();
        let configuration = format!(
            "pid {at}/pid; error_log {at}/error.log; daemon off; master_process off;
            events {{ worker_connections 256; }}
            http {{ access_log off; {temporary}
                server {{ listen 127.0.0.1:{port} ssl; server_name localhost; root {at};
                    ssl_certificate {}; ssl_certificate_key {}; ssl_protocols TLSv1.2 TLSv1.3; {settings} }} }}",
            identity.certificate, identity.key
        );
        let file = folder.join("nginx.conf");
        std::fs::write(&file, configuration).unwrap();
        let mut command = Command::new(program("nginx"));
        command.arg("-p").arg(folder).arg("-e").arg(folder.join("error.log")).arg("-c").arg(file);
        command
    })
}

pub fn apache(pki: &Pki) -> Server {
    let identity = pki.server();
    start(|folder, port| {
        let at = folder.display();
        let modules: String = ["mpm_event", "authz_core", "ssl", "socache_shmcb", "http2"]
            .iter()
            .map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"))
            .collect();
        let configuration = format!(
            "{modules}ServerRoot {at}\nServerName localhost\nListen 127.0.0.1:{port}\nPidFile {at}/pid\n\
             DefaultRuntimeDir {at}\nErrorLog {at}/error.log\nDocumentRoot {at}\n\
             <Directory {at}>\nRequire all granted\n</Directory>\nMutex pthread\n\
             Protocols h2 http/1.1\nSSLEngine on\nSSLProtocol -all +TLSv1.2 +TLSv1.3\nSSLCertificateFile {}\nSSLCertificateKeyFile {}\n",
            identity.certificate, identity.key
        );
        let file = folder.join("apache.conf");
        std::fs::write(&file, configuration).unwrap();
        let mut command = Command::new(program("apache2"));
        command.args(["-X", "-d"]).arg(folder).arg("-f").arg(file);
        command
    })
}

pub fn haproxy(pki: &Pki) -> Server {
    pki.server();
    let both = pki.folder().join("server.both");
    start(|folder, port| {
        let configuration = format!(
            "defaults\n mode http\n timeout client 60s\n timeout connect 60s\n timeout server 60s\n\
             frontend f\n bind 127.0.0.1:{port} ssl crt {} ssl-min-ver TLSv1.2\n\
             http-request return status 200 content-type text/plain string hello\n",
            both.display()
        );
        let file = folder.join("haproxy.cfg");
        std::fs::write(&file, configuration).unwrap();
        let mut command = Command::new(program("haproxy"));
        command.args(["-db", "-f"]).arg(file);
        command
    })
}

pub fn go(pki: &Pki) -> Server {
    let identity = pki.server();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/load_tls/server.go");
    let built = pki.folder().join("server");
    let output = Command::new("go").args(["build", "-o"]).arg(&built).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    start(|_, port| {
        let mut command = Command::new(&built);
        command.args([&format!("127.0.0.1:{port}"), &identity.certificate, &identity.key]);
        command
    })
}

pub fn caddy(pki: &Pki) -> Server {
    let identity = pki.server();
    start(|folder, port| {
        let at = folder.display();
        let configuration = format!(
            "{{\n admin off\n auto_https off\n storage file_system {at}/storage\n \
             servers {{\n  protocols h1 h2\n }}\n}}\n\
             https://localhost:{port} {{\n bind 127.0.0.1\n tls {} {}\n root * {at}\n file_server\n}}\n",
            identity.certificate, identity.key
        );
        let file = folder.join("Caddyfile");
        std::fs::write(&file, configuration).unwrap();
        let mut command = Command::new("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config"]).arg(file).env("HOME", folder);
        command
    })
}

pub fn openssl(pki: &Pki, arguments: &[&str]) -> Server {
    let identity = pki.server();
    start(|_, port| {
        let mut command = Command::new("openssl");
        command.args(["s_server", "-quiet", "-accept", &format!("127.0.0.1:{port}")]);
        command.args(["-cert", &identity.certificate, "-key", &identity.key]).args(arguments);
        command
    })
}

/// A port on which every connection is answered in plain HTTP.
pub fn plain_http() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut connection in listener.incoming().map_while(Result::ok) {
            let _ = connection.read(&mut [0; 1024]);
            let _ = connection.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    port
}
