//! Embeds the folder `targets`: adding a target is adding a file, with a folder of its name if it has programs.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    let root = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let folder = std::fs::canonicalize(root.join("../../targets"))?;
    println!("cargo::rerun-if-changed={}", folder.display());
    let mut code = String::from("&[\n");
    for file in sorted(&folder)?.iter().filter(|path| path.extension().is_some_and(|e| e == "toml")) {
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        let mut sources = String::new();
        let own = folder.join(&*name);
        if own.is_dir() {
            collect(&own, &own, &mut sources)?;
        }
        writeln!(
            code,
            "    Embedded {{ name: {name:?}, text: include_str!({file:?}), sources: &[{sources}] }},"
        )
        .expect("strings take it");
    }
    code.push(']');
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    std::fs::write(Path::new(&out).join("targets.rs"), code)
}

/// Writes pairs of path and text for all files below `folder`.
fn collect(root: &Path, folder: &Path, code: &mut String) -> io::Result<()> {
    for path in sorted(folder)? {
        if path.is_dir() {
            collect(root, &path, code)?;
        } else {
            let below = path.strip_prefix(root).expect("it was found there").to_string_lossy();
            write!(code, "({below:?}, include_str!({path:?})), ").expect("strings take it");
        }
    }
    Ok(())
}

fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths =
        std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}
