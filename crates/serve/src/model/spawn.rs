use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};
use std::sync::Arc;

use pitot_results::Failure;
use pitot_sys::process;

use super::fork::RECEIVE_BYTES;
use super::processes::{Starter, start_acceptor};
use super::{Fleet, Listeners, Listens, Model, only_blocking};
use crate::counters::Counters;
use crate::failure::starting;
use crate::plan::ServePlan;
use crate::server::{Env, Server};
use crate::worker::blocking::{self, BySignal};

pub(super) static SPAWN: Model = Model {
    name: "spawn",
    summary: "a new process that executes a program for every connection, as inetd does",
    doc: "An acceptor starts the program anew for each connection, which it gets as its standard input. The service \
          may be any program and starts clean each time; the price is that of loading it.",
    workers: "not used: there are as many processes as connections",
    workers_default: |_| 1,
    pairs_with: only_blocking,
    launch,
    listens: Listens::SharedBlocking,
};

fn launch(plan: &ServePlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Fleet>, Failure> {
    let counters = server.counters.clone();
    process::let_inherit(counters.file()).map_err(|e| starting("the counters could not be passed on", &e))?;
    let command_line = plan.connection_command.clone();
    let starter = move || -> io::Result<Box<Starter>> {
        let Some((program, arguments)) = command_line.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(program);
        command.args(arguments).arg(counters.file().as_raw_fd().to_string()).arg(process::id().to_string());
        command.stdout(Stdio::null());
        Ok(Box::new(move |fd| {
            // The handle is dropped unwaited: the acceptor notes the end of every child by SIGCHLD.
            let started = command.stdin(fd).spawn().map(drop);
            // Else the command would keep the connection open until the next one comes.
            command.stdin(Stdio::null());
            started
        }))
    };
    start_acceptor(server, listeners.only(), Box::new(starter))
}

/// What the executed program does: it serves the connection on its standard input. `counters` is the number of an
/// inherited descriptor, `parent` that of the process without which it has no business to live.
///
/// # Errors
/// The server cannot be made, or the counters are not there.
pub fn serve_standard_input(plan: &ServePlan, counters: u32, parent: u32) -> Result<(), Failure> {
    process::end_on_panic();
    process::die_with_parent(parent);
    let memory = std::fs::File::options().read(true).write(true).open(format!("/proc/self/fd/{counters}"));
    let counters = memory.and_then(|file| Counters::from_file(file.into()));
    let counters = counters.map_err(|e| starting("the counters could not be shared", &e))?;
    let server = Server::build(plan, counters)?;
    let fd = io::stdin().as_fd().try_clone_to_owned();
    let fd = fd.map_err(|e| starting("standard input is not a connection", &e))?;
    let interrupt = BySignal::prepare();
    let mut env = Env::new(&server, 0);
    blocking::serve(&server, &mut env, &interrupt, fd, &mut vec![0; RECEIVE_BYTES]);
    Ok(())
}
