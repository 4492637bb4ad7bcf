//! The stages of a repetition against an executor that starts nothing: each way to fail, and what is done about it.

use std::cell::Cell as Counter;

use super::*;
use crate::runner::executor::{Ending, LeftBehind};
use crate::runner::fake::{Fake, Script};
use crate::runner::tests::{catalog, parse, plan};
use pitot_host::CpuSplit;
use pitot_plan::{HostLimits, Plan, TargetUse, expand};

const GOOD: &str = "server = [\"good\"]";

fn run_plan(plan: &Plan, fake: &mut Fake, stop: &dyn Fn() -> bool) -> Option<Repetition> {
    let (cells, _) = expand(plan, &catalog(), &HostLimits { descriptors: 20_000, missing: Vec::new() });
    let cpus = CpuSplit { server: vec![0], load: vec![1] };
    let shared = Shared { plan, pitot: "pitot", cpus: &cpus, stop, memory_total_bytes: 1 << 30, block: 0 };
    run(shared, fake, &cells[0], 7).map(|done| done.repetition)
}

fn run_good(fake: &mut Fake) -> Repetition {
    run_plan(&parse(&plan(GOOD)), fake, &|| false).unwrap()
}

/// A repetition that fails with this reason.
#[track_caller]
fn assert_fails(fake: &mut Fake, reason: &str) -> Repetition {
    let repetition = run_good(fake);
    assert_eq!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
    assert!(repetition.verdict.reason.starts_with(reason), "{}", repetition.verdict.reason);
    assert_eq!(fake.calls().last().unwrap(), "finish", "whatever fails, the executor cleans up");
    repetition
}

#[test]
fn a_good_repetition_goes_through_all_stages_in_order() {
    let mut fake = Fake::new();
    fake.server.prints.push((100, "{\"accepted\": 9}"));
    fake.sending = Some(10);
    let repetition = run_good(&mut fake);
    assert_eq!((repetition.verdict.kind, repetition.verdict.reason.as_str()), (VerdictKind::Valid, ""));
    let stages = [
        "begin 7",
        "start Server for Server",
        "sample",
        "start Load for Load",
        "sample",
        "Terminate Server",
        "finish",
    ];
    assert_eq!(fake.calls(), stages);
    // A busy server is at its own limit, whatever is under way.
    assert!(repetition.verdict.figures.contains(&("under_way_share".to_owned(), 1.0)));
    assert_eq!(repetition.address, "127.0.0.1:4321");
    assert!(repetition.ready_s >= 0.003 && repetition.ready_s < 0.02, "{}", repetition.ready_s);
    assert_eq!(repetition.server_stats.unwrap()["accepted"], 9);
    assert!((repetition.resources.unwrap().window_s - 0.2).abs() < 0.02);
    assert!(repetition.samples.len() > 10);
    assert_eq!(repetition.output_tail, "");
}

/// The cell of a plan, as if its server were a target that settles within `within_s`.
fn settling(within_s: f64) -> (Plan, Cell) {
    let text = plan(
        "server = [\"product\"]\n[servers.product]\ncommand = [\"product\"]\nurl = \"busy://{address}\"",
    )
    .replace("\"0s\"", "\"100ms\"");
    let plan = parse(&text);
    let (mut cells, skips) =
        expand(&plan, &catalog(), &HostLimits { descriptors: 20_000, missing: Vec::new() });
    assert!(skips.is_empty(), "{skips:?}");
    let CellServer::External(external) = &mut cells[0].server else { panic!("it is a program") };
    external.target = Some(Box::new(TargetUse {
        name: "good".into(),
        protocol: "busy".into(),
        settings: Vec::new(),
        cannot: Vec::new(),
        on_demand: Vec::new(),
        unavailable: None,
        start_s: 0.0,
        settles_within_s: Some(within_s),
    }));
    (plan, cells.remove(0))
}

