//! Kernels in guests: what is refused before anything starts, and one plan from its kernel to its figures.

use std::path::Path;
use std::process::{Command, Output};

use pitot_lab::{Run, VerdictKind, metric};
use pitot_needs::needs;

const PITOT: &str = env!("CARGO_BIN_EXE_pitot");

/// Runs `pitot` with a folder for its temporary files, and with kernels of its own or those of this user.
fn pitot(dir: &Path, own_kernels: bool, arguments: &[&str]) -> Output {
    let mut command = Command::new(PITOT);
    command.args(arguments).current_dir(dir).env("TMPDIR", dir);
    if own_kernels {
        command.env("XDG_CACHE_HOME", dir.join("cache"));
    }
    command.output().unwrap()
}

fn text_of(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
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
        let output = pitot(dir.path(), true, arguments);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", text_of(&output));
        assert!(text_of(&output).contains(wanted), "{arguments:?}: {}", text_of(&output));
    };
    assert!(text_of(&pitot(dir.path(), true, &["kernel", "list"])).contains("pitot kernel install"));
    std::fs::write(dir.path().join("vmlinuz"), "#!/bin/sh\n").unwrap();
    refused(&["kernel", "add", "vmlinuz"], "is no kernel");
    refused(&["kernel", "add", "no-such-file"], "cannot be read");
    refused(&["kernel", "install", "fedora:6.12"], "debian:6.12-cloud");
    // Before gVisor is built.
    refused(&["kernel", "install", "gvisor", "fedora:6.12", "--yes"], "debian:6.12-cloud");
    refused(&["kernel", "install", "gvisor", "--name", "x", "--yes"], "take --name out");
    refused(&["kernel", "remove", "6.12"], "there is no kernel `6.12`");
    refused(&["kernel", "run", "../6.12", "--", "true"], "there is no kernel");
    refused(&["guest"], "this is not the first process of a guest");
}

#[test]
fn a_plan_with_kernels_is_checked_before_a_guest_is_started() {
    let dir = tempfile::tempdir().unwrap();
    let of = |kernels: &str, more: &str, arguments: &[&str]| {
        std::fs::write(dir.path().join("plan.toml"), plan(kernels, more)).unwrap();
        let output = pitot(dir.path(), true, &[&["run", "plan.toml"], arguments].concat());
        (output.status.code(), text_of(&output))
    };
    let (code, said) = of("[6.12]", "", &[]);
    assert!(code == Some(2) && said.contains("write it as a text: \"6.12\""), "{said}");
    let (code, said) = of("[\"host\"]", "", &[]);
    assert!(code == Some(2) && said.contains("the kernel of the host is not in a guest"), "{said}");
    let (code, said) = of("[\"a\"]", "[kernels.a]\nkernel = \"6.12\"\nappend = \"quiet -- x\"\n", &[]);
    assert!(code == Some(2) && said.contains("behind which stand the arguments"), "{said}");
    let (code, said) = of("[\"none\"]", "", &[]);
    assert!(
        code == Some(2) && (said.contains("no kernel `none`") || said.contains("not installed")),
        "{said}"
    );
    let output = pitot(dir.path(), true, &["soak", "plan.toml", "--for", "1s"]);
    assert!(
        output.status.code() == Some(2) && text_of(&output).contains("a soak starts no guests"),
        "{}",
        text_of(&output)
    );
    let (code, said) = of("[\"gvisor\", \"a\"]", "[kernels.a]\nkernel = \"6.12\"\n", &["--dry-run"]);
    assert!(code == Some(0) && said.contains("the suite `sandbox` compares it"), "{said}");
    let (code, said) = of("[\"host\", \"gvisor\"]", "", &["--dry-run"]);
    assert!(code == Some(0) && !said.contains("skipped"), "{said}");
    let (code, said) = of("[\"a\"]", "[kernels.a]\nkernel = \"gvisor\"\nappend = \"quiet\"\n", &[]);
    assert!(code == Some(2) && said.contains("has no boot parameters"), "{said}");
    let (code, said) = of("[\"host\", \"a\"]", "[kernels.a]\nkernel = \"6.12\"\n", &["--dry-run"]);
    assert!(code == Some(0) && said.contains("# skipped: host, loop+epoll-et"), "{said}");
    for line in ["# in a guest of 6.12\n", "# gVisor: "] {
        assert!(said.contains(line), "{said}");
    }
}

