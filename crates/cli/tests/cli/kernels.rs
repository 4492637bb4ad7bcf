//! Kernels in guests: what is refused before anything starts, and one plan from its kernel to its figures.

mod process;
mod sandbox;

use std::path::Path;
use std::process::Output;

use pitot_needs::needs;
use pitot_record::{Run, metric};
use pitot_results::VerdictKind;

use process::{assert_that_a_killed_run_leaves_nothing, command, left, pitot};

use crate::support::text;

/// Runs `pitot` with no kernels but those that it adds itself.
fn without_kernels(dir: &Path, arguments: &[&str]) -> Output {
    command(dir, arguments).env("XDG_CACHE_HOME", dir.join("cache")).output().unwrap()
}

/// The name of a kernel that this user has.
fn a_kernel(dir: &Path) -> String {
    text(&pitot(dir, &["kernel", "list"])).split(':').next().unwrap().to_owned()
}

fn plan(kernels: &str, more: &str) -> String {
    format!(
        "metric = \"instructions-per-request\"\nrepetitions = 1\nwarmup = \"50ms\"\nduration = \"100ms\"\n\
         [server]\nprotocol = \"http\"\nroot = \"{{dir}}\"\n[load]\nconnections = 4\nurl = \"http://{{address}}/a\"\n\
         [files]\na = {{ size = \"1KiB\" }}\n[factors]\nkernel = {kernels}\nserver = [\"loop+epoll-et\"]\n{more}"
    )
}

#[test]
fn what_is_no_kernel_is_refused_with_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let refused = |arguments: &[&str], wanted: &str| {
        let output = without_kernels(dir.path(), arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text(&output));
        assert!(text(&output).contains(wanted), "{arguments:?}: {}", text(&output));
    };
    assert!(text(&without_kernels(dir.path(), &["kernel", "list"])).contains("pitot kernel install"));
    let listed = without_kernels(dir.path(), &["kernel", "list", "--format", "json"]);
    let listed: serde_json::Value = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["kernels"], serde_json::json!([]), "{listed}");
    std::fs::write(dir.path().join("vmlinuz"), "#!/bin/sh\n").unwrap();
    refused(&["kernel", "add", "vmlinuz"], "is not a kernel");
    refused(&["kernel", "add", "no-such-file"], "cannot be read");
    refused(&["kernel", "install", "fedora:6.12"], "debian:6.12-cloud");
    // Before gVisor is built.
    refused(&["kernel", "install", "gvisor", "fedora:6.12", "--yes"], "debian:6.12-cloud");
    refused(&["kernel", "install", "gvisor", "--name", "x", "--yes"], "omit --name");
    refused(&["kernel", "remove", "6.12"], "the kernel `6.12` is not installed");
    refused(&["kernel", "run", "../6.12", "--", "true"], "is not installed");
    refused(&["guest"], "this is not the first process of a guest");
}

