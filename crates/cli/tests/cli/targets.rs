//! Targets with the real program: what `pitot list` and `pitot target` say of them, whether a server is what its
//! configuration in the report says, and what becomes of a run when a target does not do what it should.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use pitot_needs::needs;
use pitot_record::{CellRecord, Run};
use pitot_results::VerdictKind;

use crate::support::{PITOT, stderr, text};

/// A user with targets of their own, and with plans.
struct Bed {
    dir: tempfile::TempDir,
}

impl Bed {
    fn new() -> Bed {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("config/pitot/targets")).unwrap();
        Bed { dir }
    }

    /// A target that is a script of a shell.
    fn target(&self, name: &str, script: &str, more: &str) {
        let text = format!(
            "summary = \"a script\"\nprotocol = \"http\"\nprogram = \"sh\"\n\
             command = [\"{{program}}\", \"{{dir}}/run.sh\", \"{{port}}\", \"{{dir}}\"]\n\
             ready = {{ get = \"/1k\" }}\nready-timeout = \"400ms\"\nstop = \"TERM\"\n{more}\n\
             [files]\n\"run.sh\" = '''\n{script}\n'''\n"
        );
        std::fs::write(self.dir.path().join(format!("config/pitot/targets/{name}.toml")), text).unwrap();
    }

    /// A target that is a script which serves HTTP in the end, for which it has all the time that it needs.
    fn server(&self, name: &str, script: &str, more: &str) -> PathBuf {
        self.target(name, script, more);
        let file = self.dir.path().join(format!("config/pitot/targets/{name}.toml"));
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, text.replace("\"400ms\"", "\"60s\"").replace("\"/1k\"", "\"/dynamic\""))
            .unwrap();
        file
    }

    fn command(&self, arguments: &[&str]) -> Output {
        let own = |name: &str| self.dir.path().join(name);
        let mut command = Command::new(PITOT);
        command.args(arguments).current_dir(self.dir.path()).env("TMPDIR", self.dir.path());
        command.env("XDG_CONFIG_HOME", own("config")).env("XDG_CACHE_HOME", own("cache"));
        command.output().unwrap()
    }

    /// A run of these servers, each cell once, for a moment.
    fn run(&self, servers: &str, more: &str) -> (Run, String) {
        self.run_within(servers, more, "warmup = \"0s\"\n")
    }

    /// The same with more said of the plan itself.
    fn run_within(&self, servers: &str, more: &str, head: &str) -> (Run, String) {
        let plan = format!(
            "duration = \"200ms\"\n{head}repetitions = 1\n[server]\nprotocol = \"http\"\n\
             [load]\nurl = \"http://{{address}}/dynamic\"\nconnections = 2\n{more}\n[factors]\nserver = {servers}\n"
        );
        std::fs::write(self.dir.path().join("plan.toml"), plan).unwrap();
        let output = self.command(&["run", "plan.toml", "-o", "run.pitot"]);
        let path = self.dir.path().join("run.pitot");
        assert!(path.exists(), "{}", text(&output));
        (Run::open(&path).unwrap(), text(&output))
    }

    /// Processes that name its directory in their environment.
    fn processes(&self) -> Vec<PathBuf> {
        let needle = self.dir.path().to_string_lossy().into_owned();
        let holds = |path: &Path| {
            let bytes = std::fs::read(path.join("environ")).unwrap_or_default();
            String::from_utf8_lossy(&bytes).contains(&needle)
        };
        let all = std::fs::read_dir("/proc").unwrap().filter_map(|entry| Some(entry.ok()?.path()));
        all.filter(|path| holds(path)).collect()
    }
}

fn cell<'a>(run: &'a Run, server: &str) -> &'a CellRecord {
    run.cells.iter().find(|cell| cell.factors[0].level == server).unwrap()
}

#[test]
fn the_list_says_of_every_target_whether_it_is_installed_and_how_it_is() {
    let bed = Bed::new();
    bed.target("mine", "exit 1", "");
    let output = bed.command(&["list", "targets", "--format", "json"]);
    let list: Vec<serde_json::Value> = serde_json::from_slice(&output.stdout).unwrap();
    let of = |name: &str| list.iter().find(|target| target["name"] == name).unwrap();
    assert_eq!(of("tomcat")["installed"], false, "the cache is empty");
    assert!(of("tomcat")["install"].to_string().contains("SHA-256"), "{}", of("tomcat"));
    assert!(of("nginx")["settings"].to_string().contains("worker_processes"), "{}", of("nginx"));
    assert_eq!(of("mine")["installed"], true);
    let shown = text(&bed.command(&["list", "targets"]));
    assert!(shown.contains("to install it: pitot target install tomcat --yes"), "{shown}");
}

