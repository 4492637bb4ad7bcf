//! Stacks as text: frames from the outermost to the innermost, as in `folded` files, of which flame graphs are made.
//!
//! A frame is `MODULE`FUNCTION`: a backtick stands in neither (a demangled name that had one has an apostrophe). Frames are
//! separated by semicolons.

/// The module of the kernel's frames.
pub(crate) const KERNEL: &str = "kernel";
/// What stands for a name that could not be found.
pub(crate) const UNKNOWN: &str = "?";

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Frame<'a> {
    /// The file without its folder, or [`KERNEL`].
    pub(crate) module: &'a str,
    /// The function, or [`UNKNOWN`].
    pub(crate) function: &'a str,
}

impl Frame<'_> {
    /// It as text.
    pub(crate) fn text(&self) -> String {
        let plain = |name: &str| -> String {
            name.chars()
                .map(|c| match c {
                    '`' => '\'',
                    ';' => ':',
                    c if c.is_control() => ' ',
                    c => c,
                })
                .collect()
        };
        format!("{}`{}", plain(self.module), plain(self.function))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_separates_frames_stands_in_no_name() {
        let text = |module, function| Frame { module, function }.text();
        assert_eq!(text("server", "<T as core::fmt::Display>::fmt"), "server`<T as core::fmt::Display>::fmt");
        assert_eq!(text("a;b", "f`g\n"), "a:b`f'g ");
    }
}
