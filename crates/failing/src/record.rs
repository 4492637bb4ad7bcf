//! What a program did to a directory, call by call; and the one fault that it met.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use pitot_sys::trace::{Call, CallFate, Handle, Watch, trace};
use rustix::io::Errno;

use crate::disk::{Disk, Node, Unit};

/// What a call meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The program is killed before it.
    Kill,
    /// A write is half done, and the program is killed.
    Torn,
    /// It fails with EIO. The bytes that fsync(2) was called for may never reach the disk then, even if a later one succeeds.
    InputOutput,
    /// It fails with ENOSPC, and space is there again afterwards.
    NoSpace,
    /// It fails with ENOSPC, and so does all else that takes space.
    Full,
    /// A write is half done, and there is no more space.
    Short,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which call meets it, from 0.
    pub call: usize,
    /// What it meets.
    pub kind: Kind,
}

impl Kind {
    /// All of them.
    pub const ALL: [Kind; 6] =
        [Kind::Kill, Kind::Torn, Kind::InputOutput, Kind::NoSpace, Kind::Full, Kind::Short];

    /// Whether the program goes on.
    pub fn is_survived(self) -> bool {
        !matches!(self, Kind::Kill | Kind::Torn)
    }

    fn can_meet(self, call: &Call) -> bool {
        match self {
            Kind::Kill | Kind::InputOutput => true,
            Kind::Torn | Kind::Short => matches!(call, Call::Write { bytes, .. } if bytes.len() > 1),
            Kind::NoSpace | Kind::Full => takes_space(call),
        }
    }
}

fn takes_space(call: &Call) -> bool {
    match call {
        Call::Open { creates, .. } => *creates,
        Call::Write { .. }
        | Call::Allocate { .. }
        | Call::Sync { .. }
        | Call::Rename { .. }
        | Call::Link { .. }
        | Call::MakeDirectory { .. } => true,
        Call::Truncate { .. } | Call::Unlink { .. } | Call::Other(_) => false,
    }
}

/// A step of what was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Files were changed.
    Change(Vec<Unit>),
    /// A file or directory was synchronised; false if that failed.
    Sync(Node, bool),
    /// The program said a line.
    Said(String),
}

/// What a program did.
#[derive(Debug)]
pub struct Record {
    /// The directory before.
    pub before: Disk,
    /// What it was to the program in the end, whatever of it is on the disk.
    pub after: Disk,
    /// The steps, in their order.
    pub steps: Vec<Step>,
    /// The calls that touched the directory, each with the faults that it can meet.
    pub calls: Vec<(String, Vec<Kind>)>,
    /// Whether the fault was met.
    pub was_met: bool,
    /// How the program ended.
    pub status: ExitStatus,
}

impl Record {
    /// What the program said.
    pub fn said(&self) -> Vec<String> {
        let line = |step: &Step| match step {
            Step::Said(line) => Some(line.clone()),
            _ => None,
        };
        self.steps.iter().filter_map(line).collect()
    }
}

/// Runs a program that says what it has done on its standard output, and records what it does to `directory`.
///
/// # Errors
/// If it cannot be run, or does something that has no place in the record.
pub fn record(mut command: Command, directory: &Path, fault: Option<Fault>) -> io::Result<Record> {
    let mut nodes = HashMap::new();
    let before = Disk::read(directory, &mut |inode, node| {
        nodes.insert(inode, node);
    })?;
    let mut recorder = Recorder {
        directory: directory.to_owned(),
        fault,
        nodes,
        after: before.clone(),
        steps: Vec::new(),
        calls: Vec::new(),
        was_met: false,
        kills: false,
        is_full: false,
        unknown: None,
    };
    command.stdin(Stdio::null()).stdout(Stdio::null());
    let status = trace(&mut command, &mut recorder)?;
    if let Some(unknown) = recorder.unknown {
        return Err(io::Error::other(format!("the record has no place for {unknown}")));
    }
    let Recorder { after, steps, calls, was_met, .. } = recorder;
    Ok(Record { before, after, steps, calls, was_met, status })
}

struct Recorder {
    directory: PathBuf,
    fault: Option<Fault>,
    /// By inode.
    nodes: HashMap<u64, Node>,
    after: Disk,
    steps: Vec<Step>,
    calls: Vec<(String, Vec<Kind>)>,
    was_met: bool,
    kills: bool,
    is_full: bool,
    unknown: Option<String>,
}

impl Watch for Recorder {
    fn begins(&mut self, call: &Call) -> CallFate {
        if matches!(call, Call::Other(_)) {
            self.unknown.get_or_insert_with(|| format!("{call:?}"));
        }
        let Some(name) = self.name(call) else { return CallFate::Go };
        let number = self.calls.len();
        self.calls.push((name, Kind::ALL.into_iter().filter(|kind| kind.can_meet(call)).collect()));
        let no_space = CallFate::Fail(Errno::NOSPC.raw_os_error());
        match self.fault {
            Some(fault) if fault.call == number && fault.kind.can_meet(call) => {
                self.was_met = true;
                let half = |call: &Call| match call {
                    Call::Write { bytes, .. } => CallFate::Shorten(bytes.len() as u64 / 2),
                    _ => CallFate::Go,
                };
                match fault.kind {
                    Kind::Kill => CallFate::Kill,
                    Kind::Torn => {
                        self.kills = true;
                        half(call)
                    }
                    Kind::InputOutput => CallFate::Fail(Errno::IO.raw_os_error()),
                    Kind::NoSpace => no_space,
                    Kind::Full => {
                        self.is_full = true;
                        no_space
                    }
                    Kind::Short => {
                        self.is_full = true;
                        half(call)
                    }
                }
            }
            _ if self.is_full && takes_space(call) && !matches!(call, Call::Sync { .. }) => no_space,
            _ => CallFate::Go,
        }
    }

