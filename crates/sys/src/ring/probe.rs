//! Whether this kernel has the io_uring that a ring needs, and why not.

use std::io;
use std::time::Duration;

use io_uring::types::Napi;
use io_uring::{IoUring, opcode};

use super::options::Options;
use crate::Unavailable;

/// What the running kernel's io_uring offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offered {
    /// [`Options::deferred`] (Linux 6.1).
    pub deferred: bool,
    /// [`Options::gather`] (Linux 6.12).
    pub gather: bool,
    /// [`Options::bundles`] (Linux 6.10).
    pub bundles: bool,
    /// [`Options::busy_poll`] (Linux 6.9).
    pub busy_poll: bool,
}

/// Asks the kernel by setting up a small ring.
///
/// # Errors
/// [`Unavailable`] with the cause and the fix.
pub fn probe() -> Result<Offered, Unavailable> {
    let small = Options { submissions: 8, completions: 16, ..Options::default() };
    let ring = build(&small).map_err(|e| explain(&e))?;
    let mut ops = io_uring::Probe::new();
    ring.submitter().register_probe(&mut ops).map_err(|e| explain(&e))?;
    // Multishot receives came with zero-copy sends, in 6.0, which a probe can ask for.
    if !ops.is_supported(opcode::SendZc::CODE) {
        return Err(Unavailable {
            what: "io_uring".into(),
            cause: "this kernel has no multishot receive".into(),
            fix: "use Linux 6.1 or later, or another mechanism such as --mechanism epoll-et".into(),
        });
    }
    Ok(Offered {
        deferred: ring.params().is_setup_single_issuer(),
        gather: ring.params().is_feature_min_timeout(),
        bundles: ring.params().is_feature_recvsend_bundle(),
        busy_poll: poll_busily(&ring, Duration::from_micros(1)).is_ok(),
    })
}

/// A ring with the best flags that the kernel takes, of those that it is to have.
pub(super) fn build(options: &Options) -> io::Result<IoUring> {
    let mut builder = IoUring::builder();
    builder.dontfork().setup_clamp().setup_cqsize(options.completions).setup_submit_all();
    if !options.deferred {
        return builder.build(options.submissions);
    }
    let mut deferred = builder.clone();
    deferred.setup_single_issuer().setup_defer_taskrun();
    match deferred.build(options.submissions) {
        Err(e) if e.raw_os_error() == Some(libc::EINVAL) => {
            builder.setup_coop_taskrun().build(options.submissions)
        }
        built => built,
    }
}

/// Lets waits poll the queues of network cards for this time before they sleep.
pub(super) fn poll_busily(ring: &IoUring, time: Duration) -> io::Result<()> {
    let micros = u32::try_from(time.as_micros()).unwrap_or(u32::MAX);
    ring.submitter().register_napi(&mut Napi::new().set_busy_poll_timeout(micros).set_prefer_busy_poll(true))
}

pub(crate) fn explain(e: &io::Error) -> Unavailable {
    let setting = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
    let (cause, fix) = match (e.raw_os_error(), setting.trim()) {
        (Some(libc::EPERM), level @ ("1" | "2")) => (
            format!("the kernel setting kernel.io_uring_disabled is {level}"),
            "sysctl kernel.io_uring_disabled=0, or another mechanism such as --mechanism epoll-et",
        ),
        (Some(libc::EPERM | libc::EACCES), _) => (
            "a seccomp filter or security module forbids it (containers often do)".into(),
            "run outside the container or allow io_uring_setup in its seccomp profile, or use --mechanism epoll-et",
        ),
        (Some(libc::ENOSYS), _) => (
            "this kernel was built without it, or a filter hides it".into(),
            "use Linux 6.1 or later with CONFIG_IO_URING, or another mechanism such as --mechanism epoll-et",
        ),
        (Some(libc::EMFILE | libc::ENFILE), _) => {
            ("no descriptor is left for the ring".into(), "raise the limit with ulimit -n")
        }
        (Some(libc::ENOMEM), _) => {
            ("no memory may be locked for the ring".into(), "raise the limit with ulimit -l")
        }
        _ => (format!("io_uring_setup failed: {e}"), "use Linux 6.1 or later, or --mechanism epoll-et"),
    };
    Unavailable { what: "io_uring".into(), cause, fix: fix.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_names_its_cause_and_its_fix() {
        for code in [libc::EPERM, libc::ENOSYS, libc::EMFILE, libc::ENOMEM, libc::EINVAL] {
            let unavailable = explain(&io::Error::from_raw_os_error(code));
            assert!(!unavailable.cause.is_empty() && !unavailable.fix.is_empty());
        }
    }
}
