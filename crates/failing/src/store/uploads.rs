//! Files that clients put below the root.

use std::fs::{self, File};
use std::io;
use std::path::Path;
use std::sync::Arc;

use pitot_proto::StoreStep;
use pitot_serve::store::{Acknowledged, Stored, Uploads};

use super::contract::{End, Say, Store};

pub(super) const STORE: Store = Store { name: "uploads", prepare, work, check };

/// What is put, in its order: a path and a version.
const PUT: [(&str, usize); 3] = [("a", 1), ("folder/b", 1), ("a", 2)];

fn prepare(root: &Path, end: Option<End>) -> io::Result<()> {
    if end == Some(End::PowerCut) { Ok(()) } else { fs::create_dir(root.join("store/folder")) }
}

fn halves(path: &str, version: usize) -> [String; 2] {
    [format!("{path} {version} {}", "first ".repeat(100)), format!("{}end", "second ".repeat(100))]
}

fn put(root: &Path, path: &str, version: usize) -> Result<(), String> {
    let directory = File::open(root.join("store")).map_err(|e| e.to_string())?;
    let uploads = Uploads::below(Arc::new(directory.into()), Acknowledged::OnDisk);
    let [first, second] = halves(path, version);
    let mut step = StoreStep { upload: None, bytes: first.into(), is_last: false };
    let Stored::Begun(upload) = uploads.store(path.as_bytes(), &mut step).map_err(|e| format!("{e:?}"))?
    else {
        return Err("it is done before its end".to_owned());
    };
    step = StoreStep { upload: Some(upload), bytes: second.into(), is_last: true };
    uploads.store(path.as_bytes(), &mut step).map(drop).map_err(|e| format!("{e:?}"))
}

/// As a server, whose clients put a file once more if that was refused.
fn work(root: &Path, say: Say<'_>) {
    for (path, version) in PUT {
        for _ in 0..2 {
            match put(root, path, version) {
                Ok(()) => {
                    say(&format!("put {path} {version}"));
                    break;
                }
                Err(why) => say(&format!("not put: {why}")),
            }
        }
    }
    say("end");
}

/// The version of a file that is there.
fn version(root: &Path, path: &str) -> Result<usize, String> {
    let Ok(text) = fs::read_to_string(root.join("store").join(path)) else { return Ok(0) };
    let found = (1..=3).find(|version| halves(path, *version).concat() == text);
    found.ok_or_else(|| format!("{path} is not whole: {} bytes", text.len()))
}

fn check(root: &Path, said: &[String], _: End) -> Result<(), String> {
    for (path, wanted) in PUT {
        let found = version(root, path)?;
        if said.contains(&format!("put {path} {wanted}")) && found < wanted {
            return Err(format!("version {wanted} of {path} is lost: it has version {found}"));
        }
    }
    for path in ["a", "folder/b"] {
        put(root, path, 3)?;
        if version(root, path)? != 3 {
            return Err(format!("{path} cannot be put again"));
        }
    }
    Ok(())
}
