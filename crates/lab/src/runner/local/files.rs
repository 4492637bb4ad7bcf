//! The files in a server's private directory.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, lchown};
use std::path::Path;

use pitot_sys::user::User;
use rustix::fs::OFlags;

use pitot_plan::{FileContent, LinePiece, PlanFile, line_template};

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
            // Expansion has replaced it.
            FileContent::SizeOfLoad => {}
        }
    }
    Ok(())
}

/// Changes the owner of a directory and all that is in it; the directory last, so that the user cannot change it meanwhile.
pub(super) fn give_to(dir: &Path, user: User) -> io::Result<()> {
    for entry in std::fs::read_dir(dir)? {
        let entry = entry?;
        match entry.file_type()?.is_dir() {
            true => give_to(&entry.path(), user)?,
            false => lchown(entry.path(), Some(user.uid()), Some(user.gid()))?,
        }
    }
    lchown(dir, Some(user.uid()), Some(user.gid()))
}

/// The content of a file of that user, without following a link or blocking on a FIFO as root.
pub(super) fn read_of(path: &Path, user: User) -> Option<String> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut file = File::options().read(true).custom_flags(flags.bits() as i32).open(path).ok()?;
    let metadata = file.metadata().ok()?;
    let mut text = String::new();
    (metadata.is_file() && metadata.uid() == user.uid()).then(|| file.read_to_string(&mut text).ok())??;
    Some(text)
}

/// Writes a line `count` times, with its numbers.
fn write_lines(path: &Path, count: u64, line: &str) -> io::Result<()> {
    let parts = line_template(line);
    let mut file = BufWriter::new(File::create(path)?);
    for i in 0..count {
        for part in &parts {
            match part {
                LinePiece::Text(text) => file.write_all(text.as_bytes())?,
                LinePiece::Number(None) => write!(file, "{i}")?,
                LinePiece::Number(Some(n)) => write!(file, "{}", i % n)?,
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

    #[pitot_needs::needs("root")]
    #[test]
    fn root_reads_nothing_through_links_of_the_user_of_the_programs() {
        let dir = tempfile::tempdir().unwrap();
        let user = User::find("65533:65534").unwrap();
        let secret = dir.path().join("secret");
        std::fs::write(&secret, "root's").unwrap();
        let own = dir.path().join("own");
        std::fs::create_dir_all(own.join("below")).unwrap();
        std::fs::write(own.join("below/file"), "theirs").unwrap();
        std::os::unix::fs::symlink(&secret, own.join("link")).unwrap();
        std::fs::hard_link(&secret, own.join("hard")).unwrap();
        give_to(&own.join("below"), user).unwrap();
        let owner = |name: &str| own.join(name).symlink_metadata().unwrap().uid();
        assert_eq!((owner("below"), owner("below/file"), owner("link")), (65533, 65533, 0));
        assert_eq!(read_of(&own.join("below/file"), user).as_deref(), Some("theirs"));
        assert_eq!(read_of(&own.join("link"), user), None);
        assert_eq!(read_of(&own.join("hard"), user), None);
    }
}
