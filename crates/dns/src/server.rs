//! The responder on its sockets: threads that wait in receives, for a test has no need of anything finer.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt;

use crate::{Responder, Transport};

/// The longest query that is read; more than any valid one.
const QUERY_BYTES_MAX: usize = 4096;
/// Connections served at one time; the next ones are closed at once.
const CONNECTIONS_MAX: usize = 256;
/// How long a connection may be silent or slow.
const IDLE_TIMEOUT: Duration = Duration::from_secs(10);
/// Room for queries that come at once, if it can be had: the kernel drops what finds none.
const SOCKET_BYTES: usize = 8 << 20;
/// Free ports that are tried until one is free for both transports.
const ATTEMPTS: u32 = 32;

/// The sockets of a responder, on one port.
#[derive(Debug)]
pub struct Sockets {
    udp: UdpSocket,
    tcp: TcpListener,
}

impl Sockets {
    /// Binds both sockets; with port 0 a port that is free for both is taken.
    ///
    /// # Errors
    /// EADDRINUSE, EADDRNOTAVAIL, EACCES.
    pub fn bind(listen: SocketAddr) -> io::Result<Sockets> {
        let mut attempt = 0;
        loop {
            let tcp = TcpListener::bind(listen)?;
            attempt += 1;
            match UdpSocket::bind(tcp.local_addr()?) {
                Ok(udp) => {
                    let sized = sockopt::set_socket_recv_buffer_size_force(&udp, SOCKET_BYTES);
                    // Without the right to more, as much as anyone may have.
                    let _ = sized.or_else(|_| sockopt::set_socket_recv_buffer_size(&udp, SOCKET_BYTES));
                    return Ok(Sockets { udp, tcp });
                }
                Err(e) if listen.port() != 0 || attempt == ATTEMPTS => return Err(e),
                Err(_) => {}
            }
        }
    }

    /// The address that both sockets are bound to.
    ///
    /// # Errors
    /// None that is known.
    pub fn addr(&self) -> io::Result<SocketAddr> {
        self.udp.local_addr()
    }

    /// Starts to answer, by `threads` threads for datagrams and one for each connection. They end with the process.
    ///
    /// # Errors
    /// EAGAIN: a thread could not be created.
    pub fn start(self, responder: &Arc<Responder>, threads: usize) -> io::Result<()> {
        for index in 0..threads {
            let (udp, responder) = (self.udp.try_clone()?, Arc::clone(responder));
            let name = format!("udp-{index}");
            thread::Builder::new().name(name).spawn(move || answer_datagrams(&udp, &responder))?;
        }
        let (tcp, responder) = (self.tcp, Arc::clone(responder));
        thread::Builder::new().name("tcp".into()).spawn(move || answer_connections(&tcp, &responder))?;
        Ok(())
    }
}

fn answer_datagrams(socket: &UdpSocket, responder: &Responder) {
    let mut query = [0; QUERY_BYTES_MAX];
    loop {
        // The error belongs to an earlier answer whose receiver is closed.
        let Ok((len, client)) = socket.recv_from(&mut query) else { continue };
        if let Some(answer) = responder.answer(&query[..len], Transport::Udp) {
            let _ = socket.send_to(&answer, client);
        }
    }
}

fn answer_connections(listener: &TcpListener, responder: &Arc<Responder>) {
    let open = Arc::new(AtomicUsize::new(0));
    loop {
        let Ok((stream, _)) = listener.accept() else {
            // Mostly EMFILE: descriptors become free again.
            thread::sleep(Duration::from_millis(10));
            continue;
        };
        if open.fetch_add(1, Relaxed) >= CONNECTIONS_MAX {
            open.fetch_sub(1, Relaxed);
            continue;
        }
        let (ours, responder) = (Arc::clone(&open), Arc::clone(responder));
        let started = thread::Builder::new().spawn(move || {
            // However it ends, only the client is concerned.
            let _ = answer_connection(stream, &responder);
            ours.fetch_sub(1, Relaxed);
        });
        if started.is_err() {
            open.fetch_sub(1, Relaxed);
        }
    }
}

/// Answers queries, each behind its length (RFC 1035 section 4.2.2).
fn answer_connection(mut stream: TcpStream, responder: &Responder) -> io::Result<()> {
    stream.set_read_timeout(Some(IDLE_TIMEOUT))?;
    stream.set_write_timeout(Some(IDLE_TIMEOUT))?;
    stream.set_nodelay(true)?;
    let mut query = [0; QUERY_BYTES_MAX];
    loop {
        let mut len = [0; 2];
        stream.read_exact(&mut len)?;
        let query = query.get_mut(..u16::from_be_bytes(len).into()).ok_or(io::ErrorKind::InvalidData)?;
        stream.read_exact(query)?;
        let Some(answer) = responder.answer(query, Transport::Tcp) else { continue };
        let len = u16::try_from(answer.len()).map_err(io::Error::other)?;
        stream.write_all(&[&len.to_be_bytes(), &answer[..]].concat())?;
    }
}
