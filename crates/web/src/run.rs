//! The life of the server: address, rights, threads, signals.

use std::fmt::{Debug, Write as _};
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use axum::serve::Listener;
use pitot_history::{Index, files};
use pitot_results::{Failure, stderr};
use pitot_sys::signal::{Signal, SignalFd};
use pitot_tls::server::{Identity, Secret, TlsServer};

use crate::guard::Guard;
use crate::router::{App, router};
use crate::shelf::Shelf;
use crate::stop::Stopper;
use crate::tls::TlsListener;

/// It yields to what is measured.
const NICE: i32 = 10;
/// Threads that read files. One reads at a time; the others wait, or send.
const READERS: usize = 4;
/// Time for replies under way when the server is stopped. Those with events do not end by themselves.
const GRACE: Duration = Duration::from_millis(500);
/// Bytes of a token that is made.
const TOKEN_BYTES: usize = 16;

/// What is served, and to whom.
#[derive(Debug)]
pub struct WebPlan {
    /// Directories and files.
    pub named: Vec<PathBuf>,
    /// The address. One that is not of this machine alone needs `token`.
    pub listen: SocketAddr,
    /// The token that every page takes; without one, pages are for everybody on this machine and a token is made for stopping.
    pub token: Option<String>,
    /// The certificate of TLS; none for plain HTTP.
    pub identity: Option<Identity>,
    /// Whether a browser is started.
    pub opens: bool,
    /// The file of the index.
    pub index: PathBuf,
}

/// Serves until SIGINT, SIGTERM or SIGHUP. Calls `confine` once the address is bound, to give up rights: from then on the directories and
/// files of the plan, and the directory of the index, are read and written (SQLite locks what it reads), and nothing else. Calls `ready`
/// with the address of the first page.
///
/// It must be called while the process has one thread.
///
/// # Errors
/// A name that does not exist, an address that cannot be used.
pub fn run(plan: WebPlan, confine: impl FnOnce(), ready: impl FnOnce(&str)) -> Result<(), Failure> {
    files(&plan.named)?;
    if !plan.listen.ip().is_loopback() && plan.token.is_none() {
        return Err(Failure::misuse(
            format!(
                "{} can be reached from other machines, and runs would be shown to everybody",
                plan.listen
            ),
            "listen on 127.0.0.1 and use `ssh -L`, or add --token FILE with a token that every page takes",
        ));
    }
    let machine =
        |e: io::Error| Failure::run(format!("cannot start a server: {e}"), "raise ulimit -n and ulimit -u");
    let tls = plan.identity.as_ref().map(tls).transpose()?;
    // Threads and the process that interrupts inherit the mask: signals are for this thread.
    let signals = SignalFd::new(&Signal::that_end()).map_err(machine)?;
    let stopper = Stopper::start()?;
    let listener = TcpListener::bind(plan.listen).map_err(|e| {
        let fix = "choose another --listen; port 0 takes a free one";
        Failure::misuse(format!("cannot listen on {}: {e}", plan.listen), fix)
    })?;
    listener.set_nonblocking(true).map_err(machine)?;
    let address = listener.local_addr().map_err(machine)?;
    let is_private = plan.token.is_some();
    let token = plan.token.map_or_else(random_token, Ok)?;
    let scheme = if tls.is_some() { "https" } else { "http" };
    let url = format!("{scheme}://{address}/?token={token}");
    if plan.opens {
        open_browser(&url);
    }
    confine();
    let shelf = Arc::new(Shelf::new(plan.named, Index::at(&plan.index)));
    // It may be refused, and then the server does not yield.
    let _ = rustix::process::nice(NICE);
    let reader = Arc::clone(&shelf);
    // It ends with the process.
    std::thread::Builder::new()
        .name("reader".into())
        .spawn(move || reader.keep_reading())
        .map_err(machine)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(READERS)
        .enable_all()
        .build()
        .map_err(machine)?;
    let guard = Guard { token, is_private, is_secure: tls.is_some(), port: address.port() };
    let app = Arc::new(App { shelf, live: Arc::default(), guard, stopper });
    runtime.block_on(serve(listener, tls.as_ref(), app)).map_err(machine)?;
    ready(&url);
    while signals.wait(None).is_none() {}
    runtime.shutdown_timeout(GRACE);
    Ok(())
}

/// Begins to serve.
async fn serve(listener: TcpListener, tls: Option<&TlsServer>, app: Arc<App>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    match tls {
        Some(tls) => begin(TlsListener::start(listener, tls)?, app),
        None => begin(listener, app),
    }
    Ok(())
}

fn begin<L: Listener<Addr: Debug>>(listener: L, app: Arc<App>) {
    tokio::spawn(async move { axum::serve(listener, router(app)).await });
}

fn tls(identity: &Identity) -> Result<TlsServer, Failure> {
    Ok(TlsServer::new(identity, &Secret::random()?, &[b"http/1.1"])?)
}

fn random_token() -> Result<String, Failure> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).map_err(|e| {
        Failure::run(format!("no random numbers: {e}"), "name a file with a token: --token FILE")
    })?;
    Ok(bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    }))
}

/// Starts the browser of the desktop. The address is printed in any case.
fn open_browser(url: &str) {
    let quiet = Stdio::null;
    let started = Command::new("xdg-open").arg(url).stdin(quiet()).stdout(quiet()).stderr(quiet()).spawn();
    if let Err(e) = started {
        stderr::line(format_args!(
            "pitot: no browser was started (xdg-open: {e}): open the address yourself"
        ));
    }
}
