//! What a server has acknowledged is looked for where the plan says that it keeps it, once the server has ended.
//!
//! Processes that are killed lose nothing that they have given to the kernel: what is missing here was acknowledged before it
//! was written. What a loss of power would take is another question, which the order of system calls answers, and no
//! look at the files.

use std::collections::HashMap;
use std::io;
use std::path::Path;

use pitot_results::receipts::{Kept, ReceiptName, Receipts};

use crate::kept::each_copy;
use pitot_record::kept::{ACKNOWLEDGED, DOUBLED, LOST, TORN};

/// What became of what was acknowledged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Acknowledged requests.
    pub(super) acknowledged: u64,
    /// Those of which nothing is there.
    pub(super) lost: u64,
    /// Those of which something else is there than was sent.
    pub(super) torn: u64,
    /// Those that are there more than once.
    pub(super) doubled: u64,
}

impl Found {
    /// Looks for everything that was acknowledged in a directory: of files, or a Maildir.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub(super) fn look(dir: &Path, receipts: &Receipts) -> io::Result<Found> {
        let known: HashMap<&str, &[(u64, u64)]> =
            receipts.connections.iter().map(|c| (c.connection.as_str(), &*c.numbers)).collect();
        let mut copies: HashMap<(String, u64), Copies> = HashMap::new();
        each_copy(dir, receipts.of, &mut |copy| {
            let ReceiptName { connection, number } = copy.name;
            if known.get(connection).is_some_and(|numbers| holds(numbers, number)) {
                let is_whole = copy.is_whole(receipts)?;
                let copies = copies.entry((connection.to_owned(), number)).or_default();
                *(if is_whole { &mut copies.whole } else { &mut copies.torn }) += 1;
            }
            Ok(())
        })?;
        let acknowledged = receipts.count();
        let mut found = Found { acknowledged, lost: acknowledged - copies.len() as u64, ..Found::default() };
        for copies in copies.values() {
            found.torn += u64::from(copies.whole == 0);
            found.doubled += u64::from(copies.whole > 1);
        }
        Ok(found)
    }

    /// The figures by their names in the verdict.
    pub(super) fn figures(self) -> Vec<(String, f64)> {
        let all = [
            (ACKNOWLEDGED, self.acknowledged),
            (LOST, self.lost + self.torn),
            (TORN, self.torn),
            (DOUBLED, self.doubled),
        ];
        all.into_iter().map(|(name, count)| (name.to_owned(), count as f64)).collect()
    }

    /// The sentence about what is not there, if anything is missing.
    pub(super) fn complaint(self, of: Kept) -> Option<String> {
        let (one, many) = match of {
            Kept::Uploads => ("upload", "uploads"),
            Kept::Mail => ("mail", "mails"),
        };
        let what = |n: u64| if n == 1 { one } else { many };
        let of_all = format!("of {} that the server acknowledged", self.acknowledged);
        match (self.lost, self.torn) {
            (0, 0) => None,
            (lost, 0) => Some(format!("not there: {lost} {} {of_all}", what(lost))),
            (0, torn) => Some(format!("not whole: {torn} {} {of_all}", what(torn))),
            (lost, torn) => Some(format!("not there: {lost}, and not whole: {torn} {} {of_all}", what(torn))),
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Copies {
    whole: u64,
    torn: u64,
}

fn holds(numbers: &[(u64, u64)], number: u64) -> bool {
    let behind = numbers.partition_point(|(first, _)| *first <= number);
    behind > 0 && number <= numbers[behind - 1].1
}

#[cfg(test)]
mod tests {
    use std::fs;

    use pitot_results::receipts::Acknowledged;
    use ring::digest;

    use super::*;

    const CONNECTION: &str = "receipt-000001-000002";

    fn receipts(of: Kept, content: &[u8], numbers: Vec<(u64, u64)>) -> Receipts {
        let sha256 =
            digest::digest(&digest::SHA256, content).as_ref().iter().map(|b| format!("{b:02x}")).collect();
        let connections = vec![Acknowledged { connection: CONNECTION.into(), numbers }];
        Receipts { of, bytes: content.len() as u64, sha256, connections }
    }

    fn name(number: u64) -> String {
        format!("{CONNECTION}-{number:010x}")
    }

    #[test]
    fn uploads_are_there_torn_or_lost() {
        let dir = tempfile::tempdir().unwrap();
        let receipts = receipts(Kept::Uploads, b"whole", vec![(0, 0), (2, 5)]);
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
        let found = Found::look(dir.path(), &receipts).unwrap();
        assert_eq!(found, Found { acknowledged: 5, lost: 2, torn: 1, doubled: 0 });
        assert_eq!(
            found.complaint(Kept::Uploads).unwrap(),
            "not there: 2, and not whole: 1 upload of 5 that the server acknowledged"
        );
        assert!(Found::look(&dir.path().join("missing"), &receipts).is_err());
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
        let receipts = receipts(Kept::Mail, b"one\n\ntwo", vec![(0, 2)]);
        let found = Found::look(dir.path(), &receipts).unwrap();
        assert_eq!(found, Found { acknowledged: 3, lost: 1, torn: 0, doubled: 1 });
        assert_eq!(
            found.complaint(Kept::Mail).unwrap(),
            "not there: 1 mail of 3 that the server acknowledged"
        );
        assert_eq!(Found { lost: 0, ..found }.complaint(Kept::Mail), None);
    }

    #[test]
    fn a_number_is_in_a_range_or_between_two() {
        let numbers = [(1, 1), (4, 6)];
        let inside: Vec<u64> = (0..9).filter(|n| holds(&numbers, *n)).collect();
        assert_eq!(inside, [1, 4, 5, 6]);
        assert!(!holds(&[], 0));
    }
}
