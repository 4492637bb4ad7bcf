//! The program that the model `spawn` executes for each connection.

use std::io;
use std::os::fd::AsFd;

use pitot_results::Failure;
use pitot_sys::process;

use crate::counters::Counters;
use crate::failure::starting;
use crate::plan::ServePlan;
use crate::server::Env;
use crate::worker::blocking::{self, BySignal};

/// Size of the receive buffer.
const RECEIVE_BYTES: usize = 16 << 10;

/// Serves the connection on standard input: the executed program. `counters` is the number of an inherited descriptor,
/// `parent` the process ID of the server, with which this process ends.
///
/// # Errors
/// The server cannot be set up, or the counters cannot be opened.
pub fn serve_standard_input(plan: &ServePlan, counters: u32, parent: u32) -> Result<(), Failure> {
    process::end_on_panic();
    process::die_with_parent(parent);
    let memory = std::fs::File::options().read(true).write(true).open(format!("/proc/self/fd/{counters}"));
    let counters = memory.and_then(|file| Counters::from_file(file.into()));
    let counters = counters.map_err(|e| starting("cannot open the shared counters", &e))?;
    let server = plan.server(counters)?;
    let fd = io::stdin().as_fd().try_clone_to_owned();
    let fd = fd.map_err(|e| starting("standard input is not a socket", &e))?;
    let interrupt = BySignal::prepare();
    let mut env = Env::new(&server, 0);
    blocking::serve(&server, &mut env, &interrupt, fd, None, &mut vec![0; RECEIVE_BYTES]);
    Ok(())
}
