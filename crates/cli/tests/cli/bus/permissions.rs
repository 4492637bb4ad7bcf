//! The permissions that the documentation gives to each side are enough for what it does.

use std::process::Stdio;

use pitot_needs::needs;
use pitot_record::{Run, RunState};

use super::counted;
use super::server::{Bus, said};
use crate::support::{PITOT, Running, until};

const PAGE: &str = include_str!("../../../../../docs/bus.md");
const SIDES: [&str; 2] = ["agent", "lab"];
/// With a file of so many bytes in its plan a result is an object.
const FILE_BYTES: usize = 600_000;

/// The configuration of a server with a user for each side.
fn config() -> String {
    let permissions = |side: &str| {
        let begin = PAGE.find(&format!("\n{side} = {{\n")).expect("the permissions are there");
        let text = &PAGE[begin..];
        text[..text.find("\n}").expect("they have an end") + 2].to_owned()
    };
    let users = SIDES.map(|side| format!("{{ user: {side}, password: secret, permissions: ${side} }}"));
    format!("{}\nauthorization {{ users: [ {} ] }}", SIDES.map(permissions).concat(), users.join(", "))
}

#[needs("nats-server")]
#[test]
fn each_side_can_do_its_work_with_the_permissions_of_the_documentation() {
    let bus = Bus::start(&config());
    for side in SIDES {
        bus.secret(&format!("{side}.toml"), &format!("user = '{side}'\npassword = 'secret'"));
    }
    let file = format!("files.page = \"{}\"\n", "x".repeat(FILE_BYTES));
    let plan = bus.small_plan(&format!("repetitions = 2\nwarmup = \"50ms\"\nduration = \"200ms\"\n{file}"));
    let log = std::fs::File::create(bus.path("lab.log")).unwrap();
    let mut lab = bus.run(&plan);
    let lab = lab.args(["--bus-creds", "lab.toml"]).stdout(Stdio::null()).stderr(log);
    let mut lab = Running::start(lab);
    // It has made what was missing on the bus, which the agent may not.
    until("a coordinator is there", || bus.log("lab").contains("no agent is on the bus"));
    let agent = bus.agent_with("a", &["--trust", &bus.key, "--bus-creds", "agent.toml"]);
    assert_eq!(lab.wait().unwrap().code(), Some(0), "{}{}", bus.log("lab"), bus.log("a"));
    let run = Run::open(&bus.path("run.pitot")).unwrap();
    assert_eq!(counted(&run, 2, 2).into_iter().collect::<Vec<_>>(), [("a".to_owned(), 4)]);

    // As a host of a plan.
    let agent_of_plan =
        [PITOT, "bus-connect", "a", "--bus", &bus.url, "--bus-creds", "lab.toml", "--sign", "sign.nk"];
    let plan = format!(
        "repetitions = 1\nwarmup = \"50ms\"\nduration = \"200ms\"\n[hosts.a]\nagent = {agent_of_plan:?}\n\
         address = \"127.0.0.1\"\ncpus = \"0\"\n[server]\nprotocol = \"http\"\nhost = \"a\"\n[load]\nhost = \"a\"\n\
         connections = 1\n[factors]\nserver.model = [\"loop\"]\n"
    );
    std::fs::write(bus.path("plan.toml"), plan).unwrap();
    let (code, text) = said(&bus.pitot(&["run", "plan.toml", "-o", "placed.pitot"]).output().unwrap());
    assert_eq!(code, Some(0), "{text}{}", bus.log("a"));
    assert_eq!(Run::open(&bus.path("placed.pitot")).unwrap().info.state, RunState::Complete);
    // A server says what it does not permit.
    for name in ["lab", "a"] {
        assert!(!bus.log(name).to_lowercase().contains("permissions"), "{}", bus.log(name));
    }
    drop(agent);
    bus.assert_nothing_is_left();
}
