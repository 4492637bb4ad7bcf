//! From a cell to the commands that run it.

use pitot_fault::{Aim, STEP_NS, find};

use super::definition::Plan;
use super::expand::{Cell, CellServer};
use super::foreign::Foreign;
use super::server::{FileContent, Helper, PlanFile};
use super::template::{LinePiece, line_template};
use super::value::{Settings, Value};
use crate::written::{shell_line, shell_word};

/// As the first word of a command: this program itself.
pub const OWN: &str = "pitot";

/// How soon the load reconnects in a plan with faults. A longer pause would look like an outage of the server.
const BACK_OFF: &str = "40ms";

/// What the lab chooses for one run of a cell.
#[derive(Clone, Debug)]
pub struct Placement {
    /// How `pitot` is called.
    pub pitot: String,
    /// `127.0.0.1:PORT`. With port 0 a server of Pitot chooses and reports its port.
    pub address: String,
    /// The server's private directory.
    pub dir: String,
    /// CPUs of the server, as a list.
    pub server_cpus: String,
    /// CPUs of the load generator.
    pub load_cpus: String,
    /// The helpers of the load: name and address.
    pub helpers: Vec<(String, String)>,
}

impl Placement {
    /// Replaces the placeholders in `text`.
    pub fn fill(&self, text: &str) -> String {
        let port = self.address.rsplit_once(':').map_or("", |(_, port)| port);
        let filled = text
            .replace("{address}", &self.address)
            .replace("{port}", port)
            .replace("{dir}", &self.dir)
            .replace("{cpu-count}", &self.server_cpu_count().to_string())
            .replace("{cpus}", &self.server_cpus);
        self.helpers
            .iter()
            .fold(filled, |text, (name, address)| text.replace(&format!("{{{name}}}"), address))
    }

    fn server_cpu_count(&self) -> usize {
        pitot_host::parse_cpu_list(&self.server_cpus).map_or(1, |cpus| cpus.len().max(1))
    }
}

impl Plan {
    /// Whether the plan has DNS faults.
    pub(super) fn has_faults_of_names(&self) -> bool {
        self.faults.iter().any(|fault| find(&fault.kind).is_some_and(|fault| fault.aim == Aim::Names))
    }

    /// Options of a load that faults need: steps, and a pause after errors unless the plan sets one.
    pub fn load_options_for_faults(&self, has_back_off: bool) -> Vec<String> {
        if self.faults.is_empty() {
            return Vec::new();
        }
        let mut options = vec!["--steps".into(), format!("{}ms", STEP_NS / 1_000_000)];
        if !has_back_off {
            options.extend(["--back-off".into(), BACK_OFF.into()]);
        }
        options
    }
}

impl Cell {
    /// The server's command. The lab binds other programs to their CPUs.
    pub fn server_argv(&self, at: &Placement) -> Vec<String> {
        match &self.server {
            CellServer::None => Vec::new(),
            CellServer::External(program) => {
                let mut argv: Vec<String> = program.command.iter().map(|word| at.fill(word)).collect();
                if let Some(program) = argv.first_mut().filter(|program| *program == OWN) {
                    program.clone_from(&at.pitot);
                }
                argv
            }
            CellServer::Pitot { protocol, options } => {
                let mut argv = vec![at.pitot.clone(), "serve".into(), protocol.clone()];
                argv.extend(["--listen".into(), at.address.clone()]);
                push_options(&mut argv, options, at);
                argv.extend(["--cpus".into(), at.server_cpus.clone(), "--stats".into(), "json".into()]);
                argv
            }
        }
    }

    /// The server's address, if it is on a system without an agent.
    pub fn foreign(&self) -> Option<&Foreign> {
        match &self.server {
            CellServer::External(program) => program.foreign.as_ref(),
            CellServer::Pitot { .. } | CellServer::None => None,
        }
    }

    /// The command that stops the server; empty if a signal does.
    pub fn stop_argv(&self, at: &Placement) -> Vec<String> {
        match &self.server {
            CellServer::External(program) => program.stop_command.iter().map(|word| at.fill(word)).collect(),
            CellServer::Pitot { .. } | CellServer::None => Vec::new(),
        }
    }