#[test]
fn a_plan_with_kernels_is_checked_before_a_guest_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let of = |kernels: &str, more: &str, arguments: &[&str]| {
        std::fs::write(dir.path().join("plan.toml"), plan(kernels, more)).unwrap();
        let output = without_kernels(dir.path(), &[&["run", "plan.toml"], arguments].concat());
        (output.status.code(), text(&output))
    };
    let (code, said) = of("[6.12]", "", &[]);
    assert!(code == Some(2) && said.contains("write it as a text: \"6.12\""), "{said}");
    let (code, said) = of("[\"host\"]", "", &[]);
    assert!(code == Some(2) && said.contains("the kernel of the host does not run in a guest"), "{said}");
    // The shortest time is that of the fewest repetitions, and what it tells to give in its place is taken.
    let (code, said) = of("[\"6.12\"]", "", &["--within", "1s", "--dry-run"]);
    assert!(code == Some(2) && said.contains("6 repetitions of 1 cell take "), "{said}");
    // One before to ask what it can run, and the trial of KVM.
    assert!(said.contains("plus 8 starts of guests: ") && said.contains(" at most with KVM"), "{said}");
    assert!(said.contains("use --repetitions 6"), "{said}");
    let (_, said) = of("[\"6.12\"]", "", &["--repetitions", "6", "--dry-run"]);
    assert!(said.contains("# 1 cell, 6 repetitions"), "{said}");
    let (code, said) = of("[\"a\"]", "[kernels.a]\nkernel = \"6.12\"\nappend = \"quiet -- x\"\n", &[]);
    assert!(code == Some(2) && said.contains("which begins the arguments"), "{said}");
    let (code, said) = of("[\"none\"]", "", &[]);
    assert!(
        code == Some(2) && (said.contains("no kernel `none`") || said.contains("not installed")),
        "{said}"
    );
    let output = without_kernels(dir.path(), &["soak", "plan.toml", "--for", "1s"]);
    assert!(
        output.status.code() == Some(2) && text(&output).contains("a soak starts no guests"),
        "{}",
        text(&output)
    );
    let (code, said) = of("[\"gvisor\", \"a\"]", "[kernels.a]\nkernel = \"6.12\"\n", &["--dry-run"]);
    assert!(code == Some(2) && said.contains("the suite `sandbox` compares it"), "{said}");
    let (code, said) = of("[\"host\", \"gvisor\"]", "", &["--dry-run"]);
    assert!(code == Some(2) && !said.contains("skipped"), "{said}");
    assert!(said.contains("# cell 1") && said.contains("pitot kernel install gvisor"), "{said}");
    let (code, said) = of("[\"a\"]", "[kernels.a]\nkernel = \"gvisor\"\nappend = \"quiet\"\n", &[]);
    assert!(code == Some(2) && said.contains("has no boot parameters"), "{said}");
    let (code, said) = of("[\"host\", \"gvisor\"]", "", &["--within", "1s", "--dry-run"]);
    assert!(code == Some(2) && said.contains("plus 14 starts of the kernels"), "{said}");
    assert!(!said.contains("emulated"), "{said}");
    let (code, said) = of("[\"host\", \"a\"]", "[kernels.a]\nkernel = \"6.12\"\n", &["--dry-run"]);
    assert!(code == Some(2) && said.contains("# skipped: host, loop+epoll-et"), "{said}");
    assert!(said.contains("no kernel `6.12`") || said.contains("not installed"), "{said}");
    for line in ["# in a guest of 6.12\n", "# gVisor: "] {
        assert!(said.contains(line), "{said}");
    }
}

#[needs("guest-kernel")]
#[test]
fn a_cell_is_carried_out_in_a_guest_and_what_it_counts_is_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = &a_kernel(dir.path());
    let said = pitot(
        dir.path(),
        &[
            "kernel",
            "run",
            kernel,
            "--timeout",
            "10m",
            "--",
            "sh",
            "-c",
            "read -r a b release rest < /proc/version; echo $release; exit 7",
        ],
    );
    assert_eq!(said.status.code(), Some(7), "{}", text(&said));
    assert!(text(&said).starts_with(&kernel[..1]), "{}", text(&said));

    let name = format!("[kernels.one]\nkernel = \"{kernel}\"\nappend = \"nokaslr\"\n");
    // Both are measured in one guest.
    let servers = "server = [\"loop+epoll-et\", \"thread\"]";
    let plan = plan("[\"one\"]", &name).replace("server = [\"loop+epoll-et\"]", servers);
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let output = pitot(dir.path(), &["run", "plan.toml", "-o", "run.pitot"]);
    assert!(output.status.success(), "{}", text(&output));
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    assert_eq!(run.cells.len(), 2);
    let other = &run.cells[1].repetitions[0];
    assert_ne!(other.verdict.kind, VerdictKind::Failed, "{}", text(&output));
    let repetition = &run.cells[0].repetitions[0];
    assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{}", text(&output));
    assert_eq!(repetition.host, "one");
    let value = |name: &str| metric::find(name).unwrap().of(repetition);
    if text(&output).contains("EMULATED PROCESSOR") {
        let (all, own) = (value("instructions-per-request").unwrap(), value("server-instructions").unwrap());
        assert!(all > own && own > 1_000.0, "{all} {own}");
        assert_eq!((value("throughput"), value("latency-p50"), value("cpu-per-request")), (None, None, None));
    } else {
        assert!(value("throughput").is_some() && value("instructions-per-request").is_none());
    }
    assert!(left(dir.path()).is_empty(), "{:?}", left(dir.path()));
}

#[needs("guest-kernel")]
#[test]
fn nothing_of_a_guest_is_left_when_the_run_is_killed() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = &a_kernel(dir.path());
    // Of a clock that counts instructions as well: longer than anybody waits.
    let plan = plan(&format!("[\"{kernel}\"]"), "").replace("duration = \"100ms\"", "duration = \"60s\"");
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    assert_that_a_killed_run_leaves_nothing(dir.path(), "qemu-system");
}

