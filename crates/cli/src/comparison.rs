//! A comparison described by options: `pitot run --server ... --url ...`.
//!
//! The options become the text of a plan, which the run file holds, and which `pitot init` writes to a file.

mod options;
mod reference;
mod server;
mod text;
mod tls;

use pitot_plan::{Catalog, Plan};
use pitot_results::Failure;

pub(crate) use options::{Comparison, Folder, Measured};
pub(crate) use reference::{REFERENCE, REFERENCE_KEY, version_by_content};
use server::named;
pub(crate) use server::{split_name, with_role};
pub(crate) use text::in_folder;

/// The name of a plan that is made of options.
pub(crate) const NAME: &str = "comparison";

impl Comparison {
    pub(crate) fn is_given(&self) -> bool {
        !self.servers.is_empty()
    }

    /// Refuses options of a comparison without `--server`. (clap cannot: it drops the requirement if a plan is named.)
    ///
    /// # Errors
    /// If there are such options.
    pub(crate) fn check_servers(&self) -> Result<(), Failure> {
        let given = self.measured.given().into_iter();
        let own = [
            ("--reference", self.reference.is_some()),
            ("--metric", self.metric.is_some()),
            ("--tolerance", self.tolerance.is_some()),
            ("--baseline", self.baseline.is_some()),
            ("--duration", self.duration.is_some()),
        ];
        let mut given = given.chain(own.iter().filter(|(_, given)| *given).map(|(option, _)| *option));
        match given.next().filter(|_| self.servers.is_empty()) {
            None => Ok(()),
            Some(option) => Err(Failure::misuse(
                format!("{option} needs --server"),
                "name the servers with --server, or set it in the plan",
            )),
        }
    }

    /// The plan, as text with comments.
    ///
    /// # Errors
    /// If an option is wrong, in terms of the command line.
    pub(crate) fn plan_text(
        &self,
        repetitions: Option<u32>,
        catalog: &Catalog,
        folder: Folder<'_>,
    ) -> Result<String, Failure> {
        let servers = match &self.reference {
            None => named(&self.servers, catalog)?,
            Some(reference) => {
                let last = format!("{REFERENCE}={reference}");
                named(&self.servers.iter().cloned().chain([last]).collect::<Vec<_>>(), catalog)?
            }
        };
        let text = text::plan(self, &servers, repetitions, catalog, folder)?;
        // There is no file for a line number.
        match Plan::parse(NAME, &text, catalog) {
            Ok(_) => Ok(text),
            Err(error) => Err(Failure::misuse(error.what, error.fix)),
        }
    }

    pub(crate) fn of(
        servers: &[String],
        url: Option<&str>,
        connections: u32,
        rate: Option<&str>,
    ) -> Comparison {
        Comparison {
            servers: servers.to_vec(),
            measured: Measured {
                url: url.map(str::to_owned),
                connections: Some(connections.to_string()),
                rate: rate.map(str::to_owned),
                ..Measured::default()
            },
            ..Comparison::default()
        }
    }

