//! Whom an agent trusts: without credentials, with wrong ones, with a job that is not signed for it, it starts nothing.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use pitot_needs::needs;

use super::server::{Bus, said};
use crate::support::{PITOT, until};

const KEY: &str = "UAFSDYGBC2JAFA6CJZAHWJ6K72XJGUTRO3KBCL4PUKLJH7ZPJL2IW73R";

fn pitot(arguments: &[&str]) -> (Option<i32>, String) {
    said(&std::process::Command::new(PITOT).args(arguments).output().unwrap())
}

#[test]
fn what_cannot_be_trusted_is_refused_before_anything_is_connected() {
    for (arguments, what) in [
        (&["agent", "--bus", "nats://127.0.0.1:1"][..], "no key is trusted"),
        (&["agent", "--bus", "nats://127.0.0.1:1", "--trust", "UABC"], "not the public key"),
        (&["agent", "--bus", "nats://192.0.2.1:4222", "--trust", KEY], "no credentials"),
        (&["agent", "--bus", "nats://a:b@127.0.0.1:1", "--trust", KEY], "contains credentials"),
        (&["run", "--bus", "nats://127.0.0.1:1", "self-check"], "no key is given"),
        (&["run", "--bus", "nats://127.0.0.1:1", "--self-check"], "checks the lab on this machine"),
        (&["run", "--bus", "nats://127.0.0.1:1", "--server", "loop"], "servers of this machine"),
    ] {
        let (code, said) = pitot(arguments);
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(what), "{said}");
        assert_eq!(said.lines().count(), 2, "what is wrong, and how to fix it: {said}");
    }
}

#[test]
fn what_agents_of_a_bus_cannot_share_is_refused_before_anything_is_connected() {
    let dir = tempfile::tempdir().unwrap();
    for (top, more, what) in [
        ("", "[servers.x]\naddress = \"10.0.0.9:80\"\ncommand = [\"sh\"]\n", "has an `address`"),
        (
            "",
            "[hosts.x]\nagent = [\"sh\"]\naddress = \"10.0.0.9\"\ncpus = \"0\"\n",
            "a plan with [hosts] cannot run on a bus",
        ),
        ("until-decided = \"5m\"\n", "", "`until-decided` needs each generation"),
    ] {
        let path = dir.path().join("plan.toml");
        let server = if more.starts_with("[servers") { "x" } else { "loop" };
        let plan = format!(
            "{top}[server]\nprotocol = \"http\"\n[load]\nurl = \"http://{{address}}/\"\n{more}[factors]\nserver = [\"{server}\"]\n"
        );
        std::fs::write(&path, plan).unwrap();
        let plan = path.to_str().unwrap();
        let (code, said) = pitot(&["run", "--dry-run", "--bus", "nats://127.0.0.1:1", plan]);
        assert!(code == Some(2) && said.contains(what), "{said}");
    }
}

#[test]
fn an_old_server_is_refused() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("nats://{}", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let info = r#"{"server_id":"x","server_name":"x","version":"2.9.10","go":"go1.19","host":"127.0.0.1","port":1,"headers":true,"max_payload":1048576,"proto":1,"client_id":1}"#;
        client.write_all(format!("INFO {info}\r\n").as_bytes()).unwrap();
        let mut lines = BufReader::new(client.try_clone().unwrap()).lines();
        while lines.next().and_then(Result::ok).is_some_and(|line| line != "PING") {}
        client.write_all(b"PONG\r\n").unwrap();
        let _ = client.read(&mut [0; 64]);
    });
    let (code, said) = pitot(&["agent", "--bus", &url, "--trust", KEY]);
    server.join().unwrap();
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("nats-server 2.9.10, and 2.11 is needed"), "{said}");
    assert!(said.contains("pitot target install nats-server"), "{said}");
}

#[needs("nats-server")]
#[test]
fn without_credentials_or_with_wrong_ones_an_agent_does_not_start() {
    for (config, right, wrong) in [
        ("authorization { token: good }", "token = 'good'", "token = 'bad'"),
        (
            "authorization { user: a, password: good }",
            "user = 'a'\npassword = 'good'",
            "user = 'a'\npassword = 'bad'",
        ),
    ] {
        let bus = Bus::start(config);
        bus.secret("right.toml", right);
        bus.secret("wrong.toml", wrong);
        check(&bus);
    }
}

