//! What a run is known by beside others: the option `--label`, and what a checkout of git says of itself.

use std::process::{Command, Stdio};

use clap::Args;
use pitot_plan::Plan;
use pitot_report::history::{COMMIT, COMMIT_TIME};

/// Names and values.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Labels {
    /// Name the run among others: commit=1a2b3c, branch=main; may be repeated. In a checkout of git it has the labels `commit` (with
    /// `-dirty` if tracked files were changed) and `commit-time` without being asked. `pitot history` shows them.
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = parsed)]
    labels: Vec<(String, String)>,
}

impl Labels {
    /// What is given here, before what is given elsewhere, and what git says.
    pub(crate) fn with(&self, others: &[(String, String)]) -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = Vec::new();
        let mut add = |label: &(String, String)| {
            if all.iter().all(|(name, _)| *name != label.0) {
                all.push(label.clone());
            }
        };
        self.labels.iter().chain(others).for_each(&mut add);
        let given = self.labels.iter().chain(others).find(|(name, _)| name == COMMIT);
        of_checkout(given.map(|(_, commit)| commit.as_str())).iter().for_each(&mut add);
        all
    }

    /// Adds them to what the plan says.
    pub(crate) fn change(&self, plan: &mut Plan) {
        plan.labels = self.with(&plan.labels);
    }
}

fn parsed(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("a label is NAME=VALUE, such as branch=main")?;
    let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    match name {
        "" => Err("the label has no name before `=`".to_owned()),
        _ if !name.chars().all(is_name) => {
            Err("the name of a label has letters, digits and -_. only".to_owned())
        }
        _ if value.len() > 200 => Err("the value of a label has more than 200 characters".to_owned()),
        _ => Ok((name.to_owned(), value.to_owned())),
    }
}

/// The commit of the checkout in which the command runs, or the time of the one that is given; nothing outside a checkout and without git.
fn of_checkout(given: Option<&str>) -> Vec<(String, String)> {
    let revision = given.map_or("HEAD", |commit| commit.trim_end_matches("-dirty"));
    if revision.starts_with('-') {
        return Vec::new();
    }
    let format =
        ["log", "-1", "--no-show-signature", "--date=format-local:%Y-%m-%dT%H:%M:%SZ", "--format=%H %cd"];
    let Some(said) = git(&[&format[..], &[revision, "--"]].concat()) else { return Vec::new() };
    let Some((commit, time)) = said.split_once(' ') else { return Vec::new() };
    let is_dirty =
        || git(&["status", "--porcelain", "--untracked-files=no"]).is_some_and(|changed| !changed.is_empty());
    let mut labels = vec![(COMMIT_TIME.to_owned(), time.to_owned())];
    if given.is_none() {
        let dirty = if is_dirty() { "-dirty" } else { "" };
        labels.insert(0, (COMMIT.to_owned(), format!("{commit}{dirty}")));
    }
    labels
}

/// What git prints, if it is there and succeeds.
pub(crate) fn git(words: &[&str]) -> Option<String> {
    let mut git = Command::new("git");
    git.arg("--no-optional-locks").args(words).env("TZ", "UTC").stdin(Stdio::null()).stderr(Stdio::null());
    let said = git.output().ok().filter(|said| said.status.success())?;
    String::from_utf8(said.stdout).ok().map(|text| text.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_a_name_and_a_value() {
        assert_eq!(parsed("branch=a=b"), Ok(("branch".to_owned(), "a=b".to_owned())));
        for wrong in ["branch", "=x", "a b=c"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_is_given_comes_before_what_the_plan_and_git_say() {
        let label = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let given = Labels { labels: vec![label("commit", "no-such-commit"), label("a", "1")] };
        let all = given.with(&[label("a", "2"), label("b", "3")]);
        assert_eq!(all, [label("commit", "no-such-commit"), label("a", "1"), label("b", "3")]);
    }
}