fn run_settling(fake: &mut Fake, within_s: f64) -> Repetition {
    let (plan, cell) = settling(within_s);
    let cpus = CpuSplit { server: vec![0], load: vec![1] };
    let shared = Shared {
        plan: &plan,
        pitot: "pitot",
        cpus: &cpus,
        stop: &|| false,
        memory_total_bytes: 1 << 30,
        block: 0,
    };
    fake.server.accepts_from = Some(3);
    run(shared, fake, &cell, 7).unwrap().repetition
}

#[test]
fn a_server_of_pitot_that_a_plan_describes_says_by_its_status_whether_all_is_well() {
    let run_as = |program: &str, ending: Ending| {
        let more = format!("[servers.product]\ncommand = [\"{program}\"]\nurl = \"busy://{{address}}\"");
        let plan = parse(&plan(&format!("server = [\"product\"]\n{more}")));
        let mut fake = Fake::new();
        fake.server.accepts_from = Some(3);
        fake.server.prints.push((100, "{\"schema\": \"pitot-trade/1\"}"));
        fake.server.stops = Some(ending);
        run_plan(&plan, &mut fake, &|| false).unwrap()
    };
    let lost = run_as("pitot", Ending::Code(1));
    assert_eq!(lost.verdict.reason, "the server ended with exit code 1 when it was asked to stop");
    let sound = run_as("pitot", Ending::Code(0));
    assert_eq!(sound.verdict.kind, VerdictKind::Valid);
    assert_eq!(sound.server_stats.unwrap()["schema"], "pitot-trade/1");
    let java = run_as("java", Ending::Code(143));
    assert_eq!((java.verdict.kind, java.server_stats), (VerdictKind::Valid, None));
}

fn warms(rate: fn(&str) -> (u64, Vec<String>)) -> Script {
    Script { answer: Some(rate), ends_at_word: Some("quit"), ..Script::default() }
}

const OPENED: &str = r#"{"event": "opened", "connections": 1}"#;
const PART: &str = r#"{"event": "slice", "began_unix_ns": 7, "late_us": 90, "duration_us": 500000, "drain_us": 0,
                       "requests": 1000, "errors": {}, "client_user_us": 1000, "client_system_us": 9000}"#;

#[test]
fn a_target_is_warmed_up_until_its_rate_has_settled_and_no_longer() {
    let mut fake = Fake::new();
    fake.warm_up = warms(|line| match line.split(' ').next() {
        Some("open") => (1, vec![OPENED.into()]),
        Some("run") => (500, vec![PART.into()]),
        _ => (0, Vec::new()),
    });
    let repetition = run_settling(&mut fake, 30.0);
    assert_eq!((repetition.verdict.kind, repetition.verdict.reason.as_str()), (VerdictKind::Valid, ""));
    assert_eq!(repetition.warmup_s, Some(3.0), "six slices of half a second that are alike");
    let calls = fake.calls();
    let at = |call: &str| calls.iter().position(|c| c.starts_with(call)).unwrap();
    assert!(
        at("start WarmUp for None") < at("WarmUp reads quit") && at("WarmUp reads quit") < at("start Load")
    );
}

