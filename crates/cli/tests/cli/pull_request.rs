//! `ci/pull-request` and `action.yml`, with the files and variables that GitHub and GitLab provide.

mod forge;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pitot_needs::needs;
use serde_json::Value;

use crate::support::{PITOT, stderr, text};
use forge::{Asked, Forge, comment, owner, somebody};

/// The root of the repository.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A command that uses the CPU for this many rounds.
fn burn(rounds: u32) -> String {
    format!("sh -c 'i=0; while [ $i -lt {rounds} ]; do i=$((i+1)); done'")
}

/// A program in place of pitot: it writes its arguments, the variables, and the run file.
const RECORDER: &str = r#"#!/bin/sh
printf '%s\0' "$@" >>arguments
printf '\n' >>arguments
env >variables
for word; do
    case $last in -o) echo recorded >"$word" ;; esac
    last=$word
done
"#;

/// A job for a pull request, in a folder.
struct Job {
    dir: tempfile::TempDir,
}

impl Job {
    fn new() -> Job {
        let dir = tempfile::tempdir().unwrap();
        let job = Job { dir };
        job.write("event.json", r#"{"action": "synchronize", "number": 12, "pull_request": {"number": 12}}"#);
        job.write("recorder", RECORDER);
        assert!(Command::new("chmod").arg("+x").arg(job.path("recorder")).status().unwrap().success());
        job
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// The script, as a step of GitHub.
    fn step(&self, word: &str) -> Command {
        let mut command = self.place(Command::new(root().join("ci/pull-request")));
        command.arg(word);
        command
    }

    /// A command where a step of GitHub is.
    fn place(&self, mut command: Command) -> Command {
        command.current_dir(self.dir.path()).env("TMPDIR", self.dir.path());
        command.env("RUNNER_TEMP", self.dir.path()).env("GITHUB_REPOSITORY", "owner/app");
        for name in ["GITHUB_TOKEN", "GITLAB_TOKEN", "CI_MERGE_REQUEST_IID"] {
            command.env_remove(name);
        }
        for (name, file) in [
            ("GITHUB_EVENT_PATH", "event.json"),
            ("GITHUB_STEP_SUMMARY", "summary"),
            ("GITHUB_OUTPUT", "output"),
        ] {
            command.env(name, self.path(file));
        }
        command
    }

    /// The step that compares a program with one that runs 20,000 rounds.
    fn measure(&self, head: &str, within: &str) -> Output {
        let mut command = self.step("measure");
        command.env("PITOT_PROGRAM", PITOT).env("PITOT_BASE", burn(20_000)).env("PITOT_HEAD", head);
        command.env("PITOT_FAIL_IF", "cpu-time > +50%\n").env("PITOT_WITHIN", within);
        command.output().unwrap()
    }

    /// The step that compares with the recorder.
    fn recorded(&self, base: &str, head: &str) -> Command {
        let mut command = self.step("measure");
        command.env("PITOT_PROGRAM", self.path("recorder")).env("PITOT_BASE", base).env("PITOT_HEAD", head);
        command
    }

    /// The step that comments on GitHub.
    fn comment(&self, forge: &Forge) -> Output {
        let api = format!("http://{}", forge.address);
        self.step("comment").env("GITHUB_API_URL", api).env("GITHUB_TOKEN", "secret").output().unwrap()
    }
}

/// Methods and paths.
fn lines(asked: &[Asked]) -> Vec<&str> {
    asked.iter().map(|asked| asked.line.as_str()).collect()
}

fn bodies(forge: &Forge) -> Vec<String> {
    forge.comments().iter().map(|comment| comment["body"].as_str().unwrap().to_owned()).collect()
}

#[needs("curl", "jq")]
#[test]
fn a_slower_head_fails_and_its_one_comment_is_kept_up_to_date() {
    let (job, forge) = (Job::new(), Forge::with(Vec::new()));
    let output = job.measure(&burn(100_000), "10m");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("::error title=gate cpu-time"), "{}", text(&output));
    assert_eq!(job.read("output"), format!("folder={}\n", job.path("pitot-performance").display()));
    let json = job.read("pitot-performance/comparison.json");
    assert!(json.len() <= 20_000, "{} bytes", json.len());
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["gates"][0]["outcome"], "met");
    let command = format!(
        "\nRepeat it:\n\n    pitot diff '{}' '{}' --within 10m --fail-if 'cpu-time > +50%'\n",
        burn(20_000).replace('\'', r"'\''"),
        burn(100_000).replace('\'', r"'\''")
    );
    assert!(job.read("summary").ends_with(&command), "{}", job.read("summary"));
    assert!(!job.read("summary").contains("<!--"));

