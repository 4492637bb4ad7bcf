//! Kills processes, like a crash or the kernel when memory is short.

use pitot_sys::spawn::{self, Stop};

use crate::entry::{Aim, Begun, Fault, Means};
use crate::options::Options;
use crate::processes::{self, choose};
use crate::undo::Undo;

pub(super) static FAULT: Fault = Fault {
    name: "kill",
    summary: "Kill processes of the server (SIGKILL).",
    doc: "Connections of the killed process are reset, and its requests are lost. The server's supervisor may start another worker. \
          If the whole server dies, the lab restarts it after the fault's length.",
    aim: Aim::Process,
    takes: &["process"],
    lasts_s: 1.0,
    is_moment: true,
    may_end_server: true,
    can_silence: true,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Program { begin, undo: |_| Ok(false) },
};

fn begin(options: &Options, _: &mut Undo) -> Result<Begun, String> {
    let chosen = choose(options.pid, options.process)?;
    // Parents first, so that none replaces a killed child.
    chosen.iter().for_each(|process| spawn::stop(process.pid, Stop::Kill));
    Ok(Begun::done(format!("SIGKILL to {}", processes::name(&chosen))))
}
