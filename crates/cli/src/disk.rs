//! `pitot disk`: many small files, and reads by every engine.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Args, Subcommand};
use pitot_disk::cache::Residency;
use pitot_results::Failure;
use pitot_results::disk::CacheResidency;
use pitot_sys::signal::{Signal, SignalFd};
use serde::Serialize;

mod files;
mod read;

/// Measure the ways to the disk: many small files, or reads by every engine.
#[derive(Debug, Args)]
pub(crate) struct Disk {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Files(files::Files),
    Read(read::Read),
}

impl Disk {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        match self.command {
            Command::Files(command) => command.run(),
            Command::Read(command) => command.run(),
        }
    }
}

/// A flag that Ctrl-C and SIGTERM raise, so that whoever looks at it can clean up and end. The second time they end the
/// process at once.
fn stop_on_signals() -> Result<Arc<AtomicBool>, Failure> {
    let signals = SignalFd::new(&[Signal::Interrupt, Signal::Terminate])
        .map_err(|e| Failure::run(format!("signals cannot be waited for: {e}"), "raise ulimit -n"))?;
    let stop = Arc::new(AtomicBool::new(false));
    let raised = Arc::clone(&stop);
    let watch = move || {
        while signals.wait(None).is_none() {}
        raised.store(true, Ordering::Relaxed);
        while signals.wait(None).is_none() {}
        std::process::exit(1);
    };
    // It ends with the process.
    std::thread::Builder::new()
        .name("signals".into())
        .spawn(watch)
        .map_err(|e| Failure::run(format!("no thread can be started: {e}"), "raise ulimit -u"))?;
    Ok(stop)
}

/// Where results go: a table to standard output, JSON to a file, or JSON alone to standard output.
struct Sink {
    json: Option<Box<dyn Write>>,
    quiet: bool,
}

impl Sink {
    /// Opened before the run: a name that cannot be written is told before, not after it.
    fn create(path: Option<&Path>) -> Result<Sink, Failure> {
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

    fn write(self, table: &str, result: &impl Serialize) -> Result<(), Failure> {
        if !self.quiet {
            // Whoever has read enough of it may close the pipe.
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
fn residency(residency: &Residency) -> CacheResidency {
    CacheResidency {
        resident_pages: residency.resident,
        pages: residency.total,
        witness: residency.witness.name().into(),
    }
}

/// Bytes with the binary unit that divides them: `64KiB`, `1000`.
fn size(bytes: u64) -> String {
    match bytes {
        b if b > 0 && b.is_multiple_of(1 << 30) => format!("{}GiB", b >> 30),
        b if b > 0 && b.is_multiple_of(1 << 20) => format!("{}MiB", b >> 20),
        b if b > 0 && b.is_multiple_of(1 << 10) => format!("{}KiB", b >> 10),
        b => b.to_string(),
    }
}

/// Rows in columns, the first to the left and the others to the right.
fn table(head: &[&str], rows: &[Vec<String>]) -> String {
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
