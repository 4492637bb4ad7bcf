//! TLS of the kernel (Documentation/networking/tls.rst): a socket whose sends are encrypted and whose receives are decrypted, so
//! that sendfile(2) goes over TLS.

use std::io::{self, Read, Write};
use std::mem::MaybeUninit;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};

use crate::Unavailable;
use crate::socket::set_option;

/// Room for one control message with a byte in it, aligned as its header is.
#[repr(C, align(8))]
struct Control([u8; 32]);

// SAFETY: CMSG_SPACE computes a number from a number.
const SPACE: usize = unsafe { libc::CMSG_SPACE(1) } as usize;
const _: () = assert!(SPACE <= size_of::<Control>());

/// Puts the kernel's TLS on an established connection (TCP_ULP). Until it has keys nothing changes.
///
/// # Errors
/// ENOENT if the kernel has none, or it is a module that this user may not load; ENOTCONN once the peer has finished sending.
pub fn attach(fd: impl AsFd) -> io::Result<()> {
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_ULP, b"tls\0")
}

/// Gives the kernel the keys of both directions, in the layout of `struct tls12_crypto_info_*`. What was sent before has gone as
/// it was.
///
/// # Errors
/// EINVAL for a version or a cipher that this kernel does not have; ENOENT if the cipher's module is missing.
pub fn install(fd: impl AsFd, send: &[u8], receive: &[u8]) -> io::Result<()> {
    set_option(fd.as_fd(), libc::SOL_TLS, libc::TLS_TX, send)?;
    set_option(fd, libc::SOL_TLS, libc::TLS_RX, receive)
}

/// Receives one record, or a part of it, with its content type. 0 bytes mean that the peer has finished sending.
///
/// # Errors
/// As recv(2); EBADMSG for a record that is forged.
pub fn receive_record(fd: impl AsFd, buffer: &mut [u8]) -> io::Result<(Option<u8>, usize)> {
    let mut control = Control([0; 32]);
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: the message is plain data, for which zeros are valid. Its pointers are to `part`, which has the bounds of `buffer`,
    // and to `control` with its size; all of them outlive the call. The kernel leaves control messages whose headers are within
    // `msg_controllen`, which CMSG_FIRSTHDR checks, and the one that is read has a byte of data, as its length says.
    unsafe {
        let mut message: libc::msghdr = MaybeUninit::zeroed().assume_init();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = size_of::<Control>() as _;
        let received = libc::recvmsg(fd.as_fd().as_raw_fd(), &raw mut message, 0);
        let received = usize::try_from(received).map_err(|_| io::Error::last_os_error())?;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_type = !header.is_null()
            && (*header).cmsg_level == libc::SOL_TLS
            && (*header).cmsg_type == libc::TLS_GET_RECORD_TYPE
            && (*header).cmsg_len as usize >= libc::CMSG_LEN(1) as usize;
        Ok((is_type.then(|| *libc::CMSG_DATA(header)), received))
    }
}

/// Sends a record of this content type.
///
/// # Errors
/// As send(2).
pub fn send_record(fd: impl AsFd, content_type: u8, record: &[u8]) -> io::Result<()> {
    let mut control = Control([0; 32]);
    let mut part = libc::iovec { iov_base: record.as_ptr().cast_mut().cast(), iov_len: record.len() };
    // SAFETY: the message is plain data, for which zeros are valid. Its pointers are to `part`, which has the bounds of `record`
    // and is only read, and to `control`, of which SPACE bytes are used, room for one header with a byte of data behind it,
    // where CMSG_FIRSTHDR and CMSG_DATA point. All of them outlive the call.
    let sent = unsafe {
        let mut message: libc::msghdr = MaybeUninit::zeroed().assume_init();
        message.msg_iov = &raw mut part;
        message.msg_iovlen = 1;
        message.msg_control = (&raw mut control).cast();
        message.msg_controllen = SPACE as _;
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        (*header).cmsg_level = libc::SOL_TLS;
        (*header).cmsg_type = libc::TLS_SET_RECORD_TYPE;
        (*header).cmsg_len = libc::CMSG_LEN(1) as _;
        *libc::CMSG_DATA(header) = content_type;
        libc::sendmsg(fd.as_fd().as_raw_fd(), &raw const message, libc::MSG_NOSIGNAL)
    };
    if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Takes the error off a socket that a refused record has left there, so that it can be sent to once more.
pub fn clear_error(fd: impl AsFd) {
    let _ = rustix::net::sockopt::socket_error(fd);
}

/// Whether the kernel has TLS for sockets, as a connection over the loopback interface shows.
///
/// # Errors
/// What is missing.
pub fn probe() -> Result<(), Unavailable> {
    let (one, _other) = pair().map_err(|e| unavailable(format!("no connection to test it with: {e}")))?;
    attach(&one).map_err(|e| match e.kind() {
        io::ErrorKind::NotFound => {
            unavailable("tls is not in net.ipv4.tcp_available_ulp and could not be loaded".to_owned())
        }
        _ => unavailable(format!("TCP_ULP: {e}")),
    })
}

/// Whether the kernel takes such keys for both directions.
pub fn takes(keys: &[u8]) -> bool {
    pair().and_then(|(one, _other)| attach(&one).and_then(|()| install(&one, keys, keys))).is_ok()
}

fn unavailable(cause: String) -> Unavailable {
    Unavailable {
        what: "TLS of the kernel".to_owned(),
        cause,
        fix: "`modprobe tls` as root, on a kernel built with CONFIG_TLS; or omit --ktls".to_owned(),
    }
}

/// Both ends of a connection over the loopback interface.
fn pair() -> io::Result<(OwnedFd, OwnedFd)> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let one = TcpStream::connect(listener.local_addr()?)?;
    loop {
        let (mut other, peer) = listener.accept()?;
        // Anybody may connect to a port.
        if peer == one.local_addr()? {
            (&one).write_all(b"x")?;
            other.read_exact(&mut [0])?;
            return Ok((one.into(), other.into()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_tls_is_named_with_its_fix() {
        let (one, other) = pair().unwrap();
        match probe() {
            Ok(()) => attach(&one).unwrap(),
            Err(e) => {
                assert!(attach(&one).is_err() && !takes(&[0; 40]));
                assert!(e.to_string().contains("tls") && e.fix.contains("modprobe tls"), "{e}");
            }
        }
        // Without keys bytes pass as they are, and there are no types of records.
        rustix::io::write(&one, b"abc").unwrap();
        let mut buffer = [0; 8];
        assert_eq!(receive_record(&other, &mut buffer).unwrap(), (None, 3));
        assert_eq!(&buffer[..3], b"abc");
        drop(one);
        assert_eq!(receive_record(&other, &mut buffer).unwrap(), (None, 0));
    }

    #[test]
    fn the_options_are_those_of_the_header() {
        // include/uapi/linux/tls.h and include/linux/socket.h.
        assert_eq!((libc::SOL_TLS, libc::TLS_TX, libc::TLS_RX), (282, 1, 2));
        assert_eq!((libc::TLS_SET_RECORD_TYPE, libc::TLS_GET_RECORD_TYPE, libc::TCP_ULP), (1, 2, 31));
    }
}