    let output = job.comment(&forge);
    assert!(output.status.success(), "{}", text(&output));
    let asked = forge.asked();
    assert_eq!(
        lines(&asked),
        [
            "GET /repos/owner/app/issues/12/comments?per_page=100&page=1",
            "POST /repos/owner/app/issues/12/comments"
        ]
    );
    assert!(asked.iter().all(|asked| asked.token == "Bearer secret"), "{asked:?}");
    let body = &bodies(&forge)[0];
    assert!(body.starts_with("<!-- pitot: performance -->\n"), "{body}");
    assert!(body.contains("| worse |") && body.contains("cpu-time > +50%"), "{body}");
    assert!(body.ends_with(&command), "{body}");

    let output = job.measure("/no/such/program", "10s");
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(job.comment(&forge).status.success());
    assert_eq!(lines(&forge.asked())[1], "PATCH /repos/owner/app/issues/comments/1000");
    assert_eq!(bodies(&forge).len(), 1);
    assert!(bodies(&forge)[0].contains("head failed"), "{:?}", bodies(&forge));
}

#[test]
fn an_equal_head_does_not_fail() {
    let job = Job::new();
    let code = job.measure(&burn(20_000), "20s").status.code();
    // A machine without a free CPU may not decide it in this time.
    assert!([Some(0), Some(3)].contains(&code), "{code:?}");
    assert!(job.read("pitot-performance/comparison.json").len() <= 20_000);
}

#[test]
fn undecided_ends_with_three_or_as_asked_with_nothing() {
    let job = Job::new();
    let mut command = job.recorded("a", "b");
    job.write("recorder", &[RECORDER, "case $1 in diff) exit 3 ;; esac\n"].concat());
    assert_eq!(command.status().unwrap().code(), Some(3));
    assert_eq!(command.env("PITOT_FAIL_ON_UNDECIDED", "true").status().unwrap().code(), Some(3));
    assert_eq!(command.env("PITOT_FAIL_ON_UNDECIDED", "false").status().unwrap().code(), Some(0));
}

#[test]
fn inputs_are_arguments_and_nothing_of_them_is_executed() {
    let job = Job::new();
    let trap = "it's \"a\" `touch trap` $(touch trap) ${HOME} \\ ; touch trap #";
    let mut command = job.recorded(trap, "b {address}");
    command.env("PITOT_URL", "http://{address}/$(touch trap)").env("PITOT_WITHIN", "2m`touch trap`");
    command.env("PITOT_FAIL_IF", "  p99 > $(touch trap)\n\nfailed\n");
    command.env("PITOT_OPTIONS", "--connections=16\n--x=`touch trap`\n");
    let output = command.env("GITHUB_TOKEN", "secret").env("GITLAB_TOKEN", "secret").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(!job.path("trap").exists());
    assert!(!job.read("variables").contains("TOKEN"), "the programs of a pull request get no token");
    let conditions = ["--fail-if", "p99 > $(touch trap)", "--fail-if", "failed"];
    let given = [
        &[trap, "b {address}", "--url", "http://{address}/$(touch trap)", "--within", "2m`touch trap`"][..],
        &["--connections=16", "--x=`touch trap`"],
        &conditions,
    ]
    .concat();
    let (arguments, folder) = (job.read("arguments"), job.path("pitot-performance"));
    let run = folder.join("run.pitot");
    let all: Vec<Vec<&str>> = arguments.lines().map(|line| line.split_terminator('\0').collect()).collect();
    assert_eq!(all[0], [&["diff", "-o", run.to_str().unwrap(), "--format=github"][..], &given].concat());
    assert!(
        all.len() > 2 && all[1..].iter().all(|words| words[0] == "compare" && words.ends_with(&conditions))
    );

    // The command of the comment means the same to a shell.
    let comment = job.read("pitot-performance/comment.md");
    let (_, command) = comment.split_once("Repeat it:\n\n    pitot ").unwrap();
    let script = format!("printf '%s\\0' {command}");
    let output = Command::new("sh").args(["-c", &script]).current_dir(job.dir.path()).output().unwrap();
    let words: Vec<&str> = str::from_utf8(&output.stdout).unwrap().split_terminator('\0').collect();
    assert_eq!(words, [&["diff"][..], &given].concat());
    assert!(!job.path("trap").exists());

    for name in ["two words", "-->", "a/../b", "$(touch trap)"] {
        let output = job.recorded("a", "b").env("PITOT_NAME", name).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{name}: {}", text(&output));
    }
    assert!(!job.path("trap").exists());
}

