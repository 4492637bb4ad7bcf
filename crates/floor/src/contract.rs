//! Primitives as data.

use std::io;
use std::path::PathBuf;

use pitot_sys::Unavailable;

use crate::Stopwatch;

/// A primitive of the machine.
#[derive(Debug)]
pub struct Primitive {
    /// The name in lists, plans and results.
    pub name: &'static str,
    /// What is measured, in one line.
    pub summary: &'static str,
    /// What one operation is.
    pub operation: Operation,
    /// Prepares the work, in each round again, since descriptors, threads and memory differ between runs of a program.
    pub make: fn(&Place) -> Result<Work, Unavailable>,
}

/// What one operation of a primitive is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// One call, or a few that belong together.
    Call,
    /// One switch from a thread to another.
    Switch,
    /// There and back.
    RoundTrip,
    /// A page of memory.
    Page,
    /// A mebibyte.
    Mebibyte,
    /// A delay beyond the requested time; not a cost.
    Lateness,
}

impl Operation {
    /// Its name in lists and results.
    pub fn name(self) -> &'static str {
        match self {
            Operation::Call => "call",
            Operation::Switch => "switch",
            Operation::RoundTrip => "round trip",
            Operation::Page => "page",
            Operation::Mebibyte => "MiB",
            Operation::Lateness => "lateness",
        }
    }
}

/// Runs and times so many operations, or a few more.
pub type Work = Box<dyn FnMut(u64, &mut Stopwatch) -> io::Result<()>>;

/// A topic of primitives.
#[derive(Debug)]
pub struct Topic {
    /// Its heading in lists.
    pub title: &'static str,
    /// Its primitives.
    pub primitives: &'static [Primitive],
}

/// Where primitives are measured.
#[derive(Clone, Debug)]
pub struct Place {
    /// The CPU of the measuring thread.
    pub cpu: usize,
    /// Another CPU, for a partner that must not share the first.
    pub other_cpu: Option<usize>,
    /// A directory for small files.
    pub dir: PathBuf,
}

impl Place {
    /// The CPU of a partner on another CPU.
    pub(crate) fn other(&self) -> Result<usize, Unavailable> {
        self.other_cpu.ok_or_else(|| Unavailable {
            what: "another CPU".into(),
            cause: "this process may use one CPU only".into(),
            fix: "allow a second one (taskset), or leave these primitives out".into(),
        })
    }
}

/// Turns an error of the kernel into the reason why a primitive cannot be measured here.
pub(crate) fn refused(what: &str, error: &io::Error) -> Unavailable {
    Unavailable {
        what: what.into(),
        cause: error.to_string(),
        fix: "check the limits of this user and of its control group (`pitot host check`)".into(),
    }
}
