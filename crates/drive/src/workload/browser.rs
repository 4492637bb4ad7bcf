use super::entry::{Role, WorkloadEntry};
use super::lifecycle::{ConnectAt, Group, Lifecycle, Usage};
use crate::growth::Growth;

pub(super) const ENTRY: WorkloadEntry = WorkloadEntry {
    name: "browser",
    summary: "users who read pages, each over a few connections (--browser)",
    doc: "-c is the number of users. Each gets a page, one of the paths of the run, finds the images, scripts, style \
          sheets and frames in it, gets those of the same host over at most CONNECTIONS persistent connections of its \
          own, or on the streams of one over HTTP/2, thinks (--think), and gets the next page. -n and -R count pages. Nothing is kept from one page to the \
          next unless --browser-cache is given.",
    role: Role::Active,
    requested: |options| options.browser.is_some(),
    group: |options| {
        if options.churn.is_some() || options.storm {
            return Err("--browser opens connections as pages need them: it cannot be combined with --churn or --storm"
                .into());
        }
        let connections = match options.browser {
            Some(n @ 1..=256) => n as u16,
            n => return Err(format!("--browser takes 1 to 256 connections, not {}", n.unwrap_or_default())),
        };
        if options.requests_per_connection == Some(0) {
            return Err("a connection must carry at least one request".into());
        }
        let users = match &options.user_stages {
            Some(stages) => Growth::parse(stages)?.most(),
            None => options.connections,
        };
        Ok(Group {
            connections: users * u64::from(connections),
            unit: u64::from(connections),
            lifecycle: Lifecycle {
                connect_at: ConnectAt::OnDemand,
                requests_max: options.requests_per_connection.unwrap_or(u64::MAX),
                churn_rate: 0.0,
                usage: Usage::Pages { connections, cache: options.browser_cache },
            },
        })
    },
};
