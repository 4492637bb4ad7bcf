use std::io;
use std::os::fd::AsRawFd;
use std::process::{Command, Stdio};
use std::sync::Arc;

use pitot_sys::process;

use pitot_results::Failure;

use super::contract::{Listeners, Listens, Model, Workers, only_blocking};
use super::processes::{Starter, start_acceptor};
use crate::failure::starting;
use crate::launch::LaunchPlan;
use crate::server::Server;

pub(super) static SPAWN: Model = Model {
    name: "spawn",
    summary: "a new process that executes a program for every connection, as inetd does",
    doc: "An acceptor executes the program for each connection, which is its standard input. The service may be any \
          program and starts clean each time, at the price of loading it.",
    workers: "always as many processes as connections",
    workers_default: |_| 1,
    pairs_with: only_blocking,
    launch,
    listens: Listens::SharedBlocking,
    takes_workers: false,
    workers_max: usize::MAX,
    loops_accept: false,
    connection_per_worker: false,
    splits_files: false,
    reads_by_engine: true,
    is_one_process: false,
    executes: true,
    connects: false,
};

fn launch(plan: &LaunchPlan, server: Arc<Server>, listeners: Listeners) -> Result<Box<dyn Workers>, Failure> {
    let counters = server.counters.clone();
    process::let_inherit(counters.file()).map_err(|e| starting("cannot pass on the counters", &e))?;
    let tls = server.tls.as_ref().map(|tls| {
        let file = tls.plan.to_file()?;
        process::let_inherit(&file).map(|()| file)
    });
    let tls = tls.transpose().map_err(|e| starting("cannot pass on the certificate", &e))?;
    let (command_line, logs_to_stdout) = (plan.connection_command.clone(), plan.logs_to_stdout);
    let starter = move || -> io::Result<Box<Starter>> {
        let Some((program, arguments)) = command_line.split_first() else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let mut command = Command::new(program);
        command.args(arguments).arg(counters.file().as_raw_fd().to_string()).arg(process::id().to_string());
        if let Some(tls) = &tls {
            command.arg(tls.as_raw_fd().to_string());
        }
        if !logs_to_stdout {
            command.stdout(Stdio::null());
        }
        Ok(Box::new(move |fd| {
            // Each child inherits it.
            let _open = &tls;
            // The handle is dropped without waiting: the acceptor reaps every child on SIGCHLD.
            let started = command.stdin(fd).spawn().map(drop);
            // Otherwise the command would keep the connection open until the next one is accepted.
            command.stdin(Stdio::null());
            started
        }))
    };
    start_acceptor(server, listeners.only(), plan.single_threaded, Box::new(starter))
}
