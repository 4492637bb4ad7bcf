//! Stacks as text: frames from the outermost to the innermost, separated by semicolons, as in `folded` files, of which flame graphs
//! are made.
//!
//! A frame is `MODULE`FUNCTION`: a backtick stands in neither (a demangled name that had one has an apostrophe).

/// The module of the kernel's frames.
pub const KERNEL: &str = "kernel";
/// What stands, as a function of the kernel, at the end of the stack of a thread that waited for nothing but a CPU.
pub const PREEMPTED: &str = "(preempted)";
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

impl<'a> Frame<'a> {
    /// A frame from its text. Without a backtick it is a function of an unknown module.
    pub fn parse(text: &'a str) -> Frame<'a> {
        let (module, function) = text.split_once('`').unwrap_or((UNKNOWN, text));
        Frame { module, function }
    }

    /// It as text.
    pub fn text(self) -> String {
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

    /// Whether its function has a name.
    pub fn is_named(self) -> bool {
        self.function != UNKNOWN
    }

    /// Whether it is a function of the kernel.
    pub fn is_of_kernel(self) -> bool {
        self.module == KERNEL
    }
}

/// The frames of a stack, the outermost first.
pub fn frames(stack: &str) -> impl DoubleEndedIterator<Item = Frame<'_>> {
    stack.split(';').map(Frame::parse)
}

/// Adds the text of a frame to a stack that calls it.
pub fn push(stack: &mut String, frame: &str) {
    if !stack.is_empty() {
        stack.push(';');
    }
    stack.push_str(frame);
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

    #[test]
    fn a_stack_is_read_as_it_was_written() {
        let written = [("server", "main"), (KERNEL, "do_syscall_64"), ("libc.so.6", UNKNOWN)]
            .map(|(module, function)| Frame { module, function });
        let mut stack = String::new();
        written.iter().for_each(|frame| push(&mut stack, &frame.text()));
        assert_eq!(stack, "server`main;kernel`do_syscall_64;libc.so.6`?");
        assert_eq!(frames(&stack).collect::<Vec<_>>(), written);
        assert_eq!(written.map(Frame::is_of_kernel), [false, true, false]);
        assert_eq!(written.map(Frame::is_named), [true, true, false]);
        assert_eq!(Frame::parse("main"), Frame { module: UNKNOWN, function: "main" });
    }
}
