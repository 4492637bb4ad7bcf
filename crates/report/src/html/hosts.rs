//! The hosts of a run, side by side.

use std::fmt::Write as _;

use pitot_record::HostRecord;

use super::changes::changes_table;
use crate::escape::escape;
use crate::hosts::{are_alike, changes, rows};

/// A table of the facts in which hosts differ, what changed on each during the run; nothing if there are no hosts.
pub(super) fn hosts(hosts: &[HostRecord]) -> String {
    if hosts.is_empty() {
        return String::new();
    }
    let mut html = String::from(
        "<h3>The hosts</h3><div class=\"scroll\"><table class=\"wrap\"><caption>Facts in which the hosts differ</caption><thead><tr><th scope=\"col\">fact</th>",
    );
    for host in hosts {
        let _ = write!(html, "<th scope=\"col\">{}</th>", escape(&host.name));
    }
    html.push_str("</tr></thead><tbody>");
    for row in rows(hosts) {
        html.push_str("<tr>");
        for (column, field) in row.into_iter().enumerate() {
            let _ = match column {
                0 => write!(html, "<th scope=\"row\">{}</th>", escape(&field)),
                _ => write!(html, "<td>{}</td>", escape(&field)),
            };
        }
        html.push_str("</tr>");
    }
    html.push_str("</tbody></table></div>");
    if are_alike(hosts) {
        html.push_str("<p class=\"under\">In all other facts they are alike.</p>");
    }
    for host in hosts {
        let changes = changes(host);
        if !changes.is_empty() {
            let _ = write!(html, "<h3>Changed on {} during the run</h3>", escape(&host.name));
            html.push_str(&changes_table(&changes, "before", "after"));
        }
    }
    html
}

#[cfg(test)]
mod tests {
    use pitot_host::Fingerprint;

    use super::*;

    #[test]
    fn hosts_stand_side_by_side_where_they_differ() {
        let host = |name: &str, governor: &str, after: &str| {
            let print = |governor: &str| {
                let mut print = Fingerprint::default();
                print.push("cpu", "governor", governor);
                print.push("cpu", "model", "same");
                print
            };
            HostRecord {
                name: name.into(),
                does: "load".into(),
                facts: print(governor),
                facts_after: Some(print(after)),
                ..HostRecord::default()
            }
        };
        assert_eq!(hosts(&[]), "");
        let html = hosts(&[host("b", "performance", "performance"), host("c<", "powersave", "ondemand")]);
        assert!(
            html.contains("<th scope=\"row\">cpu governor</th><td>performance</td><td>powersave</td>"),
            "{html}"
        );
        assert!(!html.contains("same") && html.contains("c&lt;"), "{html}");
        assert!(html.contains("Changed on c&lt;") && !html.contains("Changed on b"), "{html}");
    }
}
