//! The client side of RESP2, the protocol of Redis and compatible servers (Redis serialization protocol specification,
//! version 2).

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

pub(super) const ENTRY: ClientEntry = ClientEntry {
    scheme: "redis",
    summary: "the protocol of Redis and compatible servers: the mix of memcache with GET, MGET and SET, or any command",
    doc: "The URL's query describes the same mix as for memcache. --command 'LPUSH list {rand:1..100}' sends your own \
          command instead, several with --choice. The URL may contain a user and a password (AUTH) and a database \
          number (SELECT): redis://USER:PASSWORD@host/2, or redis://:PASSWORD@host/ for the default user. Pitot has no \
          server for this protocol: use the client to compare Redis, Valkey and others with memcached-compatible \
          caches. Lengths are always checked, bytes with --verify. Hits and misses are counted.",
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

fn build(url: &Url, options: &ClientOptions) -> Result<Box<dyn ClientProtocol>, String> {
    let Some(first) = options.requests.first() else { return Err("no request to send".into()) };
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
            "--command cannot be combined with the mix `{query}` in the URL: remove one of them"
        ));
    }
    Ok(Box::new(Redis { login, load: Load::Commands(Arc::new(Commands::new(login, options)?)) }))
}

/// Splits `/2?keys=10` into database and query.
fn parts(path: &str) -> (&str, &str) {
    let path = path.strip_prefix('/').unwrap_or(path);
    path.split_at(path.find('?').unwrap_or(path.len()))
}

struct Redis {
    login: Login,
    load: Load,
}

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
