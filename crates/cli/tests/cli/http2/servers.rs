//! Servers of others.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::support::{Port, Running};

/// A server that is killed when the test ends, however it ends.
pub(crate) struct Server {
    _child: Running,
    pub(crate) address: SocketAddr,
    pub(crate) folder: TempDir,
    _held: Port,
}

impl Server {
    /// nginx in one process, with this in its `server` block, and a folder that has a file of 1,000 bytes.
    pub(crate) fn nginx(directives: &str) -> Server {
        Server::nginx_of("http2", directives)
    }

    /// The same with TLS, with the second version or without it.
    pub(crate) fn nginx_with_tls(version: &str, directives: &str) -> Server {
        let tls = "ssl_certificate cert.pem; ssl_certificate_key key.pem;";
        Server::nginx_of(&format!("ssl {version}"), &format!("{tls} {directives}"))
    }

    fn nginx_of(listen: &str, directives: &str) -> Server {
        let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        Server::start(|folder, address| {
            std::fs::write(folder.join("cert.pem"), own.cert.pem()).unwrap();
            std::fs::write(folder.join("key.pem"), own.signing_key.serialize_pem()).unwrap();
            let at = folder.display();
            let text = format!(
                "daemon off; master_process off; pid {at}/pid; error_log {at}/error.log;\n\
                 events {{ worker_connections 512; }}\n\
                 http {{ log_format status '$status'; access_log {at}/access.log status; root {at};\n\
                 client_body_temp_path {at}/body; proxy_temp_path {at}/proxy; fastcgi_temp_path {at}/fastcgi;\n\
                 uwsgi_temp_path {at}/uwsgi; scgi_temp_path {at}/scgi;\n\
                 server {{ listen {address} {listen}; {directives} }} }}\n"
            );
            std::fs::write(folder.join("nginx.conf"), text).unwrap();
            let mut command = Command::new("nginx");
            command.arg("-c").arg(folder.join("nginx.conf")).arg("-p").arg(folder).args(["-e", "stderr"]);
            command
        })
    }

    /// nghttp2's server, without TLS.
    pub(crate) fn nghttpd() -> Server {
        Server::start(|folder, address| {
            let mut command = Command::new("nghttpd");
            command.args(["--no-tls", "-a", "127.0.0.1", "-d"]).arg(folder).arg(address.port().to_string());
            command
        })
    }

    fn start(command: impl Fn(&Path, SocketAddr) -> Command) -> Server {
        let (folder, held) = (tempfile::tempdir().unwrap(), Port::new());
        std::fs::write(folder.path().join("file"), [b'x'; 1000]).unwrap();
        let mut command = command(folder.path(), held.address);
        let path = format!("{}:/usr/sbin:/usr/local/sbin", std::env::var("PATH").unwrap_or_default());
        command.env("PATH", path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = Running::start(&mut command);
        child.listens(held.address);
        Server { _child: child, address: held.address, folder, _held: held }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/file", self.address)
    }

    /// The lines of nginx's log: one for each request that it has answered.
    pub(crate) fn logged(&self) -> usize {
        std::fs::read_to_string(self.folder.path().join("access.log")).unwrap().lines().count()
    }
}
