//! Settings on the command line, and the plans in which they are tried.

use pitot_host::Machine;
use pitot_host::journal::{self, Wanted};
use pitot_host::setting::{self, Change, expand, same};
use pitot_lab::{Prepared, Where, prepare};
use pitot_plan::{AS_FOUND, Catalog, Factor, Levels, Plan, SETTINGS_FACTOR, SettingSet, SkipKind, Value};
use pitot_results::{Failure, stderr};

use crate::plan_text::PlanText;

/// What is loaded where no plan is named: small replies on connections that stay open.
const PLAN: &str = r#"
slices = 8
[server]
protocol = "http"
[load]
url = "http://{address}/bytes/1024"
connections = 64
[factors]
server = ["loop+epoll-et"]
"#;

/// `KEY=VALUE` of this machine.
///
/// # Errors
/// If it is no setting, or this user may not set it; or if nothing would change.
pub(super) fn checked(words: &[String]) -> Result<Vec<(String, String)>, Failure> {
    let machine = Machine::here();
    let mut settings = Vec::new();
    let mut already = Vec::new();
    for word in words {
        let (key, value) = word.split_once('=').ok_or_else(|| {
            Failure::misuse(
                format!("`{word}` is not a setting with a value"),
                "write KEY=VALUE, such as net.ipv4.tcp_timestamps=0",
            )
        })?;
        let changes = expand(&machine, key.trim(), value)?;
        let wanted: Vec<Wanted> = changes
            .into_iter()
            .map(|change| Wanted { change, by: String::new(), is_required: true })
            .collect();
        journal::check(&machine, &wanted)?;
        let (key, value) = (key.trim(), value.trim());
        if wanted.iter().all(|want| is_so(&machine, &want.change)) {
            already.push(format!("{key} is {value} already"));
        }
        settings.push((key.to_owned(), value.to_owned()));
    }
    if already.len() == words.len() {
        return Err(Failure::misuse(already.join("; "), "try another value"));
    }
    for what in already {
        stderr::line(format_args!("note: {what}, and is not changed"));
    }
    Ok(settings)
}

/// Whether the machine has this value.
pub(super) fn is_so(machine: &Machine, change: &Change) -> bool {
    let value = setting::of(&change.key).and_then(|kind| kind.read(machine, &change.key).ok());
    value.is_some_and(|value| same(&value, &change.value))
}

/// A plan in which sets of settings are a factor: that of the name, or one of small replies. What is found comes first,
/// and is the baseline.
pub(super) fn plan_with(
    name: Option<&str>,
    sets: Vec<SettingSet>,
    catalog: &Catalog,
) -> Result<(Plan, String), Failure> {
    let (mut plan, text) = match name {
        Some(name) => {
            let source = PlanText::of(name)?;
            (source.parse(catalog)?, source.text)
        }
        None => (Plan::parse("tune.toml", PLAN, catalog)?, PLAN.to_owned()),
    };
    if plan.factors.iter().any(|factor| factor.name == SETTINGS_FACTOR) {
        return Err(Failure::misuse(
            format!("the plan {} varies settings itself", plan.name),
            "run it with pitot run, or name a plan without the factor `settings`",
        ));
    }
    let levels = std::iter::once(AS_FOUND).chain(sets.iter().map(|set| set.name.as_str()));
    let levels = levels.map(|name| Value::Text(name.to_owned())).collect();
    plan.factors.push(Factor { name: SETTINGS_FACTOR.to_owned(), levels });
    plan.baseline = Some(Levels(vec![(SETTINGS_FACTOR.to_owned(), vec![AS_FOUND.to_owned()])]));
    plan.settings = sets;
    // What others have published holds of servers, not of settings.
    plan.published.clear();
    plan.charts.clear();
    Ok((plan, text))
}

/// A plan made ready; whoever names settings wants all of it measured.
pub(super) fn ready(plan: Plan, text: String, catalog: &Catalog) -> Result<Prepared, Failure> {
    let prepared = prepare(plan, text, catalog, Where::Here)?;
    match prepared.skips.iter().find(|skip| skip.kind == SkipKind::Setting) {
        Some(skip) => Err(Failure::misuse(skip.reason.clone(), skip.kind.fix())),
        None => Ok(prepared),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_set_already_is_not_tried() {
        let now = std::fs::read_to_string("/proc/sys/net/core/somaxconn").unwrap();
        let machine = Machine::here();
        let change = |value: &str| expand(&machine, "net.core.somaxconn", value).unwrap().remove(0);
        assert!(is_so(&machine, &change(now.trim())) && !is_so(&machine, &change("77")));
        // Where the user may not set it at all, that is what is said.
        let failure = checked(&[format!("net.core.somaxconn={}", now.trim())]).unwrap_err();
        assert_eq!(failure.exit_code(), 2);
        let may = journal::check(
            &machine,
            &[Wanted { change: change("77"), by: String::new(), is_required: true }],
        );
        if may.is_ok() {
            assert_eq!(failure.what, format!("net.core.somaxconn is {} already", now.trim()));
        }
    }
}
