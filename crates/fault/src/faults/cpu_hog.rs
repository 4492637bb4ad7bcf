//! Threads that compete for the server's CPUs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use pitot_meter::units;

use crate::entry::{Aim, Begun, Fault, Means};

pub(super) static FAULT: Fault = Fault {
    name: "cpu-hog",
    summary: "Run a busy thread on each of the server's CPUs.",
    doc: "It has the same priority as the server, so it gets as much of each CPU as one thread of the server; use `threads` for \
          several on each CPU.",
    aim: Aim::Cpus,
    takes: &["threads"],
    lasts_s: 1.0,
    is_moment: false,
    may_end_server: false,
    can_silence: false,
    speaks_http: false,
    probe: || Ok(()),
    means: Means::Program {
        begin: |options, _| {
            let cpus = match &options.cpus[..] {
                [] => pitot_sys::affinity::allowed().map_err(|e| e.to_string())?,
                cpus => cpus.to_vec(),
            };
            let hogs = Hogs::start(&cpus, options.threads);
            let threads = units::counted(options.threads as u64, "busy thread", "busy threads");
            let what = format!("{threads} on each of the CPUs {cpus:?}");
            Ok(Begun { what, held: Some(Box::new(hogs)) })
        },
        undo: |_| Ok(false),
    },
};

/// Busy threads, which end when this is dropped.
struct Hogs {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Hogs {
    fn start(cpus: &[usize], each: usize) -> Hogs {
        let stop = Arc::new(AtomicBool::new(false));
        let hog = |cpu: usize| {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                // If it may not run there, it runs elsewhere.
                let _ = pitot_sys::affinity::pin(&[cpu]);
                let mut x = 1_u64;
                while !stop.load(Ordering::Relaxed) {
                    for i in 0..10_000 {
                        x = std::hint::black_box(x.wrapping_mul(i | 1));
                    }
                }
            })
        };
        let threads = cpus.iter().flat_map(|cpu| std::iter::repeat_n(*cpu, each)).map(hog).collect();
        Hogs { stop, threads }
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
