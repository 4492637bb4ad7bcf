//! A real memcached, for the tests that compare with it.

use std::fs;
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

/// A memcached on a free port of loopback, which ends with this value.
#[derive(Debug)]
pub struct Memcached {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Memcached {
    /// Starts one, with one thread and such further arguments.
    ///
    /// # Panics
    /// If it does not start within ten seconds.
    pub fn start(args: &[&str]) -> Memcached {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let id = format!("{}-{}", std::process::id(), STARTED.fetch_add(1, Relaxed));
        let ports = std::env::temp_dir().join(format!("memcached-{id}-port"));
        let child = Command::new("memcached")
            .args(["-p", "-1", "-l", "127.0.0.1", "-U", "0", "-u", "root", "-t", "1"])
            .args(args)
            .env("MEMCACHED_PORT_FILENAME", &ports)
            .stderr(Stdio::null())
            .spawn()
            .expect("memcached starts");
        let mut this = Memcached { child, address: SocketAddr::from(([127, 0, 0, 1], 0)) };
        let end = Instant::now() + Duration::from_secs(10);
        while this.address.port() == 0 {
            assert!(Instant::now() < end, "memcached does not report its port");
            let text = fs::read_to_string(&ports).unwrap_or_default();
            if let Some(port) = text.trim_end().strip_prefix("TCP INET: ").and_then(|port| port.parse().ok())
            {
                this.address.set_port(port);
            }
            thread::sleep(Duration::from_millis(5));
        }
        let _ = fs::remove_file(ports);
        this
    }
}

impl Drop for Memcached {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
