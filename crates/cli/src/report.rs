//! `pitot report`.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use pitot_record::Run;
use pitot_record::Soak;
use pitot_record::file::{Kind, kind};
use pitot_report::history::History;
use pitot_report::{Experiments, Format, Profiles, Reported};
use pitot_results::{Drawn, Failure};

use crate::confine::Reader;
use crate::floor::{floor_of_run, requests};
use crate::formats;
use crate::output::{self, each, is_stdout, job_summary, print};
use crate::screen::Color;

/// Report the results of a run.
///
/// Without --format, prints a summary and writes the full report as a self-contained HTML page next to the run file. All
/// formats are made from the run file alone.
///
/// Exit codes: 0 if the report was written, also of a run with failed cells; 1 if it could not be written; 2 for misuse, or a
/// file that is not a run.
#[derive(Debug, Args)]
pub(crate) struct Report {
    /// The run file.
    #[arg(value_name = "FILE.pitot")]
    file: PathBuf,
    /// Later runs of the same plan, for a history of its cells with the ratios to the baseline of each run; or runs of other plans,
    /// for one report of all.
    #[arg(value_name = "LATER.pitot", conflicts_with = "floor")]
    later: Vec<PathBuf>,
    /// Output format. [default: a summary on standard output, and the HTML page]
    #[arg(long, value_parser = formats::of_reports())]
    format: Option<Format>,
    /// Output file; - is standard output. [default: standard output; for html, FILE.html next to the run file]
    #[arg(short, long, value_name = "PATH")]
    output: Option<PathBuf>,
    /// With --format md: draw the charts as SVG files into this folder, which the page refers to. It is created if it is not there.
    #[arg(long, value_name = "DIR", requires = "output")]
    pictures: Option<PathBuf>,
    /// Show the host name and the kernel command line too, which reports omit so that they can be shared.
    #[arg(long)]
    full: bool,
    /// Show where the CPU time of each cell goes, as a tree of functions with the difference to the baseline, of a run with profiles
    /// (docs/profile.md). With --format json: the same for programs.
    #[arg(long, conflicts_with_all = ["later", "floor", "pictures"])]
    profile: bool,
    /// Compare the servers with the floor of their requests: a file of `pitot floor --format json` of the same machine and kernel.
    #[arg(long, value_name = "FLOOR.json")]
    floor: Option<PathBuf>,
    /// What the servers were asked for.
    #[arg(long, default_value = "keep-alive", requires = "floor", value_parser = requests())]
    request: &'static str,
    #[command(flatten)]
    color: Color,
}

impl Report {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        if let Some(folder) = &self.pictures {
            let failed = |e| {
                Failure::misuse(format!("cannot create the folder {}: {e}", folder.display()), "name another")
            };
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        let format = self.asked()?;
        self.reader().confine();
        let of: Box<dyn Reported> = match kind(&self.file) {
            Ok(Kind::Soak) if self.floor.is_some() || !self.later.is_empty() || self.profile => {
                return Err(Failure::misuse(
                    "this is the file of a soak, whose report has no floor, no history and no profile",
                    "name it alone, or name files of runs",
                ));
            }
            Ok(Kind::Soak) => Box::new(open_soak(&self.file, self.full)?),
            _ if self.profile => {
                let profiles = Profiles::of(self.open_run(&self.file)?);
                Box::new(profiles.ok_or_else(|| {
                    Failure::misuse(
                        format!("{} has no profiles", self.file.display()),
                        "measure with profiles: `pitot run PLAN --profile cpu`",
                    )
                })?)
            }
            _ if self.later.is_empty() => Box::new(self.open_run(&self.file)?),
            _ => {
                let runs = self.files().map(|file| self.open_run(file)).collect::<Result<Vec<Run>, _>>()?;
                match runs.iter().all(|run| run.plan.name == runs[0].plan.name) {
                    true => Box::new(History::of_runs(&runs)),
                    false => Box::new(Experiments::of(runs)),
                }
            }
        };
        let page = self.page();
        match format {
            Some(format) if self.pictures.is_some() && format != Format::Markdown => {
                return Err(Failure::misuse(
                    "only Markdown refers to pictures",
                    "add --format md, or omit --pictures",
                ));
            }
            Some(_) if let (Some(folder), Some(output)) = (&self.pictures, &self.output) => {
                write_with_pictures(&*of, output, folder)?;
            }
            None => show_summary_and_page(&*of, &page, self.color)?,
            Some(format) => show(&*of, format, self.output.as_deref(), &page, self.color)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The form that is asked for; none for a summary and the page.
    fn asked(&self) -> Result<Option<Format>, Failure> {
        let format = self.format.or(self.output.as_deref().map(by_name));
        match format {
            Some(Format::Terminal | Format::Json) | None if self.profile => {
                Ok(format.or(Some(Format::Terminal)))
            }
            Some(_) if self.profile => Err(Failure::misuse(
                "--profile has the formats terminal and json",
                "omit --profile for the HTML page, which has the profiles as flame graphs",
            )),
            _ => Ok(format),
        }
    }

    fn files(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.file).chain(&self.later).map(PathBuf::as_path)
    }

