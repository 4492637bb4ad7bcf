//! The installed kernels: a folder for each in the user's cache directory.

use std::fs;
use std::path::{Path, PathBuf};

use pitot_results::Failure;
use serde::{Deserialize, Serialize};

use crate::name::{is_name, is_reserved};
use crate::vmlinuz;

const IMAGE: &str = "vmlinuz";
const ABOUT: &str = "kernel.json";
const MODULES: &str = "modules";
/// Maximum size of a kernel.
const IMAGE_BYTES_MAX: u64 = 256 << 20;

/// An installed kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// Its name, which plans use.
    pub name: String,
    /// Its release, as uname(1) prints it.
    pub release: String,
    /// Its origin: a package with its version, or a file.
    pub from: String,
    /// The SHA-256 of its image, in hexadecimal digits.
    pub sha256: String,
    /// Its image.
    #[serde(skip)]
    pub image: PathBuf,
}

/// The installed kernels.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Kernel {
    /// The modules that its guests load.
    pub(crate) fn modules(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.image.with_file_name(MODULES)).into_iter().flatten().flatten();
        let mut modules: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
        modules.sort();
        modules
    }
}

impl Store {
    /// The kernels in a folder.
    pub fn at(folder: PathBuf) -> Store {
        Store { folder }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// All of them, by name.
    pub fn list(&self) -> Vec<Kernel> {
        let entries = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let mut kernels: Vec<Kernel> =
            entries.filter_map(|entry| self.find(entry.file_name().to_str()?)).collect();
        kernels.sort_by(|a, b| a.name.cmp(&b.name));
        kernels
    }

    /// One of them.
    pub fn find(&self, name: &str) -> Option<Kernel> {
        let folder = self.folder.join(is_name(name).then_some(name)?);
        let about = fs::read_to_string(folder.join(ABOUT)).ok()?;
        let kernel: Kernel = serde_json::from_str(&about).ok()?;
        let image = folder.join(IMAGE);
        image.is_file().then(|| Kernel { name: name.to_owned(), image, ..kernel })
    }

    /// One of them.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn get(&self, name: &str) -> Result<Kernel, Failure> {
        self.find(name).ok_or_else(|| {
            let known: Vec<String> = self.list().into_iter().map(|kernel| kernel.name).collect();
            // Debian names its kernels by their first two numbers.
            let is_version = name.chars().all(|c| c.is_ascii_digit() || c == '.');
            let origin = if is_version { name } else { "VERSION" };
            let install =
                format!("run pitot kernel install debian:{origin}-cloud --yes, or pitot kernel add FILE");
            let fix = match &known[..] {
                [] => install,
                known => format!("{install}; installed are {}", known.join(", ")),
            };
            Failure::misuse(format!("the kernel `{name}` is not installed"), fix)
        })
    }

    /// Adds an image. Its default name is the first two numbers of its release.
    ///
    /// # Errors
    /// If the file is not a kernel, cannot be read or written, or another kernel has the name and must not be replaced.
    pub fn add(
        &self,
        image: &Path,
        from: &str,
        name: Option<&str>,
        replace: bool,
    ) -> Result<Kernel, Failure> {
        let shown = image.display();
        let content = crate::cpio::content(image, IMAGE_BYTES_MAX).map_err(|e| {
            Failure::misuse(format!("{shown} cannot be read: {e}"), "check its path and permissions")
        })?;
        let release = vmlinuz::release(&content).ok_or_else(|| {
            Failure::misuse(
                format!("{shown} is not a kernel for x86-64"),
                "use a bzImage (/boot/vmlinuz-...) or a package with one (linux-image-....deb)",
            )
        })?;
        let name = name.map_or_else(|| vmlinuz::short(&release), str::to_owned);
        if is_reserved(&name) {
            return Err(Failure::misuse(
                format!("`{name}` is reserved for a kernel without an image"),
                "choose another name: --name NAME",
            ));
        }
        if !is_name(&name) {
            return Err(Failure::misuse(
                format!("`{name}` is not a valid name of a kernel"),
                "use letters, digits, ., -, _ and +: --name NAME",
            ));
        }
        let kernel = Kernel {
            release,
            from: from.to_owned(),
            sha256: hex(&content),
            image: self.folder.join(&name).join(IMAGE),
            name,
        };
        match self.find(&kernel.name) {
            Some(known) if known.sha256 != kernel.sha256 && !replace => return Err(is_taken(&known)),
            _ => {}
        }
        self.write(&kernel, &content).map_err(|e| {
            let what = format!("{} cannot be written: {e}", kernel.image.display());
            Failure::run(what, "check its permissions and the free space, or set XDG_CACHE_HOME")
        })?;
        Ok(kernel)
    }

