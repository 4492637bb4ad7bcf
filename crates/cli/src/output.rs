//! What commands print that measure once: a table, JSON, or both.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pitot_results::{Failure, rfc3339};
use serde::Serialize;

/// Where results go: a table to standard output, JSON to a file, or JSON alone to standard output.
pub(crate) struct Sink {
    json: Option<Box<dyn Write>>,
    /// JSON goes to standard output, so that nothing else may.
    pub(crate) quiet: bool,
}

impl Sink {
    /// Opens the file, before the run, so that a file that cannot be written is reported first.
    pub(crate) fn create(path: Option<&Path>) -> Result<Sink, Failure> {
        let json: Option<Box<dyn Write>> = match path {
            None => None,
            Some(path) if path == Path::new("-") => {
                return Ok(Sink { json: Some(Box::new(io::stdout())), quiet: true });
            }
            Some(path) => Some(Box::new(File::create(path).map_err(|e| {
                let what = format!("{} cannot be written: {e}", path.display());
                Failure::misuse(what, "check the directory and its permissions")
            })?)),
        };
        Ok(Sink { json, quiet: false })
    }

    pub(crate) fn write(self, table: &str, result: &impl Serialize) -> Result<(), Failure> {
        if !self.quiet {
            print(table);
        }
        let Some(mut json) = self.json else { return Ok(()) };
        serde_json::to_writer_pretty(&mut json, result)
            .map_err(io::Error::from)
            .and_then(|()| writeln!(json))
            .and_then(|()| json.flush())
            .map_err(|e| {
                let what = format!("the JSON could not be written: {e}");
                Failure::run(what, "check the space on its file system")
            })
    }
}

/// Prints to standard output. A reader such as `head` may close the pipe early.
pub(crate) fn print(text: &str) {
    let _ = io::stdout().write_all(text.as_bytes());
}

/// The same with an end of line.
pub(crate) fn print_line(text: impl Display) {
    print(&format!("{text}\n"));
}

/// `NAME-20260102-030405.pitot`, in UTC.
pub(crate) fn default_output(name: &str) -> PathBuf {
    let now = rfc3339(SystemTime::now());
    let stamp: String =
        now.chars().take("2026-01-02T03:04:05".len()).filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    format!("{name}-{}.pitot", stamp.replace('T', "-")).into()
}

/// Rows in columns, the first to the left and the others to the right.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
    columns(head, rows, |column| column == 0)
}

/// The same, with words in the last column: it is to the left, too.
pub(crate) fn table_with_words(head: &[&str], rows: &[Vec<String>]) -> String {
    columns(head, rows, |column| column == 0 || column + 1 == head.len())
}

fn columns(head: &[&str], rows: &[Vec<String>], is_left: impl Fn(usize) -> bool) -> String {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count());
        cells.chain([head[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..head.len()).map(width).collect();
    let mut text = String::new();
    let head: Vec<String> = head.iter().map(|&cell| cell.to_owned()).collect();
    for row in std::iter::once(&head).chain(rows) {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            let pad = " ".repeat(width - cell.chars().count());
            let gap = if column == 0 { "" } else { "  " };
            let (before, after) = if is_left(column) { ("", &*pad) } else { (&*pad, "") };
            line.extend([gap, before, cell, after]);
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows() -> [Vec<String>; 2] {
        [vec!["a".to_owned(), "10".to_owned()], vec!["long".to_owned(), "1".to_owned()]]
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(table(&["name", "n"], &rows()), "name   n\na     10\nlong   1\n");
    }

    #[test]
    fn words_begin_where_their_column_does() {
        assert_eq!(table_with_words(&["name", "n"], &rows()), "name  n\na     10\nlong  1\n");
    }
}
