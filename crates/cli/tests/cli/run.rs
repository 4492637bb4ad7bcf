//! `pitot run` with the real program: a run from end to end, one that is killed, and what each verdict is for.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use pitot_needs::needs;
use pitot_record::{Run, RunState, metric};
use pitot_results::VerdictKind;
use rustix::process::{Pid, Signal, kill_process};

use crate::support::{Bed, PITOT, Port, Running, stderr, stdout, text, until};

impl Bed {
    fn measured(&self) -> Run {
        let output = self.command(&["plan.toml", "-o", "run.pitot"]).output().unwrap();
        assert!(output.status.success(), "{}", text(&output));
        self.open()
    }
}

/// Two quick cells, `extra` in front.
fn plan(extra: &str, load: &str) -> String {
    format!(
        "{extra}\nduration = \"300ms\"\nwarmup = \"50ms\"\n\
         [server]\nprotocol = \"http\"\n[load]\nconnections = 4\n{load}\n\
         [factors]\nserver = [\"loop+epoll-et\", \"thread\"]\n"
    )
}

/// Processes whose environment or command line names `dir`: everything that a run below it has started.
fn processes_of(dir: &Path) -> Vec<String> {
    let needle = dir.to_string_lossy().into_owned();
    let holds = |path: PathBuf| {
        let bytes = std::fs::read(path).unwrap_or_default();
        String::from_utf8_lossy(&bytes).contains(&needle)
    };
    std::fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().bytes().all(|b| b.is_ascii_digit()))
        .filter(|entry| holds(entry.path().join("environ")) || holds(entry.path().join("cmdline")))
        .map(|entry| std::fs::read_to_string(entry.path().join("comm")).unwrap_or_default())
        .collect()
}

#[test]
fn a_dry_run_refuses_what_the_run_would_refuse() {
    let head = "[server]\nprotocol = \"http\"\n";
    for (plan, wanted) in [
        (
            format!("{head}[factors]\nserver = [\"loop\"]\n\"server.workers\" = [0, 1]\n"),
            "plan.toml:5:21: --workers is 0: a server needs at least one worker",
        ),
        (
            format!("{head}workers = 2\n[factors]\nserver = [\"loop\"]\n"),
            "plan.toml:3:11: --workers is 2: model loop has at most 1 worker",
        ),
        (
            format!("{head}max-connections = 0\n[factors]\nserver = [\"loop\"]\n"),
            "plan.toml:3:19: --max-connections 0 would refuse all connections",
        ),
        (format!("slices = 5\n{head}[factors]\nserver = [\"loop\"]\n"), "plan.toml:1:1: `slices = 5` is odd"),
        (
            format!("{head}[factors]\nserver = [\"loop\"]\nserver.workers = [1, 2]\n"),
            "write the dotted key in quotes",
        ),
        (
            format!(
                "{head}[factors]\nserver = [\"loop\"]\nhost.\"net.core.somaxcon\" = [1, 2]\n[baseline]\n\
                 host.\"net.core.somaxconn\" = 1\n"
            ),
            "plan.toml:5:6: this machine has no setting `net.core.somaxcon`",
        ),
    ] {
        let output = Bed::new(&plan).command(&["plan.toml", "--dry-run"]).output().unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{plan}{said}");
        assert!(said.contains(wanted), "{wanted}: {said}");
    }
}

