//! Embeds the folder `suites`: adding a suite is adding a file.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

fn main() -> std::io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let suites = std::fs::canonicalize(root.join("../../suites"))?;
    println!("cargo::rerun-if-changed={}", suites.display());
    let mut files: Vec<PathBuf> = std::fs::read_dir(&suites)?
        .map(|entry| Ok(entry?.path()))
        .collect::<std::io::Result<Vec<_>>>()?
        .into_iter()
        .filter(|path| path.extension().is_some_and(|e| e == "toml"))
        .collect();
    files.sort();
    let mut code = String::from("&[\n");
    for file in &files {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        writeln!(code, "    Suite {{ name: {name:?}, text: include_str!({file:?}) }},")
            .expect("strings take it");
    }
    code.push(']');
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("suites.rs"), code)
}
