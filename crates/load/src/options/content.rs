use std::path::PathBuf;

/// What requests carry besides method, path and headers.
#[derive(Clone, Debug, Default)]
pub struct ContentOptions {
    /// A file with the body.
    pub body_file: Option<PathBuf>,
    /// Fields of a form, which is the body: `name=value` or `name=@file`.
    pub form: Vec<String>,
    /// Commands or queries, each of them a request, where the protocol has such.
    pub commands: Vec<String>,
    /// `user:password`.
    pub basic_auth: Option<String>,
    /// How the client calls itself; empty for not at all, the default if `None`.
    pub user_agent: Option<String>,
}
