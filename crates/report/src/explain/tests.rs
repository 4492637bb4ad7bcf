use pitot_meter::stack::Frame;
use pitot_record::{Profile, ProfileEntry};

use super::Explained;
use super::found::{Costs, Whole, found, of_equal_totals, stacks};
use super::key::{Key, Kind, keys};

fn profile(cpu_ns: u64, stacks: &[(&str, u64)]) -> Profile {
    let entry = |(stack, count): &(&str, u64)| ProfileEntry { name: (*stack).into(), count: *count, ns: 0 };
    Profile { requests: 100, cpu_ns, entries: stacks.iter().map(entry).collect(), ..Profile::default() }
}

fn costs(profiles: &[(Profile, Profile)]) -> Vec<(Costs, Costs)> {
    let of = |profile| Costs::of(profile).unwrap();
    profiles.iter().map(|(base, own)| (of(base), of(own))).collect()
}

#[test]
fn time_is_that_of_a_function_and_what_it_calls() {
    let costs = Costs::of(&profile(
        1_000_000,
        &[("a`main;a`f;a`f", 50), ("a`main;kernel`__x64_sys_write", 25), ("lib`?;kernel`clear_page", 25)],
    ));
    let costs = costs.unwrap();
    let of = |kind, name: &str| costs.of.get(&Key { kind, name: name.to_owned() }).copied();
    assert_eq!((of(Kind::Function, "main"), of(Kind::Function, "f")), (Some(7_500.0), Some(5_000.0)));
    assert_eq!(
        (of(Kind::Call, "write"), of(Kind::Function, "lib (no symbols)")),
        (Some(2_500.0), Some(2_500.0))
    );
    let key = |frame: &str| Key::of(Frame::parse(frame));
    let of_caller: Vec<Key> = keys("a`main;lib`?;kernel`do_syscall_64").collect();
    assert_eq!(of_caller, [key("a`main")], "a function without a name is its caller's");
    assert_eq!(key("kernel`asm_exc_page_fault"), key("kernel`exc_page_fault"));
    let jumped = keys("a`writev;kernel`do_syscall_64;kernel`do_writev;kernel`do_iter_readv_writev");
    let kinds: Vec<_> = jumped.map(|key| (key.kind, key.name)).collect();
    assert_eq!(kinds[1], (Kind::Call, "writev".to_owned()));
    assert_eq!(kinds[2].0, Kind::Kernel);
    assert!(Costs::of(&profile(0, &[("a`main", 1)])).is_none());
}

#[test]
fn what_explains_the_difference_is_found_below_its_callers() {
    let generation = |noise: u64| {
        let base = profile(
            1_000_000,
            &[("a`main;a`serve;a`copy", 20 + noise), ("a`main;a`serve;a`parse", 80 - noise)],
        );
        let own = profile(
            1_500_000,
            &[("b`main;b`serve;b`copy", 70 + noise), ("b`main;b`serve;b`parse", 80 - noise)],
        );
        (base, own)
    };
    let profiles: Vec<_> = (0..10).map(|n| generation(n % 3)).collect();
    let found = found(&costs(&profiles), 5_000.0, Whole::Difference, &stacks(&profiles));
    assert_eq!(found.iter().map(|e| e.key.name.as_str()).collect::<Vec<_>>(), ["copy"]);
    assert!((found[0].share - 1.0).abs() < 0.1 && found[0].difference.interval.low > 4_000.0, "{found:?}");
}

#[test]
fn what_is_new_comes_before_what_is_only_slower() {
    let generation = |n: u64| {
        let base =
            profile(1_000_000, &[("a`main;a`work", 60 + n), ("a`main;kernel`__x64_sys_write", 40 - n)]);
        let own =
            [("a`main;a`work", 60 + n), ("a`main;a`added", 12), ("a`main;kernel`__x64_sys_write", 58 - n)];
        (base, profile(1_300_000, &own))
    };
    let profiles: Vec<_> = (0..10).map(|n| generation(n % 3)).collect();
    let found = found(&costs(&profiles), 3_000.0, Whole::Difference, &stacks(&profiles));
    assert_eq!(found.iter().map(|e| e.key.name.as_str()).collect::<Vec<_>>(), ["added", "write"]);
    assert!(found[0].share < found[1].share, "{found:?}");
}

#[test]
fn what_makes_up_for_most_of_a_difference_is_named() {
    let pair = |n: u64| {
        let base =
            profile(1_000_000, &[("a`main;a`interpret", 60 + n), ("a`main;kernel`__x64_sys_read", 40 - n)]);
        let own = profile(900_000, &[("b`start;b`run", 86 + n), ("b`start;kernel`__x64_sys_read", 4)]);
        (base, own)
    };
    let pairs: Vec<_> = (0..10).map(|n| pair(n % 3)).collect();
    let explained = Explained::of("own".into(), "base".into(), "request", &pairs).unwrap();
    assert_eq!(explained.found[0].key.name, "interpret");
    assert_eq!(explained.against.as_ref().map(|e| e.key.name.as_str()), Some("run"));
    assert!(explained.found.iter().all(|e| e.share > 0.0), "{:?}", explained.found);
    let said = explained.sentence();
    assert!(said.contains("; against that stands `run` (+"), "{said}");
}

#[test]
fn a_generation_that_is_disturbed_does_not_hide_a_difference() {
    let pair = |n: u64| {
        // In one of eight generations everything takes seven times as long.
        let factor = if n == 4 { 7 } else { 1 };
        let base = profile(1_000_000 * factor, &[("a`main;a`serve", 80)]);
        let own = profile((1_200_000 + 5_000 * n) * factor, &[("b`main;b`serve", 80), ("b`main;b`copy", 16)]);
        (base, own)
    };
    let pairs: Vec<_> = (0..8).map(pair).collect();
    let explained = Explained::of("own".into(), "base".into(), "request", &pairs).unwrap();
    assert_eq!((explained.whole, explained.found[0].key.name.as_str()), (Whole::Difference, "copy"));
}

#[test]
fn where_totals_are_equal_shares_are_compared() {
    let generation = |n: u64| {
        // What disturbs a generation is far more than what `hash` takes.
        let noise = 1_000_000 + 200_000 * (n % 5);
        let base = profile(noise, &[("a`main;a`hash", 20 + n % 2), ("a`main;a`serve", 980 - n % 2)]);
        let own = profile(1_400_000 - 200_000 * (n % 3), &[("a`main;a`hash", 25), ("a`main;a`serve", 975)]);
        (base, own)
    };
    let profiles: Vec<_> = (0..30).map(generation).collect();
    let (pairs, time) = of_equal_totals(costs(&profiles));
    let found = found(&pairs, time, Whole::Time, &stacks(&profiles));
    assert_eq!(found[0].key.name, "hash");
    assert!((found[0].share - 0.0045).abs() < 0.0002, "{found:?}");
}
