//! Kernel modules that guests load: those of kernel TLS, which distributions do not build in. Everything else is built in.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::system::finit_module;

use crate::cpio::content;

/// Kernel TLS, its ciphers, and their dependencies. Modules that are built in, or missing, have no file.
const WANTED: [&str; 19] = [
    "aesni-intel",
    "chacha-x86_64",
    "chacha20poly1305",
    "chacha_generic",
    "cryptd",
    "crypto_null",
    "crypto_simd",
    "gcm",
    "geniv",
    "gf128mul",
    "ghash-generic",
    "libaes",
    "libchacha",
    "libgf128mul",
    "libpoly1305",
    "poly1305-x86_64",
    "poly1305_generic",
    "seqiv",
    "tls",
];

/// Their folder in a guest.
const FOLDER: &str = "/pitot/modules";
/// Maximum size of a module.
const BYTES_MAX: u64 = 64 << 20;
/// The file is compressed (`MODULE_INIT_COMPRESSED_FILE`, finit_module(2)).
const COMPRESSED: i32 = 4;

/// The wanted modules in folders of a package.
pub(crate) fn below(folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut left = folders.to_vec();
    while let Some(folder) = left.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => left.push(path),
                Ok(kind) if kind.is_file() && is_wanted(&path) => found.push(path),
                _ => {}
            }
        }
    }
    found.sort();
    found
}

fn is_wanted(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let (stem, kind) = name.split_once('.').unwrap_or((&name, ""));
    (kind == "ko" || kind.starts_with("ko.")) && WANTED.contains(&stem)
}

/// Modules with their paths in a guest.
///
/// # Errors
/// If one cannot be read.
pub(crate) fn for_guest(modules: &[PathBuf]) -> io::Result<Vec<(String, Vec<u8>)>> {
    let of = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        Ok((format!("{FOLDER}/{name}"), content(path, BYTES_MAX)?))
    };
    modules.iter().map(of).collect()
}

/// Loads all of them. A module that depends on another is tried again after it.
pub(crate) fn load_all() {
    let entries = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    let mut left: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    left.sort();
    loop {
        let before = left.len();
        left.retain(|path| load(path).is_err());
        if left.is_empty() || left.len() == before {
            return;
        }
    }
}

fn load(path: &Path) -> io::Result<()> {
    let is_plain = path.extension().is_some_and(|extension| extension == "ko");
    Ok(finit_module(File::open(path)?, c"", if is_plain { 0 } else { COMPRESSED })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_modules_of_tls_are_found_in_a_package_and_put_into_a_guest() {
        assert!(WANTED.is_sorted());
        let folder = tempfile::tempdir().unwrap();
        let net = folder.path().join("6.12/kernel/net/tls");
        fs::create_dir_all(&net).unwrap();
        for name in ["tls.ko.xz", "tls.txt", "other.ko", "gcm.ko"] {
            fs::write(net.join(name), name).unwrap();
        }
        let found = below(&[folder.path().join("none"), folder.path().to_owned()]);
        assert_eq!(found, [net.join("gcm.ko"), net.join("tls.ko.xz")]);
        let inside = for_guest(&found).unwrap();
        assert_eq!(inside[1], ("/pitot/modules/tls.ko.xz".to_owned(), b"tls.ko.xz".to_vec()));
    }
}