#[test]
fn a_run_ends_in_a_file_a_summary_and_a_page() {
    let bed = Bed::new(&plan("repetitions = 2\nseed = 7\ntitle = \"A small run\"", ""));
    let output = bed.command(&["plan.toml", "-o", "run.pitot"]).output().unwrap();
    let output_text = text(&output);
    assert!(output.status.success(), "{output_text}");
    assert!(
        output_text.contains("A small run") && output_text.contains("2 cells, 2 repetitions each"),
        "{output_text}"
    );
    let run = Run::open(&bed.file()).unwrap();
    assert_eq!((run.info.state, run.info.seed), (RunState::Complete, 7));
    assert!(run.is_complete());
    for cell in &run.cells {
        // One repetition, on a busy machine, may be over before it was sampled.
        let used = || cell.repetitions.iter().map(|repetition| repetition.resources.unwrap());
        assert!(used().any(|used| used.server_cpu_s > 0.0) && used().any(|used| used.load_cpu_s > 0.0));
        assert!(used().any(|used| used.server_rss_bytes_max > 0));
        for repetition in &cell.repetitions {
            assert_ne!(
                repetition.verdict.kind,
                VerdictKind::Failed,
                "{:?} {}",
                repetition.verdict,
                repetition.output_tail
            );
            let load = repetition.load.as_ref().unwrap();
            assert!(load.throughput_rps > 0.0 && load.histograms.contains_key("response"));
            assert!(load.clock_ns.end > load.clock_ns.start);
            let used = repetition.resources.unwrap();
            assert!((used.window_s - load.duration_s).abs() < 1.0, "{} {}", used.window_s, load.duration_s);
            assert!(repetition.serve_result().is_some_and(|s| s.requests > 0));
        }
    }
    assert!(std::fs::read_to_string(bed.dir.path().join("run.html")).unwrap().contains("A small run"));
    assert_eq!(processes_of(bed.dir.path()), [""; 0]);
    let again = bed.command(&["plan.toml", "-o", "run.pitot"]).output().unwrap();
    assert_eq!(again.status.code(), Some(2));
    assert!(text(&again).contains("exists") && text(&again).contains("--resume"), "{}", text(&again));
}

