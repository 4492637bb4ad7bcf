//! What other users of the machine put where Pitot looks.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use pitot_needs::needs;

use super::namespaces::in_namespaces;
use super::program_for_anybody;
use crate::support::{PITOT, stderr, stdout, until};

/// Two users who are not root.
const USER: &str = "65533";
const STRANGER: &str = "65534";

/// A directory such as /tmp: everybody may make files there, and remove their own.
fn shared_directory() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    dir
}

fn as_user(user: &str, program: &Path) -> Command {
    let mut command = Command::new("setpriv");
    command.args(["--reuid", user, "--regid", user, "--clear-groups", "--inh-caps=-all"]).arg(program);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).current_dir("/");
    command
}

fn shell(user: &str, script: &str) {
    let done = as_user(user, Path::new("/bin/sh")).args(["-c", script]).output().unwrap();
    assert!(done.status.success(), "{}", stderr(&done));
}

/// Waits for the end.
fn end_of(mut child: Child) -> Output {
    until("it ends", || child.try_wait().unwrap().is_some());
    child.wait_with_output().unwrap()
}

#[needs("root", "setpriv", "other-users")]
#[test]
fn undo_kills_no_process_that_a_strangers_directory_names_and_waits_for_no_fifo() {
    let shared = shared_directory();
    let mut victim = Command::new("sleep").arg("600").spawn().unwrap();
    let at = shared.path().display();
    let (make, keep) = (format!("{at}/pitot-x/groups/pitot-x-1"), format!("{at}/pitot-link"));
    shell(
        STRANGER,
        &format!(
            "mkdir -p {make} && echo {} > {make}/cgroup.procs && echo {at}/pitot-x/groups > {at}/pitot-x/.run && \
             mkdir {at}/pitot-fifo && mkfifo -m 666 {at}/pitot-fifo/.run && \
             ln -s {at}/pitot-x {keep} && chmod -R a+rX {at}/pitot-x",
            victim.id()
        ),
    );
    let mut undo = Command::new(PITOT);
    undo.args(["host", "undo", "--journal"])
        .arg(shared.path().join("no-journal"))
        .env("TMPDIR", shared.path());
    let output = end_of(undo.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let is_alive = victim.try_wait().unwrap().is_none();
    victim.kill().unwrap();
    victim.wait().unwrap();
    assert!(is_alive, "{}", stdout(&output));
    assert!(Path::new(&make).exists() && output.status.success(), "{}", stderr(&output));
    assert_eq!(stdout(&output), "nothing to undo\n");
}

#[needs("root", "setpriv", "other-users")]
#[test]
fn a_journal_of_a_stranger_is_neither_followed_nor_waited_for() {
    let shared = shared_directory();
    let journal = shared.path().join("journal");
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap();
    let lines = format!(
        "{{\"record\":\"journal\",\"version\":2,\"boot_id\":\"{}\"}}\n{{\"record\":\"change\",\"id\":1,\"batch\":1,\
         \"key\":\"net.core.\\u001b[2Jsomaxconn\",\"found\":\"1\",\"set\":\"2\",\"by\":\"a user\",\"at\":\"then\"}}\n",
        boot.trim()
    );
    let text = shared.path().join("text");
    fs::write(&text, lines).unwrap();
    let at = journal.display();
    for make in [
        format!("cp {} {at}", text.display()),
        format!("mkfifo {at}"),
        format!("ln -s {} {at}", text.display()),
    ] {
        shell(STRANGER, &make);
        for action in ["undo", "status"] {
            let mut command = Command::new(PITOT);
            command.args(["host", action, "--journal"]).arg(&journal).env("TMPDIR", shared.path());
            let output = end_of(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
            let said = stderr(&output);
            assert_eq!(output.status.code(), Some(2), "{make}: {said}");
            assert!(
                said.lines().count() == 2 && !said.contains('\u{1b}') && output.stdout.is_empty(),
                "{said}"
            );
        }
        fs::remove_file(&journal).unwrap();
    }
}

#[needs("root", "setpriv", "other-users")]
#[test]
fn a_lock_that_a_stranger_holds_keeps_no_run_waiting_and_says_nothing() {
    let shared = shared_directory();
    let folder = tempfile::tempdir().unwrap();
    let program = program_for_anybody(folder.path());
    let own = tempfile::tempdir().unwrap();
    fs::set_permissions(own.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let plan = "duration = \"20ms\"\nwarmup = \"5ms\"\nrepetitions = 1\n[server]\nprotocol = \"http\"\n\
                [load]\nconnections = 1\n[factors]\nserver = [\"thread\"]\n";
    fs::write(own.path().join("plan.toml"), plan).unwrap();
    let run = || {
        let mut command = as_user(USER, &program);
        command.args(["run", "--wait", "plan.toml", "-o", "run.pitot"]).current_dir(own.path());
        let output = end_of(command.env("TMPDIR", shared.path()).spawn().unwrap());
        format!("{}{}", stdout(&output), stderr(&output))
    };
    // The name that earlier versions took, held and with a message for whoever waits.
    let locks = [shared.path().join("pitot.lock"), shared.path().join("pitot.run-lock")];
    let names = locks.each_ref().map(|path| path.display().to_string()).join(" ");
    shell(
        STRANGER,
        &format!("for f in {names}; do printf '1 \\033[2JYOUR TURN\\n' > $f; chmod 666 $f; done"),
    );
    let held = locks.each_ref().map(|path| fs::File::open(path).unwrap());
    held.iter().for_each(|file| file.lock().unwrap());
    let text = run();
    assert!(!text.contains("YOUR TURN") && !text.contains('\u{1b}'), "{text}");
    let lock = shared.path().join(format!("pitot-lock-{USER}"));
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&lock), mode(&lock.join("pitot.run-lock"))), (0o700, 0o600));
    // A directory of that name that is somebody else's is not used, and the report says so.
    fs::remove_dir_all(&lock).unwrap();
    shell(STRANGER, &format!("mkdir -m 777 {0} && mkfifo -m 666 {0}/pitot.run-lock", lock.display()));
    fs::remove_file(own.path().join("run.pitot")).unwrap();
    let text = run();
    let run = pitot_record::Run::open(&own.path().join("run.pitot"));
    let warnings = run.unwrap_or_else(|e| panic!("{e}: {text}")).info.warnings;
    assert!(warnings.iter().any(|warning| warning.contains("there is no place for a lock")), "{warnings:?}");
}

#[needs("user-namespaces")]
#[test]
fn a_key_that_names_a_file_elsewhere_writes_nothing() {
    in_namespaces("strangers::a_key_that_names_a_file_elsewhere_writes_nothing", |place| {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.txt");
        fs::write(&path, "1\n").unwrap();
        // As the key of a parameter is written: a dot is a slash, and a slash is a dot.
        let swap = |c| match c {
            '.' => '/',
            '/' => '.',
            c => c,
        };
        let elsewhere: String = path.to_str().unwrap().chars().map(swap).collect();
        for key in [format!("kernel.//.//.//{elsewhere}"), format!("net.//.//.//{elsewhere}")] {
            let output = place.run(&["apply", &format!("{key}=2")]);
            let text = stderr(&output);
            assert!(output.status.code() == Some(2) && text.contains("there is no setting"), "{key}: {text}");
            assert_eq!(fs::read_to_string(&path).unwrap(), "1\n");
        }
    });
}
