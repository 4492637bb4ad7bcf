//! An agent in another root directory.

use std::fs;
use std::path::Path;
use std::process::Command;

use pitot_needs::needs;
use pitot_record::Run;
use pitot_results::VerdictKind;

use crate::support::{PITOT, stderr, stdout};

/// A root directory with what Pitot is linked to, and a page that is nowhere else.
fn make_root(root: &Path) {
    for name in ["proc", "sys", "dev", "run", "tmp", "srv"] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join("srv/only-here"), "x".repeat(77)).unwrap();
    let linked = Command::new("ldd").arg(PITOT).output().unwrap();
    for library in stdout(&linked).split_whitespace().filter(|word| word.starts_with('/')) {
        let copy = root.join(library.trim_start_matches('/'));
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::copy(library, copy).unwrap();
    }
}

#[needs("root")]
#[test]
fn a_server_is_measured_in_another_root_directory_which_is_left_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    make_root(&root);
    let plan = format!(
        "repetitions = 1\nduration = \"200ms\"\nwarmup = \"50ms\"\n\
         [hosts.old]\nagent = [\"{PITOT}\", \"agent\", \"--root\", \"{}\"]\naddress = \"127.0.0.1\"\ncpus = \"0\"\n\
         [server]\nprotocol = \"http\"\nroot = \"/srv\"\nhost = \"old\"\n\
         [load]\nurl = \"http://{{address}}/only-here\"\nconnections = 1\n[factors]\nserver = [\"loop\"]\n",
        root.display()
    );
    fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let run =
        Command::new(PITOT).args(["run", "plan.toml", "-o", "run.pitot"]).current_dir(dir.path()).output();
    let run = run.unwrap();
    assert!(run.status.success(), "{}", stderr(&run));
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    let repetition = &run.cells[0].repetitions[0];
    assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
    let load = repetition.load.as_ref().unwrap();
    assert_eq!(load.bytes.content, Some(77 * load.requests.ok));
    let left = |name: &str| fs::read_dir(root.join(name)).unwrap().count();
    assert_eq!(["proc", "sys", "dev", "run", "tmp"].map(left), [0; 5]);
}

#[needs("root")]
#[test]
fn a_directory_that_is_no_root_is_refused_with_what_it_lacks() {
    let dir = tempfile::tempdir().unwrap();
    let agent =
        || Command::new(PITOT).args(["agent", "--root", "."]).current_dir(dir.path()).output().unwrap();
    let refused = agent();
    assert!(stderr(&refused).contains("it has no directory `proc`\n  name the root directory of a system"));
    assert_eq!(refused.status.code(), Some(2));
    make_root(dir.path());
    fs::remove_dir_all(dir.path().join("lib64")).unwrap();
    let without_loader = agent();
    assert!(
        stderr(&without_loader).contains("\n  it needs the GNU C library there"),
        "{}",
        stderr(&without_loader)
    );
    assert_eq!(without_loader.status.code(), Some(1));
}