#[test]
fn nothing_is_installed_without_being_asked_for_twice() {
    let bed = Bed::new();
    let output = bed.command(&["target", "install", "tomcat", "uvicorn"]);
    let told = text(&output);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("mvn ") && told.contains("check that the SHA-256"), "{told}");
    assert!(
        told.contains("nothing was installed; to install: pitot target install tomcat uvicorn --yes"),
        "{told}"
    );
    assert!(!bed.dir.path().join("cache").exists());
    let output = bed.command(&["target", "install", "tomact"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output).contains("did you mean `tomcat`?"), "{}", text(&output));
}

#[test]
fn mistakes_in_plans_and_in_targets_of_the_user_are_told_with_their_place() {
    let bed = Bed::new();
    let refusal = |plan: &str| {
        std::fs::write(bed.dir.path().join("plan.toml"), plan).unwrap();
        let output = bed.command(&["run", "plan.toml", "--dry-run"]);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output));
        text(&output)
    };
    let factors = "[server]\nprotocol = \"http\"\n[factors]\n";
    let told = [
        format!("{factors}server = [\"ngnix\"]"),
        format!("{factors}server = [\"nginx\"]\ntarget.wokers = [1]"),
        format!("{factors}server = [\"nginx\"]\ntarget.keepalive = [\"maybe\"]"),
        format!("{factors}server = [\"x\"]\n[servers.x]\ntarget = \"nginx\"\nthreads = 2"),
    ]
    .map(|plan| refusal(&plan));
    insta::assert_snapshot!("mistakes_in_plans", told.join("\n"));
    // All settings of all targets are named behind it.
    let log = refusal(&format!("[target]\nworkers = 1\nlog = 1\n{factors}server = [\"nginx\"]"));
    assert!(log.contains("plan.toml:3:1: `log`"), "{log}");
}

#[test]
fn a_bad_file_among_the_targets_of_the_user_is_named_and_stops_no_command() {
    let bed = Bed::new();
    bed.target("bad", "exit 1", "wrong = 1");
    let plan = |server: &str| {
        let plan = format!("[server]\nprotocol = \"http\"\n[factors]\nserver = [\"{server}\"]\n");
        std::fs::write(bed.dir.path().join("plan.toml"), plan).unwrap();
        bed.command(&["run", "plan.toml", "--dry-run"])
    };
    for output in [plan("loop"), bed.command(&["list", "targets"])] {
        let told = stderr(&output);
        assert!(output.status.success(), "{}", text(&output));
        assert_eq!(told.matches("bad.toml:8:1: unknown field `wrong`").count(), 1, "{told}");
    }
    let refused = plan("bad");
    assert_eq!(refused.status.code(), Some(2), "{}", text(&refused));
    assert!(text(&refused).contains("bad.toml:8:1: unknown field `wrong`"), "{}", text(&refused));
}

#[test]
fn a_target_that_fails_is_told_in_a_line_and_the_other_cells_go_on() {
    let bed = Bed::new();
    // It forks, as a server of Java may, and answers nobody.
    bed.target("hangs", "sleep 1000 & sleep 1000", "");
    bed.target("refuses", "echo 'line 3: unknown directive \"foo\"' >&2; exit 1", "");
    bed.target("absent", "", "");
    let absent = bed.dir.path().join("config/pitot/targets/absent.toml");
    let named = std::fs::read_to_string(&absent).unwrap().replace("\"sh\"", "\"no-such-program-of-pitot\"");
    std::fs::write(&absent, named).unwrap();
    bed.target("cannot", "exit 1", "cannot = { dynamic = \"it serves files\" }");
    let (run, told) = bed.run("[\"hangs\", \"refuses\", \"absent\", \"cannot\", \"loop\"]", "");
    let reason = |server: &str| cell(&run, server).verdict().reason;
    let hangs = reason("hangs");
    assert!(hangs.contains("the server was not ready within 0.4 s: GET http://127.0.0.1:"), "{hangs}");
    assert!(hangs.ends_with("/1k did not return status 200; it does not listen on any port"), "{hangs}");
    assert!(
        reason("refuses").contains("ended with exit code 1 before it was ready"),
        "{}",
        reason("refuses")
    );
    assert!(told.contains("unknown directive \"foo\""), "{told}");
    let skip = |server: &str| run.skips.iter().find(|s| s.factors[0].level == server).unwrap().reason.clone();
    let absent = skip("absent");
    assert!(absent.contains("`no-such-program-of-pitot` is not installed here"), "{absent}");
    assert!(absent.contains("pitot target install absent --yes"), "{absent}");
    assert!(skip("cannot").contains("it cannot serve /dynamic: it serves files"), "{}", skip("cannot"));
    assert_ne!(cell(&run, "loop").verdict().kind, VerdictKind::Failed, "{told}");
    assert_eq!(bed.processes(), Vec::<PathBuf>::new());
}

