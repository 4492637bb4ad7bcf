//! The client's side of RESP2, the protocol of Redis and compatible servers.
//! (Redis serialization protocol specification, version 2.)

mod any;
mod commands;
mod conn;
mod fill;
mod login;
mod refusal;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use any::{CommandConn, Commands};
use conn::RedisConn;
use fill::Fill;
use login::Login;

use super::cache::{URL_OPTIONS, Workload};
use crate::entry::{ClientEntry, TlsScheme};
use crate::protocol::{ClientConn, ClientOptions, ClientProtocol, Preload};
use crate::url::Url;

/// The entry of the registry.
pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "redis",
    summary: "the protocol of Redis and compatible servers: the same mix as memcache, with GET, MGET and SET, or any command",
    doc: "The mix is that of memcache and is given in the URL's query in the same way. --command 'LPUSH list {rand:1..100}' sends a \
          command of your own in its place, several of them by --choice. The URL may hold a user and a password (AUTH) and the number \
          of a database (SELECT): redis://USER:PASSWORD@host/2, or redis://:PASSWORD@host/ for the default user. \
          Pitot has no server for this protocol: the client is for comparing Redis, Valkey and others with caches that implement \
          memcached's. Lengths are always checked, bytes with --verify; hits and misses are counted.",
    port: Some(6379),
    tls: Some(TlsScheme { scheme: "rediss", port: Some(6379) }),
    requests_per_connection_max: None,
    url_options: URL_OPTIONS,
    has_statuses: false,
    has_methods: false,
    logs_in: true,
    has_commands: true,
    takes_body_files: true,
    has_sessions: false,
    example: "redis://127.0.0.1:6379/?keys=100k&get=0.9",
    build,
};

/// Builds the workload of a URL.
///
/// # Errors
/// As [`Workload::new`]; a login, a database or a command that is none.
fn build(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let Some(first) = options.requests.first() else { return Err("there is no request to send".into()) };
    let (database, query) = parts(&first.path);
    let login = Login::new(url, database)?;
    if first.body.is_empty() {
        let workload = Workload::new("redis", options, |path| parts(path).1)?;
        return Ok(Box::new(Redis { login, load: Load::Mix(workload) }));
    }
    if options
        .requests
        .iter()
        .any(|request| !matches!(parts(&request.path), (other, "" | "?") if other == database))
    {
        return Err(format!(
            "`{query}` describes a mix of reads and writes, and --command says what to send: leave one of them out"
        ));
    }
    Ok(Box::new(Redis { login, load: Load::Commands(Arc::new(Commands::new(login, options)?)) }))
}

/// The database and the query of a path: `/2?keys=10`.
fn parts(path: &str) -> (&str, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split_at(path.find('?').unwrap_or(path.len()))
}

struct Redis {
    login: Login,
    load: Load,
}

/// What is sent.
enum Load {
    Mix(Arc<Workload>),
    Commands(Arc<Commands>),
}

impl ClientProtocol for Redis {
    fn connect(&self) -> Box<dyn ClientConn> {
        match &self.load {
            Load::Mix(workload) => Box::new(RedisConn::new(Arc::clone(workload), self.login)),
            Load::Commands(commands) => Box::new(CommandConn::new(Arc::clone(commands))),
        }
    }

    fn request_bytes_max(&self) -> Option<usize> {
        match &self.load {
            Load::Mix(_) => None,
            Load::Commands(commands) => commands.bytes_max(),
        }
    }

    fn server_said(&self) -> Option<String> {
        match &self.load {
            Load::Mix(workload) => workload.said.words(),
            Load::Commands(commands) => commands.said.words(),
        }
    }

    fn preload(&self) -> Option<Box<dyn Preload>> {
        match &self.load {
            Load::Mix(workload) if workload.fill => {
                Some(Box::new(Fill::new(Arc::clone(workload), self.login)))
            }
            Load::Mix(_) | Load::Commands(_) => None,
        }
    }
}
