//! A private bus with its agents, which leaves nothing behind.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::json;

use super::network::{Network, address};
use crate::support::{PITOT, Running, TIMEOUT, stderr, until};

/// Agents by the host of the network on which they are; the coordinator is on the next one.
const AGENTS: [&str; 3] = ["a", "b", "c"];

/// How long an agent may be silent on a bus that was furnished for it, in place of half a minute.
const SILENCE: Duration = Duration::from_secs(6);

pub(crate) struct Bus {
    dir: tempfile::TempDir,
    server: Option<Running>,
    /// Where it and its clients are, if that is not this machine's own loopback: the server on the first host, the agents `a`,
    /// `b` and `c` on the first three and the coordinator on the fourth.
    network: Option<Network>,
    pub(crate) url: String,
    /// The public half of the key that signs.
    pub(crate) key: String,
}

impl Bus {
    /// A server with these lines in its configuration.
    pub(crate) fn start(config: &str) -> Bus {
        Bus::new(None).configured(config)
    }

    /// The same, where whoever is silent is given up after a shorter time.
    pub(crate) fn start_hasty() -> Bus {
        let bus = Bus::new(None);
        bus.furnish();
        bus.configured("")
    }

    /// A server that others can reach, which asks each side for an nkey of its own. Whoever is silent is given up after a shorter
    /// time.
    pub(crate) fn start_on(network: Network) -> Bus {
        let bus = Bus::new(Some(network));
        bus.furnish();
        let users = ["agent", "lab"].map(|side| {
            let public = bus.make_key(&format!("{side}.nk"));
            let seed = fs::read_to_string(bus.path(&format!("{side}.nk"))).unwrap();
            bus.secret(&format!("{side}.toml"), &format!("nkey = '{}'", seed.trim()));
            format!("{{ nkey: {public} }}")
        });
        bus.configured(&format!("authorization {{ users: [ {} ] }}", users.join(", ")))
    }

    fn new(network: Option<Network>) -> Bus {
        let dir = tempfile::tempdir().unwrap();
        Bus { dir, server: None, network, url: String::new(), key: String::new() }
    }

    fn configured(mut self, config: &str) -> Bus {
        fs::write(self.path("bus.conf"), config).unwrap();
        self.start_server("-1");
        self.key = self.make_key("sign.nk");
        self
    }

    /// Makes the queue and the bucket of agents with times of their own, as whoever runs a bus may, before Pitot does: by a server
    /// that asks for nothing and has the disk for this moment.
    fn furnish(&self) {
        fs::write(self.path("furnish.conf"), "").unwrap();
        let (_server, url) = self.server_with(Command::new(nats_server()), "furnish.conf", "127.0.0.1", "-1");
        let ns = u64::try_from(SILENCE.as_nanos()).unwrap();
        let week_ns = 7 * 24 * 3600 * 1_000_000_000_u64;
        let jobs = json!({
            "name": "PITOT_JOBS", "subjects": ["pitot.job.>"], "retention": "workqueue", "max_age": week_ns,
        });
        let consumer = json!({
            "stream_name": "PITOT_JOBS",
            "config": { "name": "agents", "durable_name": "agents", "ack_policy": "explicit", "ack_wait": ns },
        });
        let agents = json!({
            "name": "KV_pitot_agents", "subjects": ["$KV.pitot_agents.>"], "max_msgs_per_subject": 1,
            "max_age": ns, "discard": "new", "allow_rollup_hdrs": true, "deny_delete": true, "allow_direct": true,
        });
        let mut stream = TcpStream::connect(url.strip_prefix("nats://").unwrap()).unwrap();
        stream.set_read_timeout(Some(TIMEOUT)).unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
        stream.write_all(b"CONNECT {\"verbose\":false}\r\nSUB answers 1\r\n").unwrap();
        for (subject, question) in [
            ("STREAM.CREATE.PITOT_JOBS", jobs),
            ("CONSUMER.CREATE.PITOT_JOBS.agents", consumer),
            ("STREAM.CREATE.KV_pitot_agents", agents),
        ] {
            let question = question.to_string();
            let len = question.len();
            stream
                .write_all(format!("PUB $JS.API.{subject} answers {len}\r\n{question}\r\n").as_bytes())
                .unwrap();
            assert!(lines.any(|line| line.starts_with("MSG answers")), "{subject} is not answered");
            let answer = lines.next().unwrap();
            assert!(!answer.contains("\"error\""), "{subject}: {answer}");
        }
    }

