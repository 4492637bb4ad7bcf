//! Checks acknowledged requests while a server runs, and removes those that are stored completely, so that a soak of days needs no
//! more disk space than one of minutes.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::acknowledged::{Acknowledged, Stored};
use crate::copies::each_copy;
use crate::name::RequestName;

/// An upload that was acknowledged is a file, at once; the load tells of it a second later.
const UPLOAD_GRACE_S: f64 = 2.0;
/// A mail may wait in a queue on the server's disk for so long, seconds.
const MAIL_GRACE_S: f64 = 60.0;
/// The most names of lost requests that are reported.
const NAMES_MAX: usize = 8;
/// So many requests are remembered that were not found yet: some 60 MB. A server that is further behind is not watched any closer.
const MISSING_MAX: usize = 500_000;

/// A request: the name of its connection, and its number there.
type Name = (String, u64);

/// What one server has acknowledged and was not found yet.
#[derive(Debug, Default)]
pub struct DurabilityWatch {
    /// What each load sends, without acknowledgements.
    contents: HashMap<i64, Acknowledged>,
    missing: BTreeMap<Name, Acknowledgement>,
    /// Requests beyond the limit of the watch, since the last report.
    unwatched: u64,
}

#[derive(Clone, Copy, Debug)]
struct Acknowledgement {
    load: i64,
    /// The beginning of its second, seconds since the soak began.
    at_s: f64,
}

/// The result of a check.
#[derive(Debug, Default, PartialEq)]
pub struct Looked {
    /// Lost requests, by load and second.
    pub losses: Vec<Lost>,
    /// Requests that were there more than once, by load.
    pub doubled: BTreeMap<i64, u64>,
    /// The names of some that are lost.
    pub names: Vec<String>,
}

/// Lost requests of those acknowledged in one second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lost {
    /// The load.
    pub load: i64,
    /// The begin of the second, seconds since the soak began.
    pub at_s: f64,
    /// Requests that are not there, or not whole.
    pub lost: u64,
    /// Requests that are stored incompletely.
    pub torn: u64,
}

/// Where one request was found.
#[derive(Debug, Default)]
struct Copies {
    whole: Vec<PathBuf>,
    is_torn: bool,
}

impl DurabilityWatch {
    /// Takes the acknowledgements of a load in the second that began at `at_s`.
    pub fn take(&mut self, load: i64, at_s: f64, acknowledged: Acknowledged) {
        for told in &acknowledged.connections {
            for number in told.numbers.iter().flat_map(|(first, last)| *first..=*last) {
                if self.missing.len() >= MISSING_MAX {
                    self.unwatched += 1;
                    continue;
                }
                self.missing.insert((told.connection.clone(), number), Acknowledgement { load, at_s });
            }
        }
        self.contents.insert(load, Acknowledged { connections: Vec::new(), ..acknowledged });
    }

    /// Requests that are not checked since the last call, since too many were still missing.
    pub fn unwatched(&mut self) -> u64 {
        std::mem::take(&mut self.unwatched)
    }

    /// Checks for missing requests and reports losses. At the end, every missing upload is a loss; mail of the last minute may still
    /// be in a queue.
    ///
    /// # Errors
    /// The directory cannot be read; no losses are reported then.
    pub fn look(&mut self, dir: &Path, now_s: f64, is_end: bool) -> io::Result<Looked> {
        if self.missing.is_empty() {
            return Ok(Looked::default());
        }
        let mut found = self.find(dir)?;
        let mut looked = Looked::default();
        for (name, copies) in found.iter_mut().filter(|(_, copies)| !copies.whole.is_empty()) {
            let Some(told) = self.missing.remove(name) else { continue };
            *looked.doubled.entry(told.load).or_default() += u64::from(copies.whole.len() > 1);
            for path in copies.whole.drain(..) {
                match fs::remove_file(path) {
                    // The server has moved it, as a mail that was read.
                    Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                    removed => removed?,
                }
            }
        }
        let is_overdue =
            |told: &Acknowledgement| match self.contents.get(&told.load).map(|content| content.of) {
                Some(Stored::Mail) => now_s - told.at_s > MAIL_GRACE_S,
                Some(Stored::Uploads) | None => is_end || now_s - told.at_s > UPLOAD_GRACE_S,
            };
        let overdue: Vec<(Name, Acknowledgement)> = self
            .missing
            .iter()
            .filter(|(_, told)| is_overdue(told))
            .map(|(name, told)| (name.clone(), *told))
            .collect();
        for (name, told) in overdue {
            self.missing.remove(&name);
            let is_torn = found.get(&name).is_some_and(|copies| copies.is_torn);
            looked.lost(&name, told, is_torn);
        }
        Ok(looked)
    }

