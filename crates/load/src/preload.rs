//! What a protocol needs to have done once before a run, such as filling a cache: on its own connection, with blocking
//! calls, since nothing of it is measured.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use pitot_results::Failure;
use pitot_sys::connect::Peer;

use crate::prepared::PreparedRun;
use crate::watch::Watch;

const RECEIVE_BYTES: usize = 64 * 1024;
/// How often the observer is asked whether the run is to end while the server does not answer.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Prepares the server; false if the run is to end.
///
/// # Errors
/// The server cannot be reached, closes the connection, takes longer than the timeout for a step, or refuses it.
pub(crate) fn preload(run: &PreparedRun, watch: &mut dyn Watch) -> Result<bool, Failure> {
    let Some(mut preload) = run.plan.protocol.preload() else { return Ok(true) };
    let failed = |what: String| {
        Failure::run(
            format!("the server could not be prepared: {what}"),
            "check that it is running and that the URL names a user who may write, or raise --timeout",
        )
    };
    let io = |e: std::io::Error| failed(e.to_string());
    let timeout = Duration::from(run.plan.timeout);
    let mut socket = connect(&run.address, timeout).map_err(io)?;
    let (mut input, mut out) = (vec![0; RECEIVE_BYTES], Vec::new());
    let mut received = 0;
    while !preload.step(&input[..received], &mut out).map_err(failed)? {
        socket.write_all(&out).map_err(io)?;
        out.clear();
        let mut waited = Duration::ZERO;
        received = loop {
            if watch.interrupted() {
                return Ok(false);
            }
            match socket.read(&mut input) {
                Ok(0) => return Err(failed("it closed the connection".into())),
                Ok(n) => break n,
                Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                    waited += POLL_INTERVAL;
                    if waited >= timeout {
                        return Err(failed(format!("it has not replied for {} s", timeout.as_secs_f64())));
                    }
                }
                Err(e) if e.kind() == ErrorKind::Interrupted => {}
                Err(e) => return Err(io(e)),
            }
        };
    }
    Ok(true)
}

/// A blocking connection.
trait Socket: Read + Write {}

impl<S: Read + Write> Socket for S {}

fn connect(to: &Peer, timeout: Duration) -> std::io::Result<Box<dyn Socket>> {
    let poll = POLL_INTERVAL.min(timeout);
    match to {
        Peer::Tcp(address) => {
            let socket = TcpStream::connect_timeout(address, timeout)?;
            socket.set_nodelay(true)?;
            socket.set_write_timeout(Some(timeout))?;
            socket.set_read_timeout(Some(poll))?;
            Ok(Box::new(socket))
        }
        Peer::Unix(path) => {
            let socket = UnixStream::connect(path)?;
            socket.set_write_timeout(Some(timeout))?;
            socket.set_read_timeout(Some(poll))?;
            Ok(Box::new(socket))
        }
    }
}