#[test]
fn what_only_a_page_needs_is_there_where_it_is_asked_for_and_its_module_is() {
    let bed = Bed::new();
    let module = bed.dir.path().join("echo.so");
    let more = format!(
        "[on-demand.echo]\nmodule = [\"/no/such.so\", {module:?}]\ntexts = {{ load = \"load {{module}}; \" }}\n\
         files = {{ \"echo.txt\" = \"echoes of {{port}}\" }}\n"
    );
    bed.target("more", "{load}exit 1", &more);
    let shown = |page: &str| {
        let plan = format!(
            "[server]\nprotocol = \"http\"\n[load]\nurl = \"http://{{address}}/{page}\"\nconnections = 1\n\
             [factors]\nserver = [\"more\"]\n"
        );
        std::fs::write(bed.dir.path().join("plan.toml"), plan).unwrap();
        text(&bed.command(&["run", "plan.toml", "--dry-run"]))
    };
    let told = shown("echo");
    let wanted =
        "it cannot serve /echo: the module `such.so` is not installed; run pitot target install more --yes";
    assert!(told.contains(wanted), "{told}");
    assert!(shown("dynamic").contains("\nexit 1"), "{}", shown("dynamic"));
    std::fs::write(&module, "").unwrap();
    let told = shown("echo");
    assert!(told.contains(&format!("load {}; exit 1", module.display())), "{told}");
    assert!(told.contains("echo.txt") && told.contains("echoes of 18080"), "{told}");
    let told = shown("dynamic");
    assert!(!told.contains("load /") && !told.contains("echo.txt") && told.contains("\nexit 1"), "{told}");
}

#[test]
fn a_target_that_says_that_it_will_never_be_ready_is_not_waited_for() {
    let bed = Bed::new();
    // As a server of Java that goes on without its port.
    bed.server("stays", "echo 'E0221: the port is taken'; exec sleep 1000", "failed = \"E0221\"");
    let (run, told) = bed.run("[\"stays\", \"loop\"]", "");
    let reason = cell(&run, "stays").verdict().reason;
    assert!(reason.contains("it printed `E0221: the port is taken`"), "{reason}: {told}");
    assert_ne!(cell(&run, "loop").verdict().kind, VerdictKind::Failed, "{told}");
    assert_eq!(bed.processes(), Vec::<PathBuf>::new());
}

#[test]
fn the_time_to_get_ready_the_way_to_stop_and_the_end_belong_to_the_target() {
    let bed = Bed::new();
    let serve = format!("exec {PITOT} serve http --listen 127.0.0.1:$1");
    // The plan allows less than any server takes to start; the target allows more.
    let slow = bed.server("slow", &format!("echo $$ > $2/pid; sleep 0.7; {serve}"), "");
    let stopped = bed.dir.path().join("stopped");
    let stop =
        format!("stop = [\"sh\", \"-c\", \"kill $(cat {{dir}}/pid); echo $? > {}\"]", stopped.display());
    let text = std::fs::read_to_string(&slow).unwrap().replace("stop = \"TERM\"", &stop);
    std::fs::write(&slow, text).unwrap();
    // As servers of Java end: a handler of the signal, and a status that names it.
    let trap = "trap 'kill $!; wait $!; exit 143' TERM";
    let script = format!("{PITOT} serve http --listen 127.0.0.1:$1 &\n{trap}\nwait $!");
    bed.server("java", &script, "");
    let (run, told) = bed.run_within("[\"slow\", \"java\"]", "", "ready-timeout = \"1ms\"\n");
    for server in ["slow", "java"] {
        let repetition = &cell(&run, server).repetitions[0];
        assert_ne!(repetition.verdict.kind, VerdictKind::Failed, "{server}: {told}");
    }
    assert!(cell(&run, "slow").repetitions[0].ready_s >= 0.7);
    assert_eq!(std::fs::read_to_string(stopped).unwrap(), "0\n", "{told}");
    assert_eq!(bed.processes(), Vec::<PathBuf>::new());
}

