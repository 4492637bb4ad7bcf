//! Hosts that are reached over ssh, with keys made for the test.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pitot_needs::needs;
use pitot_record::{Run, RunState};
use pitot_results::VerdictKind;

use super::network::Network;
use crate::support::{PITOT, Running, stderr, until};

const PORT: &str = "2219";

/// An ssh server on the first host, whose keys and configuration lie in a directory of their own.
struct Sshd {
    _child: Running,
    dir: PathBuf,
}

impl Sshd {
    /// Lets in whoever has the key `user` in `dir`. `options` stand before it in the list of authorized keys.
    fn start(network: &Network, dir: &Path, options: &str) -> Sshd {
        for key in ["host", "user", "stranger"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", key, "-f", key])
                .current_dir(dir)
                .status();
            assert!(made.unwrap().success());
        }
        let read = |name: &str| std::fs::read_to_string(dir.join(name)).unwrap();
        std::fs::write(dir.join("authorized"), format!("{options}{}", read("user.pub"))).unwrap();
        std::fs::write(dir.join("known"), format!("[10.19.0.1]:{PORT} {}", read("host.pub"))).unwrap();
        let shown = dir.display();
        let config = format!(
            "ListenAddress 10.19.0.1:{PORT}\nHostKey {shown}/host\nAuthorizedKeysFile {shown}/authorized\nPidFile none\n\
             PasswordAuthentication no\nKbdInteractiveAuthentication no\nPubkeyAuthentication yes\nUsePAM no\n\
             StrictModes no\nPermitRootLogin yes\n"
        );
        std::fs::write(dir.join("config"), config).unwrap();
        let log = std::fs::File::create(dir.join("log")).unwrap();
        // The namespace has its own view of the files: the directory that sshd wants is seen there alone.
        let script = "mount -t tmpfs none /run && mkdir /run/sshd && exec \"$(PATH=$PATH:/usr/sbin command -v sshd)\" -D -e -f \"$1\"";
        let config = dir.join("config");
        let child = Running::start(
            Command::new("ip")
                .args(["netns", "exec", network.name(0), "sh", "-c", script, "sh", config.to_str().unwrap()])
                .stdin(Stdio::null())
                .stdout(Stdio::null())
                .stderr(log),
        );
        let sshd = Sshd { _child: child, dir: dir.to_owned() };
        until("sshd listens", || sshd.log().contains("Server listening"));
        sshd
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.dir.join("log")).unwrap_or_default()
    }

    /// The words that log in with a key, from the second host, and run the program `pitot` there. Nothing of the user's own
    /// configuration, keys or known hosts is read.
    fn agent(&self, network: &Network, key: &str, pitot: &str) -> Vec<String> {
        let option = |name: &str, file: &str| format!("{name}={}", self.dir.join(file).display());
        let words = [
            "ip",
            "netns",
            "exec",
            network.name(1),
            "ssh",
            "-F",
            "none",
            "-o",
            "BatchMode=yes",
            "-o",
            "IdentitiesOnly=yes",
            "-o",
            "IdentityAgent=none",
            "-o",
            &option("IdentityFile", key),
            "-o",
            &option("UserKnownHostsFile", "known"),
            "-o",
            "GlobalKnownHostsFile=/dev/null",
            "-o",
            "StrictHostKeyChecking=yes",
            "-p",
            PORT,
            "root@10.19.0.1",
            pitot,
            "agent",
        ];
        words.map(str::to_owned).to_vec()
    }
}

const TOP: &str = "repetitions = 1\nwarmup = \"50ms\"\nduration = \"300ms\"";
const LOAD: &str = "host = \"b\"\nconnections = 2";

#[needs("network-namespaces", "ssh", "sshd")]
#[test]
fn a_host_without_pitot_is_reached_over_ssh() {
    let (network, dir) = (Network::new(2), tempfile::tempdir().unwrap());
    let sshd = Sshd::start(&network, dir.path(), "");
    let there = dir.path().join("far/pitot");
    let agent = sshd.agent(&network, "user", there.to_str().unwrap());
    // The load's host has no Pitot either. Else the program that all tests run would be replaced.
    let near = dir.path().join("near/pitot");
    let plan = network.plan_with_agent(TOP, LOAD, &agent).replace(PITOT, near.to_str().unwrap());
    let output = network.run(dir.path(), &plan).arg("--push").output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{said}{}", sshd.log());
    assert!(there.exists() && near.exists(), "the program was copied");
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    assert_eq!(run.info.state, RunState::Complete);
    let all: Vec<_> = run.cells.iter().flat_map(|cell| &cell.repetitions).collect();
    assert_eq!(all.len(), 2);
    for repetition in all {
        assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
        assert!(repetition.address.starts_with("10.19.0.1:"), "{}", repetition.address);
        assert!(repetition.load.as_ref().unwrap().requests.ok > 0);
    }
    drop(sshd);
    network.assert_nothing_is_left();
}

#[needs("network-namespaces", "ssh", "sshd")]
#[test]
fn a_key_starts_an_agent_and_nothing_else_and_a_strangers_key_not_even_that() {
    let (network, dir) = (Network::new(2), tempfile::tempdir().unwrap());
    let sshd = Sshd::start(&network, dir.path(), &format!("restrict,command=\"{PITOT} agent\" "));
    // Whatever is asked for, this key starts the agent.
    let agent = sshd.agent(&network, "user", "./anything");
    let output = network.run(dir.path(), &network.plan_with_agent(TOP, LOAD, &agent)).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let pushed = network
        .run_into("pushed.pitot", dir.path(), &network.plan_with_agent(TOP, LOAD, &agent))
        .arg("--push")
        .output()
        .unwrap();
    let said = stderr(&pushed);
    assert!(
        pushed.status.code() == Some(1) && said.contains("could not be copied to the host `a`"),
        "{said}"
    );

    let agent = sshd.agent(&network, "stranger", PITOT);
    let refused = network
        .run_into("refused.pitot", dir.path(), &network.plan_with_agent(TOP, LOAD, &agent))
        .output()
        .unwrap();
    let said = stderr(&refused);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(
        said.contains("the host `a` could not be reached") && said.contains("Permission denied"),
        "{said}"
    );
    assert!(!dir.path().join("refused.pitot").exists() && !dir.path().join("pushed.pitot").exists());
    drop(sshd);
    network.assert_nothing_is_left();
}
