//! How a soak goes, for the terminal on which it runs: what `pitot soak status` shows.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use pitot_lab::{LoadStatus, ServerStatus, SoakStatus};
use pitot_meter::units::{self, counted, grouped};
use pitot_results::visible;

/// The columns and rows of a terminal that does not say how many it has.
const SIZE: (u16, u16) = (80, 24);
/// Between two times that it is asked what drifts.
const DRIFTS_INTERVAL: Duration = Duration::from_secs(60);
/// It may take this share of the time at most: a long soak has many intervals.
const DRIFTS_SHARE: u32 = 20;

/// What drifts so far, which takes a while to find out.
pub(super) struct Drifts {
    /// The path of this program.
    pitot: String,
    path: PathBuf,
    known: Vec<String>,
    /// Those of a thread that is finding out, and how long it took.
    coming: Option<Receiver<(Vec<String>, Duration)>>,
    next: Instant,
}

impl Drifts {
    pub(super) fn new(pitot: &str, file: &Path) -> Drifts {
        Drifts {
            pitot: pitot.to_owned(),
            path: file.to_owned(),
            known: Vec::new(),
            coming: None,
            next: Instant::now() + DRIFTS_INTERVAL,
        }
    }

    /// A sentence for each.
    pub(super) fn known(&mut self) -> &[String] {
        self.turn();
        &self.known
    }

    /// Takes what was found out, and has it found out again in its time: nobody is to wait for it.
    fn turn(&mut self) {
        if let Some(coming) = &self.coming {
            match coming.try_recv() {
                Ok((known, took)) => {
                    self.known = known;
                    self.next = Instant::now() + DRIFTS_INTERVAL.max(took * DRIFTS_SHARE);
                    self.coming = None;
                }
                Err(std::sync::mpsc::TryRecvError::Empty) => {}
                Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                    (self.coming, self.next) = (None, Instant::now() + DRIFTS_INTERVAL);
                }
            }
        } else if Instant::now() >= self.next {
            let (found, coming) = channel();
            let (pitot, path) = (self.pitot.clone(), self.path.clone());
            std::thread::spawn(move || {
                let begun = Instant::now();
                let known = ask(&pitot, &path);
                let _ = found.send((known, begun.elapsed()));
            });
            self.coming = Some(coming);
        }
    }
}

/// Has another process read the file: after two weeks that needs much memory, and this one is to need no more than on the first day.
fn ask(pitot: &str, file: &Path) -> Vec<String> {
    let mut command = Command::new(pitot);
    command.args(["soak", "status", "--drifts"]).arg(file).stdin(Stdio::null()).stderr(Stdio::null());
    let printed = command.output().map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&printed).lines().map(str::to_owned).collect()
}

/// The rows that show how a soak goes on this terminal.
pub(super) fn screen(status: &SoakStatus, drifts: &[String]) -> Vec<String> {
    rows(status, drifts, pitot_sys::terminal::size(std::io::stderr()).unwrap_or(SIZE))
}

/// Those of a terminal of this size, none of which is as long as it is wide.
fn rows(status: &SoakStatus, drifts: &[String], (width, height): (u16, u16)) -> Vec<String> {
    let mut lines = vec![format!(
        "{} of load left, {} since the start",
        units::span(status.left_s),
        units::span(status.now_s)
    )];
    for server in &status.servers {
        lines.push(of_server(server));
        for load in &server.loads {
            lines.push(rates(load));
            lines.push(format!("    {}", counts(load)));
        }
    }
    lines.extend(drifts.iter().map(|sentence| format!("  {sentence}")));
    let (width, height) = (usize::from(width).max(2) - 1, usize::from(height).max(3) - 1);
    if lines.len() > height {
        let left = lines.len() - (height - 1);
        lines.truncate(height - 1);
        lines.push(format!("  and {left} more lines: pitot soak status"));
    }
    lines.iter().map(|line| visible(line).chars().take(width).collect()).collect()
}