    fn write(&self, kernel: &Kernel, content: &[u8]) -> std::io::Result<()> {
        let folder = self.folder.join(&kernel.name);
        // Its description comes last, since it marks the kernel as installed.
        let _ = fs::remove_file(folder.join(ABOUT));
        // Modules of another kernel that had this name.
        let _ = fs::remove_dir_all(folder.join(MODULES));
        fs::create_dir_all(&folder)?;
        fs::write(&kernel.image, content)?;
        fs::write(folder.join(ABOUT), serde_json::to_vec_pretty(kernel)?)
    }

    /// Stores modules of a kernel, and removes older ones.
    ///
    /// # Errors
    /// If they cannot be copied.
    pub(crate) fn keep_modules(&self, kernel: &Kernel, modules: &[PathBuf]) -> Result<(), Failure> {
        let folder = self.folder.join(&kernel.name).join(MODULES);
        let copied = || -> std::io::Result<()> {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder)?;
            for module in modules {
                fs::copy(module, folder.join(module.file_name().unwrap_or_default()))?;
            }
            Ok(())
        };
        copied().map_err(|e| {
            let what = format!("the modules in {} cannot be written: {e}", folder.display());
            Failure::run(what, "check its permissions and the free space, or set XDG_CACHE_HOME")
        })
    }

    /// Removes one of them.
    ///
    /// # Errors
    /// If it is not installed or cannot be removed.
    pub fn remove(&self, name: &str) -> Result<Kernel, Failure> {
        let kernel = self.get(name)?;
        let folder = self.folder.join(name);
        fs::remove_dir_all(&folder).map_err(|e| {
            Failure::run(format!("{} cannot be removed: {e}", folder.display()), "check its permissions")
        })?;
        Ok(kernel)
    }
}

/// The error that another kernel has the name.
pub(crate) fn is_taken(known: &Kernel) -> Failure {
    let Kernel { name, release, from, .. } = known;
    Failure::misuse(
        format!("another kernel is called `{name}`: Linux {release} ({from})"),
        "choose another name with --name NAME, or replace it with --replace",
    )
}

/// The SHA-256 in hexadecimal digits.
pub(crate) fn hex(content: &[u8]) -> String {
    let digest = ring::digest::digest(&ring::digest::SHA256, content);
    digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_are_added_found_and_removed_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("kernels"));
        assert!(store.list().is_empty());
        assert!(store.get("6.1").unwrap_err().fix.contains("pitot kernel install debian:6.1-cloud"));
        let mut image = vec![0; 0x400];
        image[0x202..0x206].copy_from_slice(b"HdrS");
        image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
        image[0x300..0x30c].copy_from_slice(b"6.1.0-56 (x)");
        let path = folder.path().join("vmlinuz-x");
        std::fs::write(&path, &image).unwrap();
        let added = store.add(&path, "a file", None, false).unwrap();
        assert_eq!((added.name.as_str(), added.release.as_str()), ("6.1", "6.1.0-56"));
        assert_eq!(store.get("6.1").unwrap(), added);
        store.add(&path, "a file", Some("mine"), false).unwrap();
        assert_eq!(store.list().len(), 2);
        // The same once more is no other, and another takes the name only where that is wanted.
        store.add(&path, "a file", Some("mine"), false).unwrap();
        image.push(0);
        std::fs::write(&path, &image).unwrap();
        let refused = store.add(&path, "a newer file", Some("mine"), false).unwrap_err();
        assert!(
            refused.what.contains("another kernel is called `mine`: Linux 6.1.0-56 (a file)"),
            "{}",
            refused.what
        );
        store.add(&path, "a newer file", Some("mine"), true).unwrap();
        assert_eq!(store.get("mine").unwrap().from, "a newer file");
        assert!(store.add(&path, "a file", Some("../mine"), false).is_err());
        assert!(
            store
                .add(&path, "a file", Some("gvisor"), false)
                .unwrap_err()
                .what
                .contains("is reserved for a kernel")
        );
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        assert!(store.add(&path, "a file", None, false).unwrap_err().what.contains("is not a kernel"));
        store.remove("6.1").unwrap();
        assert!(store.find("6.1").is_none() && store.remove("..").is_err());
    }
}
