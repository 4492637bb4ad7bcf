//! `pitot web`: runs and soaks as pages.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use pitot_results::Failure;
use pitot_sys::safe_open::{own_file, read_text};
use pitot_web::WebPlan;
use rustix::fs::{CWD, OFlags};

use crate::confine::Reader;
use crate::history::index_file;
use crate::output::print_line;
use crate::web::Web;

/// The shortest token that nobody guesses.
const TOKEN_CHARS_MIN: usize = 16;
/// A file of a token is small.
const TOKEN_BYTES_MAX: u64 = 4096;

impl Web {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        let named = if self.paths.is_empty() { vec![PathBuf::from(".")] } else { self.paths };
        let index = index_file();
        if let Some(folder) = index.parent() {
            // It can be made only before rights are given up. Without it the index is in memory.
            let _ = std::fs::create_dir_all(folder);
        }
        let reader = named.iter().fold(Reader::default(), |reader, path| match path.is_dir() {
            true => reader.writes(path),
            false => {
                reader.writes(path.canonicalize().ok().as_deref().and_then(Path::parent).unwrap_or(path))
            }
        });
        let reader = index.parent().into_iter().fold(reader, Reader::writes);
        let token = self.token.as_deref().map(token).transpose()?;
        let identity = self.tls.identity(self.listen.ip())?;
        let plan = WebPlan { named, listen: self.listen, token, identity, opens: self.open, index };
        pitot_web::run(plan, || reader.confine(), |url| print_line(format_args!("ready {url}")))?;
        Ok(ExitCode::SUCCESS)
    }
}

fn token(path: &Path) -> Result<String, Failure> {
    let text = own_file(CWD, path, OFlags::RDONLY).and_then(|file| read_text(&file, TOKEN_BYTES_MAX));
    let text = text.map_err(|e| {
        Failure::misuse(
            format!("cannot read the token in {}: {e}", path.display()),
            "make one: (umask 077; head -c 18 /dev/urandom | base64 > FILE)",
        )
    })?;
    let token = text.trim();
    let is_plain = token.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=-_.".contains(&b));
    match token.len() >= TOKEN_CHARS_MIN && is_plain {
        true => Ok(token.to_owned()),
        false => Err(Failure::misuse(
            format!(
                "the token in {} is not {TOKEN_CHARS_MIN} or more letters, digits and -_.+/=",
                path.display()
            ),
            "make one: (umask 077; head -c 18 /dev/urandom | base64 > FILE)",
        )),
    }
}
