//! Options for what requests carry besides method, path and headers.

use std::path::PathBuf;

use clap::Args;
use pitot_load::ContentOptions;

#[derive(Debug, Args)]
pub(super) struct Content {
    /// File with the body of the requests.
    #[arg(long, value_name = "FILE", help_heading = "Requests")]
    body_file: Option<PathBuf>,
    /// Field of a form to send as the body, name=value; may be repeated. With name=@FILE the form is sent in
    /// parts (multipart/form-data), else URL-encoded; a value that begins with @ itself has two.
    #[arg(long, value_name = "FIELD", help_heading = "Requests")]
    form: Vec<String>,
    /// Command to send to redis://, as redis-cli takes it ('LPUSH list {rand:1..100}'), or query of postgres://; may be
    /// repeated, and --choice selects the next.
    #[arg(long = "command", value_name = "COMMAND", help_heading = "Requests")]
    commands: Vec<String>,
    /// Name and password, sent as an Authorization header; the URL may hold them too: http://USER:PASSWORD@host/
    #[arg(long, value_name = "USER:PASSWORD", help_heading = "Requests")]
    basic_auth: Option<String>,
    /// The User-Agent header; '' for none. [default: pitot/VERSION]
    #[arg(long, value_name = "NAME", help_heading = "Requests")]
    user_agent: Option<String>,
}

impl Content {
    pub(super) fn options(&self) -> ContentOptions {
        ContentOptions {
            body_file: self.body_file.clone(),
            form: self.form.clone(),
            commands: self.commands.clone(),
            basic_auth: self.basic_auth.clone(),
            user_agent: self.user_agent.clone(),
        }
    }
}
