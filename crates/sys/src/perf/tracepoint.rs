//! The numbers of the kernel's tracepoints, from tracefs (Documentation/trace/events.rst).

use std::io::{self, Read as _};
use std::os::fd::OwnedFd;

use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::mount::{FsMountFlags, FsOpenFlags, MountAttrFlags, fsconfig_create, fsmount, fsopen};

use crate::Unavailable;

/// Where tracefs is, if it is mounted.
const MOUNTED: &str = "/sys/kernel/tracing";

/// The number of a tracepoint such as `raw_syscalls/sys_enter`.
///
/// # Errors
/// [`Unavailable`]: this kernel has no such tracepoint, or this user may not look.
pub fn tracepoint(name: &str) -> Result<u64, Unavailable> {
    let path = format!("events/{name}/id");
    let mounted = openat(CWD, format!("{MOUNTED}/{path}"), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty());
    let opened = match mounted {
        Ok(opened) => Ok(opened),
        // Root can look without mounting it anywhere.
        Err(_) => {
            detached().and_then(|root| openat(root, &path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()))
        }
    };
    let number = opened.map_err(io::Error::from).and_then(number);
    number.map_err(|error| Unavailable {
        what: format!("the tracepoint {name}"),
        cause: match error.kind() {
            io::ErrorKind::PermissionDenied => "this user may not read tracefs".to_owned(),
            io::ErrorKind::NotFound => "this kernel was built without it".to_owned(),
            _ => error.to_string(),
        },
        fix: format!("run as root on a kernel with CONFIG_FTRACE_SYSCALLS, with tracefs in {MOUNTED}"),
    })
}

/// The root of a tracefs of our own, which is mounted nowhere and goes with its descriptor.
fn detached() -> rustix::io::Result<OwnedFd> {
    let context = fsopen("tracefs", FsOpenFlags::FSOPEN_CLOEXEC)?;
    fsconfig_create(&context)?;
    fsmount(&context, FsMountFlags::FSMOUNT_CLOEXEC, MountAttrFlags::MOUNT_ATTR_RDONLY)
}

fn number(file: OwnedFd) -> io::Result<u64> {
    let mut text = String::new();
    std::fs::File::from(file).read_to_string(&mut text)?;
    text.trim().parse().map_err(|_| io::Error::other(format!("its number is {text:?}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tracepoint_has_a_number_or_a_reason() {
        match tracepoint("raw_syscalls/sys_enter") {
            Ok(number) => assert!(number > 0),
            Err(unavailable) => assert!(unavailable.fix.contains("root"), "{unavailable:?}"),
        }
        let missing = tracepoint("no/such").unwrap_err();
        assert!(missing.to_string().contains("no/such") && !missing.fix.is_empty(), "{missing:?}");
    }
}
