//! Selects other loads that could change the answer.

use pitot_meter::Nanos;

use super::case::Case;
use super::contenders::{Choice, Contender, Family, choose};
use super::plan::Axis;

/// Connections are varied by this factor, down and up.
const STEP: u64 = 4;
/// Work is varied by this factor, down or up.
const WORK_STEP: u64 = 10;
/// Work of a dynamic page, for a description without work.
const SOME_WORK: Nanos = Nanos::from_micros(200);
/// Above this, less work is probed instead of more, since it dominates already.
const MUCH_WORK: Nanos = Nanos::from_millis(1);
/// Number of servers at other loads.
const ENTRANTS_MAX: usize = 3;

/// Other levels of one axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// What is varied.
    pub axis: Axis,
    /// The levels, ascending, without that of the description.
    pub levels: Vec<u64>,
    /// Why a level is limited, if so.
    pub note: Option<String>,
}

/// The probes of a case. A process may have `descriptors`, which bounds its connections.
pub fn probes(case: &Case, descriptors: u64) -> Vec<Probe> {
    let mut probes = Vec::new();
    let axis = if case.idle() > case.active { Axis::Idle } else { Axis::Active };
    let level = axis.level(case);
    let most = descriptors.saturating_sub(SPARE + case.connections - level);
    let wanted = level * STEP;
    let note = (wanted > most).then(|| {
        format!(
            "{} were not possible: a process may open {descriptors} file descriptors here",
            pitot_meter::units::grouped(wanted)
        )
    });
    let higher = Some(wanted.min(most)).filter(|&higher| higher > level + level / 4);
    let lower = Some(level / STEP).filter(|&lower| lower > 0);
    let levels: Vec<u64> = lower.into_iter().chain(higher).collect();
    if !levels.is_empty() {
        probes.push(Probe { axis, levels, note });
    }
    let levels = match case.work {
        Nanos::ZERO => vec![SOME_WORK.0],
        much if much >= MUCH_WORK => vec![0, much.0 / WORK_STEP],
        some => vec![0, some.0 * WORK_STEP],
    };
    match case.files {
        Some(files) => {
            probes.insert(0, Probe { axis: Axis::Cold, levels: vec![u64::from(!files.is_cold)], note: None });
        }
        None => probes.push(Probe { axis: Axis::Work, levels, note: None }),
    }
    probes
}

/// Descriptors besides those of connections.
const SPARE: u64 = 264;

/// The servers of a probe: the best of each family in the run's order, and one that could be best only at another level.
pub fn entrants(
    ranked: &[&'static Contender],
    probe: &Probe,
    case: &Case,
    impossible: &dyn Fn(&str) -> Option<String>,
) -> Vec<&'static Contender> {
    let mut chosen: Vec<&'static Contender> = Vec::new();
    let mut families: Vec<Family> = Vec::new();
    for contender in ranked {
        if !families.contains(&contender.family) {
            families.push(contender.family);
            chosen.push(contender);
        }
    }
    chosen.truncate(ENTRANTS_MAX);
    // Then the next best ones.
    for contender in ranked {
        if chosen.len() < ENTRANTS_MAX && !chosen.iter().any(|c| c.name == contender.name) {
            chosen.push(contender);
        }
    }
    let new = probe.levels.iter().find_map(|&level| {
        let there = choose(&probe.axis.at(level, case), impossible);
        there.into_iter().find_map(|(contender, choice)| {
            let is_new = matches!(choice, Choice::In(_)) && !ranked.iter().any(|c| c.name == contender.name);
            is_new.then_some(contender)
        })
    });
    chosen.extend(new);
    chosen
}

