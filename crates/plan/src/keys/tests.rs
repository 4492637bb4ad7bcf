//! The tables of keys against each other, against the plan, and against `docs/plans.md`.

use super::*;
use crate::Plan;
use crate::tests::catalog;

const PAGE: &str = include_str!("../../../../docs/plans.md");

/// A plan with this line at its top.
fn plan(line: &str) -> Plan {
    let text = format!("{line}\n[server]\nprotocol = \"http\"\n[factors]\nserver = [\"loop\"]\n");
    Plan::parse("p.toml", &text, &catalog()).unwrap_or_else(|e| panic!("{line}: {e}"))
}

#[test]
fn a_default_is_what_a_plan_without_the_key_has() {
    for key in PLAN {
        if let Presence::Default(text) = key.presence {
            assert_eq!(plan(&format!("{} = {text}", key.name)), plan(""), "{}", key.name);
        }
    }
}

#[test]
fn every_field_of_a_plan_has_its_key() {
    // A new field does not compile until it is named here, with the key that sets it.
    let Plan {
        name: _, // the file's
        folder: _,
        title: _,
        question: _,
        notes: _,
        measure: _,
        generations: _,
        until_decided_s: _,
        slices: _,
        slice_s: _,
        repetitions: _,
        warmup_s: _,
        duration_s: _,
        order: _,
        seed: _,
        statistic: _,
        tolerance: _,
        metric: _,
        baseline: _,
        replies: _,
        needs: _,
        columns: _,
        charts: _,
        factors: _,
        server: _,
        target: _,
        load: _,
        program: _, // `load.program`
        helpers: _,
        servers: _,
        settings: _,
        kernels: _,
        files: _,
        faults: _,
        has_resolver: _, // follows from the faults
        keeps: _,
        soak: _,
        exclude: _,
        published: _,
        ready_timeout_s: _,
        stop_timeout_s: _,
        server_cpus: _,
        load_cpus: _,
        hosts: _,
        server_host: _,
        load_hosts: _,
    } = Plan::default();
    let fields = serde_json::to_value(Plan::default()).unwrap();
    let of_no_key = ["name", "folder", "program", "server-host", "load-hosts"];
    let without_unit = |field: &str| field.strip_suffix("-s").unwrap_or(field).to_owned();
    let mut fields: Vec<String> = fields
        .as_object()
        .unwrap()
        .keys()
        .filter(|field| !of_no_key.contains(&field.as_str()))
        .map(|field| without_unit(field))
        .collect();
    let mut names: Vec<&str> = PLAN.iter().map(|key| key.name).collect();
    fields.sort();
    names.sort_unstable();
    assert_eq!(names, fields);
}

#[test]
fn keys_are_unique_and_documented_and_old_names_are_gone() {
    fn check<T>(keys: &[Key<T>]) {
        for (i, key) in keys.iter().enumerate() {
            assert!(keys[..i].iter().all(|other| other.name != key.name), "{}", key.name);
            assert!(key.doc.ends_with('.'), "{}", key.name);
        }
    }
    check(PLAN);
    check(EXTERNAL);
    check(HOST);
    check(KERNEL);
    check(FAULT);
    check(SOAK);
    check(EXCLUSION);
    check(PUBLISHED);
    check(PUBLISHED_VALUE);
    for (old, new) in RENAMED {
        assert!(PLAN.iter().any(|key| key.name == *new) && PLAN.iter().all(|key| key.name != *old));
    }
}

/// What a key takes, as a reader of the page writes it.
fn takes<T>(kind: &Kind<T>) -> String {
    match kind {
        Kind::Text(_) => "a text".into(),
        Kind::Texts(_) => "a text, or a list".into(),
        Kind::Command(_) => "a command".into(),
        Kind::Variables(_) => "texts by name".into(),
        Kind::Count { least, most: i64::MAX, .. } => format!("a number from {least}"),
        Kind::Count { least, most, .. } => format!("a number from {least} to {most}"),
        Kind::Number(_) => "a number".into(),
        Kind::Duration { .. } => "a duration: `\"500ms\"`".into(),
        Kind::Share(_) => "a share: `\"5%\"`, `0.05`".into(),
        Kind::Choice { words, .. } => {
            let plain = words.iter().filter(|word| !word.starts_with("SIG"));
            plain.map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
        }
        Kind::Statistic(_) => "`\"median\"`, `\"trimmed-mean(1)\"`".into(),
        Kind::Metric(_) => "a metric".into(),
        Kind::Metrics(_) => "a list of metrics".into(),
        Kind::Charts(_) => "a list of charts".into(),
        Kind::Cpus(_) => "CPUs: `\"0-3,8\"`".into(),
        Kind::CpusOrAll(_) => "CPUs: `\"0-3,8\"`, or `\"all\"`".into(),
        Kind::Levels(..) => "levels".into(),
        Kind::Files(_) => "contents by path".into(),
        Kind::Ready(_) => "`\"port\"`, `{ get = \"/\" }`, `{ line = \"...\" }`".into(),
        Kind::Structure(shape, _) => match shape {
            Shape::Server | Shape::Target | Shape::Load => "a table of options".into(),
            Shape::Helpers | Shape::Servers | Shape::SettingSets | Shape::Hosts | Shape::Kernels => {
                "tables by name".into()
            }
            Shape::Factors | Shape::Soak => "a table".into(),
            Shape::Faults | Shape::Exclusions | Shape::Published | Shape::PublishedValues => {
                "a list of tables".into()
            }
        },
    }
}

/// The table of the page.
fn rendered<T>(keys: &[Key<T>]) -> String {
    let mut text = "| key | takes | default | meaning |\n|---|---|---|---|\n".to_owned();
    for key in keys {
        let default = match key.presence {
            Presence::Required(_) => "required".to_owned(),
            Presence::Default(value) => format!("`{value}`"),
            Presence::Optional => String::new(),
        };
        text.push_str(&format!("| `{}` | {} | {default} | {} |\n", key.name, takes(&key.kind), key.doc));
    }
    text
}

#[test]
fn the_page_on_plans_has_the_tables_of_the_keys() {
    for table in [rendered(PLAN), rendered(EXTERNAL), rendered(FAULT), rendered(SOAK), rendered(PUBLISHED)] {
        assert!(PAGE.contains(&table), "docs/plans.md lacks, or has in another form:\n{table}");
    }
}
