use std::fmt;

/// Something that this kernel, user or limit does not allow, with the likely cause and the fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unavailable {
    /// What is missing: `io_uring`.
    pub what: String,
    /// Why: `the kernel setting io_uring_disabled is 2`.
    pub cause: String,
    /// How to fix it: `sysctl kernel.io_uring_disabled=0`.
    pub fix: String,
}

impl fmt::Display for Unavailable {
    /// One line without the fix.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not available: {}", self.what, self.cause)
    }
}

impl std::error::Error for Unavailable {}
