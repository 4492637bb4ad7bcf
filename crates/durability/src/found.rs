//! What became of what a server acknowledged, once it has ended.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use crate::acknowledged::{Acknowledged, OfConnection, Stored};
use crate::copies::each_copy;
use crate::name::RequestName;

/// The name of a metric: requests with right replies.
pub const ACKNOWLEDGED: &str = "acknowledged";
/// Those that are not there whole.
pub const LOST: &str = "lost";
/// Requests that are stored incompletely.
pub const TORN: &str = "torn";
/// Those that are there more than once.
pub const DOUBLED: &str = "doubled";

/// The state of acknowledged requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// Acknowledged requests.
    pub acknowledged: u64,
    /// Requests that are missing.
    pub lost: u64,
    /// Requests whose stored content differs.
    pub torn: u64,
    /// Those that are there more than once.
    pub doubled: u64,
}

impl Found {
    /// Checks a directory of files or a Maildir for all acknowledged requests.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn look(dir: &Path, acknowledged: &Acknowledged) -> io::Result<Found> {
        let known: HashMap<&str, &OfConnection> =
            acknowledged.connections.iter().map(|c| (c.connection.as_str(), c)).collect();
        let mut copies: HashMap<(&str, u64), Copies> = HashMap::new();
        let wanted = |name: RequestName<'_>| {
            known.get(name.connection).filter(|c| c.holds(name)).map(|_| acknowledged)
        };
        each_copy(dir, acknowledged.of, &wanted, &mut |copy| {
            let connection = &known[copy.name.connection].connection;
            let copies = copies.entry((connection, copy.name.number)).or_default();
            *(if copy.is_whole { &mut copies.whole } else { &mut copies.torn }) += 1;
        })?;
        let all = acknowledged.count();
        let mut found = Found { acknowledged: all, lost: all - copies.len() as u64, ..Found::default() };
        for copies in copies.values() {
            found.torn += u64::from(copies.whole == 0);
            found.doubled += u64::from(copies.whole > 1);
        }
        Ok(found)
    }

    /// The figures by their names.
    pub fn figures(self) -> Vec<(String, f64)> {
        let all = [
            (ACKNOWLEDGED, self.acknowledged),
            (LOST, self.lost + self.torn),
            (TORN, self.torn),
            (DOUBLED, self.doubled),
        ];
        all.into_iter().map(|(name, count)| (name.to_owned(), count as f64)).collect()
    }

    /// The sentence about missing requests, if there are any.
    pub fn complaint(self, of: Stored) -> Option<String> {
        let (one, many) = of.words();
        let what = |n: u64| if n == 1 { one } else { many };
        let of_all = format!("of {} acknowledged by the server", self.acknowledged);
        match (self.lost, self.torn) {
            (0, 0) => None,
            (lost, 0) => Some(format!("lost: {lost} {} {of_all}", what(lost))),
            (0, torn) => Some(format!("torn: {torn} {} {of_all}", what(torn))),
            (lost, torn) => Some(format!("lost: {lost}, torn: {torn} {} {of_all}", what(torn))),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Copies {
    whole: u64,
    torn: u64,
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const CONNECTION: &str = "request-000001-000002";

    fn acknowledged(of: Stored, content: &[u8], numbers: Vec<(u64, u64)>) -> Acknowledged {
        let connections = vec![OfConnection { connection: CONNECTION.into(), numbers }];
        Acknowledged { connections, ..Acknowledged::nothing(of, content) }
    }

    fn name(number: u64) -> String {
        RequestName { connection: CONNECTION, number }.to_string()
    }

    #[test]
    fn uploads_are_there_torn_or_lost() {
        let dir = tempfile::tempdir().unwrap();
        let acknowledged = acknowledged(Stored::Uploads, b"whole", vec![(0, 0), (2, 5)]);
        fs::create_dir(dir.path().join("a")).unwrap();
        for (path, content) in [
            (name(0), &b"whole"[..]),
            (format!("a/x-{}.dat", name(2)), b"whole"),
            // Of the length that it should have.
            (name(3), b"while"),
            // It was not acknowledged, and it need not be there, nor whole.
            (name(1), b"wh"),
            ("other".to_owned(), b""),
        ] {
            fs::write(dir.path().join(path), content).unwrap();
        }
        let found = Found::look(dir.path(), &acknowledged).unwrap();
        assert_eq!(found, Found { acknowledged: 5, lost: 2, torn: 1, doubled: 0 });
        assert_eq!(
            found.complaint(Stored::Uploads).unwrap(),
            "lost: 2, torn: 1 upload of 5 acknowledged by the server"
        );
        assert!(Found::look(&dir.path().join("missing"), &acknowledged).is_err());
    }

    #[test]
    fn mail_is_found_by_its_header_and_may_be_there_twice() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["new", "cur", "tmp"] {
            fs::create_dir(dir.path().join(folder)).unwrap();
        }
        let mail = |number: u64| {
            let name = name(number);
            format!("Received: by mx\nMessage-ID: <{name}@pitot.invalid>\nSubject: x\n\none\n\ntwo\n")
        };
        for (path, number) in [("new/1", 0), ("cur/2", 1), ("new/3", 1), ("tmp/4", 2)] {
            fs::write(dir.path().join(path), mail(number)).unwrap();
        }
        let acknowledged = acknowledged(Stored::Mail, b"A: b\n\none\n\ntwo", vec![(0, 2)]);
        let found = Found::look(dir.path(), &acknowledged).unwrap();
        assert_eq!(found, Found { acknowledged: 3, lost: 1, torn: 0, doubled: 1 });
        assert_eq!(found.complaint(Stored::Mail).unwrap(), "lost: 1 mail of 3 acknowledged by the server");
        assert_eq!(Found { lost: 0, ..found }.complaint(Stored::Mail), None);
    }
}
