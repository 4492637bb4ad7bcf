//! Finds the programs of targets on this machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::definition::Target;

/// Debian's directories of daemons, which are not in a user's `PATH`.
const DAEMONS: [&str; 2] = ["/usr/sbin", "/usr/local/sbin"];

/// Debian's folder of PostgreSQL, with one for each version and programs in `bin`.
const VERSIONS: &str = "/usr/lib/postgresql";

/// The file that marks a complete installation in a folder.
pub(crate) const DONE: &str = ".pitot-installed";

/// Where programs are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// The folders of `PATH`.
    pub path: Vec<PathBuf>,
    /// The folder in which Pitot installs targets, one folder for each.
    pub cache: PathBuf,
}

/// An installed target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its program as a command names it: by name if it is in `PATH`, else by its path.
    pub program: String,
    /// The folder in which the rest of it is.
    pub home: Option<String>,
}

/// What a target lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The program, by the first of its names.
    Program(String),
    /// The folder of its other files.
    Home,
}

impl Places {
    /// `PATH`, and `pitot/targets` below `XDG_CACHE_HOME` or else below `~/.cache`.
    pub fn of_this_machine() -> Places {
        let path = std::env::var_os("PATH").unwrap_or_default();
        Places {
            path: std::env::split_paths(&path).filter(|folder| folder.is_absolute()).collect(),
            cache: base("XDG_CACHE_HOME", ".cache").join("pitot/targets"),
        }
    }

    /// Finds a target.
    ///
    /// # Errors
    /// What is missing.
    pub fn find(&self, target: &Target) -> Result<Found, Missing> {
        let own = self.cache.join(&target.name);
        let program = target.programs.iter().find_map(|name| self.program(&own, name));
        let program = program.ok_or_else(|| Missing::Program(target.programs[0].clone()))?;
        let home = match &target.home {
            None => None,
            Some(file) => Some(home(&own, file).ok_or(Missing::Home)?),
        };
        Ok(Found { program, home })
    }

    /// A target for this machine: modules of its pages are filled in, and pages without their module are added to those
    /// that it cannot serve.
    pub fn serving(&self, mut target: Target) -> Target {
        for one in &mut target.on_demand {
            let Some(first) = one.modules.first() else { continue };
            match one.modules.iter().find(|path| Path::new(path).is_file()).cloned() {
                Some(module) => one.put_in(&module),
                None => {
                    let name = Path::new(first).file_name().unwrap_or_default().to_string_lossy();
                    let why = format!(
                        "the module `{name}` is not installed; run pitot target install {} --yes",
                        target.name
                    );
                    target.cannot.push((one.page.clone(), why));
                    one.leave_empty();
                }
            }
        }
        target
    }

    /// Whether a target is installed with the modules of all pages.
    pub fn has_all_of(&self, target: &Target) -> bool {
        self.find(target).is_ok() && self.serving(target.clone()).cannot.len() == target.cannot.len()
    }

    /// Whether a program can be started by its name. `python3` counts only if it can make virtual environments, for which Debian has a
    /// package of its own.
    pub(crate) fn has(&self, name: &str) -> bool {
        let Some(folder) = self.path.iter().find(|folder| folder.join(name).is_file()) else { return false };
        let makes_environments = || {
            let mut python = Command::new(folder.join(name));
            python.args(["-c", "import venv, ensurepip"]);
            python.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            python.status().is_ok_and(|status| status.success())
        };
        name != "python3" || makes_environments()
    }

    /// A program; those that Pitot has installed come first.
    fn program(&self, own: &Path, name: &str) -> Option<String> {
        let is_there = |folder: &Path| folder.join(name).is_file();
        let whole = |folder: &Path| folder.join(name).to_string_lossy().into_owned();
        let installed = own.join("bin");
        if own.join(DONE).exists() && is_there(&installed) {
            return Some(whole(&installed));
        }
        if self.path.iter().any(|folder| is_there(folder)) {
            return Some(name.to_owned());
        }
        let mut daemons = DAEMONS.iter().map(PathBuf::from).chain(versions());
        daemons.find(|folder| is_there(folder)).map(|folder| whole(&folder))
    }
}