    /// The server's working directory, if it is not its private directory.
    pub fn server_cwd(&self, at: &Placement) -> Option<String> {
        match &self.server {
            CellServer::External(program) => program.cwd.as_deref().map(|cwd| at.fill(cwd)),
            CellServer::Pitot { .. } | CellServer::None => None,
        }
    }

    /// Names and values that are added to the server's environment.
    pub fn server_env(&self, at: &Placement) -> Vec<(String, String)> {
        match &self.server {
            CellServer::External(program) => {
                program.env.iter().map(|(name, value)| (name.clone(), at.fill(value))).collect()
            }
            CellServer::Pitot { .. } | CellServer::None => Vec::new(),
        }
    }

    /// The load generator's command, without `--json`.
    pub fn load_argv(&self, plan: &Plan, warmup_s: f64, at: &Placement) -> Vec<String> {
        let mut argv = vec![at.pitot.clone()];
        match &self.program {
            Some(program) => argv.extend(program.split(' ').map(str::to_owned)),
            None => argv.extend(["load".into(), at.fill(&self.url)]),
        }
        push_options(&mut argv, &self.load, at);
        if self.is_timed() {
            if self.takes.warmup {
                argv.extend(["--warmup".into(), show_duration(warmup_s)]);
            }
            argv.extend(["--duration".into(), show_duration(plan.duration_s)]);
        }
        if self.program.is_none() {
            argv.extend(plan.load_options_for_faults(self.load.get("back-off").is_some()));
            if plan.durability.is_some() {
                argv.push("--durability".into());
            }
        }
        if self.takes.cpus {
            argv.extend(["--cpus".into(), self.cpus_of_load(at).to_owned()]);
        }
        argv
    }

    /// Seconds of a warm-up of fixed length: a target that settles gets its maximum.
    pub fn warmup_s(&self, plan: &Plan) -> f64 {
        match self.settling() {
            Some(settling) if plan.warmup_s > 0.0 => plan.warmup_s.max(settling.within_s),
            _ => plan.warmup_s,
        }
    }

    /// The arguments with which a held load opens the cell's connections: URL and options, quoted as for a shell.
    pub fn held_target(&self, at: &Placement) -> String {
        // What is executed has no URL.
        let mut arguments: Vec<String> =
            Some(at.fill(&self.url)).filter(|url| !url.is_empty()).into_iter().collect();
        push_options(&mut arguments, &self.load, at);
        shell_line(&arguments)
    }

