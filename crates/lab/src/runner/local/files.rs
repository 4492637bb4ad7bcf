//! The files that a server finds in its private directory.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use crate::plan::{FileContent, Part, PlanFile, line_template};

/// Writes `files` below `dir`.
pub(super) fn write(dir: &Path, files: &[PlanFile]) -> io::Result<()> {
    for file in files {
        let path = dir.join(&file.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        match &file.content {
            FileContent::Text(text) => std::fs::write(&path, text)?,
            FileContent::Size(bytes) => {
                io::copy(&mut io::repeat(b'x').take(*bytes), &mut File::create(&path)?)?;
            }
            FileContent::Lines { count, line } => write_lines(&path, *count, line)?,
            // The size of the load is put in when a plan is expanded.
            FileContent::SizeOfLoad => {}
        }
    }
    Ok(())
}

/// Writes a line `count` times, with its numbers.
fn write_lines(path: &Path, count: u64, line: &str) -> io::Result<()> {
    let parts = line_template(line);
    let mut file = BufWriter::new(File::create(path)?);
    for i in 0..count {
        for part in &parts {
            match part {
                Part::Text(text) => file.write_all(text.as_bytes())?,
                Part::Number(None) => write!(file, "{i}")?,
                Part::Number(Some(n)) => write!(file, "{}", i % n)?,
            }
        }
        file.write_all(b"\n")?;
    }
    file.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_have_the_content_that_the_plan_gives_them() {
        let dir = tempfile::tempdir().unwrap();
        let file = |path: &str, content| PlanFile { path: path.into(), content };
        let files = [
            file("a/b/text", FileContent::Text("it's {x}".into())),
            file("a/size", FileContent::Size(3)),
            file("lines", FileContent::Lines { count: 3, line: "u{i}@d{i%2}".into() }),
        ];
        write(dir.path(), &files).unwrap();
        let read = |path: &str| std::fs::read_to_string(dir.path().join(path)).unwrap();
        assert_eq!((read("a/b/text").as_str(), read("a/size").as_str()), ("it's {x}", "xxx"));
        assert_eq!(read("lines"), "u0@d0\nu1@d1\nu2@d0\n");
    }
}
