//! The server or command of a comparison that never changes.

use std::path::Path;

use pitot_plan::toml_string;

/// What it is called.
pub(crate) const REFERENCE: &str = "reference";

/// The key of the server that never changes.
pub(crate) const REFERENCE_KEY: &str = "# Other runs are compared by the ratio to this server, which never changes.\nreference = { server = \"reference\" }\n";

/// The key that names a command by the content of its files, so that a run shows whether it has changed.
pub(crate) fn version_by_content(words: &[String]) -> String {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let path = |word: &String| match word.contains('/') {
        true => Some(Path::new(word).to_owned()).filter(|path| path.is_file()),
        false => std::env::split_paths(&folders)
            .map(|folder| folder.join(word))
            .find(|path| path.is_file())
            .or_else(|| Some(Path::new(word).to_owned()).filter(|path| path.is_file())),
    };
    let files = words.iter().filter_map(path).filter_map(|path| path.canonicalize().ok());
    let files: Vec<String> = files.map(|path| toml_string(&path.to_string_lossy())).collect();
    let line = r#"cat "$@" | sha256sum | sed 's/^/sha256 /'"#;
    match files.is_empty() {
        true => String::new(),
        false => format!("version = [\"sh\", \"-c\", {}, \"sh\", {}]\n", toml_string(line), files.join(", ")),
    }
}
