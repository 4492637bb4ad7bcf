//! The commands of the fault proxy and the resolver: a line for each command, and a line in reply.

use std::fmt::Arguments;
use std::io::{Read, Write};

use crate::entry::Fault;
use crate::faults::find;
use crate::options::Options;

/// Prefix of the reply with the begin of a fault and what was done.
pub const PROXY_BEGAN: &str = "began ";
/// Prefix of the reply with the end of a fault.
pub const PROXY_ENDED: &str = "ended ";
/// Prefix of the reply with the reason why a fault was not made.
pub const PROXY_REFUSED: &str = "refused ";

/// Lines on standard input.
#[derive(Debug, Default)]
pub struct Commands(Vec<u8>);

impl Commands {
    /// Reads available input. False at its end or after an error.
    pub fn read(&mut self) -> bool {
        let mut buffer = [0; 4096];
        match std::io::stdin().read(&mut buffer) {
            Ok(read @ 1..) => {
                self.0.extend_from_slice(&buffer[..read]);
                true
            }
            _ => false,
        }
    }

    /// The next complete line.
    #[expect(clippy::should_implement_trait, reason = "it is read again between two calls")]
    pub fn next(&mut self) -> Option<String> {
        let end = self.0.iter().position(|&byte| byte == b'\n')?;
        let line: Vec<u8> = self.0.drain(..=end).collect();
        Some(String::from_utf8_lossy(&line).trim().to_owned())
    }
}

/// A fault by its name and options.
///
/// # Errors
/// A sentence.
pub fn fault<'a>(mut words: impl Iterator<Item = &'a str>) -> Result<(&'static Fault, Options), String> {
    let name = words.next().ok_or("the fault's name is missing")?;
    let fault = find(name).ok_or_else(|| format!("there is no fault `{name}`"))?;
    let mut given = Vec::new();
    while let Some(word) = words.next() {
        let option = word.strip_prefix("--").ok_or_else(|| format!("`{word}` is not an option"))?;
        given.push((option, words.next().ok_or_else(|| format!("{word} has no value"))?));
    }
    let options = Options::read(fault.takes, given).map_err(|(name, why)| format!("--{name}: {why}"))?;
    Ok((fault, options))
}

/// Prints a line, ignoring a closed pipe.
pub fn say(line: Arguments<'_>) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}").and_then(|()| out.flush());
}
