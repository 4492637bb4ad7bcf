//! The options of `pitot serve http`.

use clap::Args;
use clap::builder::ValueParser;
use pitot_meter::{Nanos, units};
use pitot_proto::http::options::{DotFiles, HttpOptions};
use pitot_serve::{Address, LogTarget};

use crate::choice::one_of;

/// The web server.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Options of http")]
pub(crate) struct HttpArgs {
    /// List directories without index.html, as plain HTML: at most 10,000 names. The worker reads the directory itself.
    #[arg(long, requires = "root")]
    index: bool,
    /// Serve FILE.br, FILE.zst or FILE.gz in place of FILE to clients that accept the coding. Replies then say `Vary:
    /// Accept-Encoding`.
    #[arg(long, requires = "root")]
    precompressed: bool,
    /// Which files and directories are served whose names start with a dot: none, those below /.well-known/ (RFC 8615),
    /// or all.
    #[arg(long, value_name = "WHICH", requires = "root", default_value = "well-known", value_parser = dot_files())]
    dot_files: DotFiles,
    /// How long a worker uses an open file, a listing, or the absence of a precompressed file before it checks again; 0s to check
    /// on each request.
    #[arg(long, value_name = "TIME", value_parser = units::duration, requires = "root", default_value = "1s")]
    file_cache_time: Nanos,
    /// Drop each file from the page cache before it is sent, as with far more files than memory (POSIX_FADV_DONTNEED).
    #[arg(long, requires = "root")]
    cold_files: bool,
    /// The largest body of a POST, which is counted and dropped; /echo returns up to 64 KiB. (For PUT see --upload-max.)
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1MiB")]
    body_max: u64,
    /// Append a line about each request to FILE, in the combined format of Apache and nginx, with times in UTC; `-` is
    /// standard output. Lines are written in batches, at the latest after a second; what cannot be written is dropped
    /// and counted. A moved file is reopened, without a signal.
    #[arg(long, value_name = "FILE")]
    access_log: Option<std::path::PathBuf>,
}

fn dot_files() -> ValueParser {
    one_of([("none", DotFiles::None), ("well-known", DotFiles::WellKnown), ("all", DotFiles::All)])
}

impl HttpArgs {
    /// The options of the protocol, on a server that listens there.
    pub(crate) fn options(&self, listen: &Address) -> HttpOptions {
        HttpOptions {
            dot_files: self.dot_files,
            precompressed: self
                .precompressed
                .then(|| std::time::Duration::from(self.file_cache_time).as_secs()),
            index: self.index,
            // As nginx shows clients that have no address.
            access_log: self.access_log.as_ref().map(|_| if listen.is_unix() { "unix:" } else { "-" }),
        }
    }

    /// Where requests are logged, if they are.
    pub(crate) fn log_target(&self) -> Option<LogTarget> {
        self.access_log.as_ref().map(|file| match file.to_str() {
            Some("-") => LogTarget::Stdout,
            _ => LogTarget::File(file.clone()),
        })
    }

    /// Limit on the content of a POST in bytes.
    pub(crate) fn body_max(&self) -> u64 {
        self.body_max
    }

    /// Whether files leave the page cache before they are sent.
    pub(crate) fn has_cold_files(&self) -> bool {
        self.cold_files
    }

    /// How open files are kept, where the content of those up to a size is cached.
    pub(crate) fn file_cache(
        &self,
        (content_bytes_max, again_bytes_max): (u64, u64),
    ) -> pitot_serve::FileCache {
        pitot_serve::FileCache {
            content_bytes_max,
            again_bytes_max,
            valid: self.file_cache_time.into(),
            lists: self.index,
            cold: self.cold_files,
        }
    }
}
