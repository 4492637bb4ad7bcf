//! The tables of keys against each other and against the plan.

use super::*;
use crate::Plan;
use crate::tests::catalog;

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
        time_was_over: _, // of a run
        slices: _,
        slice_s: _,
        repetitions: _,
        warmup_s: _,
        duration_s: _,
        untimed_s: _, // `duration`
        order: _,
        seed: _,
        statistic: _,
        tolerance: _,
        metric: _,
        baseline: _,
        reference: _,
        replies: _,
        profile: _,
        labels: _,
        needs: _,
        columns: _,
        charts: _,
        left_out: _,
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
        durability: _,
        soak: _,
        exclude: _,
        published: _,
        claim: _,
        ready_timeout_s: _,
        stop_timeout_s: _,
        server_cpus: _,
        load_cpus: _,
        hosts: _,
        server_host: _,
        load_hosts: _,
    } = Plan::default();
    let fields = serde_json::to_value(Plan::default()).unwrap();
    let of_no_key = ["name", "folder", "program", "server-host", "load-hosts", "untimed-s"];
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
    check(CLAIM);
    for (old, new) in RENAMED {
        assert!(PLAN.iter().any(|key| key.name == *new) && PLAN.iter().all(|key| key.name != *old));
    }
}
