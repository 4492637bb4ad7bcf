//! What a command prints that is over in a moment, such as `nginx -v`.

use std::process::Stdio;

/// A command that is asked for what it prints.
pub(super) struct Asked<'a> {
    pub(super) argv: &'a [String],
    /// Where it is started, if that matters.
    pub(super) cwd: Option<&'a str>,
    /// Variables of its environment: names and values.
    pub(super) env: Vec<(String, String)>,
}

/// What it prints on this machine: to its standard output, then to its standard error. The error is a sentence.
pub(super) fn here(asked: &Asked<'_>) -> Result<String, String> {
    let [program, arguments @ ..] = asked.argv else { return Ok(String::new()) };
    let mut command = std::process::Command::new(program);
    command.args(arguments).stdin(Stdio::null()).envs(asked.env.iter().map(|(name, value)| (name, value)));
    if let Some(cwd) = asked.cwd {
        command.current_dir(cwd);
    }
    let output = command.output().map_err(|e| e.to_string())?;
    Ok(String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}
