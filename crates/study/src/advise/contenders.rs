//! Candidates, and for which loads each could be best.
//!
//! They are ordered by simplicity: if the run shows no difference, the first one is advised.

use pitot_meter::Nanos;
use pitot_meter::units::grouped;

use super::case::Case;
use super::known::{FEW, MARGIN, THREADS_GOOD};

/// A candidate.
#[derive(Debug)]
pub struct Contender {
    /// Its name in plans: a model, a model with a mechanism, or a name of its own.
    pub name: &'static str,
    /// The model, or the model and the mechanism, without which it cannot be run.
    pub needs: &'static str,
    /// What to build.
    pub build: &'static str,
    /// Its family.
    pub family: Family,
    /// Which connections survive a fault in one of them.
    pub isolates: Isolation,
    /// Its number of workers; none if there is one for each connection.
    pub workers: Option<fn(&Case) -> u64>,
    /// Whether it is only for files.
    pub reads_files: bool,
    /// Additional options of `pitot serve`, as lines of a plan.
    pub options: Option<fn(&Case) -> String>,
    /// Whether it could be best, and why or why not.
    choose: fn(&Case) -> Choice,
}

/// Which connections survive a fault in one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isolation {
    /// None: all are in one process.
    None,
    /// Those of other processes.
    Share,
    /// All others.
    All,
}

impl Isolation {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Isolation::None => "none",
            Isolation::Share => "share",
            Isolation::All => "all",
        }
    }
}

/// What a contender's workers own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// A thread has one connection at a time.
    Threads,
    /// A process has one connection at a time.
    Processes,
    /// A loop has many connections.
    Events,
    /// A loop waits; threads work or read.
    Both,
}

/// Whether a contender could be best.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Choice {
    /// It is measured, for this reason.
    In(String),
    /// It is not measured, for this reason.
    Out(String),
}

impl Choice {
    /// Whether it is measured.
    pub fn is_in(&self) -> bool {
        matches!(self, Choice::In(_))
    }

    /// The reason.
    pub fn why(&self) -> &str {
        match self {
            Choice::In(why) | Choice::Out(why) => why,
        }
    }
}

fn yes(why: impl Into<String>) -> Choice {
    Choice::In(why.into())
}

fn no(why: impl Into<String>) -> Choice {
    Choice::Out(why.into())
}

/// With more work than this it hardly matters how a loop waits.
const WORK_HIDES_CALLS: Nanos = Nanos::from_millis(1);
/// With more work than this, handing it over to a thread pays off.
const WORK_WORTH_A_THREAD: Nanos = Nanos::from_micros(20);
/// Maximum number of processes in a pool.
const RESERVE_MAX: u64 = 512;

/// A worker for each connection, up to the maximum of a pool.
fn a_connection_each(case: &Case) -> u64 {
    case.connections.clamp(2, RESERVE_MAX)
}

/// Threads of a small pool.
fn few(case: &Case) -> u64 {
    16 * case.cpus as u64
}

const PRELOOP: &str = "model = \"preloop\"\nmechanism = \"epoll-et\"\n";
const ONE_CPU: &str = "the servers have one CPU here, so it would be the same as the single loop";
const HIDDEN: &str = "the work outweighs the cost of system calls, so it would be the same as epoll";
const BY_ENGINE: &str = "files dominate: it is represented by the single loop with each disk engine";

