//! How the C library of a static binary finds the addresses of hosts.

/// Has it read /etc/hosts and ask DNS, and load no modules of the machine for anything else: those belong to the machine's
/// own C library, and crash another. It is for the start of a program, and does nothing in a dynamically linked one.
pub fn resolve_without_modules() {
    #[cfg(all(target_env = "gnu", target_feature = "crt-static"))]
    {
        unsafe extern "C" {
            /// glibc's own substitute for a line of nsswitch.conf(5), of nss.h.
            fn __nss_configure_lookup(
                database: *const libc::c_char,
                services: *const libc::c_char,
            ) -> libc::c_int;
        }
        // SAFETY: both are strings that end in a zero. No other thread looks a name up meanwhile.
        unsafe { __nss_configure_lookup(c"hosts".as_ptr(), c"files dns".as_ptr()) };
    }
}
