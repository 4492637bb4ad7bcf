//! A directory as a file system may have left it.
//!
//! What a program does to files is a list of units, each of which reaches the disk as a whole or not at all: an entry of a
//! directory, a part of what is written to a block, a size. fsync(2) of a file makes the units of that file safe, and of a
//! directory those of its entries; all others may be there or not, in any combination. That is more than a file system
//! with a journal allows, and no less than POSIX does (the model of ALICE, Pillai et al., OSDI 2014).

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, Hash, Hasher};
use std::io;
use std::path::Path;
use std::rc::Rc;

/// A file or a directory, by its number in [`Disk`]. The store's directory is 0.
pub type Node = usize;

/// What a file or a directory holds.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// The bytes of a file.
    File(Rc<Vec<u8>>),
    /// The entries of a directory.
    Directory(BTreeMap<OsString, Node>),
}

/// The smallest change, which is on the disk or is not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A directory has a new entry.
    Enter(Node, OsString, Node),
    /// It has one less.
    Leave(Node, OsString),
    /// An entry has another name in the same directory.
    Move(Node, OsString, OsString, Node),
    /// Bytes of a block.
    Bytes(Node, usize, Vec<u8>),
    /// A file is so long at least.
    Grow(Node, usize),
    /// It is so long.
    Cut(Node, usize),
}

/// Bytes of a block, within which a file system writes all or nothing.
const BLOCK: usize = 4096;
/// Those of a disk.
const SECTOR: usize = 512;

impl Unit {
    /// What fsync(2) has to be called for.
    pub fn target(&self) -> Node {
        match self {
            Unit::Enter(node, ..)
            | Unit::Leave(node, ..)
            | Unit::Move(node, ..)
            | Unit::Bytes(node, ..)
            | Unit::Grow(node, ..)
            | Unit::Cut(node, ..) => *node,
        }
    }

    /// Whether it changes a file, not a directory.
    pub fn is_of_file(&self) -> bool {
        matches!(self, Unit::Bytes(..) | Unit::Grow(..) | Unit::Cut(..))
    }

    /// The units of a write. A size can be there without the bytes, which are 0 then; a block that is half written has the half
    /// before a sector or, where it is smaller, before any byte.
    pub fn of_write(node: Node, at: usize, bytes: &[u8]) -> Vec<Unit> {
        let mut units = vec![Unit::Grow(node, at + bytes.len())];
        let mut from = 0;
        while from < bytes.len() {
            let block_end = (at + from) / BLOCK * BLOCK + BLOCK - at;
            let until = bytes.len().min(block_end);
            units.push(Unit::Bytes(node, at + from, bytes[from..until].to_vec()));
            from = until;
        }
        if let [_, Unit::Bytes(_, _, whole)] = &mut units[..]
            && whole.len() > 1
        {
            let middle = at + whole.len() / 2;
            let sector = middle.next_multiple_of(SECTOR);
            let split = if sector < at + whole.len() { sector } else { middle } - at;
            let rest = whole.split_off(split);
            units.push(Unit::Bytes(node, at + split, rest));
        }
        units
    }
}

/// A directory and all below it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    nodes: Vec<Content>,
}

impl Disk {
    /// Reads a directory. `found` gets the inode of each node.
    ///
    /// # Errors
    /// Those of reading.
    pub fn read(directory: &Path, found: &mut dyn FnMut(u64, Node)) -> io::Result<Disk> {
        let mut disk = Disk::default();
        disk.read_into(directory, found)?;
        Ok(disk)
    }

    fn read_into(&mut self, path: &Path, found: &mut dyn FnMut(u64, Node)) -> io::Result<Node> {
        let about = fs::symlink_metadata(path)?;
        let node = self.add(about.is_dir());
        found(std::os::unix::fs::MetadataExt::ino(&about), node);
        if about.is_dir() {
            let mut names: Vec<OsString> =
                fs::read_dir(path)?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
            names.sort();
            for name in names {
                let child = self.read_into(&path.join(&name), found)?;
                self.apply(&Unit::Enter(node, name, child));
            }
        } else {
            self.nodes[node] = Content::File(Rc::new(fs::read(path)?));
        }
        Ok(node)
    }

