use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixDatagram;

/// `SIOCETHTOOL` of include/uapi/linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// A command with the memory that the kernel reads and writes for it.
///
/// The kernel takes the size of that memory from the command's number and, where the command has one, from a count in the
/// table, so its maker vouches for its length. Only files of this directory make one.
pub(super) struct Command<'a>(pub(super) &'a mut [u32]);

impl Command<'_> {
    /// # Errors
    /// ENODEV if there is no such interface, EOPNOTSUPP if its driver does not know the command, EPERM without
    /// CAP_NET_ADMIN (for commands that change something), EINVAL for what it cannot be set to.
    pub(super) fn send(self, interface: &str) -> io::Result<()> {
        // The name and its NUL.
        if interface.len() >= libc::IFNAMSIZ {
            return Err(io::Error::from_raw_os_error(libc::ENODEV));
        }
        // Any socket does, and one of this family needs no address of its own.
        let socket = UnixDatagram::unbound()?;
        // SAFETY: an ifreq holds bytes, integers and a pointer that may be null, so zeroes are a valid one.
        let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
        for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
            *to = from as libc::c_char;
        }
        request.ifr_ifru.ifru_data = self.0.as_mut_ptr().cast();
        // SAFETY: the request is an ifreq whose data points to the table that the command wants, as the maker of the
        // command vouches, and both live until the call returns.
        let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}