    /// The present files of missing requests.
    fn find(&self, dir: &Path) -> io::Result<HashMap<Name, Copies>> {
        let mut found: HashMap<Name, Copies> = HashMap::new();
        let missing = |name: RequestName<'_>| self.missing.get(&(name.connection.to_owned(), name.number));
        let wanted = |name: RequestName<'_>| self.contents.get(&missing(name)?.load);
        for kind in [Stored::Uploads, Stored::Mail] {
            if !self.contents.values().any(|content| content.of == kind) {
                continue;
            }
            each_copy(dir, kind, &wanted, &mut |copy| {
                let copies = found.entry((copy.name.connection.to_owned(), copy.name.number)).or_default();
                if copy.is_whole {
                    copies.whole.push(copy.path.to_owned());
                } else {
                    copies.is_torn = true;
                }
            })?;
        }
        Ok(found)
    }
}

impl Looked {
    /// One request is lost or torn.
    fn lost(&mut self, (connection, number): &Name, told: Acknowledgement, is_torn: bool) {
        if self.names.len() < NAMES_MAX {
            let how = if is_torn { " (torn)" } else { "" };
            self.names.push(format!("{}{how}", RequestName { connection, number: *number }));
        }
        let torn = u64::from(is_torn);
        match self.losses.iter_mut().find(|loss| loss.load == told.load && loss.at_s == told.at_s) {
            Some(loss) => {
                loss.lost += 1;
                loss.torn += torn;
            }
            None => {
                self.losses.push(Lost { load: told.load, at_s: told.at_s, lost: 1, torn });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::acknowledged::OfConnection;

    const CONNECTION: &str = "request-000001-000002";

    fn acknowledged(numbers: &[(u64, u64)]) -> Acknowledged {
        let connections = vec![OfConnection { connection: CONNECTION.into(), numbers: numbers.to_vec() }];
        Acknowledged { connections, ..Acknowledged::nothing(Stored::Uploads, b"whole") }
    }

    fn path(dir: &Path, number: u64) -> PathBuf {
        dir.join(format!("{CONNECTION}-{number:010x}.dat"))
    }

    #[test]
    fn what_is_there_is_taken_away_and_what_is_not_is_lost_when_it_is_overdue() {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let mut watch = DurabilityWatch::default();
        watch.take(7, 10.0, acknowledged(&[(0, 3)]));
        watch.take(7, 11.0, acknowledged(&[(4, 4)]));
        for number in [0, 1, 9] {
            fs::write(path(dir, number), "whole").unwrap();
        }
        fs::write(path(dir, 2), "who").unwrap();
        assert_eq!(watch.look(dir, 11.5, false).unwrap().losses, []);
        assert!(!path(dir, 0).exists() && !path(dir, 1).exists());
        assert!(path(dir, 9).exists(), "nobody has acknowledged it");
        // It comes late, and in time.
        fs::write(path(dir, 3), "whole").unwrap();
        let looked = watch.look(dir, 12.5, false).unwrap();
        assert_eq!(looked.losses, [Lost { load: 7, at_s: 10.0, lost: 1, torn: 1 }]);
        assert_eq!(looked.names, [format!("{CONNECTION}-0000000002 (torn)")]);
        let last = watch.look(dir, 12.6, true).unwrap();
        assert_eq!(last.losses, [Lost { load: 7, at_s: 11.0, lost: 1, torn: 0 }]);
        assert_eq!(watch.look(dir, 100.0, true).unwrap(), Looked::default());
    }

    #[test]
    fn what_is_remembered_has_a_bound() {
        let mut watch = DurabilityWatch::default();
        watch.take(1, 0.0, acknowledged(&[(0, MISSING_MAX as u64 + 6)]));
        assert_eq!((watch.missing.len(), watch.unwatched(), watch.unwatched()), (MISSING_MAX, 7, 0));
    }

    #[test]
    fn a_request_that_is_there_twice_is_counted_and_a_directory_that_is_not_loses_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut watch = DurabilityWatch::default();
        watch.take(1, 0.0, acknowledged(&[(0, 1)]));
        assert!(watch.look(&dir.path().join("missing"), 99.0, false).is_err());
        fs::create_dir(dir.path().join("a")).unwrap();
        for copy in [path(dir.path(), 0), path(&dir.path().join("a"), 0), path(dir.path(), 1)] {
            fs::write(copy, "whole").unwrap();
        }
        let looked = watch.look(dir.path(), 99.0, false).unwrap();
        assert_eq!((looked.losses, looked.doubled), (vec![], [(1, 1)].into()));
    }
}