    /// Adds an empty file or directory that has no name.
    pub fn add(&mut self, is_directory: bool) -> Node {
        self.nodes.push(match is_directory {
            true => Content::Directory(BTreeMap::new()),
            false => Content::File(Rc::default()),
        });
        self.nodes.len() - 1
    }

    /// Adds what `other` has more, without its content.
    pub fn add_those_of(&mut self, other: &Disk) {
        for content in &other.nodes[self.nodes.len()..] {
            self.add(matches!(content, Content::Directory(_)));
        }
    }

    /// The node of a path below the store's directory.
    pub fn find(&self, path: &Path) -> Option<Node> {
        path.components().try_fold(0, |node, part| match &self.nodes[node] {
            Content::Directory(entries) => entries.get(part.as_os_str()).copied(),
            Content::File(_) => None,
        })
    }

    /// The size of a file.
    pub fn size(&self, node: Node) -> usize {
        match &self.nodes[node] {
            Content::File(bytes) => bytes.len(),
            Content::Directory(_) => 0,
        }
    }

    /// Makes a change.
    pub fn apply(&mut self, unit: &Unit) {
        match (&mut self.nodes[unit.target()], unit) {
            (Content::Directory(entries), Unit::Enter(_, name, node)) => {
                entries.insert(name.clone(), *node);
            }
            (Content::Directory(entries), Unit::Leave(_, name)) => {
                entries.remove(name);
            }
            (Content::Directory(entries), Unit::Move(_, from, to, node)) => {
                entries.remove(from);
                entries.insert(to.clone(), *node);
            }
            (Content::File(file), Unit::Bytes(_, at, bytes)) => {
                let file = Rc::make_mut(file);
                let end = at + bytes.len();
                file.resize(file.len().max(end), 0);
                file[*at..end].copy_from_slice(bytes);
            }
            (Content::File(file), Unit::Grow(_, length)) => {
                let length = file.len().max(*length);
                Rc::make_mut(file).resize(length, 0);
            }
            (Content::File(file), Unit::Cut(_, length)) => Rc::make_mut(file).resize(*length, 0),
            (content, unit) => unreachable!("{unit:?} of {content:?}"),
        }
    }

    /// A number that stands for all that can be seen of it.
    pub fn digest(&self) -> u64 {
        let mut hasher = foldhash::quality::FixedState::default().build_hasher();
        self.digest_into(0, &mut hasher);
        hasher.finish()
    }

    fn digest_into(&self, node: Node, hasher: &mut impl Hasher) {
        match &self.nodes[node] {
            Content::File(bytes) => bytes.hash(hasher),
            Content::Directory(entries) => {
                entries.len().hash(hasher);
                for (name, child) in entries {
                    name.hash(hasher);
                    self.digest_into(*child, hasher);
                }
            }
        }
    }

    /// Writes it into an empty directory.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&self, directory: &Path) -> io::Result<()> {
        self.write_node(0, directory)
    }

    fn write_node(&self, node: Node, path: &Path) -> io::Result<()> {
        match &self.nodes[node] {
            Content::File(bytes) => write_private(path, bytes),
            Content::Directory(entries) => {
                if !path.is_dir() {
                    fs::create_dir(path)?;
                }
                entries.iter().try_for_each(|(name, child)| self.write_node(*child, &path.join(name)))
            }
        }
    }

    /// Its files by their paths, but for those of this end.
    pub fn files(&self, but: &str) -> BTreeMap<String, Option<Vec<u8>>> {
        let mut files = BTreeMap::new();
        self.files_into(0, String::new(), &mut files);
        files.retain(|path, _| !path.ends_with(but));
        files
    }

    fn files_into(&self, node: Node, path: String, files: &mut BTreeMap<String, Option<Vec<u8>>>) {
        match &self.nodes[node] {
            Content::File(bytes) => drop(files.insert(path, Some(bytes.to_vec()))),
            Content::Directory(entries) => {
                for (name, child) in entries {
                    self.files_into(*child, format!("{path}/{}", name.to_string_lossy()), files);
                }
                files.insert(path, None);
            }
        }
    }
}

/// All files of stores that are opened by their place belong to one user alone.
fn write_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;
    fs::File::options().write(true).create_new(true).mode(0o600).open(path)?.write_all(bytes)
}
