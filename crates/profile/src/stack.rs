//! Stacks as text: frames from the outermost to the innermost, as in `folded` files, of which flame graphs are made.
//!
//! A frame is `MODULE`FUNCTION`: a backtick stands in neither (a demangled name that had one has an apostrophe). Frames are
//! separated by semicolons.

/// The module of the kernel's frames.
pub const KERNEL: &str = "kernel";
/// What stands for a name that could not be found.
pub const UNKNOWN: &str = "?";

/// A frame of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Frame<'a> {
    /// The file without its folder, or [`KERNEL`].
    pub module: &'a str,
    /// The function, or [`UNKNOWN`].
    pub function: &'a str,
}

impl Frame<'_> {
    /// It as text.
    pub fn text(&self) -> String {
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

/// Frames as one line, the outermost first.
pub fn folded<'a>(frames: impl Iterator<Item = Frame<'a>>) -> String {
    frames.map(|frame| frame.text()).collect::<Vec<_>>().join(";")
}

/// The frames of a line, the outermost first.
pub fn frames(line: &str) -> impl DoubleEndedIterator<Item = Frame<'_>> {
    line.split(';').filter(|frame| !frame.is_empty()).map(|frame| {
        let (module, function) = frame.split_once('`').unwrap_or((UNKNOWN, frame));
        Frame { module, function }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_folded_is_found_again() {
        let of = |module, function| Frame { module, function };
        let stack = [
            of("server", "main"),
            of("server", "<T as core::fmt::Display>::fmt"),
            of(KERNEL, "do_syscall_64"),
        ];
        let line = folded(stack.into_iter());
        assert_eq!(frames(&line).collect::<Vec<_>>(), stack);
        let odd = folded([of("a;b", "f`g\n")].into_iter());
        assert_eq!(frames(&odd).collect::<Vec<_>>(), [of("a:b", "f'g ")]);
        assert_eq!(frames("").count(), 0);
        assert_eq!(frames("main").next(), Some(of(UNKNOWN, "main")));
    }
}
