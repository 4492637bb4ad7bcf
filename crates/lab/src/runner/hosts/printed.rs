//! Output of short commands on another host, such as `nginx -v`.

use std::time::Duration;

use pitot_meter::Nanos;

use crate::runner::executor::{Account, AddressChoice, Command, Executor, Role};
use crate::runner::printed::{Asked, TIMEOUT};

const INTERVAL: Duration = Duration::from_millis(20);
/// The number of its private directory, which is not that of a repetition.
const NUMBER: usize = usize::MAX;

/// Stdout of a command on the host, then its stderr. The error is a sentence.
pub(super) fn printed_by(executor: &mut dyn Executor, asked: &Asked<'_>) -> Result<String, String> {
    executor.begin(NUMBER, AddressChoice::Server)?;
    let outcome = run(executor, asked);
    executor.finish();
    outcome
}

fn run(executor: &mut dyn Executor, asked: &Asked<'_>) -> Result<String, String> {
    let role = Role::Stop;
    executor.start(&Command {
        role,
        argv: asked.argv.to_vec(),
        cwd: asked.cwd.map(str::to_owned),
        env: asked.env.clone(),
        cpus: Vec::new(),
        account: Account::None,
        converses: false,
        cpu_is_counted: false,
    })?;
    let deadline = executor.now() + Nanos::from(TIMEOUT);
    loop {
        executor.wait(INTERVAL);
        if let Some(lost) = executor.lost() {
            return Err(lost);
        }
        let is_late = executor.now() > deadline;
        if executor.ending(role).is_some() || is_late {
            let output = executor.output(role);
            if output.stdout_closed || is_late {
                return Ok(output.stdout + &output.stderr);
            }
        }
    }
}
