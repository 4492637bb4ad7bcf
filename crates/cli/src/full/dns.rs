//! `pitot fault resolver`, and `pitot serve dns`: a DNS responder with generated mail domains, for tests and experiments.

use std::io;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;

use pitot_dns::{MailHost, Responder, Sockets, ZoneOptions};
use pitot_results::Failure;
use pitot_sys::landlock::Tcp;
use pitot_sys::signal::{Signal, SignalFd};
use pitot_sys::user::User;
use serde_json::{Map, Value, json};

use crate::fault::{ANY, FaultCommand};
use crate::output::print_line;
use crate::serve_dns::DnsArgs;

/// Default number of threads that answer datagrams.
const THREADS: usize = 2;

impl DnsArgs {
    /// Answers until SIGINT or SIGTERM.
    pub(crate) fn run(
        self,
        listen: SocketAddr,
        threads: Option<usize>,
        stats: bool,
        user: Option<User>,
        confine: bool,
    ) -> Result<ExitCode, Failure> {
        let wrong = |what| Failure::misuse(what, "see `pitot serve --help`, options of dns");
        let hosts = match self.mx.is_empty() {
            true => MailHost::many(self.mx_addresses).map_err(wrong)?,
            false => self.mx.into_iter().map(|(name, addresses)| MailHost { name, addresses }).collect(),
        };
        let (domains, pattern, without_mx) = (self.domains, self.pattern, self.without_mx);
        let options = ZoneOptions { domains, pattern, without_mx, hosts };
        let responder = Arc::new(Responder::new(&options).map_err(wrong)?);

        // Threads inherit the signal mask, so signals are delivered to this one.
        let signals = SignalFd::new(&Signal::that_end())
            .map_err(|e| Failure::run(format!("cannot wait for signals: {e}"), "raise ulimit -n"))?;
        let cannot_listen = |e: io::Error| {
            Failure::misuse(
                format!("cannot listen on {listen}: {e}"),
                "choose another --listen; a port below 1024 needs privileges",
            )
        };
        let sockets = Sockets::bind(listen).map_err(cannot_listen)?;
        let addr = sockets.addr().map_err(cannot_listen)?;
        crate::user::become_user(user)?;
        if confine {
            pitot_serve::confine_to(&[], Tcp::None)?;
        }
        let started = sockets.start(&responder, threads.unwrap_or(THREADS).max(1));
        started.map_err(|e| Failure::run(format!("cannot start a thread: {e}"), "raise ulimit -u"))?;
        // stdout may be closed; the responder runs all the same.
        print_line(format_args!("ready {addr}"));
        while signals.wait(None).is_none() {}
        if stats {
            let mut counts: Map<String, Value> =
                responder.counts().iter().map(|(name, count)| ((*name).to_owned(), json!(count))).collect();
            counts.insert("schema".into(), json!("pitot-dns/1"));
            counts.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
            print_line(Value::Object(counts));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl FaultCommand {
    pub(crate) fn serve_resolver(self) -> Result<ExitCode, Failure> {
        self.check_given()?;
        pitot_dns::resolver::serve(self.listen.unwrap_or(ANY), self.to).map(|()| ExitCode::SUCCESS)
    }
}
