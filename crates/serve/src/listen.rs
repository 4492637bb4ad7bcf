//! Binds the listeners of a server, and explains why it cannot.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::path::Path;

use pitot_results::Failure;
use pitot_sys::unix_listener::{self, Refused, SocketFile};
use rustix::io::Errno;

use crate::address::Address;
use crate::model::{Listeners, Listens};
use crate::plan::ServePlan;

/// The listeners, their address, and the file of their socket, if it is one.
pub type Bound = (Listeners, Address, Option<SocketFile>);

/// Binds the listeners of a plan.
///
/// # Errors
/// Why an address cannot be listened on, with a fix.
pub fn bind(plan: &ServePlan) -> Result<Bound, Failure> {
    match &plan.listen {
        Address::Tcp(addr) => {
            let bound = bind_tcp(plan, *addr).map_err(|e| explain_tcp(plan, *addr, &e))?;
            steer(plan, &bound.0)?;
            Ok(bound)
        }
        Address::Unix(path) => bind_unix(plan, path).map_err(|refused| explain_unix(path, refused)),
    }
}

fn bind_tcp(plan: &ServePlan, addr: SocketAddr) -> io::Result<Bound> {
    let listens = plan.model.listens;
    let listeners = Listeners::bind(listens, plan.workers(), addr, plan.backlog, plan.congestion.as_deref())?;
    let addr = listeners.addr()?.into();
    Ok((listeners, addr, None))
}

/// Tells the kernel which listener gets a connection.
fn steer(plan: &ServePlan, listeners: &Listeners) -> Result<(), Failure> {
    plan.steering.apply(listeners, &plan.usable_cpus()).map_err(|e| {
        Failure::misuse(
            format!("cannot steer connections with {}: {e}", plan.steering.name()),
            "omit --steer; it needs Linux 4.5, and incoming-cpu Linux 6.2",
        )
    })
}

/// These have no SO_REUSEPORT: workers with separate listeners share one.
fn bind_unix(plan: &ServePlan, path: &Path) -> Result<Bound, Refused> {
    let nonblocking = plan.model.listens != Listens::SharedBlocking;
    let (first, file) = unix_listener::listen(path, plan.backlog, nonblocking, plan.unix_mode)?;
    let count = if plan.model.listens == Listens::Each { plan.workers() } else { 1 };
    let copies = (1..count).map(|_| first.as_fd().try_clone_to_owned());
    let copies = copies.collect::<io::Result<Vec<_>>>().map_err(Refused::Failed)?;
    let listeners = std::iter::once(first).chain(copies).collect();
    Ok((Listeners(listeners), plan.listen.clone(), Some(file)))
}

const MORE_DESCRIPTORS: &str = "raise the limit on descriptors (ulimit -n), or use fewer --workers";

fn explain_unix(path: &Path, refused: Refused) -> Failure {
    let path = path.display();
    let (what, fix) = match refused {
        Refused::InUse => (
            "a server is already listening there".into(),
            format!("choose another path; `ss -xlp src {path}` shows which program it is"),
        ),
        Refused::NotASocket => {
            ("the path is an existing file".into(), "choose another path, or remove the file".into())
        }
        Refused::TooLong => ("the path exceeds the limit of 108 bytes".into(), "choose a shorter one".into()),
        Refused::Failed(e) => {
            let fix = match Errno::from_io_error(&e) {
                Some(Errno::NOENT) => "create the directory first",
                Some(Errno::MFILE | Errno::NFILE) => MORE_DESCRIPTORS,
                _ => "choose a path in a directory where you have write permission",
            };
            (e.to_string(), fix.into())
        }
    };
    Failure::misuse(format!("cannot listen on unix:{path}: {what}"), fix)
}

fn explain_tcp(plan: &ServePlan, addr: SocketAddr, e: &io::Error) -> Failure {
    if let (Some(name), Some(Errno::NOENT | Errno::PERM)) = (&plan.congestion, Errno::from_io_error(e)) {
        return Failure::misuse(
            format!("cannot set the congestion control {name}: {e}"),
            format!(
                "use one that `sysctl net.ipv4.tcp_allowed_congestion_control` lists; as root, \
                 `modprobe tcp_{name}` may add it"
            ),
        );
    }
    let fix = match Errno::from_io_error(e) {
        Some(Errno::ADDRINUSE) => {
            format!(
                "choose another port; `ss -ltnp 'sport = :{}'` shows which program uses this one",
                addr.port()
            )
        }
        Some(Errno::ACCESS) => "choose a port above 1023, or grant the program CAP_NET_BIND_SERVICE".into(),
        Some(Errno::ADDRNOTAVAIL) => "give --listen an address of this host; `ip address` shows them".into(),
        Some(Errno::MFILE | Errno::NFILE) => MORE_DESCRIPTORS.into(),
        _ => "give --listen an ADDRESS:PORT of this host".into(),
    };
    Failure::misuse(format!("cannot listen on {addr}: {e}"), fix)
}