#[test]
fn a_load_that_cannot_be_held_begins_with_a_warm_up_of_its_own() {
    let mut fake = Fake::new();
    fake.warm_up = warms(|line| match line.split(' ').next() {
        Some("open") => (1, vec![r#"{"event": "error", "what": "sessions cannot be held"}"#.into()]),
        _ => (0, Vec::new()),
    });
    let repetition = run_settling(&mut fake, 30.0);
    assert_eq!((repetition.verdict.kind, repetition.warmup_s), (VerdictKind::Valid, None));
    assert!(fake.calls().iter().any(|call| call.starts_with("start Load")), "{:?}", fake.calls());
}

#[test]
fn a_directory_that_cannot_be_made_fails_the_repetition_before_anything_starts() {
    let mut fake = Fake::new();
    fake.begin_error = Some("the disk is full");
    assert_fails(&mut fake, "the disk is full");
    assert_eq!(fake.calls(), ["begin 7", "finish"]);
}

#[test]
fn a_server_that_cannot_be_started_is_reported_as_such() {
    let mut fake = Fake::new();
    fake.server.start_error = Some("`pitot` could not be started");
    assert_fails(&mut fake, "`pitot` could not be started");
}

#[test]
fn a_server_that_ends_before_it_is_ready_leaves_its_output() {
    let mut fake = Fake::new();
    let complains = vec![(1, "no such root")];
    fake.server = Script { complains, ends: Some((2, Ending::Code(2))), ..Script::default() };
    let repetition = assert_fails(&mut fake, "the server ended with exit code 2 before it was ready");
    assert_eq!(repetition.output_tail, "server:\nno such root\n");
}

#[test]
fn a_server_that_is_never_ready_is_given_up_at_its_timeout() {
    let mut fake = Fake::new();
    fake.server.prints = vec![(1, "thinking about it"), (400, "ready")];
    let repetition = assert_fails(&mut fake, "the server was not ready within 0.5 s");
    assert!((0.5..0.6).contains(&repetition.elapsed_s), "{}", repetition.elapsed_s);
}

#[test]
fn a_server_that_dies_under_load_fails_with_the_moment() {
    let mut fake = Fake::new();
    fake.server.ends = Some((120, Ending::Signal(11)));
    assert_fails(&mut fake, "the server ended by signal SIGSEGV 0.1 s into the load");
    assert!(!fake.calls().contains(&"Terminate Server".to_owned()), "nobody stops what has ended");
}

#[test]
fn a_load_generator_that_cannot_be_started_does_not_leave_the_server_running() {
    let mut fake = Fake::new();
    fake.load.start_error = Some("`pitot` could not be started: no memory");
    assert_fails(&mut fake, "`pitot` could not be started: no memory");
}

#[test]
fn a_load_generator_that_never_ends_is_given_up() {
    let mut fake = Fake::new();
    fake.load.ends = None;
    let repetition = assert_fails(&mut fake, "the load generator did not end within 30 s");
    assert!(repetition.elapsed_s > 30.0);
}

#[test]
fn a_load_generator_that_prints_nonsense_or_nothing_fails() {
    for (result, reason) in [
        (None, "the load generator ended with exit code 0 and wrote no result"),
        (Some("Segmentation fault"), "the result of the load generator cannot be read: "),
        (Some("{\"schema\": \"wrk/1\"}"), "the result of the load generator cannot be read: "),
        (
            Some(
                r#"{"schema": "pitot-load/1", "throughput_rps": 0.0,
                    "errors": [{"phase": "receive", "kind": "ECONNRESET", "count": 3}]}"#,
            ),
            "no reply was right, but 3 errors, most of them receive ECONNRESET",
        ),
        (
            Some(r#"{"schema": "pitot-load/1", "storm": {"requested": 10, "established": 4}}"#),
            "only 4 of 10 connections were established",
        ),
    ] {
        let mut fake = Fake::new();
        fake.load.result = result.map(str::to_owned);
        assert_fails(&mut fake, reason);
    }
}

#[test]
fn a_load_generator_that_was_killed_or_failed_is_not_blamed_for_its_file() {
    let mut fake = Fake::new();
    fake.load.ends = Some((100, Ending::Signal(9)));
    fake.load.result = Some(String::new());
    assert_fails(&mut fake, "the load generator ended by signal SIGKILL before it wrote its result");
    let mut fake = Fake::new();
    fake.load.ends = Some((100, Ending::Code(1)));
    fake.load.result = Some(String::new());
    assert_fails(&mut fake, "the load generator ended with exit code 1, and its result cannot be read: ");
}

#[test]
fn a_program_that_a_signal_has_suspended_is_said_to_be() {
    let mut fake = Fake::new();
    fake.suspended = Some(Role::Server);
    fake.server.stops = None;
    assert_fails(
        &mut fake,
        "the server was suspended by a signal such as SIGSTOP: the server did not stop within 0.5 s",
    );
    let mut fake = Fake::new();
    fake.suspended = Some(Role::Load);
    fake.load.ends = None;
    assert_fails(
        &mut fake,
        "the load generator was suspended by a signal such as SIGSTOP: the load generator did not",
    );
}

#[test]
fn a_result_that_fails_the_repetition_is_kept() {
    let mut fake = Fake::new();
    fake.load.result =
        Some(r#"{"schema": "pitot-load/1", "requests": {"attempted": 5, "completed": 5}}"#.into());
    let repetition = assert_fails(&mut fake, "no reply was right");
    assert_eq!(repetition.load.unwrap().requests.attempted, 5);
}

#[test]
fn a_server_that_stopped_answering_fails_with_what_the_load_says_of_it() {
    let mut fake = Fake::new();
    fake.load.result = Some(
        r#"{"schema": "pitot-load/1", "requests": {"attempted": 9, "completed": 5, "ok": 5}, "throughput_rps": 5.0,
            "unanswered_since_s": 1.0, "client": {"verdict": "failed", "reason": "nothing was answered from 1.00 s on"}}"#
            .into(),
    );
    assert_fails(&mut fake, "nothing was answered from 1.00 s on");
}

#[test]
fn a_server_that_does_not_stop_or_stops_with_an_error_fails() {
    let mut fake = Fake::new();
    fake.server.stops = None;
    assert_fails(&mut fake, "the server did not stop within 0.5 s of being asked to");
    let mut fake = Fake::new();
    fake.server.stops = Some(Ending::Code(9));
    assert_fails(&mut fake, "the server ended with exit code 9 when it was asked to stop");
}

#[test]
fn processes_left_behind_fail_a_repetition_that_was_good_otherwise() {
    let left_behind = vec![LeftBehind { pid: 42, name: "worker".into() }];
    let mut fake = Fake::new();
    fake.left_behind.clone_from(&left_behind);
    let repetition = assert_fails(&mut fake, "a process was left behind: `worker` (process 42)");
    assert!(repetition.load.is_some());
    let mut fake = Fake::new();
    fake.left_behind = left_behind;
    fake.load.ends = None;
    assert_fails(&mut fake, "the load generator did not end");
}

#[test]
fn an_interrupted_repetition_is_cleaned_up_and_not_recorded() {
    let plan = parse(&plan(GOOD));
    let asked = Counter::new(0);
    let mut asked_in_all = 0;
    // At every moment at which the user may ask, from the first to the last.
    for moment in 0.. {
        asked.set(0);
        let stop = || {
            asked.set(asked.get() + 1);
            asked.get() > moment
        };
        let mut fake = Fake::new();
        let repetition = run_plan(&plan, &mut fake, &stop);
        assert_eq!(fake.calls().last().unwrap(), "finish");
        if repetition.is_some() {
            asked_in_all = moment;
            break;
        }
    }
    assert!(asked_in_all > 20, "the user is asked {asked_in_all} times only");
}

#[test]
fn a_program_that_is_not_ready_is_told_with_what_was_looked_for_and_where_it_listens() {
    let text = plan("server = [\"other\"]")
        + "[servers.other]\ncommand = [\"other\"]\nurl = \"http://{address}/\"\nready = { get = \"/x\" }\n";
    let reason = |pid: Option<u32>| {
        let mut fake = Fake::new();
        fake.pid = pid;
        fake.server = Script { stops: Some(Ending::Code(0)), ..Script::default() };
        run_plan(&parse(&text), &mut fake, &|| false).unwrap().verdict.reason
    };
    let lacks = "the server was not ready within 0.5 s: GET http://127.0.0.1:80/x did not return status 200";
    assert_eq!(reason(None), lacks);
    let elsewhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let own = reason(Some(std::process::id()));
    let listens = own.strip_prefix(&format!("{lacks}; it listens on ")).unwrap_or_else(|| panic!("{own}"));
    assert!(listens.contains(&elsewhere.local_addr().unwrap().to_string()), "{own}");
    let mut idle = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let of_idle = reason(Some(idle.id()));
    idle.kill().unwrap();
    idle.wait().unwrap();
    assert_eq!(of_idle, format!("{lacks}; it does not listen on any port"));
}

#[test]
fn another_program_is_ready_by_its_port_or_by_a_line() {
    let external = |ready: &str| {
        parse(
            &(plan("server = [\"other\"]")
                + &format!(
                    "[servers.other]\ncommand = [\"other\"]\nurl = \"http://{{address}}/\"\n{ready}\n"
                )),
        )
    };
    let mut fake = Fake::new();
    fake.server = Script { accepts_from: Some(50), stops: Some(Ending::Signal(15)), ..Script::default() };
    let repetition = run_plan(&external("stop = \"QUIT\""), &mut fake, &|| false).unwrap();
    assert_eq!(repetition.verdict.kind, VerdictKind::Valid, "{:?}", repetition.verdict);
    assert!((0.05..0.06).contains(&repetition.ready_s), "{}", repetition.ready_s);
    assert!(fake.calls().contains(&"Quit Server".to_owned()));
    let mut fake = Fake::new();
    let complains = vec![(30, "up and running")];
    fake.server = Script { complains, stops: Some(Ending::Code(3)), ..Script::default() };
    let plan = external("ready = { line = \"running\" }");
    let repetition = run_plan(&plan, &mut fake, &|| false).unwrap();
    assert_eq!(repetition.verdict.kind, VerdictKind::Valid, "{:?}", repetition.verdict);
    assert_eq!((repetition.address.as_str(), repetition.server_stats), ("127.0.0.1:80", None));
}

#[test]
fn a_program_that_says_that_it_will_never_be_ready_is_not_waited_for() {
    let text = plan("server = [\"other\"]")
        + "[servers.other]\ncommand = [\"other\"]\nurl = \"http://{address}/\"\nready = { get = \"/x\" }\n\
           failed = [\"BOOT77\", \"in use\"]\n";
    let mut fake = Fake::new();
    let complains =
        vec![(1, "starting"), (1, "still starting"), (30, "  E: port 80 is in use"), (31, "started")];
    fake.server = Script { complains, stops: Some(Ending::Code(0)), ..Script::default() };
    let repetition = run_plan(&parse(&text), &mut fake, &|| false).unwrap();
    assert_eq!(repetition.verdict.kind, VerdictKind::Failed);
    let reason = "the server will never be ready: it printed `E: port 80 is in use`";
    assert_eq!(repetition.verdict.reason, reason);
    assert_eq!(fake.calls().last().unwrap(), "finish");
}

#[test]
fn helpers_start_before_the_load_and_stop_before_the_server() {
    let text = plan(GOOD) + "[helpers.names]\nprotocol = \"busy\"\n[helpers.clock]\nprotocol = \"busy\"\n";
    let plan = parse(&text);
    let mut fake = Fake::new();
    let repetition = run_plan(&plan, &mut fake, &|| false).unwrap();
    assert_eq!(repetition.verdict.kind, VerdictKind::Valid, "{:?}", repetition.verdict);
    let calls = fake.calls();
    let calls: Vec<&str> = calls.iter().map(String::as_str).filter(|c| *c != "sample").collect();
    let stages = [
        "begin 7",
        "start Server for Server",
        "start Helper(0) for None",
        "start Helper(1) for None",
        "start Load for Load",
        "Terminate Helper(0)",
        "Terminate Helper(1)",
        "Terminate Server",
        "finish",
    ];
    assert_eq!(calls, stages);
    let mut fake = Fake::new();
    fake.helper = Script {
        complains: vec![(0, "no such zone")],
        ends: Some((1, Ending::Code(2))),
        ..Script::default()
    };
    let repetition = run_plan(&plan, &mut fake, &|| false).unwrap();
    assert_eq!(repetition.verdict.reason, "the helper `names` ended with exit code 2");
    assert!(repetition.output_tail.contains("names:\nno such zone"), "{}", repetition.output_tail);
}

/// Makes faults to a server that stands until all are over, and nobody has to wait for them meanwhile. What has become of them in the
/// order of their ends, and what was done.
fn faults_of_standing_server(text: &str, fake: &mut Fake, at_s: &[f64]) -> (Vec<FaultRecord>, Vec<String>) {
    let mut plan = parse(&(plan(GOOD) + text));
    plan.ready_timeout_s = 10.0;
    let (cells, _) = expand(&plan, &catalog(), &HostLimits { descriptors: 20_000, missing: Vec::new() });
    let cpus = CpuSplit { server: vec![0], load: vec![1] };
    let stop = &|| false;
    let shared =
        Shared { plan: &plan, pitot: "pitot", cpus: &cpus, stop, memory_total_bytes: 1 << 30, block: 0 };
    let mut context = Context::new(shared, &cells[0], fake);
    start::start_server(&mut context).unwrap();
    lead_through_proxy(&mut context).unwrap();
    let now = context.executor.now();
    let due = at_s.iter().enumerate().map(|(number, at_s)| pitot_fault::Moment { number, at_s: *at_s });
    let mut faults = Faults::from_now(due.collect(), now, 0.0);
    let mut ended = Vec::new();
    while ended.len() < at_s.len() {
        context.executor.wait(std::time::Duration::from_millis(20));
        let before = context.executor.now();
        faults.turn(&mut context).unwrap();
        assert_eq!(context.executor.now(), before, "somebody else had to wait");
        assert!(faults.account_for_server(&mut context).unwrap());
        ended.extend(faults.news().into_iter().filter_map(|news| match news {
            FaultNews::Ended(record) => Some(record),
            FaultNews::Began(_) => None,
        }));
    }
    (ended, fake.calls().into_iter().filter(|call| call != "sample").collect())
}

#[test]
fn a_server_that_stands_is_not_waited_for_when_a_fault_starts_it_again() {
    let text = "[[faults]]\nkind = \"restart\"\nat = \"50ms\"\n\
                [[faults]]\nkind = \"stop\"\nat = \"60ms\"\nfor = \"10ms\"\n";
    let mut fake = Fake::new();
    fake.server.prints = vec![(5000, "ready 127.0.0.1:4321")];
    fake.fault = Script {
        prints: vec![(0, "began 1 it is stopped"), (9, "ended 2")],
        ends: Some((10, Ending::Code(0))),
        ..Script::default()
    };
    let (ended, calls) = faults_of_standing_server(text, &mut fake, &[0.05, 0.06]);
    let [restarted, stopped] = &ended[..] else { unreachable!() };
    assert_eq!(restarted.what, "the server ended with exit code 0 and was restarted");
    assert!(restarted.ended_ns - restarted.began_ns >= 5_000_000_000, "{restarted:?}");
    // What is due meanwhile is done to the server when it is back.
    assert_eq!((stopped.kind.as_str(), stopped.what.as_str()), ("stop", "it is stopped"));
    let expected =
        ["start Server for Server", "Terminate Server", "start Server for Server", "start Fault(1) for None"];
    assert_eq!(calls, expected);
}

#[test]
fn a_proxy_that_is_slow_to_take_a_fault_back_keeps_nobody_waiting() {
    let text = "[[faults]]\nkind = \"latency\"\nat = \"50ms\"\nfor = \"100ms\"\n";
    let mut fake = Fake::new();
    fake.fault = Script {
        prints: vec![
            (1, "ready 127.0.0.1:5"),
            (100, "began 0 1000000000000 replies are late"),
            (3000, "ended 0 1000100000000"),
        ],
        ..Script::default()
    };
    let (ended, calls) = faults_of_standing_server(text, &mut fake, &[0.05]);
    assert_eq!((ended[0].what.as_str(), ended[0].ended_ns), ("replies are late", 1_000_100_000_000));
    let asked = calls.iter().filter(|call| *call == "Proxy reads end 0").count();
    assert_eq!(asked, 1, "{calls:?}");
}

#[test]
fn a_program_without_a_server_counts_as_one() {
    let plan =
        parse("repetitions = 1\n[load]\nprogram = \"disk files\"\n[factors]\nload.sizes = [\"4KiB\"]\n");
    let mut fake = Fake::new();
    fake.load.result = Some(
        r#"{"schema": "pitot-disk/1", "command": "files", "options": {"count": 10},
            "sizes": [{"elapsed_s": 0.1, "phases": []}]}"#
            .into(),
    );
    let repetition = run_plan(&plan, &mut fake, &|| false).unwrap();
    assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{:?}", repetition.verdict);
    assert_eq!(fake.calls(), ["begin 7", "start Load for Server", "sample", "sample", "finish"]);
}