#[test]
fn wrong_use_ends_with_two_and_a_fix() {
    let job = Job::new();
    for (wrong, what) in [
        (job.recorded("", "b"), "PITOT_BASE is empty\n  give the command"),
        (job.recorded("a", ""), "PITOT_HEAD is empty\n  give the command"),
        (job.step(""), "the command is ''\n  use measure or comment"),
        (job.step("publish"), "the command is 'publish'\n  use measure or comment"),
    ] {
        let mut wrong = wrong;
        let output = wrong.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(stderr(&output).contains(what), "{}", text(&output));
    }
    let output = job.measure(&burn(1), "a while");
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(!job.path("pitot-performance/comment.md").exists());
}

/// Makes an archive as those of a release, and returns its digest.
fn archive(job: &Job, path: &str) -> String {
    let make = format!(
        "mkdir -p pitot-1.2.3 $(dirname {path}) && cp recorder pitot-1.2.3/pitot && tar -c pitot-1.2.3 | zstd -q -o {path} && sha256sum {path}"
    );
    let output = Command::new("sh").args(["-c", &make]).current_dir(job.dir.path()).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    text(&output)[..64].to_owned()
}

#[needs("curl", "zstd")]
#[test]
fn only_an_archive_with_the_given_digest_is_used() {
    let job = Job::new();
    let digest = archive(&job, "release.tar.zst");
    let with = |digest: &str| {
        let mut command = job.recorded("a", "b");
        command.env("PITOT_ARCHIVE", format!("file://{}", job.path("release.tar.zst").display()));
        command.env("PITOT_PROGRAM", "/no/such/program").env("PITOT_DIGEST", digest).output().unwrap()
    };
    let other = digest.replace('a', "b").replace('0', "1");
    for (wrong, what) in [
        (other.as_str(), format!("has the digest {digest}, not {other}")),
        (&digest[..63], format!("has the digest {digest}, not {}", &digest[..63])),
        ("", "PITOT_DIGEST is ''".to_owned()),
        ("$(touch trap)", "PITOT_DIGEST is '$(touch trap)'".to_owned()),
    ] {
        let output = with(wrong);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(stderr(&output).contains(&what), "{}", text(&output));
        assert!(!job.path("arguments").exists(), "the program ran");
    }
    let output = with(&digest);
    assert!(output.status.success(), "{}", text(&output));
    assert!(job.read("arguments").starts_with("diff\0"));
    std::fs::remove_file(job.path("release.tar.zst")).unwrap();
    let output = with(&digest);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(stderr(&output).contains("was not downloaded"), "{}", text(&output));
}

#[needs("curl", "jq")]
#[test]
fn the_comment_is_found_among_those_of_others() {
    let others: Vec<Value> = (1..=100).map(|id| comment(id, &somebody(), "a comment")).collect();
    // Everybody can write the marker, and every comparison has its own.
    let more = [
        comment(101, &somebody(), "<!-- pitot: performance -->\nforged"),
        comment(102, &owner(), "<!-- pitot: other -->\nof another comparison"),
        comment(103, &owner(), "it has a <!-- pitot: performance --> within"),
        comment(104, &owner(), "<!-- pitot: performance -->\nold"),
    ];
    let forge = Forge::with(others.into_iter().chain(more).collect());
    let (job, before) = (Job::new(), forge.comments());
    // Nothing was measured: a build failed, for instance.
    let output = job.comment(&forge);
    assert!(output.status.success(), "{}", text(&output));
    assert_eq!(
        lines(&forge.asked()),
        [
            "GET /repos/owner/app/issues/12/comments?per_page=100&page=1",
            "GET /repos/owner/app/issues/12/comments?per_page=100&page=2",
            "PATCH /repos/owner/app/issues/comments/104"
        ]
    );
    let after = forge.comments();
    assert_eq!(after[..103], before[..103]);
    assert!(after[103]["body"].as_str().unwrap().contains("Nothing was measured."), "{}", after[103]);
    assert_eq!(after.len(), 104);
}

