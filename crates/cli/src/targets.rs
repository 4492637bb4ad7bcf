//! The targets on this machine: which there are, and which are installed.

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Once;

use pitot_plan::TargetWord;
use pitot_results::{Failure, stderr};
use pitot_target::{Installation, Known, Missing, Places, Registry, Target};

/// A target as this machine has it.
pub(crate) struct Seen {
    pub(crate) target: Target,
    /// Its file, if it is the user's.
    pub(crate) file: Option<PathBuf>,
    pub(crate) word: TargetWord,
    /// What its program says of its version, if it is installed.
    pub(crate) version: Option<String>,
    /// What `pitot target install` would do.
    pub(crate) install: Vec<String>,
}

/// All targets. Invalid files of the user are skipped, with a warning for each.
///
/// # Errors
/// If one of the binary's own is unsound.
pub(crate) fn registry() -> Result<Registry, Failure> {
    static WARNED: Once = Once::new();
    let registry = Registry::load()?;
    WARNED.call_once(|| {
        for Failure { what, fix, .. } in &registry.unsound {
            stderr::line(format_args!("pitot: warning: a target is skipped: {what}; {fix}"));
        }
    });
    Ok(registry)
}

/// The words for plans.
///
/// # Errors
/// As [`registry`].
pub(crate) fn words() -> Result<Vec<TargetWord>, Failure> {
    let places = Places::of_this_machine();
    Ok(registry()?.targets.into_iter().map(|known| word(known.target, &places)).collect())
}

/// All targets, with their versions, for which their programs are asked.
///
/// # Errors
/// As [`registry`].
pub(crate) fn seen() -> Result<Vec<Seen>, Failure> {
    let places = Places::of_this_machine();
    let of = |Known { target, file }: Known| {
        let install = Installation::of(&target, &places, is_root()).lines();
        let word = word(target.clone(), &places);
        Seen { version: version(&word), target, file, word, install }
    };
    Ok(registry()?.targets.into_iter().map(of).collect())
}

/// Whether packages of the system can be installed without sudo.
pub(crate) fn is_root() -> bool {
    // The owner of a process's folder is the user that it runs as (proc(5)).
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}

fn word(target: Target, places: &Places) -> TargetWord {
    let (program, home, unavailable) = match places.find(&target) {
        Ok(found) => (found.program, found.home, None),
        Err(missing) => (target.programs[0].clone(), None, Some(reason(&target, &missing))),
    };
    TargetWord { target: places.serving(target), program, home, unavailable }
}

/// Why a target cannot be started, and what to do about it.
fn reason(target: &Target, missing: &Missing) -> String {
    let name = &target.name;
    let what = match missing {
        // A virtual machine is no part of the target.
        Missing::Program(program) if target.runs_on(program) => format!("it needs `{program}`"),
        Missing::Program(program) => format!("`{program}` is not installed here"),
        Missing::Home => "it is not installed here".to_owned(),
    };
    format!("{what}; to install it: pitot target install {name} --yes")
}

fn version(word: &TargetWord) -> Option<String> {
    let found = |text: &String| {
        text.replace("{program}", &word.program).replace("{home}", word.home.as_deref().unwrap_or_default())
    };
    let argv: Vec<String> = word.target.version.iter().map(found).collect();
    let (program, arguments) = argv.split_first().filter(|_| word.unavailable.is_none())?;
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    text.lines().map(str::trim).find(|line| !line.is_empty()).map(str::to_owned)
}
