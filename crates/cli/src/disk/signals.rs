//! Ctrl-C, SIGTERM and SIGHUP.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use pitot_results::Failure;
use pitot_sys::signal::{Signal, SignalFd};

/// A flag that Ctrl-C, SIGTERM and SIGHUP set, so that the run can clean up. A second signal ends the process at once.
pub(super) fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let signals = SignalFd::new(&Signal::that_end())
        .map_err(|e| Failure::run(format!("signals cannot be waited for: {e}"), "raise ulimit -n"))?;
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let watch = move || {
        while signals.wait(None).is_none() {}
        raised.store(true, Ordering::Relaxed);
        while signals.wait(None).is_none() {}
        std::process::exit(1);
    };
    // It ends with the process.
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch)
        .map_err(|e| Failure::run(format!("a thread could not be started: {e}"), "raise ulimit -u"))?;
    Ok(stop)
}