#[test]
fn a_port_that_is_taken_and_a_configuration_that_is_refused_are_told_in_the_words_of_the_program() {
    let bed = Bed::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    bed.target("second", &format!("exec {PITOT} serve http --listen {address}"), "");
    bed.target("newer", &format!("exec {PITOT} serve http --listen 127.0.0.1:$1 --since-version-9"), "");
    let (run, told) = bed.run("[\"second\", \"newer\", \"loop\"]", "");
    assert!(told.contains(&format!("{address}")) && told.contains("in use"), "{told}");
    assert!(told.contains("unexpected argument '--since-version-9'"), "{told}");
    for server in ["second", "newer"] {
        let reason = cell(&run, server).verdict().reason;
        assert!(reason.contains("before it was ready"), "{server}: {reason}");
    }
    assert_ne!(cell(&run, "loop").verdict().kind, VerdictKind::Failed, "{told}");
    assert_eq!(bed.processes(), Vec::<PathBuf>::new());
}

/// What a user of a target that warms up reads in the end.
#[test]
fn a_target_that_settles_says_how_long_it_was_warmed_up_in_fresh_runs_as_well() {
    let bed = Bed::new();
    let script = format!("exec {PITOT} serve http --listen 127.0.0.1:$1");
    bed.server("warms", &script, "settles-within = \"60s\"");
    let (run, told) = bed.run_within("[\"warms\"]", "", "warmup = \"50ms\"\nmeasure = \"fresh\"\n");
    let seconds = cell(&run, "warms").repetitions[0].warmup_s;
    assert!(seconds.is_some_and(|seconds| (3.0..60.0).contains(&seconds)), "{seconds:?}: {told}");
    let report = text(&bed.command(&["report", "run.pitot", "--format", "md"]));
    assert!(report.contains("Servers that warm up"), "{report}");
}

/// The reply of a running server, without the connection's end.
fn replies(server: &str, settings: &str) -> String {
    let bed = Bed::new();
    let (run, told) = bed.run(&format!("[\"{server}\"]"), settings);
    let cell = cell(&run, server);
    assert_ne!(cell.verdict().kind, VerdictKind::Failed, "{told}");
    let load = cell.repetitions[0].load.as_ref().unwrap();
    assert!(load.requests.ok > 0 && load.errors.is_empty(), "{told}");
    let kept = load.connections.opened <= 2;
    let processes = cell.repetitions[0].samples.iter().filter_map(|s| s.server.as_ref()).map(|t| t.processes);
    format!("{} {}", if kept { "kept" } else { "closed" }, processes.max().unwrap_or(0))
}

#[needs("nginx")]
#[test]
fn nginx_has_the_workers_and_keeps_the_connections_that_its_settings_say() {
    assert_eq!(replies("nginx", "[target]\nworkers = 3"), "kept 4", "a parent and its workers");
    assert_eq!(replies("nginx", "[target]\nkeepalive = \"off\""), "closed 2");
}

#[needs("apache2")]
#[test]
fn apache_has_the_processes_and_keeps_the_connections_that_its_settings_say() {
    assert_eq!(replies("apache-prefork", "[target]\nworkers = 5"), "kept 6", "a parent and its children");
    assert_eq!(replies("apache-event", "[target]\nworkers = 2"), "kept 3");
    assert_eq!(replies("apache-worker", "[target]\nkeepalive = \"off\""), "closed 2");
}

#[needs("haproxy")]
#[test]
fn haproxy_keeps_the_connections_that_its_settings_say() {
    assert_eq!(replies("haproxy", ""), "kept 1");
    assert_eq!(replies("haproxy", "[target]\nkeepalive = false"), "closed 1");
}

#[needs("lighttpd")]
#[test]
fn lighttpd_has_the_workers_and_keeps_the_connections_that_its_settings_say() {
    assert_eq!(replies("lighttpd", ""), "kept 1");
    assert_eq!(replies("lighttpd", "[target]\nworkers = 2\nkeepalive = false"), "closed 3");
}