#[test]
fn a_killed_run_leaves_a_whole_file_and_no_process_and_is_resumed() {
    let bed = Bed::new(&plan("repetitions = 4", ""));
    let mut lab = Running::start(
        bed.command(&["plan.toml", "-o", "run.pitot"]).stderr(Stdio::piped()).stdout(Stdio::null()),
    );
    // The third repetition is over, and another is in flight by the time that the signal arrives.
    let progress = BufReader::new(lab.stderr.take().unwrap());
    let seen = progress.lines().map_while(Result::ok).find(|line| line.starts_with("[3/8]"));
    assert!(seen.is_some());
    until("no server was started", || processes_of(bed.dir.path()).len() >= 2);
    lab.kill();
    until("processes are left", || processes_of(bed.dir.path()).is_empty());
    let left: Vec<_> = std::fs::read_dir(bed.dir.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("pitot-"))
        .collect();
    assert_eq!(left, [""; 0], "private directories are left");

    let count = |run: &Run| run.cells.iter().map(|c| c.repetitions.len()).sum::<usize>();
    let run = Run::open(&bed.file()).unwrap();
    assert_eq!(run.info.state, RunState::Running);
    let before = count(&run);
    assert!((3..8).contains(&before), "{before}");
    let kept = run.cells[0].repetitions.first().map(|r| r.started_at.clone());

    let output = bed.command(&["--resume", "run.pitot"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let run = Run::open(&bed.file()).unwrap();
    assert_eq!((run.info.state, count(&run)), (RunState::Complete, 8));
    assert_eq!(run.cells[0].repetitions.first().map(|r| r.started_at.clone()), kept);
}

#[test]
fn a_run_with_a_failed_cell_exits_with_1_and_its_headline_names_the_cell() {
    let bed = Bed::new(
        &plan(
            "repetitions = 2",
            "[servers.gone]\ncommand = [\"/no/such/program\", \"{port}\"]\nurl = \"http://{address}/\"",
        )
        .replace("\"thread\"", "\"gone\""),
    );
    let output = bed.command(&["plan.toml", "-o", "run.pitot"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    let printed = text(&output);
    assert!(printed.contains("pitot: 1 of 2 cells failed: gone"), "{printed}");
    assert!(printed.contains("; gone failed"), "{printed}");
    assert!(printed.contains("not tried again: `/no/such/program` could not be started"), "{printed}");
    assert!(Run::open(&bed.file()).unwrap().is_complete());
}

#[test]
fn a_program_beside_the_plan_is_found_from_any_folder() {
    let bed = Bed::new("");
    let folder = bed.dir.path().join("plans");
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink(PITOT, folder.join("mine")).unwrap();
    let own = plan("repetitions = 1", "").replace("\"thread\"", "\"mine\"")
        + "[servers.mine]\ncommand = [\"./mine\", \"serve\", \"http\", \"--listen\", \"{address}\"]\n\
           url = \"http://{address}/bytes/64\"\nready = { line = \"ready\" }\n";
    std::fs::write(folder.join("plan.toml"), own).unwrap();
    let output = bed.command(&["plans/plan.toml", "-o", "run.pitot"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let run = Run::open(&bed.file()).unwrap();
    assert!(run.cells[1].server_command.contains(folder.join("mine").to_str().unwrap()));
}

#[test]
fn control_c_keeps_what_is_finished() {
    let bed = Bed::new(&plan("repetitions = 50", ""));
    let mut lab = Running::start(
        bed.command(&["plan.toml", "-o", "run.pitot"]).stderr(Stdio::piped()).stdout(Stdio::piped()),
    );
    let mut lines = BufReader::new(lab.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(lines.any(|line| line.trim_start_matches(['[', ' ']).starts_with("1/100]")));
    kill_process(Pid::from_child(&lab), Signal::INT).unwrap();
    let rest: Vec<String> = lines.collect();
    assert_eq!(lab.wait().unwrap().code(), Some(1));
    assert!(rest.iter().any(|l| l.contains("--resume run.pitot")), "{rest:?}");
    let run = Run::open(&bed.file()).unwrap();
    assert_eq!(run.info.state, RunState::Interrupted);
    assert!(run.host_after.is_some());
    assert_eq!(processes_of(bed.dir.path()), [""; 0]);
}

#[test]
fn another_process_on_the_servers_cpu_makes_a_cell_noisy() {
    // Several, since a repetition during which the machine is stopped gets no reply and fails.
    let bed = Bed::new(&plan("repetitions = 4\nserver-cpus = \"0\"", ""));
    let burner = Running::start(Command::new("taskset").args(["-c", "0", "sh", "-c", "while :; do :; done"]));
    let run = bed.measured();
    drop(burner);
    for cell in &run.cells {
        let verdict = cell.verdict();
        assert_eq!(verdict.kind, VerdictKind::Noisy, "{verdict:?}");
        // The cell is noisy as soon as a third of them are; what was measured at all is to be.
        let measured = cell.repetitions.iter().filter(|r| r.verdict.kind != VerdictKind::Failed);
        for repetition in measured {
            assert_eq!(repetition.verdict.kind, VerdictKind::Noisy, "{:?}", repetition.verdict);
        }
        // Which process it was is said where it was sampled; `judge` has tests of that.
        assert!(verdict.reason.contains("of the server's CPUs"), "{}", verdict.reason);
    }
}

#[needs("nginx")]
#[test]
fn nginx_is_a_cell_beside_the_built_in_servers() {
    // The suite itself, with less time for each of its cells.
    let suite = pitot_plan::suite("nginx").unwrap().text;
    let shorter = [
        ("\ngenerations = 20\n", "\ngenerations = 1\n"),
        ("\nwarmup = \"150ms\"\n", "\nwarmup = \"50ms\"\n"),
    ];
    let plan = shorter.iter().fold(suite.to_owned(), |plan, (line, short)| {
        assert!(plan.contains(line), "{line}");
        plan.replace(line, short)
    });
    let run = Bed::new(&plan).measured();
    let nginx: Vec<_> = run.cells.iter().filter(|c| c.factors[0].level == "nginx").collect();
    assert_eq!(nginx.len(), 2);
    for cell in nginx {
        let repetition = &cell.repetitions[0];
        assert_ne!(
            repetition.verdict.kind,
            VerdictKind::Failed,
            "{:?} {}",
            repetition.verdict,
            repetition.output_tail
        );
        assert!(repetition.resources.unwrap().server_cpu_s > 0.0);
        assert_eq!(repetition.load.as_ref().unwrap().error_count(), 0);
        // Those of the suite, or a whole number of shorter ones for each.
        let slices = repetition.slices.len();
        assert!(slices >= 8 && slices % 8 == 0, "{slices}");
    }
    assert!(
        run.info.server_versions.iter().any(|(name, version)| name == "nginx" && version.contains("nginx/"))
    );
}

#[test]
fn the_commands_of_a_dry_run_work_when_pasted() {
    let bed = Bed::new(
        "duration = \"200ms\"\n[server]\nprotocol = \"http\"\nroot = \"{dir}/html\"\n\
         [load]\nurl = \"http://{address}/a.html\"\n[files]\n\"html/a.html\" = \"it's $HOME\\n\"\n\
         [factors]\nserver = [\"loop+epoll-et\"]\n",
    );
    let output = bed.command(&["plan.toml", "--dry-run"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let printed = String::from_utf8(output.stdout).unwrap();
    let load = printed.lines().find(|l| l.contains(" load ")).unwrap();
    let server: Vec<&str> =
        printed.lines().filter(|l| !l.starts_with('#') && !l.contains(" load ")).collect();
    // The port is one that a person can type; a test must not depend on its being free.
    let held = Port::new();
    let free = held.number();
    let paste = |command: &str| {
        let mut shell = Command::new("sh");
        shell.args(["-c", &command.replace("18080", &free.to_string())]).stdout(Stdio::piped());
        shell
    };
    let script =
        format!("{}\n", server.join("\n")).replace(&format!("{PITOT} serve"), &format!("exec {PITOT} serve"));
    let mut server = Running::start(&mut paste(&script));
    let ready = BufReader::new(server.stdout.take().unwrap()).lines().next().unwrap().unwrap();
    assert_eq!(ready, format!("ready 127.0.0.1:{free}"));
    let output = paste(&format!("{load} --json -")).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let result = pitot_results::load::LoadResult::parse(&String::from_utf8(output.stdout).unwrap()).unwrap();
    assert!(result.requests.ok > 10 && result.error_count() == 0);
}

#[test]
fn mistakes_end_with_exit_code_2_their_place_and_their_fix() {
    let wrong = |plan: &str| {
        let bed = Bed::new(plan);
        let output = bed.command(&["plan.toml", "-o", "run.pitot"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(!bed.file().exists());
        text(&output)
    };
    let option = |line: &str| plan("", line);
    let level = |line: &str| plan("", "").replace("[factors]\n", &format!("[factors]\n{line}\n"));
    let server = |line: &str| plan("", &format!("[servers.own]\n{line}\n")).replace("\"thread\"", "\"own\"");
    let told = [
        plan("repetition = 4", ""),
        plan("repetitions = \"6\"", ""),
        plan("repetitions = 0", ""),
        plan("", "").replace("epoll-et", "epoll-te"),
        option("conections = 5"),
        option("rate = \"fast\""),
        option("pace = \"posson\""),
        option("expect-status = \"abc\""),
        option("url = \"http://{adress}/\""),
        level("load.pipeline = [1, 99999]"),
        server("workers = \"all\""),
    ]
    .map(|plan| {
        let output = Bed::new(&plan).command(&["plan.toml", "--dry-run"]).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{plan}: {}", text(&output));
        wrong(&plan)
    });
    insta::assert_snapshot!("mistakes_in_plans", told.join("\n"));
    // What else these name belongs to the machine, or is data that grows.
    let output_text = wrong(&plan("", "").replace("\"thread\"", "\"gosrv\""));
    assert!(output_text.contains("or define it: [servers.gosrv] with command ="), "{output_text}");
    let output_text = wrong(&plan("server-cpus = \"4000\"", ""));
    assert!(output_text.contains("line 1 of plan: `server-cpus` names CPU 4000"), "{output_text}");
    let bed = Bed::new(&plan("", "[servers.gosrv]\ncommand = [\"true\"]\nurl = \"http://{address}/\""));
    let output = bed.command(&["plan.toml", "--dry-run"]).output().unwrap();
    assert!(text(&output).contains("defines the server `gosrv`, and no level"), "{}", text(&output));
    let torn = bed.dir.path().join("torn.pitot");
    let whole = Bed::new(&plan("repetitions = 1", ""));
    assert!(whole.command(&["plan.toml", "-o", "whole.pitot"]).status().unwrap().success());
    let whole = std::fs::read(whole.dir.path().join("whole.pitot")).unwrap();
    std::fs::write(&torn, &whole[..8_000]).unwrap();
    let output = bed.command(&["--resume", "torn.pitot"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("the run file is damaged: ") && !text(&output).contains("free space"));
    let output = Command::new(PITOT).args(["run", "quikc"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("did you mean `quick`?"), "{}", text(&output));
    let output = Command::new(PITOT).args(["run", "--resume", "/no/such.pitot"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
}

#[test]
fn two_runs_at_once_know_of_each_other_and_the_report_says_so() {
    let long = plan("repetitions = 8", "");
    let bed = Bed::new(&long);
    let mut first = bed.command(&["plan.toml", "-o", "run.pitot"]).stderr(Stdio::piped()).spawn().unwrap();
    // Once it reports a repetition it has long had the lock; what it prints afterwards fits into the pipe.
    let mut lines = BufReader::new(first.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("[ 1/16]")));
    let short = bed.dir.path().join("short.toml");
    std::fs::write(&short, plan("repetitions = 1", "")).unwrap();
    let output = bed.command(&["short.toml", "-o", "short.pitot"]).output().unwrap();
    let warning =
        format!("another run of Pitot is in progress on this machine (process {}, `plan`)", first.id());
    assert!(text(&output).contains(&warning), "{}", text(&output));
    let output = bed.command(&["--resume", "missing.pitot"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    let output = bed.command(&["short.toml", "-o", "waited.pitot", "--wait"]).output().unwrap();
    assert!(text(&output).contains("waiting for another run of Pitot to end"), "{}", text(&output));
    assert_eq!(Run::open(&bed.file()).unwrap().info.state, RunState::Complete, "it was waited for");
    assert!(first.wait().unwrap().success());
    let warnings = |file: &str| Run::open(&bed.dir.path().join(file)).unwrap().info.warnings.join(" ");
    assert!(warnings("short.pitot").contains("Another run of Pitot was running"));
    assert!(warnings("run.pitot").contains("`short`"), "{}", warnings("run.pitot"));
    assert!(
        !warnings("run.pitot").contains("more"),
        "what cannot be resumed is no run: {}",
        warnings("run.pitot")
    );
    assert!(!warnings("waited.pitot").contains("Another run"), "{}", warnings("waited.pitot"));
}

#[test]
fn a_summary_counts_cells_by_level_and_groups_what_is_skipped() {
    let text_of = plan("repetitions = 2", "").replace(
        "[factors]\nserver = [\"loop+epoll-et\", \"thread\"]",
        "[factors]\nserver = [\"loop+epoll-et\", \"fork+uring\"]\nload.pipeline = [1, 2, 3, 4, 5]",
    );
    let bed = Bed::new(&text_of);
    let output = bed.command(&["plan.toml", "--dry-run", "--summary"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let printed = text(&output);
    let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
    let lines: Vec<Vec<String>> = printed.lines().map(words).collect();
    assert!(lines.contains(&words("server loop+epoll-et 5 0")), "{printed}");
    assert!(lines.contains(&words("fork+uring 0 5")), "{printed}");
    assert!(lines.contains(&words("load.pipeline 1 1 1")), "{printed}");
    assert!(
        printed.contains("5 combinations (fork+uring, 1; fork+uring, 2; fork+uring, 3; ...): "),
        "{printed}"
    );
    assert!(printed.contains("note: 2 repetitions of each cell, which are too few"), "{printed}");
    assert!(!printed.contains("pitot load"), "{printed}");
}

#[test]
fn a_trimmed_mean_of_too_few_repetitions_is_refused_with_their_number() {
    let output =
        Command::new(PITOT).args(["run", "transfer", "--repetitions", "1", "--dry-run"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", text(&output));
    assert!(text(&output).contains("a `trimmed-mean(1)` of 1 repetition has no figure"), "{}", text(&output));
    assert!(text(&output).contains("run at least 3: --repetitions 3"), "{}", text(&output));
}

#[test]
fn list_alone_lists_what_can_be_listed() {
    let output = Command::new(PITOT).arg("list").output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    for name in ["models", "suites", "pairs", "plan-schema"] {
        assert!(text(&output).lines().any(|line| line.starts_with(name)), "{name}: {}", text(&output));
        let listed = Command::new(PITOT).args(["list", name]).output().unwrap();
        assert!(listed.status.success(), "{name}");
    }
}

#[test]
fn what_a_server_prints_commands_no_terminal() {
    // OSC 52 sets the clipboard, OSC 0 the title; then the screen is cleared and the direction of writing turned.
    let said = r"\033]52;c;cHduZWQ=\007\033]0;title\007\033[2J\302\2339A\342\200\256x\n";
    let bed = Bed::new(&format!(
        "title = \"a\\u001B[2Jb\"\n{}",
        plan(
            "",
            &format!(
                "[servers.rude]\ncommand = ['sh', '-c', 'printf \"{said}\" >&2; exit 3', '{{port}}']\nurl = \"http://{{address}}/\""
            )
        )
        .replace("\"thread\"", "\"rude\"")
    ));
    let output = bed.command(&["plan.toml", "-o", "run.pitot"]).output().unwrap();
    let page = std::fs::read_to_string(bed.dir.path().join("run.html")).unwrap();
    let shown = text(&output);
    assert!(
        shown.contains(r"it printed: \x1b]52;c;cHduZWQ=\x07\x1b]0;title\x07\x1b[2J\u009b9A\u202ex"),
        "{shown}"
    );
    assert!(shown.contains(r"a\x1b[2Jb"), "{shown}");
    for (name, text) in [("printed", &shown), ("page", &page)] {
        let obeyed = |c: char| (c.is_control() && !"\n\t".contains(c)) || c == '\u{202e}';
        assert!(!text.contains(obeyed), "{name}: {text:?}");
    }
}

/// Events of a run as its lines of JSON tell them.
fn events(text: &str) -> Vec<serde_json::Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_happens_in_a_run_is_told_a_line_at_a_time_and_nothing_else() {
    let bed = Bed::new(&plan("repetitions = 2\nseed = 1", ""));
    let output = bed.command(&["plan.toml", "-o", "run.pitot", "--events", "-"]).output().unwrap();
    assert!(output.status.success(), "{}", text(&output));
    let all = events(stdout(&output));
    assert_eq!(all[0]["schema"], "pitot-events/1");
    let kinds: Vec<&str> = all.iter().filter_map(|event| event["event"].as_str()).collect();
    let others: Vec<&&str> = kinds.iter().filter(|kind| **kind != "warning").collect();
    let measured = ["begun", "measured"].repeat(4);
    let expected = [&["trying", "trying", "started"][..], &measured, &["finished"]].concat();
    assert_eq!(others.into_iter().copied().collect::<Vec<_>>(), expected);
    // Events have the figures of the file.
    let run = Run::open(&bed.file()).unwrap();
    let told = all.iter().filter(|event| event["event"] == "measured");
    for repetition in told.flat_map(|event| event["repetitions"].as_array().unwrap()) {
        let cell = &run.cells[usize::try_from(repetition["cell"].as_u64().unwrap()).unwrap()];
        let block = repetition["block"].as_u64().unwrap();
        let recorded = cell.repetitions.iter().find(|r| u64::from(r.block) == block).unwrap();
        let rate = metric::find("throughput").unwrap().of(recorded);
        assert!(rate.is_some() && repetition["metrics"]["throughput"].as_f64() == rate);
        assert_eq!(repetition["verdict"]["kind"], recorded.verdict.kind.name());
    }
    let last = all.last().unwrap();
    assert!(last["state"] == "complete" && last["failed"] == 0, "{last}");
    assert!(bed.dir.path().join("run.html").exists(), "the page is written all the same");
}

#[test]
fn events_that_cannot_be_written_stop_no_measurement_and_fail_the_command() {
    let bed = Bed::new(&plan("repetitions = 1", ""));
    let output = bed.command(&["plan.toml", "-o", "run.pitot", "--events", "/dev/full"]).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("the events could not be written"), "{}", text(&output));
    assert!(Run::open(&bed.file()).unwrap().is_complete());
}

#[test]
fn the_experiments_refuse_what_is_for_one_plan_and_a_time_that_is_too_short() {
    let bed = Bed::new("");
    for (options, what) in [
        (&["--set", "load.connections=1"][..], "--set is for one plan, and `experiments` runs"),
        (&["--repetitions", "2"], "--repetitions is for one plan"),
        (&["--fail-if", "throughput < -5%"], "--fail-if is for one plan"),
        (&["--dry-run"], "--dry-run is for one plan"),
        (&["--within", "1m"], "60 s are too short: 13 experiments take"),
    ] {
        let output = bed.command(&[&["experiments", "-o", "all"], options].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        assert!(text(&output).contains(what), "{}", text(&output));
    }
    assert!(!bed.dir.path().join("all").exists());
}
