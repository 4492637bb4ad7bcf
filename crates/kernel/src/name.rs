//! Names of kernels.

/// The name of gVisor in plans, and of its folder among the kernels that Pitot has installed.
pub const GVISOR: &str = "gvisor";
/// Names that plans have for kernels without an image.
const RESERVED: [&str; 2] = ["host", GVISOR];

/// Whether a name can be that of a kernel: letters, digits, `.`, `-`, `_` and `+`, and no dot at its beginning.
pub fn is_name(name: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    !name.is_empty() && name.len() <= 64 && !name.starts_with(['.', '-']) && name.chars().all(is_plain)
}

/// Whether a name is that of a kernel without an image.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.contains(&name)
}