/// The levels at which an added contender is excluded since it cannot be best there, and why.
pub fn excluded(
    ranked: &[&'static Contender],
    entrants: &[&'static Contender],
    probe: &Probe,
    case: &Case,
    impossible: &dyn Fn(&str) -> Option<String>,
) -> Vec<(&'static Contender, u64, String)> {
    let is_new = |contender: &Contender| {
        entrants.iter().any(|c| c.name == contender.name) && !ranked.iter().any(|c| c.name == contender.name)
    };
    let at = |&level: &u64| {
        let there = choose(&probe.axis.at(level, case), impossible);
        there.into_iter().filter_map(move |(contender, choice)| match choice {
            Choice::Out(why) if is_new(contender) => Some((contender, level, why)),
            _ => None,
        })
    };
    probe.levels.iter().flat_map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advise::case::tests::plain;
    use crate::advise::{CONTENDERS, FileSet};

    fn by_name(name: &str) -> &'static Contender {
        CONTENDERS.iter().find(|c| c.name == name).unwrap()
    }

    #[test]
    fn connections_are_tried_at_a_quarter_and_four_times() {
        let of = |case: &Case| probes(case, 1_000_000);
        let work = Probe { axis: Axis::Work, levels: vec![200_000], note: None };
        let idle = Probe { axis: Axis::Idle, levels: vec![2375, 38_000], note: None };
        assert_eq!(of(&plain(10_000, 500)), [idle, work.clone()]);
        let active = Probe { axis: Axis::Active, levels: vec![12, 200], note: None };
        assert_eq!(of(&plain(50, 50)), [active, work]);
        let one = Probe { axis: Axis::Active, levels: vec![4], note: None };
        assert_eq!(of(&plain(1, 1))[0], one);
    }

    #[test]
    fn descriptors_bound_what_is_tried() {
        let probe = probes(&plain(10_000, 500), 20_000).remove(0);
        assert_eq!(probe.levels, [2375, 19_236]);
        assert!(probe.note.unwrap().contains("38,000 were not possible"));
        assert_eq!(probes(&plain(10_000, 500), 10_800).remove(0).levels, [2375]);
    }

    #[test]
    fn work_is_tried_without_and_with_ten_times_as_much_or_less() {
        let of = |micros| {
            let case = Case { work: Nanos::from_micros(micros), ..plain(50, 50) };
            probes(&case, 20_000).pop().unwrap().levels
        };
        assert_eq!(of(50), [0, 500_000]);
        assert_eq!(of(5000), [0, 500_000]);
    }

    #[test]
    fn files_are_tried_hot_and_cold() {
        let case = Case { files: Some(FileSet { bytes: 1, is_cold: true }), ..plain(200, 200) };
        let all = probes(&case, 20_000);
        assert_eq!((all[0].axis, &all[0].levels[..]), (Axis::Cold, &[0][..]));
        assert_eq!(all.len(), 2, "and connections");
    }

    #[test]
    fn the_best_of_each_family_meet_those_that_fit_another_level() {
        let case = plain(10_000, 500);
        let ranked = [by_name("loop+uring"), by_name("loop+epoll-et")];
        let probe = probes(&case, 1_000_000).remove(0);
        let names: Vec<_> = entrants(&ranked, &probe, &case, &|_| None).iter().map(|c| c.name).collect();
        assert_eq!(names, ["loop+uring", "loop+epoll-et", "thread"], "a quarter is near what threads carry");
        let chosen = entrants(&ranked, &probe, &case, &|_| None);
        let excluded = excluded(&ranked, &chosen, &probe, &case, &|_| None);
        let [(thread, 38_000, why)] = &excluded[..] else { panic!("{excluded:?}") };
        assert!(thread.name == "thread" && why.contains("38,500 tasks"), "{why}");
        let work = Case { work: Nanos::from_millis(5), cpus: 2, ..plain(50, 50) };
        let ranked = ["loops+epoll-et", "handoff+epoll-et", "thread", "tokio", "prefork"].map(by_name);
        let probe = Probe { axis: Axis::Work, levels: vec![5_000_000], note: None };
        let names: Vec<_> =
            entrants(&ranked, &probe, &work, &|_| Some("no".into())).iter().map(|c| c.name).collect();
        assert_eq!(names, ["loops+epoll-et", "thread", "tokio"]);
    }
}
