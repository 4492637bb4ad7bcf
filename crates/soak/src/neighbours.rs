//! Other processes that use the machine's CPUs, by name.
//!
//! They are read once an interval. Short-lived ones are counted for the parent that waited for them (proc_pid_stat(5)).

use std::collections::{BTreeMap, HashMap, HashSet};
use std::time::Instant;

use pitot_sys::processes::{Process, ProcessTable, TICK_NS};

use pitot_record::soak::{Event, EventKind};

/// Less than this share of one CPU in total is not reported.
const NOTABLE: f64 = 0.2;
/// The event ends after so long without them, seconds, so that those that come and go are one event.
const QUIET_S: f64 = 60.0;
/// Maximum number of names.
const NAMED: usize = 3;
const TICKS_PER_S: f64 = 1e9 / TICK_NS as f64;

/// Watches processes that are not part of a soak.
#[derive(Debug, Default)]
pub(crate) struct Neighbours {
    looked: Option<Look>,
    /// The reported event that has not ended.
    present: Option<Present>,
}

/// All processes at one time.
#[derive(Debug)]
struct Look {
    at: Instant,
    known: HashMap<Key, Known>,
}

/// A process by its number and its start.
type Key = (u32, u64);

#[derive(Clone, Copy, Debug)]
struct Known {
    ticks: u64,
    parent: u32,
}

#[derive(Debug)]
struct Present {
    since_s: f64,
    /// When they were seen last.
    seen_s: f64,
    /// The time with them, and the time since then, seconds.
    length_s: f64,
    quiet_s: f64,
    ticks: BTreeMap<String, u64>,
}

impl Neighbours {
    /// Reads all processes except the trees of `own`, at the end of an interval. Returns their CPU time since the last
    /// call, ticks, and an event.
    pub(crate) fn look(
        &mut self,
        table: &ProcessTable,
        own: &[u32],
        stretch: (f64, f64),
    ) -> (u64, Option<Event>) {
        let at = Instant::now();
        let others = table.others(own);
        let known = others.iter().map(|process| {
            let (key, stat) = ((process.pid, process.stat.started), &process.stat);
            (key, Known { ticks: stat.ticks(), parent: stat.parent })
        });
        let Some(before) = self.looked.replace(Look { at, known: known.collect() }) else { return (0, None) };
        let length_s = (at - before.at).as_secs_f64();
        let handed_on = before.handed_on(&others);
        let mut used: BTreeMap<String, u64> = BTreeMap::new();
        for process in others {
            let stat = &process.stat;
            // For a new one, only its own time.
            let known = before.known.get(&(process.pid, stat.started)).map(|known| known.ticks);
            let ticks =
                stat.ticks() - known.unwrap_or(stat.children_user + stat.children_system).min(stat.ticks());
            let ticks = ticks.saturating_sub(handed_on.get(&process.pid).copied().unwrap_or(0));
            if ticks > 0 {
                *used.entry(process.name.clone()).or_default() += ticks.min((length_s * TICKS_PER_S) as u64);
            }
        }
        (used.values().sum(), self.tell(&used, length_s, stretch))
    }

    fn tell(
        &mut self,
        used: &BTreeMap<String, u64>,
        length_s: f64,
        (start_s, end_s): (f64, f64),
    ) -> Option<Event> {
        let all: u64 = used.values().sum();
        let is_notable = all > 0 && all as f64 >= NOTABLE * length_s * TICKS_PER_S;
        match &mut self.present {
            None if is_notable => {
                let present =
                    Present { since_s: start_s, seen_s: end_s, length_s, quiet_s: 0.0, ticks: used.clone() };
                let event = present.event(None);
                self.present = Some(present);
                Some(event)
            }
            Some(present) if is_notable => {
                present.seen_s = end_s;
                present.length_s += std::mem::take(&mut present.quiet_s) + length_s;
                used.iter().for_each(|(name, n)| *present.ticks.entry(name.clone()).or_default() += n);
                None
            }
            Some(present) if end_s - present.seen_s >= QUIET_S => self.end(),
            Some(present) => {
                present.quiet_s += length_s;
                None
            }
            None => None,
        }
    }

    /// The end of the reported event.
    pub(crate) fn end(&mut self) -> Option<Event> {
        self.present.take().map(|present| present.event(Some(present.seen_s)))
    }
}