fn of_server(server: &ServerStatus) -> String {
    let mut line = server.name.clone();
    if !server.is_up {
        line.push_str(": DOWN");
    }
    let endings = server.endings;
    if endings.deaths > 0 {
        let deaths = counted(endings.deaths, "time", "times");
        line.push_str(&format!(
            ", exited {deaths}, restarted {}",
            counted(endings.restarts, "time", "times")
        ));
    }
    line
}

fn rates(load: &LoadStatus) -> String {
    let ms = |ns: u64| ns as f64 / 1e6;
    format!(
        "  {:>8} a second  p50 {:.3} ms  p99 {:.3} ms  {}",
        grouped(load.rate),
        ms(load.p50_ns),
        ms(load.p99_ns),
        load.name
    )
}

/// What has come of it since the soak began, with errors by kind.
fn counts(load: &LoadStatus) -> String {
    let mut line = format!("{} replies", grouped(load.completed));
    if load.missed > 0 {
        line.push_str(&format!(", {} missed", grouped(load.missed)));
    }
    if load.lost > 0 {
        line.push_str(&format!(", {} LOST", grouped(load.lost)));
    }
    match load.errors {
        0 => line.push_str(", no error"),
        errors => line.push_str(&format!(", {}", counted(errors, "error", "errors"))),
    }
    let kinds: Vec<String> = load
        .kinds
        .iter()
        .map(|kind| format!("{} {} {}", kind.phase, kind.kind, grouped(kind.count)))
        .collect();
    if !kinds.is_empty() {
        line.push_str(&format!(" ({})", kinds.join(", ")));
    }
    line
}

#[cfg(test)]
mod tests {
    use pitot_record::soak::{Endings, Kind};

    use super::*;

    fn status() -> SoakStatus {
        let kind = Kind { phase: "receive".into(), kind: "ECONNRESET".into(), count: 12 };
        let busy = LoadStatus {
            name: "the plan's load".into(),
            rate: 1200,
            p50_ns: 80_000,
            p99_ns: 1_500_000,
            completed: 1_234_567,
            missed: 3,
            errors: 12,
            kinds: vec![kind],
            ..LoadStatus::default()
        };
        let quiet = LoadStatus { name: "-c 2".into(), ..LoadStatus::default() };
        let endings = Endings { deaths: 2, restarts: 1 };
        let first = ServerStatus { name: "nginx".into(), is_up: false, endings, loads: vec![busy, quiet] };
        let second = ServerStatus { name: "loop".into(), is_up: true, ..ServerStatus::default() };
        SoakStatus { now_s: 7200.0, left_s: 3600.0, servers: vec![first, second], events: Vec::new() }
    }

    #[test]
    fn a_screen_has_servers_loads_failures_by_kind_drifts_and_the_time_left() {
        let drifts = ["leak? memory (RSS) grew 1 MiB an hour".to_owned()];
        let lines = rows(&status(), &drifts, (100, 40));
        let expected = [
            "1 h of load left, 2 h since the start",
            "nginx: DOWN, exited 2 times, restarted 1 time",
            "     1,200 a second  p50 0.080 ms  p99 1.500 ms  the plan's load",
            "    1,234,567 replies, 3 missed, 12 errors (receive ECONNRESET 12)",
            "         0 a second  p50 0.000 ms  p99 0.000 ms  -c 2",
            "    0 replies, no error",
            "loop",
            "  leak? memory (RSS) grew 1 MiB an hour",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_screen_is_cut_to_the_terminal() {
        for (width, height) in [(30, 5), (1, 1), (80, 24)] {
            let lines = rows(&status(), &[], (width, height));
            assert!(lines.len() < usize::from(height).max(3), "{lines:#?}");
            assert!(lines.iter().all(|line| line.chars().count() < usize::from(width).max(2)), "{lines:#?}");
        }
        let lines = rows(&status(), &[], (60, 5));
        assert_eq!(lines[3], "  and 4 more lines: pitot soak status");
    }
}
