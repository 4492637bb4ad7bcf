//! What takes CPU time, by name: the functions and system calls of a stack.

use pitot_meter::stack::{Frame, frames};

use crate::flames::function;

/// System calls as functions of the kernel are named: linux/arch/*/include/asm/syscall_wrapper.h.
const CALLS: [&str; 2] = ["__x64_sys_", "__arm64_sys_"];
/// How the functions are named that those end with.
const JUMPED_TO: [&str; 5] = ["__se_sys_", "__do_sys_", "__sys_", "ksys_", "do_"];
/// The functions of the kernel that handle page faults: entry, and handler.
const FAULTS: [&str; 3] = ["asm_exc_page_fault", "exc_page_fault", "do_page_fault"];
/// Through these functions of the kernel every system call comes.
const ENTRIES: [&str; 6] = [
    "entry_SYSCALL_64_after_hwframe",
    "do_syscall_64",
    "x64_sys_call",
    "el0t_64_sync",
    "el0_svc",
    "invoke_syscall",
];

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// Of a program or a library.
    Function,
    /// A system call.
    Call,
    /// The handler of page faults.
    Fault,
    /// Another function of the kernel.
    Kernel,
}

/// Something that takes CPU time, by name: builds of a program have its functions at different addresses and in different files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) kind: Kind,
    pub(super) name: String,
}

impl Key {
    pub(super) fn of(frame: Frame<'_>) -> Key {
        let call = CALLS.iter().find_map(|prefix| frame.function.strip_prefix(prefix));
        match call {
            _ if !frame.is_of_kernel() => Key { kind: Kind::Function, name: function(frame) },
            _ if FAULTS.contains(&frame.function) => {
                Key { kind: Kind::Fault, name: "page faults".to_owned() }
            }
            Some(call) => Key { kind: Kind::Call, name: call.to_owned() },
            None => Key { kind: Kind::Kernel, name: function(frame) },
        }
    }

    /// Of the first function behind the entry of the kernel. Where the compiler ended the function of a system call with a jump, that is
    /// what it jumped to: `do_writev`, `ksys_read`, `__sys_sendto`.
    fn of_first(frame: Frame<'_>) -> Key {
        let call = JUMPED_TO.iter().find_map(|prefix| frame.function.strip_prefix(prefix));
        match call.filter(|_| frame.is_of_kernel()) {
            Some(call) => Key { kind: Kind::Call, name: call.to_owned() },
            None => Key::of(frame),
        }
    }

    /// Whether it is how a program enters the kernel.
    pub(super) fn is_entry(&self) -> bool {
        matches!(self.kind, Kind::Call | Kind::Fault)
    }
}

/// The keys of a stack, the outermost first: without those through which every system call comes, and without functions that have no
/// name, whose time is their caller's, unless the program has no function with one.
pub(super) fn keys(stack: &str) -> impl Iterator<Item = Key> {
    let has_names = frames(stack).any(|frame| frame.is_named() && !frame.is_of_kernel());
    let is_entry = |frame: Frame<'_>| frame.is_of_kernel() && ENTRIES.contains(&frame.function);
    let mut before = None;
    frames(stack).filter_map(move |frame| {
        let is_first = before.replace(frame).is_some_and(is_entry);
        match frame {
            _ if is_entry(frame) => None,
            _ if is_first => Some(Key::of_first(frame)),
            _ => (frame.is_named() || !has_names).then(|| Key::of(frame)),
        }
    })
}

/// What a stack is in: a system call or a page fault, else the innermost function that has a name.
pub(crate) fn entry_of(stack: &str) -> String {
    let keys: Vec<Key> = keys(stack).collect();
    let entry = keys.iter().find(|key| key.is_entry()).or(keys.last());
    entry.map_or_else(|| stack.to_owned(), |key| key.name.clone())
}

/// The system call or page fault in which a stack is, if it is in one.
pub(crate) fn entered(stack: &str) -> Option<String> {
    keys(stack).find(Key::is_entry).map(|key| key.name)
}