    fn ended(&mut self, call: &Call, result: i64, opened: Option<&Handle>) -> CallFate {
        if let Call::Write { file, bytes, .. } = call
            && file.descriptor == 1
        {
            let line = String::from_utf8_lossy(bytes).trim_end().to_owned();
            self.steps.push(Step::Said(line));
        } else if self.name(call).is_some() {
            self.done(call, result, opened);
        }
        if self.kills { CallFate::Kill } else { CallFate::Go }
    }
}

impl Recorder {
    /// The path below the directory.
    fn inside<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(&self.directory).ok()
    }

    /// What a call that touches the directory is called in messages.
    fn name(&self, call: &Call) -> Option<String> {
        let (name, path) = match call {
            Call::Open { path, .. } => ("open", path),
            Call::Write { file, .. } => ("write", &file.path),
            Call::Truncate { file, .. } => ("ftruncate", &file.path),
            Call::Allocate { file, .. } => ("fallocate", &file.path),
            Call::Sync { file } => ("fsync", &file.path),
            Call::Rename { to, .. } => ("rename", to),
            Call::Link { to, .. } => ("link", to),
            Call::Unlink { path } => ("unlink", path),
            Call::MakeDirectory { path } => ("mkdir", path),
            Call::Other(_) => return None,
        };
        Some(format!("{name} {}", self.inside(path)?.display()))
    }

    fn done(&mut self, call: &Call, result: i64, opened: Option<&Handle>) {
        if let Call::Sync { file } = call {
            if let Some(node) = self.nodes.get(&file.inode) {
                self.steps.push(Step::Sync(*node, result >= 0));
            }
            return;
        }
        if result < 0 {
            return;
        }
        let units = match call {
            Call::Open { path, creates, truncates } => self.opened(path, *creates, *truncates, opened),
            Call::Write { file, at, bytes } => self
                .nodes
                .get(&file.inode)
                .map(|node| Unit::of_write(*node, *at as usize, &bytes[..result as usize])),
            Call::Truncate { file, length } => {
                self.nodes.get(&file.inode).map(|node| vec![Unit::Cut(*node, *length as usize)])
            }
            Call::Allocate { file, length } => {
                self.nodes.get(&file.inode).map(|node| vec![Unit::Grow(*node, *length as usize)])
            }
            Call::Rename { from, to } => self.renamed(from, to),
            Call::Link { from, to } => self.linked(from, to),
            Call::Unlink { path } => self.entry(path).map(|(node, name)| vec![Unit::Leave(node, name)]),
            Call::MakeDirectory { path } => {
                let node = self.after.add(true);
                self.entry(path).map(|(directory, name)| vec![Unit::Enter(directory, name, node)])
            }
            Call::Sync { .. } | Call::Other(_) => None,
        };
        let Some(units) = units else {
            self.unknown.get_or_insert_with(|| format!("{call:?}"));
            return;
        };
        // What makes a file no longer is no change.
        let grows =
            |unit: &Unit| !matches!(unit, Unit::Grow(node, length) if self.after.size(*node) >= *length);
        let units: Vec<Unit> = units.into_iter().filter(grows).collect();
        units.iter().for_each(|unit| self.after.apply(unit));
        self.steps.push(Step::Change(units));
    }

    /// The directory of a path, and the name in it.
    fn entry(&self, path: &Path) -> Option<(Node, std::ffi::OsString)> {
        let path = self.inside(path)?;
        Some((self.after.find(path.parent()?)?, path.file_name()?.to_owned()))
    }

    fn opened(
        &mut self,
        path: &Path,
        creates: bool,
        truncates: bool,
        opened: Option<&Handle>,
    ) -> Option<Vec<Unit>> {
        let mut units = Vec::new();
        let node = match self.after.find(self.inside(path)?) {
            Some(node) => node,
            None if creates => {
                let node = self.after.add(false);
                let (directory, name) = self.entry(path)?;
                units.push(Unit::Enter(directory, name, node));
                node
            }
            None => return None,
        };
        if truncates && self.after.size(node) > 0 {
            units.push(Unit::Cut(node, 0));
        }
        self.nodes.insert(opened?.inode, node);
        Some(units)
    }

    fn renamed(&self, from: &Path, to: &Path) -> Option<Vec<Unit>> {
        let node = self.after.find(self.inside(from)?)?;
        let ((old, from), (new, to)) = (self.entry(from)?, self.entry(to)?);
        Some(match old == new {
            true => vec![Unit::Move(old, from, to, node)],
            false => vec![Unit::Enter(new, to, node), Unit::Leave(old, from)],
        })
    }

    fn linked(&self, from: &Path, to: &Path) -> Option<Vec<Unit>> {
        let node = self.after.find(self.inside(from)?)?;
        let (directory, name) = self.entry(to)?;
        Some(vec![Unit::Enter(directory, name, node)])
    }
}
