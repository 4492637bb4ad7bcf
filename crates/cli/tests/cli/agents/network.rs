//! Hosts that are network namespaces of this machine.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

use pitot_record::{Repetition, Run};
use pitot_results::VerdictKind;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{PITOT, stdout, until_ok, until_some};

/// The names of hosts in plans. The first has a cable to each of the others.
const HOSTS: [&str; 4] = ["a", "b", "c", "d"];

/// Namespaces with a network between them.
pub(crate) struct Network {
    names: Vec<String>,
}

impl Network {
    /// With so many hosts, two at least.
    pub(crate) fn new(hosts: usize) -> Network {
        static NETWORKS: AtomicUsize = AtomicUsize::new(0);
        let (number, id) = (NETWORKS.fetch_add(1, Ordering::Relaxed), std::process::id());
        let names = HOSTS[..hosts].iter().map(|host| format!("pt{number}{host}{id}"));
        let network = Network { names: names.collect() };
        for name in &network.names {
            ip(&["netns", "add", name]);
            ip(&["-n", name, "link", "set", "lo", "up"]);
        }
        let hub = &network.names[0];
        for (at, name) in network.names.iter().enumerate().skip(1) {
            let (cable, far) = (format!("v{at}"), address(at));
            ip(&["link", "add", &cable, "netns", hub, "type", "veth", "peer", "name", "v0", "netns", name]);
            for (end, own, peer, cable) in
                [(hub, &address(0), &far, &*cable), (name, &far, &address(0), "v0")]
            {
                ip(&["-n", end, "addr", "add", own, "peer", peer, "dev", cable]);
                ip(&["-n", end, "link", "set", cable, "up"]);
            }
        }
        network
    }

    /// Lets no more than a megabyte a second out of the first host towards the second: whether this kernel can.
    pub(crate) fn narrow(&self) -> bool {
        let shape = "qdisc add dev v1 root tbf rate 8mbit burst 64k latency 400ms";
        let mut tc = Command::new("tc");
        tc.args(["-n", &self.names[0]]).args(shape.split(' ')).status().unwrap().success()
    }

    /// The namespace of a host.
    pub(crate) fn name(&self, host: usize) -> &str {
        &self.names[host]
    }

    /// A plan with the server on the first host. `top` are keys at its top, `load` those of the load, with its hosts.
    pub(crate) fn plan(&self, top: &str, load: &str) -> String {
        self.plan_with_agent(top, load, &self.agent(0))
    }

    /// The same, with the command that starts the server's agent.
    pub(crate) fn plan_with_agent(&self, top: &str, load: &str, agent: &[String]) -> String {
        let host = |at: usize| {
            let agent = if at == 0 { agent.to_vec() } else { self.agent(at) };
            format!("[hosts.{}]\nagent = {agent:?}\naddress = \"{}\"\ncpus = \"0\"\n", HOSTS[at], address(at))
        };
        let hosts: String = (0..self.names.len()).map(host).collect();
        format!(
            "{top}\n{hosts}[server]\nprotocol = \"http\"\nhost = \"a\"\n[load]\n{load}\n\
             [factors]\nserver.model = [\"loop\", \"thread\"]\n"
        )
    }

    fn agent(&self, host: usize) -> Vec<String> {
        ["ip", "netns", "exec", &self.names[host], PITOT, "agent"].map(str::to_owned).to_vec()
    }

    /// The command that runs a plan in `dir`.
    pub(crate) fn run(&self, dir: &Path, plan: &str) -> Command {
        self.run_into("run.pitot", dir, plan)
    }

    /// The same, into another file than `run.pitot`.
    pub(crate) fn run_into(&self, file: &str, dir: &Path, plan: &str) -> Command {
        std::fs::write(dir.join("plan.toml"), plan).unwrap();
        pitot(dir, &["run", "plan.toml", "-o", file])
    }

    /// Processes on a host: id and command line.
    pub(crate) fn processes(&self, host: usize) -> Vec<(String, String)> {
        let output = Command::new("ip").args(["netns", "pids", &self.names[host]]).output().unwrap();
        let text = stdout(&output).to_owned();
        let command = |pid: &str| std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        text.lines().map(|pid| (pid.to_owned(), command(pid).replace('\0', " "))).collect()
    }

    /// Waits until a repetition of the run file, which comes after the trial, puts load on the server from `host`. Returns
    /// the agent there.
    pub(crate) fn wait_for_load(&self, host: usize, file: &Path, lab: &mut Child) -> String {
        until_some("load from the host", || {
            assert!(lab.try_wait().unwrap().is_none(), "the run has ended");
            let there = self.processes(host);
            let of = |word: &str| there.iter().find(|(_, command)| command.contains(word));
            match (file.exists(), of(" load "), of(" agent")) {
                (true, Some(_), Some((agent, _))) => Some(agent.clone()),
                _ => None,
            }
        })
    }

    /// Begins a run of a plan; the file that it will write.
    pub(crate) fn begin(&self, dir: &Path, plan: &str) -> (Child, PathBuf) {
        let lab = self.run(dir, plan).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        (lab, dir.join("run.pitot"))
    }

    /// Kills the agent of a host while that puts load on the server.
    pub(crate) fn kill_agent_under_load(&self, host: usize, file: &Path, lab: &mut Child) {
        let agent = self.wait_for_load(host, file, lab);
        kill_process(Pid::from_raw(agent.parse().unwrap()).unwrap(), Signal::KILL).unwrap();
    }

    /// Kills the agent of a host while it puts load on the server, in a run of four repetitions: that one fails with the
    /// host's name, and no other.
    pub(crate) fn assert_one_of_four_fails_with(&self, host: usize, dir: &Path, plan: &str) {
        let (mut lab, file) = self.begin(dir, plan);
        self.kill_agent_under_load(host, &file, &mut lab);
        lab.wait().unwrap();
        self.assert_nothing_is_left();
        let run = Run::open(&file).unwrap();
        let all: Vec<_> = run.cells.iter().flat_map(|cell| &cell.repetitions).collect();
        let is_failed = |r: &&&Repetition| r.verdict.kind == VerdictKind::Failed;
        let failed: Vec<&str> = all.iter().filter(is_failed).map(|r| r.verdict.reason.as_str()).collect();
        assert_eq!((all.len(), failed.len()), (4, 1), "{failed:?}");
        let lost = format!("the host `{}` was lost: ", HOSTS[host]);
        assert!(failed[0].starts_with(&lost), "{failed:?}");
    }

    /// Waits until no process is left on any host.
    pub(crate) fn assert_nothing_is_left(&self) {
        until_ok("all processes of the hosts end", || {
            let left: Vec<_> = (0..self.names.len()).flat_map(|host| self.processes(host)).collect();
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for name in &self.names {
            let _ = Command::new("ip").args(["netns", "del", name]).stderr(Stdio::null()).status();
        }
    }
}

/// The lab's own command, in a directory that also takes its temporary files.
pub(crate) fn pitot(dir: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(PITOT);
    command.args(arguments).current_dir(dir).env("TMPDIR", dir);
    command
}

pub(crate) fn address(host: usize) -> String {
    format!("10.19.0.{}", host + 1)
}

fn ip(arguments: &[&str]) {
    assert!(Command::new("ip").args(arguments).status().unwrap().success(), "ip {arguments:?}");
}
