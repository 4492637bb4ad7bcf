//! Runs the command of `--on-event` for each event, one after the other, without blocking the soak.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use pitot_sys::spawn::isolate;
use rustix::process::{Pid, Signal, kill_process_group};

use pitot_record::soak::Event;

/// Timeout of a command.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Timeout of all remaining commands at the end of the soak.
const END_TIMEOUT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(5);

pub(super) struct OnEvent {
    command: String,
    file: PathBuf,
    /// Pending events with the names of their servers.
    waiting: VecDeque<(String, Event)>,
    running: Option<Running>,
}

struct Running {
    child: Child,
    until: Instant,
    /// The kind of the event.
    event: String,
}

impl OnEvent {
    pub(super) fn new(command: &str, file: &Path) -> OnEvent {
        let file = std::path::absolute(file).unwrap_or_else(|_| file.to_owned());
        OnEvent { command: command.to_owned(), file, waiting: VecDeque::new(), running: None }
    }

    /// Adds events, each with the name of its server, which is empty for the machine.
    pub(super) fn put(&mut self, events: impl Iterator<Item = (String, Event)>) {
        self.waiting.extend(events);
    }

    /// Continues without blocking. Returns an error, in a sentence.
    pub(super) fn turn(&mut self) -> Option<String> {
        if let Some(running) = &mut self.running {
            let event = running.event.clone();
            let why = match running.child.try_wait() {
                Ok(None) if Instant::now() < running.until => return None,
                Ok(None) => {
                    running.kill();
                    Some(format!("was killed after {} s", TIMEOUT.as_secs()))
                }
                Ok(Some(status)) => why(status),
                Err(e) => Some(format!("cannot be waited for: {e}")),
            };
            self.running = None;
            if let Some(why) = why {
                return Some(format!("the command of --on-event {why} (on {event})"));
            }
        }
        let (server, event) = self.waiting.pop_front()?;
        match self.start(&server, &event) {
            Ok(running) => {
                self.running = Some(running);
                None
            }
            Err(e) => Some(format!("the command of --on-event cannot be started: {e}")),
        }
    }

    /// Runs it for pending events, at the end of the soak.
    pub(super) fn finish(&mut self) {
        let deadline = Instant::now() + END_TIMEOUT;
        while (self.running.is_some() || !self.waiting.is_empty()) && Instant::now() < deadline {
            self.turn();
            std::thread::sleep(POLL_INTERVAL);
        }
        self.running.iter_mut().for_each(Running::kill);
    }

    fn start(&self, server: &str, event: &Event) -> std::io::Result<Running> {
        let kind = event.kind.word();
        let until_s = event.until_s.map(|until_s| format!("{until_s:.1}")).unwrap_or_default();
        let mut command = Command::new("sh");
        command.arg("-c").arg(&self.command).env("PITOT_EVENT_FILE", &self.file);
        for (name, value) in [
            ("PITOT_EVENT", kind.clone()),
            ("PITOT_EVENT_SERVER", server.to_owned()),
            ("PITOT_EVENT_SENTENCE", event.sentence.clone()),
            ("PITOT_EVENT_EVIDENCE", event.evidence.clone()),
            ("PITOT_EVENT_AT_S", format!("{:.1}", event.at_s)),
            ("PITOT_EVENT_UNTIL_S", until_s),
        ] {
            // The output of a server may contain anything.
            command.env(name, value.replace('\0', " "));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        isolate(&mut command, &[]);
        Ok(Running { child: command.spawn()?, until: Instant::now() + TIMEOUT, event: kind })
    }
}

impl Running {
    /// Kills it with its children.
    fn kill(&mut self) {
        if let Some(leader) = Pid::from_raw(self.child.id().cast_signed()) {
            let _ = kill_process_group(leader, Signal::KILL);
        }
        let _ = self.child.wait();
    }
}

fn why(status: ExitStatus) -> Option<String> {
    (!status.success()).then(|| format!("failed: {status}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pitot_record::soak::EventKind;

    fn event(kind: EventKind, sentence: &str) -> Event {
        let (sentence, evidence) = (sentence.to_owned(), "a\0b".to_owned());
        Event { at_s: 12.34, until_s: None, subject: Some(1), kind, sentence, evidence }
    }

    #[test]
    fn the_command_is_run_for_each_event_in_their_order_and_failures_are_told() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let script = format!(
            "echo \"$PITOT_EVENT $PITOT_EVENT_SERVER $PITOT_EVENT_AT_S $PITOT_EVENT_SENTENCE $PITOT_EVENT_EVIDENCE\" >> '{}'; \
             test \"$PITOT_EVENT\" != lost",
            out.display()
        );
        let mut on_event = OnEvent::new(&script, Path::new("a.pitot"));
        let events = [event(EventKind::HangSilent, "it's silent; $(x)"), event(EventKind::Lost, "two")];
        on_event.put(events.into_iter().map(|event| ("s".to_owned(), event)));
        let deadline = Instant::now() + TIMEOUT;
        let told = loop {
            assert!(Instant::now() < deadline, "it was never run");
            if let Some(told) = on_event.turn() {
                break told;
            }
            std::thread::sleep(POLL_INTERVAL);
        };
        assert_eq!(told, "the command of --on-event failed: exit status: 1 (on lost)");
        let lines = std::fs::read_to_string(&out).unwrap();
        assert_eq!(lines, "hang-silent s 12.3 it's silent; $(x) a b\nlost s 12.3 two a b\n");
    }

    #[test]
    fn the_end_waits_for_what_is_left() {
        let dir = tempfile::tempdir().unwrap();
        let out = dir.path().join("out");
        let mut on_event = OnEvent::new(&format!("echo x >> '{}'", out.display()), Path::new("a.pitot"));
        on_event.put((0..3).map(|_| (String::new(), event(EventKind::Gap, ""))));
        on_event.finish();
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "x\nx\nx\n");
    }
}