    /// A working example to edit.
    pub(crate) fn example() -> Comparison {
        let servers = ["loop+epoll-et", "thread"].map(str::to_owned).to_vec();
        Comparison { servers, ..Comparison::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As on a machine that has every target.
    fn catalog() -> Catalog {
        let mut catalog = crate::catalog::catalog().unwrap();
        catalog.targets.iter_mut().for_each(|word| word.unavailable = None);
        catalog
    }

    fn comparison(servers: &[&str]) -> Comparison {
        Comparison { servers: servers.iter().map(|s| (*s).to_owned()).collect(), ..Comparison::default() }
    }

    fn with(servers: &[&str], measured: Measured) -> Comparison {
        Comparison { measured, ..comparison(servers) }
    }

    fn text(comparison: &Comparison) -> String {
        comparison.plan_text(None, &catalog(), Folder::Here).unwrap()
    }

    fn plan(comparison: &Comparison) -> Plan {
        Plan::parse("p.toml", &text(comparison), &catalog()).unwrap()
    }

    fn refusal(comparison: &Comparison) -> String {
        let failure = comparison.plan_text(None, &catalog(), Folder::Here).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        format!("{}\n{}", failure.what, failure.fix)
    }

    #[test]
    fn what_counts_as_a_reply_and_as_ready_can_be_said() {
        let of = with(
            &["./a {address}", "./b {address}"],
            Measured {
                expect_status: Some("2xx".into()),
                replies: Some("may-differ".into()),
                warmup: Some("3s".into()),
                ready_timeout: Some("30s".into()),
                ..Measured::default()
            },
        );
        for of in [of.clone(), Comparison { duration: Some("1s".into()), ..of }] {
            let plan = plan(&of);
            assert_eq!((plan.warmup_s, plan.ready_timeout_s), (3.0, 30.0));
            assert_eq!(plan.replies, pitot_plan::Replies::MayDiffer);
            assert!(text(&of).contains("expect-status = \"2xx\""), "{}", text(&of));
        }
    }

    #[test]
    fn options_become_a_plan_with_a_cell_for_each_server() {
        let measured = Measured {
            url: Some("http://{address}/a/b.html?x=1".into()),
            connections: Some("16,256".into()),
            threads: Some(2),
            load_options: vec!["header=Accept: text/html".into(), "timeout=2s".into()],
            ..Measured::default()
        };
        let of = Comparison {
            baseline: Some("nginx".into()),
            ..with(&["./go {address}", "nginx", "loop+epoll-et", "old='/opt/my app' -p {port}"], measured)
        };
        let plan = plan(&of);
        let host = pitot_plan::HostLimits { descriptors: 20_000, missing: Vec::new() };
        let (cells, skips) = pitot_plan::expand(&plan, &catalog(), &host);
        assert!(skips.is_empty(), "{skips:?}");
        let labels: Vec<String> = cells.iter().map(|cell| cell.label()).collect();
        let servers = ["go", "nginx", "loop+epoll-et", "old"];
        let wanted: Vec<String> =
            servers.iter().flat_map(|s| [format!("{s}, 16"), format!("{s}, 256")]).collect();
        assert_eq!(labels, wanted);
        let at = pitot_plan::Placement {
            pitot: "pitot".into(),
            address: "127.0.0.1:1".into(),
            dir: "/d".into(),
            server_cpus: "0".into(),
            load_cpus: "1".into(),
            helpers: Vec::new(),
        };
        assert_eq!(cells[0].server_argv(&at), ["./go", "127.0.0.1:1"]);
        assert_eq!(cells[6].server_argv(&at), ["/opt/my app", "-p", "1"]);
        assert!(cells[2].files.iter().any(|f| f.path == "html/a/b.html"), "nginx has the file of the URL");
        assert!(cells[4].server_argv(&at).join(" ").contains("--root /d/html"));
        let load = cells[0].load_argv(&plan, plan.warmup_s, &at).join(" ");
        assert!(load.contains("http://127.0.0.1:1/a/b.html?x=1 "), "{load}");
        for part in ["--threads 2", "--header Accept: text/html", "--timeout 2s", "--connections 16"] {
            assert!(load.contains(part), "{part} in {load}");
        }
        assert!(plan.baseline.unwrap().0[0].1 == ["nginx"]);
    }

    #[test]
    fn everything_takes_less_than_a_minute() {
        for servers in 1..=6 {
            let all = ["loop", "thread", "fork", "prefork", "tokio", "hybrid"];
            let plan = plan(&comparison(&all[..servers]));
            let prepared =
                pitot_lab::prepare(plan, String::new(), &catalog(), pitot_lab::Where::Here).unwrap();
            let (seconds, generations) = (prepared.estimate_s(), prepared.plan.generations.unwrap());
            assert!(seconds < 55.0, "{servers}: {seconds}");
            assert!(generations >= 6, "fewer decide nothing");
        }
    }

    #[test]
    fn one_server_is_a_measurement_without_a_comparison() {
        let plan = plan(&comparison(&["loop"]));
        assert_eq!(plan.baseline, None);
    }

    #[test]
    fn https_gives_the_servers_of_pitot_and_nginx_a_certificate_that_the_load_takes() {
        let measured = Measured {
            url: Some("https://{address}/a.html".into()),
            load_options: vec!["tls-resume=off".into(), "requests-per-connection=1".into()],
            ..Measured::default()
        };
        let of = with(&["loop+epoll-et", "nginx", "./own {address}"], measured);
        let (plan, text) = (plan(&of), text(&of));
        let load = plan.load.get("insecure").unwrap().to_string();
        assert_eq!(
            (load.as_str(), plan.load.get("tls-resume").unwrap().to_string().as_str()),
            ("true", "off")
        );
        assert_eq!(plan.server.get("tls").unwrap().to_string(), "{dir}/cert.pem");
        let host = pitot_plan::HostLimits { descriptors: 20_000, missing: Vec::new() };
        let (cells, _) = pitot_plan::expand(&plan, &catalog(), &host);
        let nginx = cells.iter().find(|cell| cell.label() == "nginx").unwrap();
        assert!(format!("{:?}", nginx.files).contains("ssl_certificate cert.pem"), "{nginx:?}");
        assert!(text.contains("\"html/a.html\" = ") && text.contains("BEGIN PRIVATE KEY"), "{text}");
        let measured = Measured {
            url: Some("https://{address}/".into()),
            load_options: vec!["tls-ca=ca.pem".into()],
            ..Measured::default()
        };
        let own = with(&["./own {address}"], measured);
        let of_own = self::plan(&own);
        assert!(of_own.load.get("insecure").is_none() && of_own.server.get("tls").is_none());
    }

    #[test]
    fn a_rate_makes_latency_the_question() {
        let plan =
            plan(&with(&["loop", "thread"], Measured { rate: Some("5k".into()), ..Measured::default() }));
        assert_eq!(plan.metric, "latency-p99");
    }

    #[test]
    fn caches_are_asked_in_their_own_protocol() {
        let plan = plan(&comparison(&["memcached", "redis", "loop+epoll-et"]));
        assert_eq!(plan.server.get("protocol").unwrap().to_string(), "memcache");
        assert!(plan.load.get("url").unwrap().to_string().starts_with("memcache://"));
    }

    #[test]
    fn mistakes_are_told_in_words_of_the_command_line() {
        let with_url = |url: &str| with(&["loop"], Measured { url: Some(url.into()), ..Measured::default() });
        for (of, what, fix) in [
            (comparison(&["./go"]), "`./go` has no address to listen on", "{address}"),
            (comparison(&["ngnix"]), "`ngnix` is not a server that Pitot can start", "did you mean `nginx`?"),
            (
                comparison(&["loop+epol-et"]),
                "`loop+epol-et` is not a server",
                "did you mean `loop+epoll-et`?",
            ),
            (comparison(&["./go {address} | tee log"]), "shell", "sh -c"),
            (comparison(&["./go '{address}"]), "quote", "close"),
            (comparison(&["./go {address} \\"]), "backslash", "omit"),
            (
                comparison(&["./go {adress}"]),
                "`{adress}` in `./go {adress}`",
                "write {address}: './go {address}'",
            ),
            (comparison(&["./go -p{Prot}"]), "is unknown", "write {port}: './go -p{port}'"),
            (comparison(&["loop", "loop"]), "two servers are called `loop`", "NAME=loop"),
            (comparison(&["a=loop", "a=./go {port}"]), "two servers are called `a`", "'NAME=./go {port}'"),
            (comparison(&["FOO=1 ./go {address}"]), "`FOO=1`", "env FOO=1"),
            (comparison(&["loops --workers 2"]), "`loops`", "pitot init"),
            (with_url("http://127.0.0.1:8080/"), "has a fixed address", "http://{address}/"),
            (with_url("{address}/"), "is not a URL", "http://{address}/"),
            (with_url("gopher://{address}/"), "gopher://", "http"),
            (with_url("smtps://{address}/"), "`loop` is a server of Pitot", "another protocol"),
            (
                with(
                    &["memcached"],
                    Measured { url: Some("memcaches://{address}/".into()), ..Measured::default() },
                ),
                "`memcached` has no TLS configuration",
                "your own command",
            ),
            (
                with(
                    &["loop"],
                    Measured {
                        load_options: vec!["tls-ca=a.pem".into()],
                        url: Some("https://{address}/".into()),
                        ..Measured::default()
                    },
                ),
                "`loop` uses a certificate of Pitot",
                "omit tls-ca",
            ),
            (
                Comparison { baseline: Some("nginx".into()), ..comparison(&["loop", "thread"]) },
                "`nginx` is not one of the servers",
                "loop, thread",
            ),
            (
                with(&["loop"], Measured { load_options: vec!["timeuot=1s".into()], ..Measured::default() }),
                "`timeuot` is not an option of `pitot load`",
                "did you mean `timeout`?",
            ),
            (
                Comparison { metric: Some("speed".into()), ..comparison(&["loop"]) },
                "`speed` is not a metric",
                "",
            ),
            (
                with(&["loop"], Measured { connections: Some("12,".into()), ..Measured::default() }),
                "`12,` is not a list of numbers",
                "16,256",
            ),
        ] {
            let told = refusal(&of);
            assert!(told.contains(what) && told.contains(fix), "{what}; {fix}: {told}");
        }
    }

    #[test]
    fn a_plan_that_stands_elsewhere_leads_to_the_directory_of_the_command() {
        let of = comparison(&["./go {address}", "node app.js {port}"]);
        let text = of.plan_text(None, &catalog(), Folder::Elsewhere("/srv/app")).unwrap();
        assert!(text.contains("command = [\"/srv/app/go\", \"{address}\"]"), "{text}");
        assert_eq!(text.matches("cwd = \"/srv/app\"").count(), 2, "{text}");
        let text = of.plan_text(None, &catalog(), Folder::Here).unwrap();
        assert!(text.contains("command = [\"./go\", \"{address}\"]") && text.contains("cwd = \"{plan}\""));
        assert!(text.contains("[servers.app]"), "named after the script: {text}");
    }

    #[test]
    fn the_example_of_init_is_a_sound_plan() {
        let text = text(&Comparison::example());
        assert!(text.contains("[servers.NAME]"), "it shows how to define a server: {text}");
    }
}