#[needs("curl", "jq")]
#[test]
fn without_the_right_to_write_there_is_only_the_summary_which_says_so() {
    let (job, forge) = (Job::new(), Forge::with(Vec::new()));
    forge.refuse();
    let output = job.comment(&forge);
    assert!(output.status.success(), "{}", text(&output));
    assert!(
        job.read("summary")
            .contains("No comment: the token may not write one, as for pull requests from forks.")
    );
    assert!(text(&output).contains("`pull-requests: write`"), "{}", text(&output));
    assert!(bodies(&forge).is_empty());

    job.write("event.json", r#"{"ref": "refs/heads/main"}"#);
    forge.asked();
    let output = job.comment(&forge);
    assert!(
        output.status.success() && text(&output).contains("this is no pull request"),
        "{}",
        text(&output)
    );
    assert!(forge.asked().is_empty());
}

#[needs("curl", "jq")]
#[test]
fn a_merge_request_of_gitlab_has_a_note() {
    let forged = comment(1, &somebody(), "<!-- pitot: performance -->\nforged");
    let (job, forge) = (Job::new(), Forge::with(vec![forged]));
    let note = |token: &str| {
        let mut command = job.step("comment");
        for name in ["GITHUB_EVENT_PATH", "GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT", "RUNNER_TEMP"] {
            command.env_remove(name);
        }
        command.env("CI_API_V4_URL", format!("http://{}/api/v4", forge.address)).env("CI_PROJECT_ID", "34");
        command.env("CI_MERGE_REQUEST_IID", "5").env("GITLAB_TOKEN", token).output().unwrap()
    };
    let output = note("");
    assert!(
        output.status.success() && text(&output).contains("GITLAB_TOKEN is not set"),
        "{}",
        text(&output)
    );
    assert!(forge.asked().is_empty());
    for last in [
        "POST /api/v4/projects/34/merge_requests/5/notes",
        "PUT /api/v4/projects/34/merge_requests/5/notes/1001",
    ] {
        let output = note("secret");
        assert!(output.status.success(), "{}", text(&output));
        let asked = forge.asked();
        let list = "GET /api/v4/projects/34/merge_requests/5/notes?per_page=100&page=1";
        assert_eq!(lines(&asked), ["GET /api/v4/user", list, last]);
        assert!(asked.iter().all(|asked| asked.token == "secret"), "{asked:?}");
    }
    assert_eq!(bodies(&forge).len(), 2);
    assert!(bodies(&forge)[0].ends_with("forged"));
}

/// The scripts of the action's steps.
fn scripts(action: &str) -> Vec<String> {
    let mut scripts: Vec<String> = Vec::new();
    let mut is_within = false;
    for line in action.lines() {
        let text = line.trim();
        if let Some(first) = text.strip_prefix("run:") {
            scripts.push(first.trim().trim_matches(['|', '\'']).to_owned());
            is_within = text.ends_with('|');
        } else if is_within && line.starts_with("        ") {
            *scripts.last_mut().unwrap() += &[text, "\n"].concat();
        } else {
            is_within = false;
        }
    }
    scripts
}

#[needs("curl", "zstd")]
#[test]
fn the_action_passes_every_input_through_the_environment() {
    let action = std::fs::read_to_string(root().join("action.yml")).unwrap();
    let section = |name: &str| {
        let rest = action.split_once(&format!("\n{name}:\n")).unwrap().1;
        rest.lines().take_while(|line| line.starts_with(' '))
    };
    let names = section("inputs").filter_map(|line| line.strip_prefix("  ")?.strip_suffix(':'));
    let names: Vec<&str> = names.filter(|name| !name.starts_with(' ')).collect();
    assert!(names.len() > 9, "{names:?}");
    for name in names {
        let is_passed = section("runs").any(|line| {
            let value = line.split_once(": ").map_or("", |(_, value)| value);
            value == format!("${{{{ inputs.{name} }}}}") || line.contains(&format!("&& inputs.{name} =="))
        });
        assert!(is_passed, "{name}");
    }
    let scripts = scripts(&action);
    assert!(scripts.len() == 2 && scripts.iter().all(|script| !script.contains("${{")), "{scripts:?}");
    assert_eq!(scripts[1], "\"$ACTION/ci/pull-request\" comment");

    let (job, machine) = (Job::new(), std::env::consts::ARCH);
    let digest = archive(&job, &format!("releases/v1.2.3/pitot-1.2.3-{machine}-linux.tar.zst"));
    let mut shell = Command::new("sh");
    shell.args(["-e", "-c", &scripts[0]]);
    let mut shell = job.place(shell);
    shell.env("ACTION", root()).env("RELEASES", format!("file://{}", job.path("releases").display()));
    shell.env("VERSION", "1.2.3").env("PITOT_DIGEST", digest).env("PITOT_ARCHIVE", "");
    let output = shell.env("PITOT_BASE", "a").env("PITOT_HEAD", "b").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    assert!(job.read("arguments").starts_with("diff\0"));
}

#[needs("shellcheck")]
#[test]
fn shellcheck_finds_nothing() {
    let output = Command::new("shellcheck").arg(root().join("ci/pull-request")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
}
