//! Options for connections that behave as a browser's do: cookies and redirects.

use std::time::SystemTime;

use clap::Args;
use pitot_client::VisitOptions;

#[derive(Debug, Args)]
pub(super) struct Visit {
    /// Keep the cookies that replies set, separately for each connection or stream of HTTP/2, and send them back: name,
    /// value and Path; Max-Age=0, and an Expires in the past, delete. They outlive the TCP connections that replace each other. Each
    /// connection begins with the Cookie header of -H.
    #[arg(long, help_heading = "Requests")]
    cookies: bool,
    /// Follow up to N redirects in a row, on the same connection and to the same host. The request ends with the last reply, which
    /// alone is counted and checked; the summary has the number of redirects. A redirect to another host, beyond N, or that
    /// closes the connection counts as a reply.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true, help_heading = "Requests")]
    follow: u16,
}

impl Visit {
    pub(super) fn options(&self) -> VisitOptions {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        VisitOptions { cookies: self.cookies, follow: self.follow, now_s: now.as_secs() }
    }
}
