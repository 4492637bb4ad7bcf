//! What servers keep of requests that have names (`pitot load --receipts`), found in a directory of files or in a Maildir.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use pitot_results::receipts::{Kept, ReceiptName, Receipts, mail_text};
use ring::digest;

/// A header of a mail is no longer than this.
const HEADER_BYTES_MAX: usize = 64 << 10;

/// A file in which a server has kept a request, or a part of it.
#[derive(Debug)]
pub struct KeptCopy<'c> {
    /// The name of the request.
    pub name: ReceiptName<'c>,
    /// The file.
    pub path: &'c Path,
    /// A mail, which was read to find its name.
    mail: Option<&'c [u8]>,
}

impl KeptCopy<'_> {
    /// Whether it is what was sent.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn is_whole(&self, receipts: &Receipts) -> io::Result<bool> {
        let content = match self.mail {
            Some(mail) => mail_text(mail),
            None => fs::read(self.path)?,
        };
        let sha256 = || digest::digest(&digest::SHA256, &content);
        Ok(content.len() as u64 == receipts.bytes
            && sha256().as_ref().iter().map(|b| format!("{b:02x}")).collect::<String>() == receipts.sha256)
    }
}

/// Shows every copy in a directory, of files or a Maildir. A server may be at work there: files that go meanwhile are none.
///
/// # Errors
/// The directory cannot be read, or `see` failed.
pub fn each_copy(
    dir: &Path,
    of: Kept,
    see: &mut dyn FnMut(&KeptCopy<'_>) -> io::Result<()>,
) -> io::Result<()> {
    match of {
        Kept::Uploads => each_file(dir, &mut |path| {
            let name = path.file_name().and_then(|name| name.to_str()).and_then(ReceiptName::find);
            name.map_or(Ok(()), |name| see(&KeptCopy { name, path, mail: None }))
        }),
        // A mail in `tmp` is not delivered.
        Kept::Mail => ["new", "cur"].map(|name| dir.join(name)).iter().try_for_each(|folder| {
            each_file(folder, &mut |path| {
                let mail = fs::read(path)?;
                let header = String::from_utf8_lossy(&mail[..mail.len().min(HEADER_BYTES_MAX)]);
                let name = ReceiptName::find(&header);
                name.map_or(Ok(()), |name| see(&KeptCopy { name, path, mail: Some(&mail) }))
            })
        }),
    }
}

/// Every file below a directory.
fn each_file(dir: &Path, see: &mut dyn FnMut(&Path) -> io::Result<()>) -> io::Result<()> {
    let mut folders: Vec<PathBuf> = vec![dir.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let seen = entry.file_type().and_then(|kind| {
                if kind.is_dir() {
                    folders.push(entry.path());
                }
                if kind.is_file() { see(&entry.path()) } else { Ok(()) }
            });
            match seen {
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                seen => seen?,
            }
        }
    }
    Ok(())
}
