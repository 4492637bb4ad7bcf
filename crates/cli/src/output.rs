//! What commands print and write: the one place where text for people leaves for standard output, and where the outputs of a
//! result are tried one by one.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use pitot_results::{Drawn, Failure, rfc3339, visible};
use serde::Serialize;

use crate::failure;

/// Where results go: a table to standard output, JSON to a file, or JSON alone to standard output.
pub(crate) struct Sink {
    json: Option<Box<dyn Write>>,
    /// JSON goes to standard output, so that nothing else may.
    pub(crate) quiet: bool,
}

impl Sink {
    /// Opens the file, before the run, so that a file that cannot be written is reported first.
    pub(crate) fn create(path: Option<&Path>) -> Result<Sink, Failure> {
        let json = path.map(create).transpose()?;
        Ok(Sink { json, quiet: path.is_some_and(is_stdout) })
    }

    pub(crate) fn write(self, shown: &Drawn, result: &impl Serialize) -> Result<(), Failure> {
        let printed = if self.quiet { Ok(()) } else { draw(shown) };
        let written =
            self.json.map_or(Ok(()), |mut out| write_json(&mut out, serde_json::to_string_pretty(result)));
        each([printed, written])
    }
}

/// Opens an output, before what it is for, so that a file that cannot be written is reported first. `-` is standard output.
pub(crate) fn create(path: &Path) -> Result<Box<dyn Write>, Failure> {
    if is_stdout(path) {
        return Ok(Box::new(io::stdout()));
    }
    File::create(path).map(|file| Box::new(file) as Box<dyn Write>).map_err(|e| unwritable(path, &e))
}

/// A file cannot be opened for writing.
pub(crate) fn unwritable(path: &Path, e: &io::Error) -> Failure {
    let what = format!("{} cannot be written: {e}", path.display());
    Failure::misuse(what, "check the directory and its permissions")
}

/// An output that was opened could not be written.
pub(crate) fn not_written(what: &str, e: &io::Error) -> Failure {
    Failure::run(format!("{what} could not be written: {e}"), "check the space on its file system")
}

/// Whether an option's file is standard output.
pub(crate) fn is_stdout(path: &Path) -> bool {
    path == Path::new("-")
}

/// The file to which each step of a job of GitHub Actions adds its summary, if this is one.
pub(crate) fn job_summary() -> Option<PathBuf> {
    std::env::var_os("GITHUB_STEP_SUMMARY").filter(|path| !path.is_empty()).map(PathBuf::from)
}

/// Writes one JSON document and an end of line. A reader that has gone away is no failure.
pub(crate) fn write_json(out: &mut dyn Write, json: serde_json::Result<String>) -> Result<(), Failure> {
    let written = json.map_err(io::Error::from).and_then(|json| whole(out, &format!("{}\n", visible(&json))));
    written.map_err(|e| not_written("the JSON result", &e))
}

/// Tries every output of a result, whatever became of those before: an array of attempts is evaluated in order. Each that
/// failed is reported, the last by the caller.
pub(crate) fn each(attempts: impl IntoIterator<Item = Result<(), Failure>>) -> Result<(), Failure> {
    let mut failed: Vec<Failure> = attempts.into_iter().filter_map(Result::err).collect();
    let last = failed.pop();
    for failure in &failed {
        failure::print(failure);
    }
    last.map_or(Ok(()), Err)
}

/// Prints text for people: control characters are made visible.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    draw(&Drawn::default().text(text))
}

/// Prints what has codes of Pitot's own in it. A reader that closed the pipe early, as `head` does, is no failure.
pub(crate) fn draw(drawn: &Drawn) -> Result<(), Failure> {
    whole(&mut io::stdout().lock(), &drawn.to_string()).map_err(|e| {
        Failure::run(format!("cannot write to standard output: {e}"), "check the space on its file system")
    })
}

/// Prints a line, as a note on what goes on; nobody need read it.
pub(crate) fn print_line(text: impl Display) {
    let _ = print(&format!("{text}\n"));
}

fn whole(out: &mut dyn Write, text: &str) -> io::Result<()> {
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// `NAME-20260102-030405.pitot`, in UTC; with a number where one of this second is there.
pub(crate) fn default_output(name: &str) -> PathBuf {
    let now = rfc3339(SystemTime::now());
    let stamp: String =
        now.chars().take("2026-01-02T03:04:05".len()).filter(|c| c.is_ascii_digit() || *c == 'T').collect();
    free_output(&format!("{name}-{}", stamp.replace('T', "-")), &|path| path.exists())
}

fn free_output(stem: &str, is_there: &dyn Fn(&Path) -> bool) -> PathBuf {
    let mut path = PathBuf::from(format!("{stem}.pitot"));
    for number in 2.. {
        if !is_there(&path) {
            break;
        }
        path = format!("{stem}-{number}.pitot").into();
    }
    path
}

/// Rows in columns, the first to the left and the others to the right.
pub(crate) fn table(head: &[&str], rows: &[Vec<String>]) -> String {
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
            let (before, after) = if column == 0 { ("", &*pad) } else { (&*pad, "") };
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

    #[test]
    fn two_runs_that_begin_in_one_second_have_files_of_their_own() {
        let free =
            |there: &[&str]| free_output("a-1", &|path| there.iter().any(|name| Path::new(name) == path));
        assert_eq!(free(&[]), Path::new("a-1.pitot"));
        assert_eq!(free(&["a-1.pitot", "a-1-2.pitot"]), Path::new("a-1-3.pitot"));
    }

    fn rows() -> [Vec<String>; 2] {
        [vec!["a".to_owned(), "10".to_owned()], vec!["long".to_owned(), "1".to_owned()]]
    }

    #[test]
    fn columns_line_up() {
        assert_eq!(table(&["name", "n"], &rows()), "name   n\na     10\nlong   1\n");
    }
}