#[needs("postfix", "root")]
#[test]
fn postfix_takes_mail_and_ends_with_its_daemons() {
    let bed = Bed::new();
    // Its daemons are another user.
    std::fs::set_permissions(bed.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let plan = "duration = \"200ms\"\nwarmup = \"0s\"\nmeasure = \"fresh\"\nrepetitions = 1\n[server]\nprotocol = \"smtp\"\n\
                [load]\nurl = \"smtp://{address}/\"\nconnections = 2\n[factors]\nserver = [\"postfix\"]\n";
    std::fs::write(bed.dir.path().join("plan.toml"), plan).unwrap();
    let told = text(&bed.command(&["run", "plan.toml", "-o", "run.pitot"]));
    let run = Run::open(&bed.dir.path().join("run.pitot")).expect(&told);
    let repetition = &cell(&run, "postfix").repetitions[0];
    let load = repetition.load.as_ref().expect(&told);
    assert!(load.requests.ok > 0 && load.errors.is_empty(), "{told}");
    // smtpd, cleanup, qmgr and the others count as its processes, and none of them is left.
    let processes = repetition.samples.iter().filter_map(|s| s.server.as_ref()).map(|t| t.processes);
    assert!(processes.max() > Some(4), "{told}");
    let left = bed.processes();
    assert!(left.is_empty(), "{left:?}");
}

#[needs("postgres")]
#[test]
fn postgres_has_the_settings_that_the_plan_says_and_ends_with_its_processes() {
    let bed = Bed::new();
    // Root starts it as another user.
    std::fs::set_permissions(bed.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let settings = "max_connections,shared_buffers,fsync,synchronous_commit,autovacuum"
        .replace(',', "')||'+'||current_setting('");
    let plan = format!(
        "duration = \"1s\"\nwarmup = \"0s\"\nmeasure = \"fresh\"\nrepetitions = 1\n\
         [load]\nurl = \"postgres://{{address}}/postgres?query=SELECT+current_setting('{settings}')&value=23%2B8MB%2Boff%2Boff%2Boff\"\n\
         connections = 2\n[target]\nmax-connections = 23\nshared-buffers = \"8MB\"\nfsync = false\n\
         synchronous-commit = false\nautovacuum = false\naccounts = 1000\n[factors]\nserver = [\"postgres\"]\n"
    );
    let plan = plan.replace("'+'", "'%2B'");
    std::fs::write(bed.dir.path().join("plan.toml"), plan).unwrap();
    let told = text(&bed.command(&["run", "plan.toml", "-o", "run.pitot"]));
    let run = Run::open(&bed.dir.path().join("run.pitot")).unwrap();
    let repetition = &cell(&run, "postgres").repetitions[0];
    let load = repetition.load.as_ref().expect(&told);
    assert!(load.requests.ok > 0 && load.errors.is_empty(), "{told}");
    // Each leads a session of its own, and counts all the same: the first, one for each connection, and helpers.
    let processes = repetition.samples.iter().filter_map(|s| s.server.as_ref()).map(|t| t.processes);
    assert!(processes.max() > Some(4), "{told}");
    // They write their titles over their environment, but work in its directory.
    let all = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path().join("cwd")).ok());
    let left: Vec<PathBuf> = all.filter(|at| at.starts_with(bed.dir.path())).collect();
    assert_eq!(left, Vec::<PathBuf>::new());
    let kept: Vec<_> = std::fs::read_dir(bed.dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(kept.iter().all(|name| !name.to_string_lossy().starts_with("pitot-")), "{kept:?}");
}

#[needs("postgres")]
#[test]
fn postgres_is_asked_for_its_accounts_where_a_plan_has_no_query() {
    let bed = Bed::new();
    std::fs::set_permissions(bed.dir.path(), PermissionsExt::from_mode(0o755)).unwrap();
    let (run, told) = bed.run("[\"postgres\"]", "[target]\naccounts = 2000");
    let cell = cell(&run, "postgres");
    assert_ne!(cell.verdict().kind, VerdictKind::Failed, "{told}");
    let load = cell.repetitions[0].load.as_ref().unwrap();
    assert!(load.requests.ok > 0 && load.errors.is_empty(), "{told}");
}
