//! Processes.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use pitot_sys::Unavailable;
use pitot_sys::process::{Child, Fork, SingleThreaded, exit_now};
use rustix::process::{Pid, WaitOptions, waitpid};

use crate::{Operation, Primitive, Topic, Work};

/// A program that exits at once.
const PROGRAM: &str = "/bin/true";

pub(super) static TOPIC: Topic = Topic {
    title: "Processes",
    primitives: &[
        Primitive {
            name: "fork",
            summary: "fork(2) of this small process, exit of the child and wait(2)",
            operation: Operation::Call,
            make: |_| forked(|| exit_now(0)),
        },
        Primitive {
            name: "fork-exec",
            summary: "fork(2), execve(2) of /bin/true, its exit and wait(2)",
            operation: Operation::Call,
            make: |_| {
                forked(|| {
                    let _ = Command::new(PROGRAM).exec();
                    exit_now(1)
                })
            },
        },
        Primitive {
            name: "posix-spawn",
            summary: "posix_spawn(3) of /bin/true, which copies no page tables, its exit and wait(2)",
            operation: Operation::Call,
            make: |_| {
                Ok(Box::new(|count, watch| {
                    watch.time(count, || {
                        (0..count).try_for_each(|_| {
                            let status = Command::new(PROGRAM).stdin(Stdio::null()).status()?;
                            if status.success() { Ok(()) } else { Err(io::ErrorKind::Other.into()) }
                        })
                    })
                }))
            },
        },
    ],
};

fn forked(child: fn()) -> Result<Work, Unavailable> {
    let proof = SingleThreaded::check().ok_or_else(|| Unavailable {
        what: "fork(2)".into(),
        cause: "this process has several threads".into(),
        fix: "measure it with `pitot floor`".into(),
    })?;
    Ok(Box::new(move |count, watch| {
        watch.time(count, || {
            (0..count).try_for_each(|_| match proof.fork()? {
                Fork::Child => {
                    child();
                    exit_now(1)
                }
                Fork::Parent(born) => ended_well(born),
            })
        })
    }))
}

fn ended_well(child: Child) -> io::Result<()> {
    let pid = Pid::from_raw(child.id() as i32).ok_or(io::ErrorKind::InvalidInput)?;
    match waitpid(Some(pid), WaitOptions::empty())? {
        Some((_, status)) if status.exit_status() == Some(0) => Ok(()),
        _ => Err(io::ErrorKind::Other.into()),
    }
}
