//! Relative paths of a plan are resolved against its folder.

use std::path::Path;

use super::definition::Plan;
use super::server::{FileContent, PlanFile, Program};
use super::value::{Settings, Value};

/// Stands for the plan's folder.
const PLACEHOLDER: &str = "{plan}";

impl Plan {
    /// Replaces `{plan}` with the absolute `folder` of the plan's file, and resolves relative paths of programs
    /// (`./server`) against it, since a server runs in a private directory.
    pub fn resolve_paths(&mut self, folder: &Path) {
        let folder = folder.to_string_lossy().into_owned();
        for spec in &mut self.servers {
            in_files(&mut spec.files, &folder);
            match &mut spec.program {
                Program::Pitot(options) => in_settings(options, &folder),
                Program::External(program) => {
                    for command in [&mut program.command, &mut program.version] {
                        in_command(command, &folder);
                    }
                    for (_, value) in &mut program.env {
                        *value = value.replace(PLACEHOLDER, &folder);
                    }
                    if let Some(cwd) = &mut program.cwd {
                        in_path(cwd, &folder);
                    }
                }
            }
        }
        let helpers = self.helpers.iter_mut().map(|helper| &mut helper.options);
        for settings in [&mut self.server, &mut self.load].into_iter().chain(helpers) {
            in_settings(settings, &folder);
        }
        in_files(&mut self.files, &folder);
        if let Some(dir) = &mut self.durability {
            *dir = dir.replace(PLACEHOLDER, &folder);
        }
        self.folder = Some(folder);
    }

    /// A level as it is used. It is shown in the plan's spelling, so that runs of one plan in two folders have the same
    /// cells.
    pub(super) fn placed(&self, level: &Value) -> Value {
        let mut level = level.clone();
        if let Some(folder) = &self.folder {
            in_value(&mut level, folder);
        }
        level
    }
}

fn in_files(files: &mut [PlanFile], folder: &str) {
    for file in files {
        if let FileContent::Text(text) = &mut file.content {
            *text = text.replace(PLACEHOLDER, folder);
        }
    }
}

fn in_command(command: &mut [String], folder: &str) {
    for word in command.iter_mut() {
        *word = word.replace(PLACEHOLDER, folder);
    }
    if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
        in_path(program, folder);
    }
}

/// Resolves a path against the folder.
fn in_path(path: &mut String, folder: &str) {
    *path = path.replace(PLACEHOLDER, folder);
    if !path.starts_with(['/', '{']) {
        *path = format!("{folder}/{}", path.trim_start_matches("./")).trim_end_matches("/.").to_owned();
    }
}

fn in_settings(settings: &mut Settings, folder: &str) {
    for (_, value) in &mut settings.0 {
        in_value(value, folder);
    }
}

fn in_value(value: &mut Value, folder: &str) {
    match value {
        Value::Text(text) => *text = text.replace(PLACEHOLDER, folder),
        Value::List(values) => values.iter_mut().for_each(|value| in_value(value, folder)),
        Value::Flag(_) | Value::Integer(_) | Value::Float(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_programs_and_the_placeholder_are_those_of_the_plans_folder() {
        let of = |words: &[&str]| {
            let mut command: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
            in_command(&mut command, "/srv/plans");
            command.join(" ")
        };
        assert_eq!(of(&["./gosrv", "./data", "{address}"]), "/srv/plans/gosrv ./data {address}");
        assert_eq!(of(&["../bin/gosrv"]), "/srv/plans/../bin/gosrv");
        assert_eq!(of(&["node", "{plan}/app.js"]), "node /srv/plans/app.js");
        assert_eq!(of(&["/usr/bin/env"]), "/usr/bin/env");
        assert_eq!(of(&["{dir}/run.sh"]), "{dir}/run.sh");
        let of = |path: &str| {
            let mut path = path.to_owned();
            in_path(&mut path, "/srv/plans");
            path
        };
        assert_eq!(
            [of("{plan}"), of("app"), of("."), of("/opt/app"), of("{dir}/x")],
            ["/srv/plans", "/srv/plans/app", "/srv/plans", "/opt/app", "{dir}/x"]
        );
        let mut list = Value::List(vec![Value::Text("{plan}/log".into()), Value::Integer(1)]);
        in_value(&mut list, "/srv/plans");
        assert_eq!(list, Value::List(vec![Value::Text("/srv/plans/log".into()), Value::Integer(1)]));
    }
}
