//! Whether a file could be written, without a trace of the question.

use std::io;
use std::path::Path;

use rustix::fs::{Access, access};

/// Whether this process could write a file of that name: the file that is there, or a new one in its directory.
///
/// # Errors
/// Those of open(2) and creat(2), as far as access(2) and the kind of the file tell them.
pub fn can_be_written(path: &Path) -> io::Result<()> {
    match std::fs::metadata(path) {
        Ok(file) if file.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(_) => Ok(access(path, Access::WRITE_OK)?),
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let directory = match path.parent() {
                None => return Err(io::ErrorKind::IsADirectory.into()),
                Some(here) if here.as_os_str().is_empty() => Path::new("."),
                Some(directory) => directory,
            };
            match std::fs::metadata(directory)?.is_dir() {
                true => Ok(access(directory, Access::WRITE_OK | Access::EXEC_OK)?),
                false => Err(io::ErrorKind::NotADirectory.into()),
            }
        }
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_can_be_written_is_known_and_nothing_is_created() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        assert!(can_be_written(&file).is_ok() && !file.exists());
        std::fs::write(&file, "").unwrap();
        assert!(can_be_written(&file).is_ok());
        assert!(can_be_written(Path::new("relative")).is_ok());
        for wrong in [directory.path(), &file.join("below"), Path::new("/nonexistent/x"), Path::new("/")] {
            assert!(can_be_written(wrong).is_err(), "{}", wrong.display());
        }
    }
}
