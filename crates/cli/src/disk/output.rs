//! The output of both commands: a table, JSON, or both.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use pitot_disk::cache::Residency;
use pitot_results::Failure;
use pitot_results::disk::CacheResidency;
use serde::Serialize;

/// Where results go: a table to standard output, JSON to a file, or JSON alone to standard output.
pub(super) struct Sink {
    json: Option<Box<dyn Write>>,
    /// JSON goes to standard output, so that nothing else may.
    pub(super) quiet: bool,
}

impl Sink {
    /// Opens the file, before the run, so that a file that cannot be written is reported first.
    pub(super) fn create(path: Option<&Path>) -> Result<Sink, Failure> {
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

    pub(super) fn write(self, table: &str, result: &impl Serialize) -> Result<(), Failure> {
        if !self.quiet {
            // A reader such as `head` may close the pipe early.
            let _ = io::stdout().write_all(table.as_bytes());
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

/// What the page cache held, and which system call counted it.
pub(super) fn residency(residency: &Residency) -> CacheResidency {
    CacheResidency {
        resident_pages: residency.resident,
        pages: residency.total,
        witness: residency.witness.name().into(),
    }
}

/// Bytes with the binary unit that divides them: `64KiB`, `1000`.
pub(super) fn size(bytes: u64) -> String {
    match bytes {
        b if b > 0 && b.is_multiple_of(1 << 30) => format!("{}GiB", b >> 30),
        b if b > 0 && b.is_multiple_of(1 << 20) => format!("{}MiB", b >> 20),
        b if b > 0 && b.is_multiple_of(1 << 10) => format!("{}KiB", b >> 10),
        b => b.to_string(),
    }
}

/// Rows in columns, the first to the left and the others to the right.
pub(super) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
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
            if column == 0 {
                line = format!("{cell}{pad}");
            } else {
                line = format!("{line}  {pad}{cell}");
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_take_the_largest_unit_that_divides_them() {
        for (bytes, text) in [(0, "0"), (1000, "1000"), (4096, "4KiB"), (1 << 20, "1MiB"), (3 << 30, "3GiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".to_owned(), "10".to_owned()], vec!["long".to_owned(), "1".to_owned()]];
        assert_eq!(table(&["name", "n"], &rows), "name   n\na     10\nlong   1\n");
    }
}
