//! The stores, each with what a program does to it and how what is left is looked at.

use std::fmt::Display;
use std::io;
use std::path::Path;

mod host;
mod mail;
mod maildir;
mod run_file;
mod soak_file;
mod uploads;

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

/// All of them.
pub const STORES: &[Store] =
    &[host::STORE, mail::STORE, maildir::STORE, run_file::STORE, soak_file::STORE, uploads::STORE];

/// The store of that name.
pub fn find(name: &str) -> Option<&'static Store> {
    STORES.iter().find(|store| store.name == name)
}

/// Steps before the lab ends, and after it has been started again.
const SITTINGS: [std::ops::Range<u32>; 2] = [0..2, 2..3];

/// A lab that is stopped and started again: it begins or goes on with its file, writes its steps, each once more if that failed, and
/// finishes the file in the last sitting alone. `written` is how it says that a step is in the file.
fn sittings<F, E: Display>(
    written: &str,
    begin: &mut dyn FnMut() -> Result<F, E>,
    write: &mut dyn FnMut(&mut F, u32) -> Result<(), E>,
    finish: &mut dyn FnMut(F) -> Result<(), E>,
    say: Say<'_>,
) {
    for sitting in SITTINGS {
        let mut begun = begin();
        if let Err(why) = &begun {
            say(&format!("not begun: {why}"));
            begun = begin();
        }
        let Ok(mut file) = begun.inspect_err(|why| say(&format!("not begun: {why}"))) else { continue };
        say("begun");
        let is_last = sitting.end == SITTINGS[1].end;
        for step in sitting {
            for _ in 0..2 {
                match write(&mut file, step) {
                    Ok(()) => {
                        say(&format!("{written} {step}"));
                        break;
                    }
                    Err(why) => say(&format!("not {written}: {why}")),
                }
            }
        }
        if is_last && finish(file).is_ok() {
            say("finished");
        }
    }
    say("end");
}

fn nothing(_: &Path, _: Option<End>) -> io::Result<()> {
    Ok(())
}