    /// Next to the last file.
    fn page(&self) -> PathBuf {
        match self.later.last() {
            None => page_path(&self.file),
            Some(last) => {
                let stem = last.file_stem().unwrap_or_default().to_string_lossy();
                last.with_file_name(format!("{stem}-history.html"))
            }
        }
    }

    fn open_run(&self, file: &Path) -> Result<Run, Failure> {
        let mut run = open(file)?;
        if let Some(path) = &self.floor {
            run.floor = Some(floor_of_run(path, self.request, &run)?);
        }
        if !self.full {
            run.withhold_private_facts();
        }
        Ok(run)
    }

    /// The files that it opens.
    fn reader(&self) -> Reader {
        let reader = Reader::of(self.files(), self.output.as_deref(), &self.page());
        let reader = self.pictures.iter().fold(reader, |reader, folder| reader.writes(folder));
        self.floor.iter().fold(reader, |reader, path| reader.reads(path))
    }
}

fn open_soak(path: &Path, full: bool) -> Result<Soak, Failure> {
    let mut soak = Soak::look(path)?;
    if !full {
        soak.info.machine.withhold_private_facts();
    }
    Ok(soak)
}

/// Writes the page of a soak next to its file, and prints its summary in these colours, if in any.
pub(crate) fn soak_summary_and_page(path: &Path, full: bool, color: Option<Color>) -> Result<Soak, Failure> {
    let soak = open_soak(path, full)?;
    match color {
        None => write_page(&soak, &page_path(path))?,
        Some(color) => show_summary_and_page(&soak, &page_path(path), color)?,
    }
    Ok(soak)
}

/// Prints the summary of a run and writes its page next to the run file.
pub(crate) fn summary_and_page(run: &Run, color: Color) -> Result<(), Failure> {
    show_summary_and_page(run, &page_path(&run.path), color)
}

/// Writes the page of a run next to the run file, and prints nothing.
pub(crate) fn page(run: &Run) -> Result<(), Failure> {
    write_page(run, &page_path(&run.path))
}

/// Prints the summary of results and writes their page.
pub(crate) fn show_summary_and_page(of: &dyn Reported, page: &Path, color: Color) -> Result<(), Failure> {
    let where_it_is = || print(&format!("\nThe full report, with charts and commands: {}\n", page.display()));
    each([output::draw(&drawn(of, color)), write_page(of, page).and_then(|()| where_it_is())])
}

fn drawn(of: &dyn Reported, color: Color) -> Drawn {
    of.page(Format::Terminal).draw(color.screen())
}

fn write_page(of: &dyn Reported, page: &Path) -> Result<(), Failure> {
    write_to(Some(page), &of.report(Format::Html).unwrap_or_default())
}

/// Writes a page as Markdown, and its drawings into a folder, whose name is relative to the page if it is beside it.
fn write_with_pictures(of: &dyn Reported, output: &Path, folder: &Path) -> Result<(), Failure> {
    let beside = output.parent().and_then(|of_page| folder.strip_prefix(of_page).ok());
    let (text, pictures) =
        of.page(Format::Markdown).render_with_pictures(&beside.unwrap_or(folder).to_string_lossy());
    for picture in pictures {
        write_to(Some(&folder.join(picture.name)), &picture.svg)?;
    }
    write_to(Some(output), &text)
}

/// Shows results in a form: in the file that is named, else on the standard output, but HTML in `page`, whose name is printed. GitHub
/// gets Markdown as the summary of the job, too.
pub(crate) fn show(
    of: &dyn Reported,
    format: Format,
    output: Option<&Path>,
    page: &Path,
    color: Color,
) -> Result<(), Failure> {
    let page = (format == Format::Html && output.is_none()).then_some(page);
    let to_file = output.or(page).filter(|path| !is_stdout(path));
    if format == Format::Terminal && to_file.is_none() {
        return output::draw(&drawn(of, color));
    }
    let Some(text) = of.report(format) else {
        return Err(Failure::misuse(
            "this format is not available for these files",
            "use terminal, html, md, github or json",
        ));
    };
    let summary = (format == Format::Github).then(|| of.report(Format::Markdown)).flatten();
    each([
        write_to(to_file, &text),
        page.map_or(Ok(()), |page| print(&format!("{}\n", page.display()))),
        summary.map_or(Ok(()), |summary| add_to_job_summary(&summary)),
    ])
}

/// Opens a run file.
pub(crate) fn open(path: &Path) -> Result<Run, Failure> {
    Ok(Run::open(path)?)
}

/// Writes to a file, or to the standard output for none and for `-`.
fn write_to(path: Option<&Path>, text: &str) -> Result<(), Failure> {
    match path.filter(|p| !is_stdout(p)) {
        None => print(text),
        Some(path) => std::fs::write(path, text).map_err(|error| {
            Failure::run(format!("cannot write {}: {error}", path.display()), "name another file with -o")
        }),
    }
}

/// Adds to the summary of the job, if this is a job of GitHub Actions: it names the file, which each step adds to.
fn add_to_job_summary(markdown: &str) -> Result<(), Failure> {
    let Some(path) = job_summary() else { return Ok(()) };
    let added = File::options().create(true).append(true).open(&path);
    added.and_then(|mut file| file.write_all(markdown.as_bytes())).map_err(|error| {
        Failure::run(
            format!("cannot add to the job summary {}: {error}", path.display()),
            "let GITHUB_STEP_SUMMARY name a file that can be written, or unset it",
        )
    })
}

/// The page next to a run file.
fn page_path(run_file: &Path) -> PathBuf {
    run_file.with_extension("html")
}

/// The format that a file's name asks for.
fn by_name(path: &Path) -> Format {
    match path.extension().and_then(OsStr::to_str) {
        Some("html" | "htm") => Format::Html,
        Some("md" | "markdown") => Format::Markdown,
        Some("csv") => Format::Csv,
        Some("json") => Format::Json,
        Some("xml") => Format::Junit,
        _ => Format::Terminal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_next_to_the_run_file() {
        assert_eq!(page_path(Path::new("runs/quick.pitot")), Path::new("runs/quick.html"));
    }

    #[test]
    fn a_file_name_chooses_the_format() {
        assert_eq!(by_name(Path::new("a.html")), Format::Html);
        assert_eq!(by_name(Path::new("a.csv")), Format::Csv);
        assert_eq!(by_name(Path::new("-")), Format::Terminal);
    }
}
