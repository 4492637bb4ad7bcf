use super::protocol::{ClientOptions, ClientProtocol};
use super::url::Url;

pub type Build = fn(&Url, &ClientOptions) -> Result<Box<dyn ClientProtocol>, String>;

/// An option in the query of a URL.
#[derive(Debug, PartialEq, Eq)]
pub struct UrlOption {
    /// The word before `=`.
    pub name: &'static str,
    /// Its default, as it would be written; empty if it has none.
    pub default: &'static str,
    /// Its meaning and its values.
    pub meaning: &'static str,
}

/// A protocol over TLS from the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsScheme {
    /// The word before `://`.
    pub scheme: &'static str,
    /// The port of a URL that names none; without one the URL must.
    pub port: Option<u16>,
}

/// One scheme of the registry.
#[derive(Debug)]
pub struct ClientEntry {
    /// The word before `://`; the name of the protocol on the server's side too.
    pub scheme: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// A paragraph for help and docs.
    pub doc: &'static str,
    /// The port of a URL that names none; without one the URL must.
    pub port: Option<u16>,
    /// The scheme that stands for the same protocol over TLS, where there is one.
    pub tls: Option<TlsScheme>,
    /// The most requests that one connection carries, where the protocol sets a limit.
    pub requests_per_connection_max: Option<u64>,
    /// The options in the query of its URLs; empty if the query is part of the request.
    pub url_options: &'static [UrlOption],
    /// Replies have a status, as those of HTTP have.
    pub has_statuses: bool,
    /// Requests have a method, which is `POST` for one with a body if none is named.
    pub has_methods: bool,
    /// A URL may hold the name and the password of a user.
    pub logs_in: bool,
    /// A request may be a command or a query that the user writes, which is its body.
    pub has_commands: bool,
    /// The content of its requests may come from files.
    pub takes_body_files: bool,
    /// Requests may be steps of sessions that the user writes.
    pub has_sessions: bool,
    /// A URL to show.
    pub example: &'static str,
    /// Builds the requests of a run. An error is one line about the URL or the options.
    pub build: Build,
}