    /// Makes a key. Returns its public half.
    fn make_key(&self, file: &str) -> String {
        let made = self.pitot(&["bus-key", file]).output().unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    }

    /// A command on a host of the network, or on this machine where there is none.
    fn command(&self, host: usize, program: &Path) -> Command {
        let Some(network) = &self.network else { return Command::new(program) };
        // It replaces itself by the program: the process is the same.
        let mut command = Command::new("ip");
        command.args(["netns", "exec", network.name(host)]).arg(program);
        command
    }

    /// The words that name the bus, with what lets one side in.
    pub(crate) fn words(&self, side: &str) -> Vec<String> {
        let mut words = vec!["--bus".to_owned(), self.url.clone()];
        if self.network.is_some() {
            words.extend(["--bus-creds".to_owned(), format!("{side}.toml")]);
        }
        words
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn start_server(&mut self, port: &str) {
        let address = self.network.as_ref().map_or_else(|| "127.0.0.1".to_owned(), |_| address(0));
        let command = self.command(0, &nats_server());
        let (server, url) = self.server_with(command, "bus.conf", &address, port);
        (self.server, self.url) = (Some(server), url);
    }

    /// A server with this configuration on the bus's disk, and its URL.
    fn server_with(
        &self,
        mut command: Command,
        config: &str,
        address: &str,
        port: &str,
    ) -> (Running, String) {
        command.args(["-c", config, "-a", address, "-p", port, "-js", "-sd", "js"]);
        command.args(["--ports_file_dir", ".", "-l", "bus.log"]);
        let server = Running::start(command.current_dir(self.dir.path()).stderr(Stdio::null()));
        let ports = self.path(&format!("nats-server_{}.ports", server.id()));
        let mut url = None;
        until("the bus tells its port", || {
            let text = fs::read_to_string(&ports).unwrap_or_default();
            let urls = serde_json::from_str::<serde_json::Value>(&text).unwrap_or_default();
            url = urls["nats"][0].as_str().or(urls["tls"][0].as_str()).map(str::to_owned);
            url.is_some()
        });
        (server, url.unwrap())
    }

    /// Kills the server.
    pub(crate) fn kill_server(&mut self) {
        self.server = None;
    }

    /// Starts it again, at its address and with what it has on its disk.
    pub(crate) fn restart_server(&mut self) {
        let port = self.url.rsplit(':').next().unwrap().to_owned();
        self.start_server(&port);
    }

    pub(crate) fn pitot(&self, arguments: &[&str]) -> Command {
        self.pitot_on(3, arguments)
    }

    fn pitot_on(&self, host: usize, arguments: &[&str]) -> Command {
        let mut command = self.command(host, Path::new(PITOT));
        command.args(arguments).current_dir(self.dir.path()).env("TMPDIR", self.dir.path());
        command
    }

    /// A file that nobody else can read.
    pub(crate) fn secret(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o600)).unwrap();
    }

    pub(crate) fn agent(&self, name: &str) -> Running {
        self.agent_with(name, &["--trust", &self.key])
    }

    /// One that waits with a job until no other run is under way on this machine.
    pub(crate) fn waiting_agent(&self, name: &str) -> Running {
        self.start_agent(name, &["--trust", &self.key], &[])
    }

    /// Its log is `NAME.log`.
    pub(crate) fn agent_with(&self, name: &str, arguments: &[&str]) -> Running {
        self.agent_in(name, arguments, &[])
    }

    /// The same with these variables. Each agent stands for a host of its own.
    pub(crate) fn agent_in(&self, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        self.start_agent(name, &[&["--no-wait"][..], arguments].concat(), variables)
    }

    fn start_agent(&self, name: &str, arguments: &[&str], variables: &[(&str, &str)]) -> Running {
        let log = fs::File::create(self.path(&format!("{name}.log"))).unwrap();
        let host = AGENTS.iter().position(|agent| *agent == name).unwrap_or(0);
        let mut command = self.pitot_on(host, &["agent", "--name", name]);
        command.args(self.words("agent")).envs(variables.iter().copied());
        let mut agent = Running::start(command.args(arguments).stderr(log));
        until("the agent is there", || {
            let ended = agent.try_wait().unwrap();
            assert!(ended.is_none(), "{}", self.log(name));
            self.log(name).contains("waits for jobs")
        });
        agent
    }

    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.path(&format!("{name}.log"))).unwrap_or_default()
    }

    /// What an agent says that does not start.
    pub(crate) fn refused_agent(&self, url: &str, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.pitot(&["agent", "--bus", url, "--name", "x"]).args(arguments).output().unwrap();
        said(&output)
    }

    /// Four cells: two servers, which are compared, at each of two rates.
    pub(crate) fn plan(&self, rest: &str) -> PathBuf {
        self.plan_at("[20, 40]", rest)
    }

    /// Two cells: one job for each repetition.
    pub(crate) fn small_plan(&self, rest: &str) -> PathBuf {
        self.plan_at("[20]", rest)
    }

    fn plan_at(&self, rates: &str, rest: &str) -> PathBuf {
        let plan = format!(
            "{rest}\n[server]\nprotocol = \"http\"\n[load]\nconnections = 1\n[factors]\n\
             server.model = [\"loop\", \"thread\"]\nload.rate = {rates}\n"
        );
        fs::write(self.path("plan.toml"), plan).unwrap();
        self.path("plan.toml")
    }

    /// The coordinator.
    pub(crate) fn run(&self, plan: &Path) -> Command {
        let mut command = self.pitot(&["run", "--sign", "sign.nk", "-o", "run.pitot"]);
        command.args(self.words("lab")).arg(plan);
        command
    }

    /// The coordinator again, which goes on with the same run file.
    pub(crate) fn resume(&self) -> Command {
        let mut command = self.pitot(&["run", "--sign", "sign.nk", "--resume", "run.pitot"]);
        command.args(self.words("lab"));
        command
    }

    /// Whether a result that is too large for an entry was put on the bus.
    pub(crate) fn has_object(&self) -> bool {
        let folder = self.path("js/jetstream/$G/streams/OBJ_pitot_results/msgs");
        fs::read_dir(folder).is_ok_and(|files| {
            files.flatten().any(|file| file.metadata().is_ok_and(|file| file.len() > 512 << 10))
        })
    }

    /// Whether load is put on a server from the second host of the network.
    pub(crate) fn has_load(&self) -> bool {
        let network = self.network.as_ref().expect("a network");
        network.processes(1).iter().any(|(_, command)| command.contains(" load http"))
    }

    /// The number of processes on all hosts of the network.
    pub(crate) fn processes(&self) -> usize {
        let network = self.network.as_ref().expect("a network");
        (0..=AGENTS.len()).map(|host| network.processes(host).len()).sum()
    }

    /// No process but the server has this bus's directory in its environment, and none is on any host of its network.
    pub(crate) fn assert_nothing_is_left(&self) {
        let server = self.server.as_ref().map(|server| server.id().to_string()).unwrap_or_default();
        if let Some(network) = &self.network {
            let others = || (0..=AGENTS.len()).flat_map(|host| network.processes(host));
            until("a process was left on a host", || others().all(|(pid, _)| pid == server));
        }
        let needle = format!("TMPDIR={}", self.dir.path().display());
        let mut left = Vec::new();
        until("a process was left", || {
            left = fs::read_dir("/proc")
                .unwrap()
                .flatten()
                .filter(|entry| {
                    let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
                    String::from_utf8_lossy(&environment).split('\0').any(|variable| variable == needle)
                })
                .map(|entry| entry.path())
                .collect();
            left.is_empty()
        });
    }
}

/// The program, where `pitot target install` puts it.
fn nats_server() -> PathBuf {
    let home = || PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache");
    let cache = std::env::var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    cache.join("pitot/targets/nats-server/bin/nats-server")
}

/// Exit code, and what was said.
pub(crate) fn said(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), stderr(output).to_owned())
}