/// All of them, the simplest first.
pub static CONTENDERS: &[Contender] = &[
    Contender {
        name: "thread",
        needs: "thread",
        build: "a thread for each connection, with blocking calls",
        family: Family::Threads,
        isolates: Isolation::None,
        workers: None,
        reads_files: false,
        options: None,
        choose: |case| match case.connections {
            n if n <= THREADS_GOOD => yes(format!("{n} tasks are within the published limit of threads")),
            n if n <= THREADS_GOOD * MARGIN => yes("near the published limit of threads"),
            n => no(format!("{} tasks exceed the published limit of threads, {THREADS_GOOD}", grouped(n))),
        },
    },
    Contender {
        name: "prefork",
        needs: "prefork",
        build: "a pool of processes, each with one connection at a time",
        family: Family::Processes,
        isolates: Isolation::All,
        workers: Some(a_connection_each),
        reads_files: false,
        options: Some(|_| "model = \"prefork\"\n".into()),
        choose: |case| match () {
            () if !case.is_short_lived() && case.connections > RESERVE_MAX => {
                no("each connection would occupy a process of the pool until it is closed")
            }
            () if case.isolation => yes("a fault ends one process with its one connection"),
            () if case.is_short_lived() => yes("short connections, and processes that are reused"),
            () if case.connections <= FEW => yes("low load, and processes that are reused"),
            () => no("no reason for processes: faults need not be isolated, and connections last"),
        },
    },
    Contender {
        name: "fork",
        needs: "fork",
        build: "a process for each connection",
        family: Family::Processes,
        isolates: Isolation::All,
        workers: None,
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.connections > THREADS_GOOD * MARGIN => no("too many connections for a process each"),
            () if case.isolation => yes("a fault ends one process with its one connection"),
            () if case.is_short_lived() => {
                no("a process for each short connection reaches about 5% of the rate of events")
            }
            () => no("connections last, so it is represented by the pool of processes"),
        },
    },
    Contender {
        name: "pool",
        needs: "pool",
        build: "a pool of threads, each with one connection at a time",
        family: Family::Threads,
        isolates: Isolation::None,
        workers: Some(a_connection_each),
        reads_files: false,
        options: Some(|_| "model = \"pool\"\n".into()),
        choose: |case| match () {
            () if case.is_short_lived() => yes("short connections, for which no thread has to be created"),
            () => no("connections last, so it would be a thread for each with a limit"),
        },
    },
    Contender {
        name: "pool-16",
        needs: "pool",
        build: "a pool of sixteen threads for each CPU, each with one connection at a time",
        family: Family::Threads,
        isolates: Isolation::None,
        workers: Some(few),
        reads_files: false,
        options: Some(|_| "model = \"pool\"\n".into()),
        choose: |case| match () {
            () if !case.is_short_lived() => {
                no("connections last, so it would be a thread for each with a limit")
            }
            () if case.connections <= 2 * few(case) => no("it would be almost the same as the larger pool"),
            () => yes("short connections wait no longer for a thread than for a CPU"),
        },
    },
    Contender {
        name: "loop+poll",
        needs: "loop+poll",
        build: "one event loop with poll(2)",
        family: Family::Events,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.files.is_some() => no(BY_ENGINE),
            () if case.work >= WORK_HIDES_CALLS => no(HIDDEN),
            () if case.connections <= FEW => yes("few connections, which cost little to scan"),
            () => no("every wait scans all connections"),
        },
    },
    Contender {
        name: "loop+epoll-lt",
        needs: "loop+epoll-lt",
        build: "one event loop with epoll, level triggered",
        family: Family::Events,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.files.is_some() => no(BY_ENGINE),
            () if case.is_short_lived() => yes("short connections, where calls of epoll_ctl(2) may matter"),
            () => no("connections last, so it needs the same calls as edge-triggered epoll"),
        },
    },
    Contender {
        name: "loop+epoll-et",
        needs: "loop+epoll-et",
        build: "one event loop with epoll, edge triggered",
        family: Family::Events,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.isolation => yes("the reference for the cost of isolation"),
            () if case.files.is_some() => yes("the loop sends from the page cache, and blocks on cold pages"),
            () => yes("the usual event loop, the reference for the others"),
        },
    },
    Contender {
        name: "loop+uring",
        needs: "loop+uring",
        build: "one event loop with io_uring",
        family: Family::Events,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.work >= WORK_HIDES_CALLS && case.files.is_none() => no(HIDDEN),
            () if case.files.is_some() => yes("the ring reads files without waiting for them"),
            () => yes("one system call for many operations"),
        },
    },
    Contender {
        name: "loops+epoll-et",
        needs: "loops+epoll-et",
        build: "an event loop for each CPU with epoll, each with its own listener",
        family: Family::Events,
        isolates: Isolation::None,
        workers: Some(|case| case.cpus as u64),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.cpus < 2 => no(ONE_CPU),
            () if case.files.is_some() => no(BY_ENGINE),
            () => yes("several CPUs"),
        },
    },
    Contender {
        name: "loops+uring",
        needs: "loops+uring",
        build: "an event loop for each CPU with io_uring, each with its own listener",
        family: Family::Events,
        isolates: Isolation::None,
        workers: Some(|case| case.cpus as u64),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.cpus < 2 => no(ONE_CPU),
            () if case.files.is_some() => no(BY_ENGINE),
            () if case.work >= WORK_HIDES_CALLS => no(HIDDEN),
            () => yes("several CPUs, and one system call for many operations"),
        },
    },
    Contender {
        name: "handoff+epoll-et",
        needs: "handoff+epoll-et",
        build: "an acceptor that distributes connections to an event loop for each CPU",
        family: Family::Events,
        isolates: Isolation::None,
        workers: Some(|case| case.cpus as u64),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.cpus < 2 => no(ONE_CPU),
            () if case.files.is_some() => no(BY_ENGINE),
            () if case.is_short_lived() => no("each short connection would be handed over"),
            () if case.work >= WORK_WORTH_A_THREAD && case.connections <= THREADS_GOOD => {
                yes("work on few connections, which it distributes evenly to the CPUs")
            }
            () => no("the same as loops with their own listeners, which are balanced with many connections"),
        },
    },
    Contender {
        name: "preloop",
        needs: "preloop",
        build: "a process with an event loop for each CPU, at least two",
        family: Family::Events,
        isolates: Isolation::Share,
        workers: Some(|case| case.cpus.max(2) as u64),
        reads_files: false,
        options: Some(|_| PRELOOP.into()),
        choose: |case| match () {
            () if case.isolation => {
                yes("a fault ends one of several loops, with its share of the connections")
            }
            () if case.files.is_some() => no(BY_ENGINE),
            () => no("the same as loops in threads, and no reason for processes"),
        },
    },
    Contender {
        name: "preloop-8",
        needs: "preloop",
        build: "eight processes with an event loop for each CPU",
        family: Family::Events,
        isolates: Isolation::Share,
        workers: Some(|case| 8 * case.cpus as u64),
        reads_files: false,
        options: Some(|_| PRELOOP.into()),
        choose: |case| match () {
            () if case.isolation && case.connections < 16 * case.cpus as u64 => {
                no("too few connections for so many loops")
            }
            () if case.isolation => {
                yes("more loops, so that a fault ends a smaller share of the connections")
            }
            () if case.files.is_some() => no(BY_ENGINE),
            () => no("the same as loops in threads, and no reason for processes"),
        },
    },
    Contender {
        name: "hybrid+epoll-et",
        needs: "hybrid+epoll-et",
        build: "an event loop that waits, and a pool of threads that work",
        family: Family::Both,
        isolates: Isolation::None,
        workers: Some(|case| 2 * case.cpus as u64),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.files.is_some() => no(BY_ENGINE),
            () if case.work >= WORK_WORTH_A_THREAD => {
                yes("work that would delay the other connections of a loop")
            }
            () => no("too little work to hand over to a thread"),
        },
    },
    Contender {
        name: "tokio",
        needs: "tokio",
        build: "a task for each connection on an async runtime that steals work",
        family: Family::Both,
        isolates: Isolation::None,
        workers: Some(|case| case.cpus as u64),
        reads_files: false,
        options: None,
        choose: |case| match () {
            () if case.files.is_some() => no(BY_ENGINE),
            () if case.cpus < 2 => no("the servers have one CPU here, so there is no work to steal"),
            () if case.work >= WORK_WORTH_A_THREAD => {
                yes("work on several CPUs, which its threads steal from each other")
            }
            () => no("too little work to steal"),
        },
    },
    Contender {
        name: "pool-sendfile",
        needs: "loop+epoll-et",
        build: "an event loop, and a pool of threads that send files directly to the sockets",
        family: Family::Both,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: true,
        options: Some(|_| engine("pool-sendfile", false)),
        choose: |_| yes("the best one in the measurements of 2006"),
    },
    Contender {
        name: "nowait",
        needs: "loop+epoll-et",
        build: "an event loop that sends what is in memory, and a pool of threads for the rest",
        family: Family::Both,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: true,
        options: Some(|_| engine("nowait", false)),
        choose: |_| yes("threads only for what is not in memory"),
    },
    Contender {
        name: "uring-engine",
        // Its engine needs what the mechanism needs.
        needs: "loop+uring",
        build: "an event loop with epoll that reads files through an io_uring",
        family: Family::Both,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: true,
        options: Some(|_| engine("uring", false)),
        choose: |_| yes("reads from the disk delay no other connection"),
    },
    Contender {
        name: "pool-direct",
        needs: "loop+epoll-et",
        build: "an event loop, and a pool of threads that read past the page cache (O_DIRECT)",
        family: Family::Both,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: true,
        options: Some(|_| engine("pool", true)),
        choose: |case| match case.is_cold() {
            true => yes("cold files gain nothing from the page cache"),
            false => no("it would read files in memory from the disk"),
        },
    },
    Contender {
        name: "linux-aio-direct",
        needs: "loop+epoll-et",
        build: "an event loop with Linux AIO past the page cache (O_DIRECT)",
        family: Family::Both,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: true,
        options: Some(|_| engine("linux-aio", true)),
        choose: |case| match case.is_cold() {
            true => yes("not tested in 2006; asynchronous only without the page cache"),
            false => no("it would read files in memory from the disk"),
        },
    },
    Contender {
        name: "split",
        needs: "relay",
        build: "a network process and a data process, joined by a TCP connection",
        family: Family::Both,
        isolates: Isolation::None,
        workers: Some(|_| 1),
        reads_files: true,
        options: Some(|_| "model = \"relay\"\ndisk = \"nowait\"\n".into()),
        choose: |_| {
            no("two processes were as fast as one in 2006, and each byte passes through a second connection")
        },
    },
];

