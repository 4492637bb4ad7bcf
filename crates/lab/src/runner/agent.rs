//! The agent: executes on this machine what a lab on another machine requests.

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

use pitot_agent::frame::{self, FrameError};
use pitot_agent::{Ask, EXECUTORS_MAX, Greeting, Hello, IDLE, Reply, Request, Signal, VERSION, WAIT_MAX};
use pitot_host::{CpuSplit, Fingerprint, memory_total_bytes};
use pitot_results::Failure;
use pitot_sys::spawn::Stop;

use super::executor::{Executor, Machine};
use super::hosts::to_reply;
use super::local::{Guardian, ThisMachine};

/// Serves the protocol of [`pitot_agent`] until the stream ends. Its programs end with it; the guardian ensures that
/// if the agent is killed. `pitot` is the path of this program, `version` its version.
///
/// # Errors
/// If the stream fails, or a message is not one of the protocol.
pub fn serve_agent(
    input: impl BufRead + Send + 'static,
    mut output: impl Write,
    guardian: Guardian,
    pitot: &str,
    version: &str,
) -> Result<(), Failure> {
    // Read by a thread, since waiting for a message has a timeout.
    let (sender, requests) = sync_channel(16);
    std::thread::spawn(move || {
        let mut input = input;
        loop {
            let request = frame::read::<Request>(&mut input);
            let is_last = !matches!(request, Ok(Some(_)));
            if sender.send(request).is_err() || is_last {
                return;
            }
        }
    });
    let next = || match requests.recv_timeout(IDLE) {
        Ok(Ok(request)) => Ok(request),
        Ok(Err(e)) => Err(misunderstood(&e)),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Ok(None),
    };
    let mut answer = |reply: &Reply| {
        frame::write(&mut output, reply).map_err(|e| {
            Failure::run(format!("the connection to the lab was closed: {e}"), "see the lab's output")
        })
    };
    let hello = match next()? {
        Some(Request::Hello(hello)) if hello.version == VERSION => hello,
        Some(Request::Hello(hello)) => {
            let what = format!(
                "its agent is Pitot {version} with protocol version {VERSION}, and the lab has protocol version {}",
                hello.version
            );
            answer(&Reply::Error(what.clone()))?;
            return Err(Failure::misuse(what, "install the same version on both hosts"));
        }
        Some(_) => {
            answer(&Reply::Error("the first message is not a greeting".into()))?;
            return Err(Failure::misuse(
                "the first message is not a greeting",
                "let `pitot run` start the agent",
            ));
        }
        None => return Ok(()),
    };
    let cpus = match split(&hello) {
        Ok(cpus) => cpus,
        Err(what) => {
            answer(&Reply::Error(what.clone()))?;
            return Err(Failure::misuse(what, "name others under [hosts] in the plan"));
        }
    };
    let machine = ThisMachine::new(guardian, &cpus).listening_on(hello.address);
    answer(&Reply::Hello(Greeting {
        version: VERSION,
        pitot: version.to_owned(),
        pid: std::process::id(),
        memory_total_bytes: memory_total_bytes(),
    }))?;
    let mut executors: HashMap<u32, Box<dyn Executor + '_>> = HashMap::new();
    while let Some(request) = next()? {
        let reply = match request {
            Request::Ping => continue,
            Request::Hello(_) => Reply::Error("the agent was greeted already".into()),
            Request::Clock => Reply::Nanos(Some(pitot_meter::now().0)),
            Request::Host => Reply::Host(Fingerprint::collect()),
            Request::Drop { executor } => {
                executors.remove(&executor);
                Reply::Done
            }
            Request::Call { executor, .. }
                if executors.len() >= EXECUTORS_MAX && !executors.contains_key(&executor) =>
            {
                Reply::Error(format!("more than {EXECUTORS_MAX} repetitions are running"))
            }
            Request::Call { executor, ask } => {
                let executor = executors.entry(executor).or_insert_with(|| machine.executor());
                carry_out(&mut **executor, ask, pitot).unwrap_or_else(Reply::Error)
            }
        };
        answer(&reply)?;
    }
    Ok(())
}

fn carry_out(executor: &mut dyn Executor, ask: Ask, pitot: &str) -> Result<Reply, String> {
    Ok(match ask {
        Ask::Begin { number, address } => Reply::Place(executor.begin(number, address)?),
        Ask::WriteFiles { files } => {
            let files: Vec<_> = serde_json::from_value(files)
                .map_err(|e| format!("the files are not those of a plan: {e}"))?;
            executor.write_files(&files)?;
            Reply::Done
        }
        Ask::Start { mut command, own } => {
            if let Some(program) = command.argv.first_mut().filter(|_| own) {
                pitot.clone_into(program);
            }
            executor.start(&command)?;
            Reply::Done
        }
        Ask::WriteLine { role, line } => {
            executor.write_line(role, &line)?;
            Reply::Done
        }
        Ask::Count(what) => Reply::Count(executor.count(what)),
        Ask::Wait { timeout_us } => {
            Reply::Line(executor.wait(Duration::from_micros(timeout_us).min(WAIT_MAX)))
        }
        Ask::Ending(role) => Reply::Ending(executor.ending(role)),
        Ask::IsSuspended(role) => Reply::Flag(executor.is_suspended(role)),
        Ask::Answers { address, question } => Reply::Flag(executor.answers(&address, &question)),
        Ask::Sample(extent) => {
            executor.sample(extent);
            Reply::Done
        }
        Ask::Stop { role, signal } => {
            let signal = match signal {
                Signal::Terminate => Stop::Terminate,
                Signal::Interrupt => Stop::Interrupt,
                Signal::Quit => Stop::Quit,
                Signal::Kill => Stop::Kill,
            };
            executor.stop(role, signal);
            Reply::Done
        }
        Ask::Output(role) => Reply::Output(executor.output(role)),
        Ask::ReadFile(path) => Reply::Text(executor.read_file(&path)),
        Ask::Finish => to_reply(executor.finish()),
    })
}

/// The CPUs that the lab asks for, if they exist. An agent on the lab's machine has inherited only the CPUs of the
/// lab, so it asks the kernel for all.
fn split(hello: &Hello) -> Result<CpuSplit, String> {
    let read = || pitot_sys::affinity::allowed().map_err(|e| format!("the allowed CPUs cannot be read: {e}"));
    let wanted = || hello.cpus.iter().chain(&hello.other_cpus).copied();
    let inherited = read()?;
    // The kernel leaves out CPUs that do not exist or that a control group forbids.
    let _ = pitot_sys::affinity::pin(&inherited.iter().copied().chain(wanted()).collect::<Vec<_>>());
    let allowed = read()?;
    if let Some(cpu) = wanted().find(|cpu| !allowed.contains(cpu)) {
        return Err(format!("CPU {cpu} does not exist or may not be used"));
    }
    let others = || allowed.iter().copied().filter(|cpu| !hello.cpus.contains(cpu)).collect::<Vec<_>>();
    let other = if hello.other_cpus.is_empty() { others() } else { hello.other_cpus.clone() };
    Ok(CpuSplit {
        load: if other.is_empty() { hello.cpus.clone() } else { other },
        server: hello.cpus.clone(),
    })
}

fn misunderstood(e: &FrameError) -> Failure {
    Failure::misuse(
        format!("a message of the lab cannot be read: {e}"),
        "do not start it by hand: `pitot run` starts agents from [hosts] of a plan (docs/agent.md)",
    )
}
