//! Undoes the fault of a killed program, from the note in the host's journal.

use crate::entry::Means;
use crate::faults::find;

/// Undoes a recorded change of a fault: see [`pitot_host::journal::TakeBack`].
///
/// # Errors
/// A sentence, if it could not be undone.
pub fn take_back(fault: &str, note: &str) -> Result<bool, String> {
    match find(fault).map(|fault| fault.means) {
        Some(Means::Program { undo, .. }) => undo(note),
        _ => Err(format!("this version of Pitot has no fault `{fault}` that a program makes")),
    }
}

#[cfg(test)]
mod tests {
    use pitot_sys::processes::Process;
    use pitot_sys::spawn::{self, Stop};

    use super::*;
    use crate::processes;

    fn note_of(pid: u32) -> String {
        processes::note(&Process::read(pid).unwrap())
    }

    #[test]
    fn only_the_process_of_the_note_is_touched() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let (pid, note) = (child.id(), note_of(child.id()));
        let another = format!("{pid} 1");
        assert_eq!(take_back("stop", &note), Ok(true));
        assert_eq!(take_back("stop", &another), Ok(false));
        assert_eq!(take_back("descriptors", &format!("own {another} 77")), Ok(false));
        assert_eq!(take_back("descriptors", &format!("heirs {another} 77 1")), Ok(false));
        assert_eq!(take_back("memory", &format!("move {another} /")), Ok(false));
        // It is in no group of the fault.
        assert_eq!(take_back("memory", &format!("move {note} /")), Ok(false));
        // A limit that is not lower has been set by somebody else.
        assert_eq!(take_back("descriptors", &format!("own {note} 1")), Ok(false));
        spawn::stop(pid, Stop::Kill);
        child.wait().unwrap();
        assert_eq!(take_back("stop", &note), Ok(false));
        assert!(take_back("loss", "filter").is_err() && take_back("none", &note).is_err());
    }

    #[test]
    fn a_file_that_fills_a_disk_is_removed_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, "x").unwrap();
        assert_eq!(take_back("disk-full", path.to_str().unwrap()), Ok(true));
        assert_eq!(take_back("disk-full", path.to_str().unwrap()), Ok(false));
    }
}
