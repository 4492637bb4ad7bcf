//! A list of recipients, read as a stream with one buffer, whatever its length.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use crate::address::{Address, BadAddress};

/// The longest line that is kept; a longer one is a bad line, however long it is.
const LINE_BYTES_MAX: usize = 1024;

/// Reads addresses, one a line. Empty lines and lines that begin with `#` are ignored.
#[derive(Debug)]
pub struct List<R> {
    input: R,
    line: Vec<u8>,
    number: u64,
}

/// One line that counts.
#[derive(Debug, PartialEq, Eq)]
pub struct Entry<'a> {
    /// Its number in the file, from 1.
    pub line: u64,
    /// Its address.
    pub address: Result<Address<'a>, BadAddress>,
}

/// Opens the file of a list.
///
/// # Errors
/// It does not exist, may not be read, or is a directory.
pub fn open(path: &Path) -> io::Result<List<BufReader<File>>> {
    let file = File::open(path)?;
    if file.metadata()?.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(List::new(BufReader::with_capacity(1 << 16, file)))
}

impl<R: BufRead> List<R> {
    /// Starts at the first line.
    pub fn new(input: R) -> List<R> {
        List { input, line: Vec::new(), number: 0 }
    }

    /// The next line that counts, or none at the end.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn next_entry(&mut self) -> io::Result<Option<Entry<'_>>> {
        let whole = loop {
            let Some(whole) = self.read_line()? else { return Ok(None) };
            // A byte order mark, as some editors put it in front.
            if self.number == 1 && self.line.starts_with(b"\xef\xbb\xbf") {
                self.line.drain(..3);
            }
            let text = self.line.trim_ascii();
            if !text.is_empty() && text[0] != b'#' {
                break whole;
            }
        };
        let address = if whole { Address::parse(&self.line) } else { Err(BadAddress::TooLong) };
        Ok(Some(Entry { line: self.number, address }))
    }

    /// Reads a line without its end. Returns whether it fits the buffer; `None` at the end of the list.
    fn read_line(&mut self) -> io::Result<Option<bool>> {
        self.line.clear();
        let (mut begun, mut whole) = (false, true);
        loop {
            let available = self.input.fill_buf()?;
            if available.is_empty() {
                self.number += u64::from(begun);
                return Ok(begun.then_some(whole));
            }
            begun = true;
            let end = available.iter().position(|&b| b == b'\n');
            let piece = &available[..end.unwrap_or(available.len())];
            let room = LINE_BYTES_MAX - self.line.len();
            whole &= piece.len() <= room;
            self.line.extend_from_slice(&piece[..piece.len().min(room)]);
            let used = piece.len() + usize::from(end.is_some());
            self.input.consume(used);
            if end.is_some() {
                self.number += 1;
                return Ok(Some(whole));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Row = (u64, Result<String, BadAddress>);

    fn rows(text: &[u8], buffer: usize) -> Vec<Row> {
        let mut list = List::new(BufReader::with_capacity(buffer, text));
        let mut rows = Vec::new();
        while let Some(entry) = list.next_entry().unwrap() {
            rows.push((entry.line, entry.address.map(|a| format!("{}@{}", a.local, a.domain))));
        }
        rows
    }

    #[test]
    fn lines_keep_their_numbers_and_bad_ones_do_not_end_the_list() {
        let text = b"\xef\xbb\xbfa@x.y\r\n\n# note\nbad\n  b@x.y  \nc@x.y";
        let good = |s: &str| Ok(s.to_owned());
        let expected =
            [(1, good("a@x.y")), (4, Err(BadAddress::NoAt)), (5, good("b@x.y")), (6, good("c@x.y"))];
        assert_eq!(rows(text, 4096), expected);
    }

    #[test]
    fn a_line_without_end_takes_bounded_memory_and_counts_once() {
        let text = [vec![b'x'; 1 << 20], b"\na@b\n".to_vec()].concat();
        let mut list = List::new(BufReader::new(&text[..]));
        assert_eq!(list.next_entry().unwrap().unwrap().address, Err(BadAddress::TooLong));
        assert!(list.line.capacity() <= 4 * LINE_BYTES_MAX);
        assert_eq!(list.next_entry().unwrap().unwrap().line, 2);
        assert_eq!(list.next_entry().unwrap(), None);
    }

    proptest! {
        #[test]
        fn the_buffer_s_length_changes_nothing(text in "([a-c@.#<>]{0,6}\n?){0,20}", buffer in 1usize..9) {
            prop_assert_eq!(rows(text.as_bytes(), buffer), rows(text.as_bytes(), 4096));
        }
    }
}
