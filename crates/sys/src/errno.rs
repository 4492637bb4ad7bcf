//! The names of error numbers (errno(3)).

/// No buffer was free (ENOBUFS).
pub const ENOBUFS: i32 = libc::ENOBUFS;

/// The symbolic name of an error number that a network program meets, such as `ECONNREFUSED`; `errno` for any other.
pub fn name(errno: i32) -> &'static str {
    NAMES.iter().find(|(number, _)| *number == errno).map_or("errno", |(_, name)| name)
}

macro_rules! names {
    ($($name:ident)*) => { &[$((libc::$name, stringify!($name))),*] };
}

static NAMES: &[(i32, &str)] = names! {
    ECONNREFUSED ECONNRESET ETIMEDOUT EPIPE ECONNABORTED EHOSTUNREACH ENETUNREACH EADDRNOTAVAIL EADDRINUSE
    EMFILE ENFILE ENOBUFS ENOMEM EAGAIN EINTR EINPROGRESS EALREADY EISCONN ENOTCONN EACCES EPERM EINVAL EIO EBADF
    EFAULT ENETDOWN ENETRESET EHOSTDOWN EPROTO EPROTOTYPE EAFNOSUPPORT ENOPROTOOPT EDESTADDRREQ EMSGSIZE ESHUTDOWN
    ENOSPC ENOENT ENOSYS EOPNOTSUPP ECANCELED ENOTSOCK EOVERFLOW EBUSY
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_one_name() {
        assert_eq!(name(libc::ECONNREFUSED), "ECONNREFUSED");
        assert_eq!(name(-5), "errno");
        for (i, (number, _)) in NAMES.iter().enumerate() {
            assert!(NAMES[..i].iter().all(|(other, _)| other != number));
        }
    }
}
