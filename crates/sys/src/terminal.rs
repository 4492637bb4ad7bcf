//! What the kernel knows of a terminal (ioctl_tty(2)).

use std::os::fd::{AsFd, AsRawFd};

/// Columns and rows of the terminal that a descriptor leads to; `None` if it leads to none, or the size is not known.
pub fn size(fd: impl AsFd) -> Option<(u16, u16)> {
    let mut size = libc::winsize { ws_row: 0, ws_col: 0, ws_xpixel: 0, ws_ypixel: 0 };
    // SAFETY: the request writes one winsize to the pointer, which is to one.
    let done = unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::TIOCGWINSZ, &raw mut size) };
    (done == 0 && size.ws_col > 0 && size.ws_row > 0).then_some((size.ws_col, size.ws_row))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_terminal_has_no_size() {
        assert_eq!(size(std::fs::File::open("/dev/null").unwrap()), None);
    }
}
