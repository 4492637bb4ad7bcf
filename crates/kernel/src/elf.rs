//! Strips executables to what is loaded (elf(5)).

const PROGRAM_HEADER_BYTES: usize = 56;

/// An executable or library without debug sections and the section table, which are after the last segment. None if it is
/// not a 64-bit little-endian ELF file.
pub(crate) fn stripped(mut file: Vec<u8>) -> Option<Vec<u8>> {
    if !is_elf(&file) || file.get(4..6) != Some(&[2, 1]) {
        return None;
    }
    let table = usize::try_from(number(&file, 32, 8)?).ok()?;
    let count = usize::try_from(number(&file, 56, 2)?).ok()?;
    let mut end = table.checked_add(count * PROGRAM_HEADER_BYTES)?;
    for header in 0..count {
        let at = table + header * PROGRAM_HEADER_BYTES;
        let (offset, size) = (number(&file, at + 8, 8)?, number(&file, at + 32, 8)?);
        end = end.max(usize::try_from(offset.checked_add(size)?).ok()?);
    }
    if end < file.len() {
        file.truncate(end);
        // Where the table of sections is, and how many there are: e_shoff, e_shnum, e_shstrndx.
        file[40..48].fill(0);
        file[60..64].fill(0);
    }
    Some(file)
}

/// Whether a file begins as an ELF file.
pub(crate) fn is_elf(file: &[u8]) -> bool {
    file.starts_with(b"\x7fELF")
}

fn number(file: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let bytes = file.get(at..at.checked_add(bytes)?)?;
    Some(bytes.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_program_runs_without_its_sections() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let length = own.len();
        let stripped = stripped(own).unwrap();
        assert!(stripped.len() < length, "{} of {length}", stripped.len());
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("program");
        std::fs::write(&path, stripped).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        // Started is a copy that only the shell's child has had open for writing: a child that another test starts at this moment
        // would hold this process's descriptor, and the kernel refuses to start a file that somebody writes.
        let script = "cp \"$0\" \"$0.copy\" && exec \"$0.copy\" --list";
        let listed = std::process::Command::new("sh").args(["-c", script]).arg(&path).output().unwrap();
        assert!(String::from_utf8_lossy(&listed.stdout).contains("a_program_runs_without_its_sections"));
    }

    #[test]
    fn no_bytes_make_the_reader_panic() {
        assert_eq!(stripped(b"#!/bin/sh".to_vec()), None);
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        for at in 0..64 {
            let mut changed = own[..own.len().min(4096)].to_vec();
            changed[at] = changed[at].wrapping_add(0x7f);
            let _ = stripped(changed);
        }
    }
}