impl Look {
    /// By process, the known CPU time of children that have ended since, which their parents' counters include now.
    fn handed_on(&self, now: &[&Process]) -> HashMap<u32, u64> {
        let alive: HashSet<Key> = now.iter().map(|process| (process.pid, process.stat.started)).collect();
        let pids: HashMap<u32, Key> = self.known.keys().map(|key| (key.0, *key)).collect();
        let mut handed_on: HashMap<u32, u64> = HashMap::new();
        for known in self.known.iter().filter(|(key, _)| !alive.contains(key)).map(|(_, known)| known) {
            // To the first ancestor that has not ended.
            let mut heir = known.parent;
            while let Some(key) = pids.get(&heir).filter(|key| !alive.contains(key)) {
                heir = self.known[key].parent;
            }
            *handed_on.entry(heir).or_default() += known.ticks;
        }
        handed_on
    }
}

impl Present {
    fn event(&self, until_s: Option<f64>) -> Event {
        let percent =
            |ticks: u64| format!("{:.0}%", ticks as f64 / TICKS_PER_S / self.length_s.max(1e-3) * 100.0);
        let mut by_use: Vec<(&String, u64)> = self.ticks.iter().map(|(name, ticks)| (name, *ticks)).collect();
        by_use.sort_by_key(|(_, ticks)| std::cmp::Reverse(*ticks));
        let named: Vec<String> =
            by_use.iter().take(NAMED).map(|(name, ticks)| format!("{name} {}", percent(*ticks))).collect();
        let all = percent(self.ticks.values().sum());
        Event {
            at_s: self.since_s,
            until_s,
            subject: None,
            kind: EventKind::Neighbours,
            sentence: format!("other processes used {all} of a CPU: {}", named.join(", ")),
            evidence: String::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use pitot_sys::processes::Stat;

    use super::*;

    fn used(ticks: u64) -> BTreeMap<String, u64> {
        BTreeMap::from([("cc1".to_owned(), ticks), ("make".to_owned(), 1)])
    }

    #[test]
    fn who_comes_and_goes_is_told_once_and_with_an_end() {
        let mut neighbours = Neighbours::default();
        let mut told = Vec::new();
        for n in 0..20u32 {
            let stretch = (f64::from(n) * 10.0, f64::from(n + 1) * 10.0);
            let ticks = if matches!(n, 2 | 3 | 6) { 800 } else { 10 };
            told.extend(neighbours.tell(&used(ticks), 10.0, stretch));
        }
        assert_eq!(told.len(), 2, "{told:#?}");
        assert_eq!((told[0].at_s, told[0].until_s), (20.0, None));
        assert_eq!(told[0].sentence, "other processes used 80% of a CPU: cc1 80%, make 0%");
        assert_eq!((told[1].at_s, told[1].until_s), (20.0, Some(70.0)));
        // Three of five intervals.
        assert!(told[1].sentence.starts_with("other processes used 48% of a CPU: cc1 48%"), "{told:#?}");
        assert_eq!(neighbours.end(), None);
    }

    #[test]
    fn the_time_of_a_child_that_has_ended_is_not_told_twice() {
        let known = |ticks: u64, parent: u32| Known { ticks, parent };
        let known =
            [((1, 1), known(5, 0)), ((2, 1), known(70, 1)), ((3, 1), known(30, 2)), ((4, 1), known(9, 1))];
        let look = Look { at: Instant::now(), known: known.into() };
        let alive =
            |pid: u32| Process { pid, name: String::new(), stat: Stat { started: 1, ..Stat::default() } };
        // The second and its child have ended.
        let (first, fourth) = (alive(1), alive(4));
        assert_eq!(look.handed_on(&[&first, &fourth]), HashMap::from([(1, 100)]));
        // So has everybody; another process has the number of the first.
        assert_eq!(look.handed_on(&[]), HashMap::from([(0, 114)]));
    }

    #[test]
    fn a_busy_stranger_is_seen_and_what_belongs_to_the_soak_is_not() {
        let own = std::process::id();
        let mut neighbours = Neighbours::default();
        assert_eq!(
            neighbours.look(&ProcessTable::read(), &[own], (0.0, 1.0)).0,
            0,
            "nothing is known before"
        );
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        // Asked for this process alone, its child is a stranger.
        let seen = loop {
            let table = ProcessTable::read();
            let others = table.others(&[]);
            if let Some(busy) = others.iter().find(|p| p.pid == child.id() && p.stat.user > 5) {
                break busy.stat.user;
            }
            assert!(std::time::Instant::now() < deadline, "it never ran");
            std::thread::yield_now();
        };
        let all = neighbours.look(&ProcessTable::read(), &[], (0.0, 1.0)).0;
        assert!(all > 0, "nothing of {seen} ticks");
        assert!(ProcessTable::read().others(&[own]).iter().all(|process| process.pid != child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