fn engine(name: &str, is_direct: bool) -> String {
    let direct = if is_direct { "disk-direct = true\n" } else { "" };
    format!("model = \"loop\"\nmechanism = \"epoll-et\"\ndisk = \"{name}\"\n{direct}")
}

/// The choice for each contender, in their order. `impossible` says why a model with a mechanism cannot be run here.
pub fn choose(case: &Case, impossible: &dyn Fn(&str) -> Option<String>) -> Vec<(&'static Contender, Choice)> {
    let decide = |contender: &'static Contender| {
        let choice = match impossible(contender.needs) {
            _ if contender.reads_files && case.files.is_none() => no("there are no files to read"),
            Some(why) => no(why),
            None if case.service.shares_data && contender.isolates != Isolation::None => {
                no("each process would have separate data")
            }
            None if !may_be_advised(case, contender) && contender.name != REFERENCE => {
                no("a fault would end all connections")
            }
            None => (contender.choose)(case),
        };
        (contender, choice)
    };
    CONTENDERS.iter().map(decide).collect()
}

/// Whether a contender isolates faults, if a case asks for that.
pub fn may_be_advised(case: &Case, contender: &Contender) -> bool {
    !case.isolation || contender.isolates != Isolation::None
}

/// The contender that is measured with every case.
pub(super) const REFERENCE: &str = "loop+epoll-et";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::FileSet;
    use crate::advise::case::tests::plain;

    fn chosen(case: &Case) -> Vec<&'static str> {
        let all = choose(case, &|_| None);
        all.into_iter().filter(|(_, choice)| choice.is_in()).map(|(c, _)| c.name).collect()
    }

    #[test]
    fn every_contender_is_named_once_and_is_in_for_some_load() {
        let cases = [
            plain(50, 50),
            plain(10_000, 500),
            Case { requests_per_connection: Some(1), ..plain(200, 200) },
            Case { work: Nanos::from_millis(5), cpus: 2, ..plain(50, 50) },
            Case { cpus: 8, ..plain(500, 500) },
            Case { isolation: true, ..plain(200, 200) },
            Case { files: Some(FileSet { bytes: 1 << 40, is_cold: true }), ..plain(200, 200) },
        ];
        for (at, contender) in CONTENDERS.iter().enumerate() {
            assert!(CONTENDERS[..at].iter().all(|other| other.name != contender.name));
            let is_somewhere = cases.iter().any(|case| chosen(case).contains(&contender.name));
            assert!(is_somewhere || contender.name == "split", "{}", contender.name);
        }
        for case in &cases {
            let chosen = chosen(case);
            assert!(chosen.contains(&REFERENCE) && (2..=8).contains(&chosen.len()), "{chosen:?}");
        }
    }

    #[test]
    fn many_idle_connections_are_for_loops() {
        assert_eq!(chosen(&plain(10_000, 500)), ["loop+epoll-et", "loop+uring"]);
        assert!(chosen(&plain(3000, 100)).contains(&"thread"), "near the limit of the rule it is tried");
    }

    #[test]
    fn long_work_is_for_whatever_uses_all_cpus() {
        let case = Case { work: Nanos::from_millis(5), cpus: 2, ..plain(50, 50) };
        let chosen = chosen(&case);
        for name in ["thread", "loops+epoll-et", "handoff+epoll-et", "hybrid+epoll-et", "tokio"] {
            assert!(chosen.contains(&name), "{name}: {chosen:?}");
        }
        assert!(!chosen.contains(&"loop+uring") && !chosen.contains(&"loop+poll"));
    }

    #[test]
    fn cold_files_are_for_ways_to_the_disk_and_hot_ones_not_for_those_past_the_page_cache() {
        let of = |is_cold| Case { files: Some(FileSet { bytes: 1 << 40, is_cold }), ..plain(200, 200) };
        assert!(chosen(&of(true)).contains(&"pool-direct") && !chosen(&of(false)).contains(&"pool-direct"));
        assert!(chosen(&of(false)).contains(&"pool-sendfile"));
    }

    #[test]
    fn short_connections_are_for_pools_and_loops_and_not_for_a_process_each() {
        let case = Case { requests_per_connection: Some(1), ..plain(200, 200) };
        let chosen = chosen(&case);
        for name in ["thread", "pool", "prefork", "loop+epoll-lt", "loop+epoll-et", "loop+uring"] {
            assert!(chosen.contains(&name), "{name}: {chosen:?}");
        }
        assert!(!chosen.contains(&"fork"));
    }

    #[test]
    fn kept_apart_means_processes_and_the_loop_as_a_measure() {
        let case = Case { isolation: true, ..plain(200, 200) };
        assert_eq!(chosen(&case), ["prefork", "fork", "loop+epoll-et", "preloop", "preloop-8"]);
        let memcache = crate::advise::SERVICES.iter().find(|s| s.name == "memcache").unwrap();
        let shared = Case { service: memcache, ..plain(200, 200) };
        let all = choose(&shared, &|_| None);
        assert!(all.iter().all(|(c, choice)| c.isolates == Isolation::None || !choice.is_in()));
    }

    #[test]
    fn many_connections_to_files_are_kept_apart_by_several_loops() {
        let files = Some(FileSet { bytes: 20 << 30, is_cold: true });
        let case = Case { isolation: true, files, requests_per_connection: Some(20), ..plain(10_000, 500) };
        assert_eq!(chosen(&case), ["loop+epoll-et", "preloop", "preloop-8"]);
    }

    #[test]
    fn what_cannot_be_run_here_is_out_with_its_reason() {
        let files = Some(FileSet { bytes: 1 << 40, is_cold: true });
        let case = Case { files, ..plain(50, 50) };
        let all = choose(&case, &|name| (name == "loop+uring").then(|| "no io_uring".to_owned()));
        for name in ["loop+uring", "uring-engine"] {
            let (_, choice) = all.iter().find(|(c, _)| c.name == name).unwrap();
            assert_eq!(*choice, Choice::Out("no io_uring".into()), "{name}");
        }
    }
}