    /// A load without a server is what is measured, and uses the server's CPUs.
    fn cpus_of_load<'a>(&self, at: &'a Placement) -> &'a str {
        if self.server == CellServer::None { &at.server_cpus } else { &at.load_cpus }
    }

    /// The command of a helper.
    pub fn helper_argv(&self, helper: &Helper, listen: &str, at: &Placement) -> Vec<String> {
        let mut argv = vec![at.pitot.clone(), "serve".into(), helper.protocol.clone()];
        argv.extend(["--listen".into(), listen.to_owned()]);
        push_options(&mut argv, &helper.options, at);
        argv
    }

    /// The server's commands for a shell, with settings of the host, files and CPU binding. (`pitot host undo` restores the
    /// settings.)
    pub fn server_line(&self, at: &Placement) -> String {
        let mut line = String::new();
        if !self.settings.is_empty() {
            let words = self.settings.iter().map(|(key, value)| format!("{key}={value}"));
            let argv = [at.pitot.clone(), "host".into(), "apply".into()].into_iter().chain(words);
            line.push_str(&format!("{}\n", shell_line(&argv.collect::<Vec<_>>())));
        }
        line.extend(self.files.iter().map(|file| file_line(file, at)));
        if self.server == CellServer::None {
            return line.trim_end().to_owned();
        }
        if let CellServer::External(program) = &self.server {
            let texts = program.command.iter().chain(program.env.iter().map(|(_, value)| value));
            if self.files.is_empty() && texts.chain(&program.cwd).any(|text| text.contains("{dir}")) {
                line.push_str(&format!("mkdir -p {}\n", shell_word(&at.dir)));
            }
            if program.cwd.is_some() || !program.env.is_empty() {
                line.push_str("env ");
                if let Some(cwd) = &program.cwd {
                    line.push_str(&format!("-C {} ", shell_word(&at.fill(cwd))));
                }
                for (name, value) in self.server_env(at) {
                    line.push_str(&format!("{} ", shell_word(&format!("{name}={value}"))));
                }
            }
            line.push_str(&format!("taskset -c {} ", at.server_cpus));
        }
        line.push_str(&shell_line(&self.server_argv(at)));
        line
    }

    /// The load's commands for a shell, after those of its helpers.
    pub fn load_line(&self, plan: &Plan, at: &Placement) -> String {
        let bind = |cpus: &str| format!("taskset -c {cpus} ");
        let mut line = String::new();
        for (helper, (_, address)) in self.helpers.iter().zip(&at.helpers) {
            line.push_str(&format!(
                "{}{} &\n",
                bind(&at.load_cpus),
                shell_line(&self.helper_argv(helper, address, at))
            ));
        }
        let command = |at: &Placement| {
            let bound = if self.takes.cpus { String::new() } else { bind(self.cpus_of_load(at)) };
            bound + &shell_line(&self.load_argv(plan, self.warmup_s(plan), at))
        };
        match &plan.load_hosts[..] {
            [] | [_] => line.push_str(&command(at)),
            hosts => {
                // By hand each part starts at once; the lab sends a start time.
                let part = |(number, name): (usize, &String)| {
                    let host = plan.host(Some(name));
                    let at = host.map(|host| Placement { pitot: host.pitot().to_owned(), ..at.clone() });
                    let command = at.as_ref().map(command).unwrap_or_default();
                    format!("echo start 0 | {command} --share {}/{} # on {name}", number + 1, hosts.len())
                };
                line.push_str(&hosts.iter().enumerate().map(part).collect::<Vec<_>>().join("\n"));
            }
        }
        line
    }
}

/// Commands that write a file.
fn file_line(file: &PlanFile, at: &Placement) -> String {
    let path = format!("{}/{}", at.dir, file.path);
    let folder = path.rsplit_once('/').map_or(".", |(folder, _)| folder);
    let (path, folder) = (shell_word(&path), shell_word(folder));
    match &file.content {
        // Expansion has replaced it.
        FileContent::SizeOfLoad => String::new(),
        FileContent::Size(bytes) => {
            format!("mkdir -p {folder} && head -c {bytes} /dev/zero | tr '\\0' x > {path}\n")
        }
        FileContent::Lines { count, line } => {
            let line = line_template(line)
                .into_iter()
                .map(|part| match part {
                    LinePiece::Text(text) => {
                        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
                    }
                    LinePiece::Number(None) => "i".to_owned(),
                    LinePiece::Number(Some(n)) => format!("i % {n}"),
                })
                .collect::<Vec<_>>()
                .join(" ");
            let program = shell_word(&format!("BEGIN {{ for (i = 0; i < {count}; i++) print {line} }}"));
            format!("mkdir -p {folder} && awk {program} > {path}\n")
        }
        FileContent::Text(text) => {
            let text = at.fill(text);
            let newline = if text.ends_with('\n') { "" } else { "\n" };
            format!("mkdir -p {folder} && cat > {path} <<'END'\n{text}{newline}END\n")
        }
    }
}

fn push_options(argv: &mut Vec<String>, options: &Settings, at: &Placement) {
    for (name, value) in &options.0 {
        match value {
            Value::Flag(true) => argv.push(format!("--{name}")),
            Value::Flag(false) => {}
            Value::List(values) => {
                for value in values {
                    argv.extend([format!("--{name}"), at.fill(&value.to_string())]);
                }
            }
            value => argv.extend([format!("--{name}"), at.fill(&value.to_string())]),
        }
    }
}

/// A duration for a command line: `500ms`, `2s`.
fn show_duration(seconds: f64) -> String {
    if seconds.fract() == 0.0 { format!("{seconds}s") } else { format!("{}ms", (seconds * 1e3).round()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_their_milliseconds() {
        assert_eq!(show_duration(0.5), "500ms");
        assert_eq!(show_duration(2.0), "2s");
        assert_eq!(show_duration(0.0), "0s");
    }
}
