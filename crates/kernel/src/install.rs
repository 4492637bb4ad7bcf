//! Kernels of Debian: downloads packages with apt-get, verifies and unpacks them, without installing them on this machine.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pitot_results::Failure;

use crate::modules;
use crate::store::{Kernel, Store, hex, is_taken};

/// Maximum size of a kernel's package.
const PACKAGE_BYTES_MAX: u64 = 1 << 30;

/// A requested kernel: `debian:6.12-cloud`, `debian:6.1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The first numbers of the release.
    version: String,
    /// `-cloud`, or nothing.
    flavour: String,
}

impl Origin {
    /// Parses a user's request.
    ///
    /// # Errors
    /// If it is not valid.
    ///
    pub fn parse(text: &str) -> Result<Origin, Failure> {
        let parsed = text.strip_prefix("debian:").and_then(|rest| {
            let (version, flavour) = rest.split_once('-').unwrap_or((rest, ""));
            let is_version = !version.is_empty() && version.chars().all(|c| c.is_ascii_digit() || c == '.');
            let flavour = match flavour {
                "" => "",
                "cloud" => "-cloud",
                _ => return None,
            };
            is_version.then(|| Origin { version: version.to_owned(), flavour: flavour.to_owned() })
        });
        parsed.ok_or_else(|| {
            Failure::misuse(
                format!("`{text}` is not a kernel that can be installed"),
                "write debian:VERSION or debian:VERSION-cloud, for example debian:6.12-cloud, or gvisor; to add a file: pitot kernel add",
            )
        })
    }
}

/// The steps to install a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstallPlan {
    /// The kernel's name.
    pub name: String,
    package: String,
    version: String,
    sha256: String,
    bytes: u64,
}

impl InstallPlan {
    /// Finds the newest matching package in apt's lists.
    ///
    /// # Errors
    /// If there is none.
    pub fn of(origin: &Origin, name: Option<&str>) -> Result<InstallPlan, Failure> {
        let Origin { version, flavour } = origin;
        let pattern = format!("^linux-image-{}[.0-9a-z+-]*{flavour}-amd64$", version.replace('.', "\\."));
        let listed = ask(&["apt-cache", "search", "--names-only", &pattern])?;
        let package = newest(&listed, version, flavour).ok_or_else(|| {
            Failure::misuse(
                format!("apt has no package of a kernel {version}{flavour} for x86-64"),
                "run apt-get update, then `apt-cache search linux-image` to see what there is",
            )
        })?;
        let about = ask(&["apt-cache", "show", "--no-all-versions", &package])?;
        let field = |name: &str| {
            let line = about.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.map(str::to_owned)
        };
        let (Some(version), Some(sha256), Some(bytes)) =
            (field("Version"), field("SHA256"), field("Size").and_then(|size| size.parse().ok()))
        else {
            return Err(Failure::run(
                format!("apt's record of {package} is incomplete"),
                "run apt-get update",
            ));
        };
        let name = name.map_or_else(|| origin.version.clone(), str::to_owned);
        Ok(InstallPlan { name, package, version, sha256, bytes })
    }

    /// The steps, a line each.
    pub fn lines(&self, store: &Store) -> Vec<String> {
        vec![
            format!("apt-get download {}={} ({:.1} MB)", self.package, self.version, self.bytes as f64 / 1e6),
            format!("check that its SHA-256 is {}", self.sha256),
            format!(
                "dpkg-deb --extract it, and keep its kernel in {}",
                store.folder().join(&self.name).display()
            ),
        ]
    }

    /// The origin of the kernel, in words.
    fn from(&self) -> String {
        format!("Debian {} {}", self.package, self.version)
    }

    /// Checks that its name is free, or is that of the same kernel.
    ///
    /// # Errors
    /// If another kernel has it.
    pub fn check_name(&self, store: &Store) -> Result<(), Failure> {
        let other = store.find(&self.name).filter(|known| known.from != self.from());
        other.map_or(Ok(()), |known| Err(is_taken(&known)))
    }

    /// Runs the steps.
    ///
    ///
    /// # Errors
    /// The first step that fails; then nothing is installed.
    pub fn carry_out(&self, store: &Store, dir: &Path, replace: bool) -> Result<Kernel, Failure> {
        // As root, the folder may not be accessible to apt's user.
        run(
            &[
                "apt-get",
                "-o",
                "APT::Sandbox::User=root",
                "download",
                &format!("{}={}", self.package, self.version),
            ],
            dir,
        )?;
        let package = first(dir, "deb")
            .ok_or_else(|| Failure::run("apt-get has not downloaded a package", "see its output above"))?;
        let content = crate::cpio::content(&package, PACKAGE_BYTES_MAX).map_err(|e| {
            Failure::run(format!("{} cannot be read: {e}", package.display()), "check TMPDIR")
        })?;
        let found = hex(&content);
        if found != self.sha256 {
            return Err(Failure::run(
                format!("the SHA-256 of {} is {found} instead of {}", package.display(), self.sha256),
                "run apt-get update; the package was removed",
            ));
        }
        add_package(store, &package, &self.from(), Some(&self.name), dir, replace)
    }
}

