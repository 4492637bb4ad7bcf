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
    /// What becomes of messages: `discard` counts and forgets them; `maildir DIR` has each in DIR/new, synchronised with
    /// the disk, before it is acknowledged. A loop has threads for this, and waits for none of them.
    #[arg(long, num_args = 1..=2, value_names = ["WAY", "DIR"], default_value = "discard")]
    deliver: Vec<String>,
    /// The name by which the mail server greets.
    #[arg(long, value_name = "NAME", default_value = "localhost")]
    smtp_name: String,
    /// The largest message.
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "10MiB")]
    smtp_message_max: u64,
    /// The most recipients of one message; the next ones are told to come later.
    #[arg(long, value_name = "N", default_value_t = pitot_proto::smtp::RECIPIENTS_MAX)]
    smtp_recipients_max: u32,
    /// Commands refused in one session before it is ended.
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
        })
    }

    /// The Maildir, if messages are to be stored.
    pub(crate) fn maildir(&self) -> Result<Option<PathBuf>, Failure> {
        match self.deliver.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["discard"] => Ok(None),
            ["maildir", directory] => Ok(Some(directory.into())),
            ["maildir"] => Err(Failure::misuse("a Maildir needs a directory", "say --deliver maildir DIR")),
            _ => Err(Failure::misuse(
                format!("mail cannot be delivered by `{}`", self.deliver.join(" ")),
                "say --deliver discard, or --deliver maildir DIR",
            )),
        }
    }
}
