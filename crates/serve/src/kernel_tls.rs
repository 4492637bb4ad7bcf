//! TLS in the kernel after the handshake: the probe, the keys, and records that are not data.

use std::io;
use std::os::fd::AsFd;

use pitot_proto::{Connection, Worker};
use pitot_sys::{Unavailable, ktls};
use pitot_tls::server::KernelCipher;
use rustix::io::Errno;

use crate::send::Sent;

/// The content type of alerts (RFC 8446 section 5.1).
const ALERT: u8 = 21;

/// The ciphers that the kernel has, for both versions of TLS and in both directions.
pub fn ciphers() -> Vec<KernelCipher> {
    KernelCipher::ALL
        .into_iter()
        .filter(|cipher| cipher.samples().iter().all(|keys| ktls::takes(keys)))
        .collect()
}

/// Whether the kernel has TLS with at least one cipher.
///
/// # Errors
/// What is missing.
pub fn probe() -> Result<(), Unavailable> {
    ktls::probe()?;
    match ciphers().is_empty() {
        false => Ok(()),
        true => Err(Unavailable {
            what: "TLS of the kernel".to_owned(),
            cause: format!(
                "the kernel has none of its ciphers ({})",
                KernelCipher::ALL.map(KernelCipher::name).join(", ")
            ),
            fix: "`modprobe -a gcm ghash-generic` as root; or omit --ktls".to_owned(),
        }),
    }
}

/// Lets the kernel carry on, if it can: not once the peer has finished sending.
pub fn hand_over(fd: impl AsFd, connection: &mut Connection, worker: &mut Worker) {
    if ktls::attach(fd.as_fd()).is_err() {
        return connection.keeps_layer();
    }
    if let Some(keys) = connection.kernel_keys() {
        let is_taken = ktls::install(fd, &keys.send, &keys.receive).is_ok();
        connection.handed_over(worker, is_taken);
    }
}

/// Sends an alert as a separate record.
pub fn send_alert(fd: impl AsFd, connection: &mut Connection, worker: &mut Worker, alert: [u8; 2]) -> Sent {
    match ktls::send_record(fd, ALERT, &alert) {
        Ok(()) => connection.alerted(),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Sent::Full,
        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
        Err(_) => connection.broken(worker),
    }
    Sent::Reported(0)
}

/// Handles the kernel's report of a record without data: it has another type, or was refused. False if the error is one of the
/// socket.
pub fn receive(
    fd: impl AsFd,
    connection: &mut Connection,
    worker: &mut Worker,
    error: &io::Error,
    buffer: &mut [u8],
) -> bool {
    if !connection.is_in_kernel() {
        return false;
    }
    match Errno::from_io_error(error) {
        Some(Errno::IO) => match ktls::receive_record(fd, buffer) {
            Ok((Some(content_type), n)) => {
                connection.received_record(worker, content_type, &buffer[..n]);
                true
            }
            Ok((None, 0)) => {
                connection.ended();
                true
            }
            Err(e) => matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted),
            Ok((None, _)) => false,
        },
        // Forged, of another version, too long.
        Some(Errno::BADMSG | Errno::INVAL | Errno::MSGSIZE) => {
            ktls::clear_error(fd);
            connection.record_refused(worker);
            true
        }
        _ => false,
    }
}