/// Adds the kernel of a package to a store. `dir` is a folder to unpack it in.
pub(crate) fn add_package(
    store: &Store,
    package: &Path,
    from: &str,
    name: Option<&str>,
    dir: &Path,
    replace: bool,
) -> Result<Kernel, Failure> {
    let unpacked = dir.join("unpacked");
    run(&["dpkg-deb", "--extract", &package.to_string_lossy(), &unpacked.to_string_lossy()], dir)?;
    let image = first_named(&unpacked.join("boot"), "vmlinuz-").ok_or_else(|| {
        Failure::misuse(
            format!("{} has no kernel in /boot", package.display()),
            "use a package linux-image-VERSION, not one that only depends on it",
        )
    })?;
    let added = store.add(&image, from, name, replace).and_then(|kernel| {
        let modules = ["lib/modules", "usr/lib/modules"].map(|folder| unpacked.join(folder));
        store.keep_modules(&kernel, &modules::below(&modules)).map(|()| kernel)
    });
    let _ = fs::remove_dir_all(&unpacked);
    added
}

impl Store {
    /// Adds the kernel of a file: a Debian package (`.deb`) or an image. `dir` is a folder to unpack it in.
    ///
    /// # Errors
    /// If it has none, or another kernel has the name and must not be replaced.
    pub fn add_file(
        &self,
        file: &Path,
        name: Option<&str>,
        dir: &Path,
        replace: bool,
    ) -> Result<Kernel, Failure> {
        let from = file.to_string_lossy();
        match file.extension().is_some_and(|extension| extension == "deb") {
            true => {
                let file = fs::canonicalize(file)
                    .map_err(|e| Failure::misuse(format!("{from} cannot be read: {e}"), "check its path"))?;
                add_package(self, &file, &from, name, dir, replace)
            }
            false => self.add(file, &from, name, replace),
        }
    }
}

/// The package with the highest version in a list of apt-cache search. Meta packages have no release in their names, and
/// unsigned ones are the same kernel.
fn newest(listed: &str, version: &str, flavour: &str) -> Option<String> {
    let names = listed.lines().filter_map(|line| line.split_whitespace().next());
    let of_version = names.filter_map(|name| {
        let rest = name.strip_prefix("linux-image-")?.strip_suffix("-amd64")?.strip_suffix(flavour)?;
        let more = rest.strip_prefix(version)?;
        // 6.1 must not match 6.12, nor no flavour match cloud or rt.
        (more.starts_with('.') && !more.contains("cloud") && !more.contains("rt"))
            .then(|| (numbers(rest), name.to_owned()))
    });
    of_version.max().map(|(_, name)| name)
}

fn numbers(text: &str) -> Vec<u64> {
    text.split(|c: char| !c.is_ascii_digit()).filter_map(|digits| digits.parse().ok()).collect()
}

fn first(dir: &Path, extension: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.filter_map(|entry| Some(entry.ok()?.path()));
    entries.filter(|path| path.extension().is_some_and(|e| e == extension)).min()
}

fn first_named(dir: &Path, beginning: &str) -> Option<PathBuf> {
    let entries = fs::read_dir(dir).ok()?.filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(beginning))
        .map(|entry| entry.path())
        .min()
}

fn started(argv: &[&str], e: &std::io::Error) -> Failure {
    Failure::run(
        format!("`{}` cannot be started: {e}", argv[0]),
        "this works on Debian and its derivatives; elsewhere use: pitot kernel add VMLINUZ",
    )
}

fn ask(argv: &[&str]) -> Result<String, Failure> {
    let mut command = Command::new(argv[0]);
    let said = command.args(&argv[1..]).stdin(Stdio::null()).stderr(Stdio::null()).output();
    Ok(String::from_utf8_lossy(&said.map_err(|e| started(argv, &e))?.stdout).into_owned())
}

fn run(argv: &[&str], dir: &Path) -> Result<(), Failure> {
    let mut command = Command::new(argv[0]);
    command.args(&argv[1..]).current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null());
    let status = command.status().map_err(|e| started(argv, &e))?;
    match status.success() {
        true => Ok(()),
        false => Err(Failure::run(
            format!("`{}` failed ({status})", argv.join(" ")),
            "see its output above; nothing was installed",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_a_version_with_or_without_a_flavour() {
        let of = |text: &str| Origin::parse(text).map(|origin| (origin.version, origin.flavour)).ok();
        assert_eq!(of("debian:6.12-cloud"), Some(("6.12".into(), "-cloud".into())));
        assert_eq!(of("debian:6.1"), Some(("6.1".into(), String::new())));
        for wrong in ["6.12", "debian:", "debian:6.12-rt", "debian:x", "fedora:6.12", "debian:6.1;x"] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_newest_package_is_that_with_the_highest_numbers() {
        let listed = "linux-image-6.1.0-9-cloud-amd64 - Linux 6.1\nlinux-image-6.1.0-56-cloud-amd64 - Linux 6.1\n\
                      linux-image-6.1.0-9-amd64 - x\nlinux-image-6.1.0-9-rt-amd64 - x\n\
                      linux-image-6.12-cloud-amd64 - Linux for x86-64 cloud (meta-package)\n\
                      linux-image-6.12.117+deb12-cloud-amd64 - x\nlinux-image-6.12.20+deb12-cloud-amd64 - x\n";
        let of = |version, flavour| newest(listed, version, flavour);
        assert_eq!(of("6.1", "-cloud").as_deref(), Some("linux-image-6.1.0-56-cloud-amd64"));
        assert_eq!(of("6.12", "-cloud").as_deref(), Some("linux-image-6.12.117+deb12-cloud-amd64"));
        assert_eq!(of("6.1", "").as_deref(), Some("linux-image-6.1.0-9-amd64"));
        assert_eq!(of("6.5", "-cloud"), None);
    }
}
