//! The options of `pitot web`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use crate::identity::IdentityArgs;
use crate::value;

/// Show runs and soaks as pages in a browser, also while they are measured.
///
/// Prints `ready URL` and serves until SIGINT, SIGTERM or SIGHUP. The first page lists the runs and soaks of directories; each has its
/// report, and two can be compared. The page of what is being measured is updated, whether it was started before or after the page. It
/// shows a button that stops it, if the page was opened with the address that was printed, which has a token. Nothing else can be changed.
///
/// Every user of this machine can see the pages, unless there is a --token. From another machine: ssh -L 7468:127.0.0.1:7468 HOST.
#[derive(Debug, Args)]
pub(crate) struct Web {
    /// Directories with run files, which are searched with those below them, and run files. [default: this directory]
    #[arg(value_name = "DIR|FILE.pitot")]
    pub(crate) paths: Vec<PathBuf>,
    /// The address to listen on; port 0 takes a free port. One that other machines reach needs --token.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = value::listen, default_value = "127.0.0.1:7468")]
    pub(crate) listen: SocketAddr,
    /// File of mode 600 with a token of 16 characters or more, which every page then takes.
    #[arg(long, value_name = "FILE")]
    pub(crate) token: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tls: IdentityArgs,
    /// Open the page in the browser of the desktop (xdg-open).
    #[arg(long)]
    pub(crate) open: bool,
}
