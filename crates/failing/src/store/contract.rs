//! What a store is.

use std::io;
use std::path::Path;

/// How a program ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// A call failed, and it went on.
    Failure,
    /// It was killed.
    Kill,
    /// The machine has been started again since.
    PowerCut,
}

/// Takes a line that the program says.
pub type Say<'a> = &'a mut dyn FnMut(&str);

/// A store. Its directory is `store` below the one that its functions are given.
#[derive(Debug)]
pub struct Store {
    /// Its name.
    pub name: &'static str,
    /// Makes what it needs beside its directory; with an end: as it is after that.
    pub prepare: fn(&Path, Option<End>) -> io::Result<()>,
    /// Uses it, and says what was acknowledged. A failure is no reason to stop.
    pub work: fn(&Path, Say<'_>),
    /// Starts a second time after this was said: looks whether it is there, and goes on.
    pub check: fn(&Path, &[String], End) -> Result<(), String>,
}

/// Prepares nothing.
pub(super) fn nothing(_: &Path, _: Option<End>) -> io::Result<()> {
    Ok(())
}