#[needs("guest-kernel", "nginx")]
#[test]
fn a_server_of_others_goes_into_a_guest_with_all_that_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let kernel = &a_kernel(dir.path());
    // The suite's own nginx, for a moment, on one kernel.
    let suite = include_str!("../../../../suites/kernels.toml").split("[[published]]").next().unwrap();
    let mut plan = suite.to_owned();
    for (of_suite, here) in [
        ("repetitions = 6", "repetitions = 1"),
        ("duration = \"500ms\"", "duration = \"100ms\""),
        ("baseline = { kernel = \"6.1\" }", ""),
        ("[\"6.1\", \"6.12\"]", &format!("[\"{kernel}\"]")),
        ("\"thread\", \"loop+select\", \"loop+epoll-et\", \"loop+uring\", ", ""),
    ] {
        assert_eq!(plan.matches(of_suite).count(), 1, "{of_suite}");
        plan = plan.replace(of_suite, here);
    }
    std::fs::write(dir.path().join("plan.toml"), plan).unwrap();
    let output = pitot(dir.path(), &["run", "plan.toml", "-o", "run.pitot"]);
    assert!(output.status.success(), "{}", text(&output));
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    let [cell] = &run.cells[..] else { panic!("{} cells", run.cells.len()) };
    let [repetition] = &cell.repetitions[..] else { panic!("{} repetitions", cell.repetitions.len()) };
    assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
    let load = repetition.load.as_ref().unwrap();
    assert!(load.requests.ok > 0 && load.errors.is_empty(), "{:?}", load.errors);
    let figure = |name: &str| metric::find(name).unwrap().of(repetition);
    assert!(figure("instructions-per-request").or_else(|| figure("throughput")).is_some());
}

/// A server whose kernel encrypts, a file of 100 KiB and small replies, with each version of TLS, and what the server counted.
const KTLS: &str = r#"
x=0123456789abcdef; x=$x$x$x$x; x=$x$x$x$x; x=$x$x$x$x; x=$x$x$x$x; x=$x$x$x$x$x; x=$x$x$x$x$x; printf %s "$x" > /tmp/100k
for pair in loop:epoll-et thread:blocking; do
    : > /tmp/said
    pitot serve http --root /tmp --tls self-signed --ktls --model ${pair%%:*} --mechanism ${pair##*:} --listen 127.0.0.1:4443 \
        --stats json > /tmp/said &
    server=$!
    line=; while [ -z "$line" ] && kill -0 $server; do read -r line < /tmp/said; done
    for version in 1.2 1.3; do
        load="pitot load --insecure --tls-version $version -c 2 --timeout 60s"
        $load https://127.0.0.1:4443/100k --expect-body /tmp/100k -n 8 || exit 1
        $load https://127.0.0.1:4443/bytes/700 --verify -n 8 --requests-per-connection 2 || exit 1
    done
    kill -TERM $server; wait $server || exit 1
    while read -r line; do echo "$line"; done < /tmp/said
done
"#;

#[needs("guest-kernel-tls")]
#[test]
fn a_kernel_that_has_tls_encrypts_files_and_replies_of_both_versions() {
    let dir = tempfile::tempdir().unwrap();
    let listed = text(&pitot(dir.path(), &["kernel", "list"]));
    let names = listed.lines().filter_map(|line| line.split_once(": Linux ")).map(|(name, _)| name);
    let tls = names.map(|name| {
        let arguments = ["kernel", "run", name, "--timeout", "10m", "--", "sh", "-c", KTLS];
        text(&pitot(dir.path(), &arguments))
    });
    // Those of them without the modules say so.
    let said: Vec<String> = tls.filter(|said| !said.contains("TLS of the kernel is not available")).collect();
    assert!(!said.is_empty());
    for said in said {
        let stats: Vec<&str> = said.lines().filter(|line| line.starts_with('{')).collect();
        assert_eq!(stats.len(), 2, "{said}");
        for stats in stats {
            let stats: serde_json::Value = serde_json::from_str(stats).unwrap();
            let tls = &stats["tls"];
            assert_eq!(stats["requests"], 32, "{stats}");
            assert!(
                tls["in_kernel"].as_u64() >= Some(12) && tls["in_kernel"] == tls["handshakes"],
                "{stats}"
            );
            assert_eq!(
                (&stats["errors"]["tls_malformed"], &stats["errors"]["tls_refused"]),
                (&0.into(), &0.into())
            );
        }
    }
}
