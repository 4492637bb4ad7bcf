//! All targets: embedded ones, and those of the user.

use std::path::{Path, PathBuf};

use pitot_results::Failure;

use crate::definition::Target;
use crate::find::base;
use crate::read::read;

/// An embedded target.
struct Embedded {
    name: &'static str,
    text: &'static str,
    /// The files of its folder: paths and texts.
    sources: &'static [(&'static str, &'static str)],
}

static EMBEDDED: &[Embedded] = include!(concat!(env!("OUT_DIR"), "/targets.rs"));

/// A target and its origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The target.
    pub target: Target,
    /// Its file, if it is one of the user's.
    pub file: Option<PathBuf>,
}

/// All targets, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Registry {
    /// Each target once: a user's replaces an embedded one.
    pub targets: Vec<Known>,
    /// Errors of skipped files of the user. Embedded targets of the same names are skipped too, since the user meant to
    /// replace them.
    pub unsound: Vec<Failure>,
}

impl Registry {
    /// The embedded targets and those of the user: files `NAME.toml` of `pitot/targets` in `XDG_CONFIG_HOME`, or else in `~/.config`.
    ///
    /// A file with an error is skipped, and listed in [`Registry::unsound`].
    ///
    /// # Errors
    /// If an embedded target has an error.
    pub fn load() -> Result<Registry, Failure> {
        Registry::with(&base("XDG_CONFIG_HOME", ".config").join("pitot/targets"))
    }

    /// The embedded targets, and those of a folder.
    fn with(folder: &Path) -> Result<Registry, Failure> {
        let mut registry = Registry::embedded()?;
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(registry) };
        let mut files: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "toml"));
        files.sort();
        for file in files {
            let name = name_of(&file);
            registry.targets.retain(|known| known.target.name != name);
            match of_user(&name, &file) {
                Ok(target) => registry.targets.push(Known { target, file: Some(file) }),
                Err(failure) => registry.unsound.push(failure),
            }
        }
        registry.targets.sort_by(|a, b| a.target.name.cmp(&b.target.name));
        Ok(registry)
    }

    /// The embedded targets.
    ///
    /// # Errors
    /// The first error, which tests exclude.
    pub fn embedded() -> Result<Registry, Failure> {
        let known = |e: &Embedded| -> Result<Known, Failure> {
            let sources = e.sources.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
            let file = format!("{}.toml", e.name);
            Ok(Known { target: read(e.name, &file, e.text, sources.collect())?, file: None })
        };
        Ok(Registry { targets: EMBEDDED.iter().map(known).collect::<Result<_, _>>()?, unsound: Vec::new() })
    }

    /// The target of that name.
    pub fn find(&self, name: &str) -> Option<&Target> {
        self.targets.iter().map(|known| &known.target).find(|target| target.name == name)
    }
}

fn name_of(file: &Path) -> String {
    file.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

/// A target of the user, with the files of the folder beside it.
fn of_user(name: &str, file: &Path) -> Result<Target, Failure> {
    let unreadable = |e: &std::io::Error| {
        let what = format!("the target {} cannot be read: {e}", file.display());
        Failure::misuse(what, "check its permissions")
    };
    let text = std::fs::read_to_string(file).map_err(|e| unreadable(&e))?;
    let mut sources = Vec::new();
    let folder = file.with_extension("");
    if folder.is_dir() {
        collect(&folder, &folder, &mut sources).map_err(|e| unreadable(&e))?;
    }
    Ok(read(name, &file.to_string_lossy(), &text, sources)?)
}

fn collect(root: &Path, folder: &Path, sources: &mut Vec<(String, String)>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, sources)?;
        } else {
            let below = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
            // Files that are not text, such as those of an editor, are not sources.
            match std::fs::read_to_string(&path) {
                Ok(text) => sources.push((below, text)),
                Err(e) if e.kind() == std::io::ErrorKind::InvalidData => {}
                Err(e) => return Err(e),
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_target_of_the_binary_is_sound_and_documented() {
        let registry = Registry::embedded().unwrap();
        assert!(registry.find("nginx").is_some());
        for Known { target, .. } in &registry.targets {
            assert!(!target.summary.is_empty() && !target.summary.ends_with('.'), "{}", target.name);
            assert!(!target.version.is_empty(), "{} says its version", target.name);
            assert!(!target.install.is_empty(), "{} can be installed", target.name);
            for setting in &target.settings {
                assert!(setting.doc.ends_with('.'), "{}: {}", target.name, setting.name);
            }
        }
    }

    #[test]
    fn a_target_of_the_user_takes_the_place_of_one_of_the_binary() {
        let folder = tempfile::tempdir().unwrap();
        let text = "summary = \"mine\"\nprotocol = \"http\"\nprogram = \"mine\"\ncommand = [\"{program}\"]\n\
                    ready = { get = \"/\" }\nstop = \"TERM\"\nfiles = { \"a.txt\" = { source = \"a.txt\" } }\n";
        std::fs::write(folder.path().join("nginx.toml"), text).unwrap();
        std::fs::create_dir(folder.path().join("nginx")).unwrap();
        std::fs::write(folder.path().join("nginx/a.txt"), "hello").unwrap();
        std::fs::write(folder.path().join("nginx/.picture"), [0xff, 0xd8]).unwrap();
        let registry = Registry::with(folder.path()).unwrap();
        let nginx = registry.find("nginx").unwrap();
        assert_eq!((nginx.summary.as_str(), nginx.files[0].text.as_str()), ("mine", "hello"));
        assert_eq!(registry.targets.iter().filter(|k| k.target.name == "nginx").count(), 1);
    }

    #[test]
    fn a_file_with_a_mistake_is_left_out_and_the_others_are_there() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["bad.toml", "nginx.toml", "Upper.toml"] {
            std::fs::write(folder.path().join(name), "sumary = 1\n").unwrap();
        }
        std::fs::write(folder.path().join("bytes.toml"), [0xff, 0xfe]).unwrap();
        let registry = Registry::with(folder.path()).unwrap();
        let named = |file: &str| registry.unsound.iter().any(|failure| failure.what.contains(file));
        assert_eq!(registry.unsound.len(), 4);
        assert!(named("bad.toml:1:1: unknown field `sumary`") && named("nginx.toml:1:1:"));
        assert!(named("Upper.toml:1:1:") && named("bytes.toml cannot be read"));
        assert!(registry.find("caddy").is_some() && registry.find("bad").is_none());
        assert!(registry.find("nginx").is_none(), "another nginx takes the place of none");
    }
}
