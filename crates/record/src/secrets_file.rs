//! `FILE.secrets`: the secrets of a run, which are masked in the run file so that it can be passed on.
//!
//! `--resume` needs them. Only runs with secrets have such a file, only until they are complete, and only the owner can read it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use pitot_results::Failure;
use pitot_results::secrets::{MASK, masked_names};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::database::{MODE, beside, sync_directory};

/// Maximum size that is read.
const BYTES_MAX: u64 = 64 << 20;

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    /// The run whose secrets they are.
    run: String,
    /// Texts by their places (RFC 6901).
    texts: BTreeMap<String, String>,
}

fn path_of(file: &Path) -> PathBuf {
    beside(file, ".secrets")
}

/// Writes what was masked in a value, if anything, and synchronises the file.
///
/// # Errors
/// If the file cannot be written.
pub fn keep(file: &Path, run: &str, whole: &Value, masked: &Value) -> std::io::Result<()> {
    let mut content = Content { run: run.to_owned(), ..Content::default() };
    differences(whole, masked, String::new(), &mut content.texts);
    forget(file);
    if content.texts.is_empty() {
        return Ok(());
    }
    let mut kept = File::options().write(true).create_new(true).mode(MODE).open(path_of(file))?;
    kept.write_all(&serde_json::to_vec(&content)?)?;
    kept.sync_all()?;
    // A run file without its secrets cannot be resumed.
    sync_directory(file)
}

/// Removes the file, once the run is complete.
pub fn forget(file: &Path) {
    let _ = std::fs::remove_file(path_of(file));
}

/// Restores what was masked in a value.
///
/// # Errors
/// If secrets are masked in it, and the file with them is missing, of another run, or not private to the user.
pub fn restore(file: &Path, run: &str, masked: &mut Value) -> Result<(), Failure> {
    if masked_names(masked).is_empty() {
        return Ok(());
    }
    let content = read(file).map_err(|why| missing(file, masked, &why))?;
    if content.run != run {
        return Err(missing(file, masked, "belongs to another run"));
    }
    for (place, text) in content.texts {
        // Only masked texts are changed.
        if let Some(Value::String(known)) = masked.pointer_mut(&place)
            && known.contains(MASK)
        {
            *known = text;
        }
    }
    match &masked_names(masked)[..] {
        [] => Ok(()),
        _ => Err(missing(file, masked, "lacks some of them")),
    }
}

fn missing(file: &Path, masked: &Value, why: &str) -> Failure {
    let names: Vec<String> = masked_names(masked)
        .into_iter()
        .map(|name| if name.is_empty() { "a URL".into() } else { name })
        .collect();
    let (file, secrets) = (file.display(), path_of(file));
    Failure::misuse(
        format!(
            "{file} does not contain the secrets of {}, and {} {why}",
            names.join(", "),
            secrets.display()
        ),
        "copy that file from where the run was started, or start a new run",
    )
}

/// The content of the file, which must belong to the owner of the run file.
fn read(file: &Path) -> Result<Content, String> {
    let no_follow = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
    let kept = File::options().read(true).custom_flags(no_follow.bits() as i32).open(path_of(file));
    let kept = kept.map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => "does not exist".to_owned(),
        _ => format!("cannot be opened: {e}"),
    })?;
    let unread = |e: std::io::Error| format!("cannot be read: {e}");
    let (about, owner) = (kept.metadata().map_err(unread)?, std::fs::metadata(file).map_err(unread)?.uid());
    if !about.is_file() || about.uid() != owner {
        return Err("belongs to another user".into());
    }
    if about.mode() & 0o077 != 0 {
        return Err(format!("can be read by others (mode {:o}; chmod 600)", about.mode() & 0o777));
    }
    let mut text = String::new();
    kept.take(BYTES_MAX).read_to_string(&mut text).map_err(unread)?;
    serde_json::from_str(&text).map_err(|e| format!("cannot be parsed: {e}"))
}

/// The texts of `whole` that differ in `masked`, by their places.
fn differences(whole: &Value, masked: &Value, place: String, found: &mut BTreeMap<String, String>) {
    match (whole, masked) {
        (Value::String(text), Value::String(other)) if text != other => {
            found.insert(place, text.clone());
        }
        (Value::Array(items), Value::Array(others)) => {
            for (index, (item, other)) in items.iter().zip(others).enumerate() {
                differences(item, other, format!("{place}/{index}"), found);
            }
        }
        (Value::Object(members), Value::Object(others)) => {
            for (name, member) in members {
                let escaped = name.replace('~', "~0").replace('/', "~1");
                differences(member, &others[name], format!("{place}/{escaped}"), found);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use serde_json::json;

    use super::*;

    fn bed() -> (tempfile::TempDir, PathBuf, Value, Value) {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.pitot");
        std::fs::write(&file, "").unwrap();
        let whole = json!({"load": [["url", "http://u:p@h/"]], "a/b~": {"token": "t"}, "title": "T"});
        let masked = json!({"load": [["url", "http://***@h/"]], "a/b~": {"token": "***"}, "title": "T"});
        (dir, file, whole, masked)
    }

    #[test]
    fn what_was_masked_comes_back_from_a_file_of_the_owner_alone() {
        let (_dir, file, whole, masked) = bed();
        keep(&file, "r1", &whole, &masked).unwrap();
        assert_eq!(std::fs::metadata(path_of(&file)).unwrap().mode() & 0o777, 0o600);
        let mut back = masked.clone();
        restore(&file, "r1", &mut back).unwrap();
        assert_eq!(back, whole);
        keep(&file, "r2", &whole, &whole).unwrap();
        assert!(!path_of(&file).exists(), "without secrets there is no file of them");
    }

    #[test]
    fn what_is_missing_is_named_and_others_files_are_refused() {
        let (_dir, file, whole, masked) = bed();
        let why = |run: &str| restore(&file, run, &mut masked.clone()).unwrap_err();
        let missing = why("r1");
        assert!(
            missing.what.contains("secrets of token, url, and") && missing.what.contains("does not exist"),
            "{missing}"
        );
        assert_eq!(missing.exit_code(), 2);
        keep(&file, "r1", &whole, &masked).unwrap();
        assert!(why("r2").what.contains("to another run"));
        std::fs::set_permissions(path_of(&file), std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(why("r1").what.contains("mode 644"), "{}", why("r1"));
        forget(&file);
        std::os::unix::fs::symlink("/etc/passwd", path_of(&file)).unwrap();
        assert!(why("r1").what.contains("cannot be opened"), "{}", why("r1"));
    }

    #[test]
    fn nothing_is_changed_but_what_was_masked() {
        let (_dir, file, whole, masked) = bed();
        let mut harmful = whole.clone();
        harmful["title"] = "rm".into();
        keep(&file, "r", &harmful, &masked).unwrap();
        let mut back = masked.clone();
        restore(&file, "r", &mut back).unwrap();
        assert_eq!(back, whole);
    }
}
