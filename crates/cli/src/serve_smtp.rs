//! The options of `pitot serve smtp`.

use std::path::PathBuf;

use clap::Args;
use pitot_meter::units;
use pitot_proto::smtp::SmtpOptions;
use pitot_results::Failure;

/// The mail server.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of smtp")]
pub(crate) struct SmtpArgs {
    /// What to do with messages: `discard` counts them; `maildir DIR` stores each in DIR/new and synchronises it to disk
    /// before it is acknowledged. Event loops leave this to threads and never wait for the disk.
    #[arg(long, num_args = 1..=2, value_names = ["WAY", "DIR"], default_value = "discard")]
    deliver: Vec<String>,
    /// The host name in the greeting.
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    smtp_name: String,
    /// The largest message.
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "10MiB")]
    smtp_message_max: u64,
    /// Limit on recipients per message; further ones are refused temporarily (452).
    #[arg(long, value_name = "N", default_value_t = pitot_proto::smtp::RECIPIENTS_MAX)]
    smtp_recipients_max: u32,
    /// Limit on refused commands per session, after which it is closed.
    #[arg(long, value_name = "N", default_value_t = pitot_proto::smtp::ERRORS_MAX)]
    smtp_errors_max: u32,
}

impl SmtpArgs {
    pub(crate) fn options(&self) -> Result<SmtpOptions, Failure> {
        Ok(SmtpOptions {
            name: self.smtp_name.clone(),
            store: self.maildir()?.is_some(),
            message_bytes_max: self.smtp_message_max,
            recipients_max: self.smtp_recipients_max,
            errors_max: self.smtp_errors_max,
            starttls: false,
        })
    }

    /// The Maildir, if messages are to be stored.
    pub(crate) fn maildir(&self) -> Result<Option<PathBuf>, Failure> {
        match self.deliver.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["discard"] => Ok(None),
            ["maildir", directory] => Ok(Some(directory.into())),
            ["maildir"] => {
                Err(Failure::misuse("--deliver maildir needs a directory", "use --deliver maildir DIR"))
            }
            _ => Err(Failure::misuse(
                format!("unknown delivery `{}`", self.deliver.join(" ")),
                "use --deliver discard or --deliver maildir DIR",
            )),
        }
    }
}