/// The folders of programs of which Debian has one for each version of a server, the newest first.
pub fn versions() -> impl Iterator<Item = PathBuf> {
    let entries = std::fs::read_dir(VERSIONS).into_iter().flatten().flatten();
    let mut versions: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path().join("bin"))))
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    versions.into_iter().map(|(_, folder)| folder)
}

/// The folder that holds `file`: this one, or one in it, as archives have their content in a folder of their own.
fn home(own: &Path, file: &str) -> Option<String> {
    own.join(DONE).exists().then_some(())?;
    let mut folders = vec![own.to_owned()];
    folders.extend(std::fs::read_dir(own).ok()?.filter_map(|entry| Some(entry.ok()?.path())));
    folders.sort();
    let found = folders.into_iter().find(|folder| folder.join(file).exists())?;
    Some(found.to_string_lossy().into_owned())
}

/// A base directory of the user (XDG Base Directory Specification): that of the variable if it is absolute, else the one
/// below the home.
pub(crate) fn base(variable: &str, below_home: &str) -> PathBuf {
    let set = std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    set.unwrap_or_else(|| {
        PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/".into())).join(below_home)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Registry;

    #[test]
    fn what_pitot_has_installed_goes_before_path_and_only_if_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let touch = |path: &str| {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        let registry = Registry::embedded().unwrap();
        let mut target = registry.find("nginx").unwrap().clone();
        target.programs = vec!["no-such-program-of-pitot".into(), "other-program-of-pitot".into()];
        let places = Places { path: vec![folder.path().join("path")], cache: folder.path().join("cache") };
        assert_eq!(places.find(&target), Err(Missing::Program("no-such-program-of-pitot".into())));
        touch("path/other-program-of-pitot");
        touch("cache/nginx/bin/other-program-of-pitot");
        assert_eq!(places.find(&target).unwrap().program, "other-program-of-pitot");
        target.home = Some("lib/x.jar".into());
        touch("cache/nginx/x-1.2/lib/x.jar");
        assert_eq!(places.find(&target), Err(Missing::Home));
        touch(&format!("cache/nginx/{DONE}"));
        let found = places.find(&target).unwrap();
        assert!(found.program.ends_with("cache/nginx/bin/other-program-of-pitot"), "{found:?}");
        assert!(found.home.unwrap().ends_with("cache/nginx/x-1.2"));
    }

    #[test]
    fn a_page_whose_module_is_missing_is_one_that_cannot_be_served() {
        let folder = tempfile::tempdir().unwrap();
        let places = Places { path: vec![folder.path().to_owned()], cache: folder.path().to_owned() };
        let registry = Registry::embedded().unwrap();
        let mut nginx = registry.find("nginx").unwrap().clone();
        nginx.programs = vec!["nginx-of-a-test".into()];
        std::fs::write(folder.path().join("nginx-of-a-test"), "").unwrap();
        let module = folder.path().join("echo.so").to_string_lossy().into_owned();
        nginx.on_demand[0].modules = vec!["/no/such/echo.so".into(), module.clone()];
        let without = places.serving(nginx.clone());
        assert!(without.on_demand[0].texts.iter().all(|(_, text)| text.is_empty()), "{without:?}");
        let [(page, why)] = &without.cannot[..] else { panic!("{:?}", without.cannot) };
        assert_eq!(page, "echo");
        assert!(why.contains("`echo.so` is not installed; run pitot target install nginx"), "{why}");
        assert!(!places.has_all_of(&nginx) && places.find(&nginx).is_ok());
        std::fs::write(&module, "").unwrap();
        let with = places.serving(nginx.clone());
        assert!(with.cannot.is_empty() && places.has_all_of(&nginx));
        assert!(with.on_demand[0].texts.iter().any(|(_, text)| text.contains(&module)), "{with:?}");
    }
}