#[needs("guest-kernel")]
#[test]
fn a_cell_is_carried_out_in_a_guest_and_what_it_counts_is_no_time() {
    let dir = tempfile::tempdir().unwrap();
    let listed = text_of(&pitot(dir.path(), false, &["kernel", "list"]));
    let kernel = listed.split(':').next().unwrap();
    let said = pitot(
        dir.path(),
        false,
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
    assert_eq!(said.status.code(), Some(7), "{}", text_of(&said));
    assert!(text_of(&said).starts_with(&kernel[..1]), "{}", text_of(&said));

    let name = format!("[kernels.one]\nkernel = \"{kernel}\"\nappend = \"nokaslr\"\n");
    // Both are measured in one guest.
    let servers = "server = [\"loop+epoll-et\", \"thread\"]";
    let text = plan("[\"one\"]", &name).replace("server = [\"loop+epoll-et\"]", servers);
    std::fs::write(dir.path().join("plan.toml"), text).unwrap();
    let output = pitot(dir.path(), false, &["run", "plan.toml", "-o", "run.pitot"]);
    assert!(output.status.success(), "{}", text_of(&output));
    let run = Run::open(&dir.path().join("run.pitot")).unwrap();
    assert_eq!(run.cells.len(), 2);
    let other = &run.cells[1].repetitions[0];
    assert_ne!(other.verdict.kind, VerdictKind::Failed, "{}", text_of(&output));
    let repetition = &run.cells[0].repetitions[0];
    assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{}", text_of(&output));
    assert_eq!(repetition.host, "one");
    let value = |name: &str| metric::find(name).unwrap().of(repetition);
    if text_of(&output).contains("EMULATED PROCESSOR") {
        let (all, own) = (value("instructions-per-request").unwrap(), value("server-instructions").unwrap());
        assert!(all > own && own > 1_000.0, "{all} {own}");
        assert_eq!((value("throughput"), value("latency-p50"), value("cpu-per-request")), (None, None, None));
    } else {
        assert!(value("throughput").is_some() && value("instructions-per-request").is_none());
    }
    // Nothing of it is left.
    let left: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("pitot-"))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}

#[needs("guest-kernel", "nginx")]
#[test]
fn a_server_of_others_goes_into_a_guest_with_all_that_it_needs() {
    let dir = tempfile::tempdir().unwrap();
    let listed = text_of(&pitot(dir.path(), false, &["kernel", "list"]));
    let kernel = listed.split(':').next().unwrap();
    // The suite's own nginx, for a moment, on one kernel.
    let suite = include_str!("../../../suites/kernels.toml").split("[[published]]").next().unwrap();
    let mut text = suite.to_owned();
    for (of_suite, here) in [
        ("repetitions = 6", "repetitions = 1"),
        ("duration = \"500ms\"", "duration = \"100ms\""),
        ("baseline = { kernel = \"6.1\" }", ""),
        ("[\"6.1\", \"6.12\"]", &format!("[\"{kernel}\"]")),
        ("\"thread\", \"loop+select\", \"loop+epoll-et\", \"loop+uring\", ", ""),
    ] {
        assert_eq!(text.matches(of_suite).count(), 1, "{of_suite}");
        text = text.replace(of_suite, here);
    }
    std::fs::write(dir.path().join("plan.toml"), text).unwrap();
    let output = pitot(dir.path(), false, &["run", "plan.toml", "-o", "run.pitot"]);
    assert!(output.status.success(), "{}", text_of(&output));
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
    let listed = text_of(&pitot(dir.path(), false, &["kernel", "list"]));
    let names = listed.lines().filter_map(|line| line.split_once(": Linux ")).map(|(name, _)| name);
    let tls = names.map(|name| {
        let arguments = ["kernel", "run", name, "--timeout", "10m", "--", "sh", "-c", KTLS];
        text_of(&pitot(dir.path(), false, &arguments))
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