#[needs("nats-server")]
#[test]
fn an_agent_logs_in_with_its_nkey() {
    let maker = Bus::start("");
    for name in ["right", "wrong"] {
        let made = maker.pitot(&["bus-key", &format!("{name}.nk")]).output().unwrap();
        assert!(made.status.success());
    }
    let seed =
        |name: &str| std::fs::read_to_string(maker.path(&format!("{name}.nk"))).unwrap().trim().to_owned();
    let public = {
        let made = maker.pitot(&["bus-key", "public.nk"]).output().unwrap();
        String::from_utf8(made.stdout).unwrap().trim().to_owned()
    };
    let bus = Bus::start(&format!("authorization {{ users: [ {{ nkey: {public} }} ] }}"));
    bus.secret("right.toml", &format!("nkey = '{}'", seed("public")));
    bus.secret("wrong.toml", &format!("nkey = '{}'", seed("wrong")));
    check(&bus);
}

/// With a server that asks for TLS and a certificate of the client.
#[needs("nats-server")]
#[test]
fn an_agent_shows_its_certificate() {
    let files = Bus::start("");
    let authority = |name: &str| {
        let mut parameters = rcgen::CertificateParams::new(Vec::new()).unwrap();
        parameters.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        parameters.distinguished_name.push(rcgen::DnType::CommonName, name);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = parameters.self_signed(&key).unwrap().pem();
        (certificate, rcgen::Issuer::new(parameters, key))
    };
    let ((good, of_good), (_, of_bad)) = (authority("good"), authority("bad"));
    let leaf = |issuer: &rcgen::Issuer<'_, rcgen::KeyPair>, name: &str| {
        let key = rcgen::KeyPair::generate().unwrap();
        let parameters = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        files.secret(&format!("{name}.pem"), &parameters.signed_by(&key, issuer).unwrap().pem());
        files.secret(&format!("{name}-key.pem"), &key.serialize_pem());
    };
    files.secret("ca.pem", &good);
    leaf(&of_good, "server");
    leaf(&of_good, "right");
    leaf(&of_bad, "wrong");
    let at = |name: &str| files.path(name).display().to_string();
    let bus = Bus::start(&format!(
        "tls {{ cert_file: \"{}\", key_file: \"{}\", ca_file: \"{}\", verify: true }}",
        at("server.pem"),
        at("server-key.pem"),
        at("ca.pem")
    ));
    for name in ["right", "wrong"] {
        let of = |ending: &str| at(&format!("{name}{ending}.pem"));
        let text =
            format!("tls-ca = '{}'\ntls-cert = '{}'\ntls-key = '{}'", at("ca.pem"), of(""), of("-key"));
        bus.secret(&format!("{name}.toml"), &text);
    }
    let (code, said) = bus.refused_agent(&bus.url, &["--trust", &bus.key, "--bus-creds", "wrong.toml"]);
    assert!(code.is_some_and(|code| code > 0), "{said}");
    drop(bus.agent_with("right", &["--trust", &bus.key, "--bus-creds", "right.toml"]));
}

/// No credentials and `wrong.toml` are refused, `right.toml` is not.
fn check(bus: &Bus) {
    let trust = ["--trust", &*bus.key];
    for (credentials, what) in
        [(&[][..], "requires credentials"), (&["--bus-creds", "wrong.toml"], "refuses these credentials")]
    {
        let (code, said) = bus.refused_agent(&bus.url, &[&trust, credentials].concat());
        assert_eq!(code, Some(2), "{said}");
        assert!(said.contains(what), "{said}");
    }
    drop(bus.agent_with("right", &[&trust[..], &["--bus-creds", "right.toml"]].concat()));
    bus.assert_nothing_is_left();
}

#[needs("nats-server")]
#[test]
fn a_job_that_is_not_signed_by_a_trusted_key_starts_nothing() {
    let bus = Bus::start("");
    let agent = bus.agent_with("a", &["--trust", KEY]);
    let plan = bus.small_plan("repetitions = 1\nduration = \"100ms\"");
    let (code, said) = said(&bus.run(&plan).output().unwrap());
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("it is not signed by a trusted key"), "{said}");
    // Whoever reaches the bus can put anything there.
    let mut intruder = TcpStream::connect(bus.url.strip_prefix("nats://").unwrap()).unwrap();
    let mut lines = BufReader::new(intruder.try_clone().unwrap()).lines();
    intruder.write_all(b"CONNECT {\"verbose\":false}\r\nPUB pitot.job.r.j 5\r\nhello\r\nPING\r\n").unwrap();
    while lines.next().and_then(Result::ok).is_some_and(|line| line != "PONG") {}
    until("the job is refused", || bus.log("a").contains("refused the job r.j: it is not signed"));
    assert!(!bus.log("a").contains("begin "), "{}", bus.log("a"));
    drop(agent);
    bus.assert_nothing_is_left();
}
