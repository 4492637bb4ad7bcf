//! The keys at the top of a plan.

use crate::definition::{Measure, Order, Plan, Replies};
use crate::options::Side;
use pitot_host::check::SUBJECTS;

use super::key::{Key, Kind, Presence, Shape};
use super::levels::Strict;
use super::{commands, factors, faults, host, hosts, kernels, published, servers, soak, targets};

/// At most so many repetitions; more is a mistake of typing.
const REPETITIONS_MAX: i64 = 10_000;

/// Words of `measure`, and what they stand for.
const MEASURES: [Measure; 2] = [Measure::Fresh, Measure::Slices];

/// Words of `order`, and what they stand for.
const ORDERS: [Order; 2] = [Order::Interleaved, Order::Sequential];

/// Words of `replies`, and what they stand for.
const REPLIES: [Replies; 2] = [Replies::Alike, Replies::MayDiffer];

/// Words of `needs`, and what they stand for.
const NEEDS: [&str; SUBJECTS.len()] = [SUBJECTS[0].0];

/// Keys that were renamed: the old name and the new one.
pub(crate) const RENAMED: &[(&str, &str)] = &[("beside", "helpers")];

/// The keys, in the order in which they are applied: what names a server, a factor or a level comes after the key that
/// declares it.
pub(crate) static PLAN: &[Key<Plan>] = &[
    Key {
        name: "title",
        kind: Kind::Text(|p, text| p.title = text),
        presence: Presence::Optional,
        doc: "The headline of the report.",
    },
    Key {
        name: "question",
        kind: Kind::Text(|p, text| p.question = text),
        presence: Presence::Optional,
        doc: "The question that the run is to answer; the report opens with it.",
    },
    Key {
        name: "notes",
        kind: Kind::Texts(|p, texts| p.notes = texts),
        presence: Presence::Optional,
        doc: "What a reader should know of the method.",
    },
    Key {
        name: "metric",
        kind: Kind::Metric(|p, name| p.metric = name),
        presence: Presence::Default("\"throughput\""),
        doc: "The metric that answers the question (`pitot list metrics`).",
    },
    Key {
        name: "columns",
        kind: Kind::Metrics(|p, names| p.columns = names),
        presence: Presence::Optional,
        doc: "Metrics that the report shows in its table and beside the answer, besides those that it always shows.",
    },
    Key {
        name: "charts",
        kind: Kind::Charts(|p, names| p.charts = names),
        presence: Presence::Optional,
        doc: "The charts of the report, in order (`pitot list charts`); all that fit if it is left out.",
    },
    Key {
        name: "measure",
        kind: Kind::Choice {
            what: "a way to measure",
            words: &["fresh", "slices"],
            set: |p, index| p.measure = MEASURES[index],
        },
        presence: Presence::Optional,
        doc: "`slices`: the servers that are compared are kept up side by side and loaded in turn, for a slice of time \
              each, and started afresh for every generation. `fresh`: one cell after the other, each repetition with a \
              fresh server. A plan that does not say is measured in slices, unless it sets `repetitions` or `duration`.",
    },
    Key {
        name: "generations",
        kind: Kind::Count { least: 1, most: REPETITIONS_MAX, set: |p, n| p.generations = Some(n as u32) },
        presence: Presence::Optional,
        doc: "How often the servers that are measured in slices are started afresh. They are the sample: fewer than 6 \
              decide nothing. 10 if it is left out, or more where so many comparisons need it.",
    },
    Key {
        name: "until-decided",
        kind: Kind::Duration { positive: true, set: |p, s| p.until_decided_s = Some(s) },
        presence: Presence::Optional,
        doc: "Generations follow one another until every comparison of the metric is decided, for at most this time. A \
              test that holds under repeated looks judges them; it needs more generations than one of a fixed number.",
    },
    Key {
        name: "slices",
        kind: Kind::Count { least: 2, most: 1000, set: |p, n| p.slices = n as u32 },
        presence: Presence::Optional,
        doc: "Slices of each cell in a generation, an even number: each round has two, in opposite orders. 8 if it is \
              left out.",
    },
    Key {
        name: "slice",
        kind: Kind::Duration { positive: true, set: |p, s| p.slice_s = Some(s) },
        presence: Presence::Optional,
        doc: "Length of a slice. A pilot chooses it, 40 ms or more, if it is left out.",
    },
    Key {
        name: "repetitions",
        kind: Kind::Count { least: 1, most: REPETITIONS_MAX, set: |p, n| p.repetitions = n as u32 },
        presence: Presence::Optional,
        doc: "How often each cell that is measured in fresh runs is repeated, each time with a fresh server: 8 if it is \
              left out. Fewer than 6 give no 95% interval of a median.",
    },
    Key {
        name: "warmup",
        kind: Kind::Duration { positive: false, set: |p, s| p.warmup_s = s },
        presence: Presence::Optional,
        doc: "Load before the measurement, for every fresh server: 500ms if it is left out, 150ms for slices.",
    },
    Key {
        name: "duration",
        kind: Kind::Duration { positive: true, set: |p, s| p.duration_s = s },
        presence: Presence::Optional,
        doc: "Length of the measurement in a fresh run: 3s if it is left out.",
    },
    Key {
        name: "order",
        kind: Kind::Choice {
            what: "an order",
            words: &["interleaved", "sequential"],
            set: |p, index| p.order = ORDERS[index],
        },
        presence: Presence::Default("\"interleaved\""),
        doc: "`interleaved`: blocks that hold every cell once, shuffled. `sequential`: cell by cell.",
    },
    Key {
        name: "seed",
        kind: Kind::Count { least: 0, most: i64::MAX, set: |p, n| p.seed = Some(n as u64) },
        presence: Presence::Optional,
        doc: "The seed of the order. A random one is used, and recorded, if it is left out.",
    },
    Key {
        name: "statistic",
        kind: Kind::Statistic(|p, statistic| p.statistic = statistic),
        presence: Presence::Default("\"median\""),
        doc: "How the repetitions of a cell become one figure: `median`, or `trimmed-mean(N)` without the N largest and \
              the N smallest.",
    },
    Key {
        name: "tolerance",
        kind: Kind::Share(|p, share| p.tolerance = share),
        presence: Presence::Default("\"2%\""),
        doc: "Smaller differences are not reported as differences, however significant they are.",
    },
    Key {
        name: "hosts",
        kind: Kind::Structure(Shape::Hosts, |known, item, p| {
            p.hosts = hosts::hosts(known, item)?;
            known.hosts = p.hosts.iter().map(|host| host.name.clone()).collect();
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Hosts other than this one, by name: `host` under `server` and `load` says what is on which (docs/agent.md).",
    },
    Key {
        name: "server",
        kind: Kind::Structure(Shape::Server, |known, item, p| {
            p.server_host = hosts::of_side(known, item)?;
            p.server = commands::settings(known, item, Side::Server)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "`protocol`, and options of `pitot serve` that all cells share; `host`: where the servers are.",
    },
    Key {
        name: "target",
        kind: Kind::Structure(Shape::Target, |known, item, p| {
            p.target = targets::settings(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Settings that all targets share that have them (`pitot list targets`).",
    },
    Key {
        name: "load",
        kind: Kind::Structure(Shape::Load, |known, item, p| {
            p.load_hosts = hosts::of_load(known, item, p.server_host.as_deref())?;
            (p.load, p.program) = commands::load(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "`url`, `size`, and options of `pitot load` that all cells share; or `program`, and options of what runs \
              in its place; `host`: where the load is, or `hosts`: several that each do an equal part of it.",
    },
    Key {
        name: "helpers",
        kind: Kind::Structure(Shape::Helpers, |known, item, p| {
            p.helpers = commands::helpers(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Servers that the load needs, such as a DNS responder, by name.",
    },
    Key {
        name: "servers",
        kind: Kind::Structure(Shape::Servers, |known, item, p| {
            p.servers = servers::servers(known, item)?;
            known.servers.clone_from(&p.servers);
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Servers by the names that levels of the factor `server` use.",
    },
    Key {
        name: "files",
        kind: Kind::Files(|p, files| p.files = files),
        presence: Presence::Optional,
        doc: "Files in each server's private directory, `{dir}`, by path.",
    },
    Key {
        name: "settings",
        kind: Kind::Structure(Shape::SettingSets, |known, item, p| {
            p.settings = host::sets(item)?;
            known.settings.clone_from(&p.settings);
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Settings of the host (docs/host.md) by the names that levels of the factor `settings` use.",
    },
    Key {
        name: "kernels",
        kind: Kind::Structure(Shape::Kernels, |known, item, p| {
            p.kernels = kernels::kernels(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Kernels with parameters (docs/kernels.md) by the names that levels of the factor `kernel` use.",
    },
    Key {
        name: "factors",
        kind: Kind::Structure(Shape::Factors, |known, item, p| {
            (p.factors, known.factor_spans) = factors::factors(known, item)?;
            known.factors.clone_from(&p.factors);
            p.servers.extend(targets::named(known, &p.factors));
            // The metric is read by now, or has its default.
            known.metric.clone_from(&p.metric);
            Ok(())
        }),
        presence: Presence::Required("say what is varied: [factors] with a line such as server = [\"loop\"]"),
        doc: "What is varied: `server`, `server.OPTION`, `target.SETTING`, `load.OPTION`, `host.SETTING`, `settings`, `kernel`, `replicate`. The last one varies \
              fastest. `found` is the level at which a setting of the host is left as it is.",
    },
    Key {
        name: "baseline",
        kind: Kind::Levels(Strict::All, |p, levels| p.baseline = Some(levels)),
        presence: Presence::Optional,
        doc: "The cells that others are compared with, by levels of some factors. Cells that agree in all other \
              factors are compared with each other.",
    },
    Key {
        name: "replies",
        kind: Kind::Choice {
            what: "a rule for replies",
            words: &["alike", "may-differ"],
            set: |p, index| p.replies = REPLIES[index],
        },
        presence: Presence::Default("\"alike\""),
        doc: "`alike`: a cell whose replies have more or less content than those of most cells that are asked for the same is \
              not ranked; 64 bytes, or 1%, do not count. `may-differ`: they are not compared, as where compression is measured.",
    },
    Key {
        name: "exclude",
        kind: Kind::Structure(Shape::Exclusions, |known, item, p| {
            p.exclude = published::exclusions(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Combinations that are left out on purpose, each with its `reason`.",
    },
    Key {
        name: "published",
        kind: Kind::Structure(Shape::Published, |known, item, p| {
            p.published = published::published(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Figures published by others, shown with those of the run.",
    },
    Key {
        name: "needs",
        kind: Kind::Choice {
            what: "something that a machine is checked for",
            words: &NEEDS,
            set: |p, index| p.needs = Some(SUBJECTS[index].1),
        },
        presence: Presence::Optional,
        doc: "What the machine is checked for before anything runs. `connections`: whether its limits and its memory allow \
              as many connections as the cells open; if they do not, the run is refused with what to mend.",
    },
    Key {
        name: "faults",
        kind: Kind::Structure(Shape::Faults, |known, item, p| {
            p.faults = faults::faults(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "What is done to the server while it is under load (docs/faults.md). Such a plan is measured in fresh runs.",
    },
    Key {
        name: "keeps",
        kind: Kind::Text(|p, text| p.keeps = Some(text)),
        presence: Presence::Optional,
        doc: "The directory in which servers keep what they acknowledge: uploads whose paths hold `{receipt}`, or mail in a Maildir. \
              It is looked through when a server has ended; a repetition in which something acknowledged is missing \
              has failed (docs/faults.md). Such a plan is measured in fresh runs.",
    },
    Key {
        name: "soak",
        kind: Kind::Structure(Shape::Soak, |known, item, p| {
            p.soak = soak::soak(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "How `pitot soak` runs the plan (docs/soak.md); `pitot run` does not heed it.",
    },
    Key {
        name: "ready-timeout",
        kind: Kind::Duration { positive: false, set: |p, s| p.ready_timeout_s = s },
        presence: Presence::Default("\"10s\""),
        doc: "How long a server may take until it is ready.",
    },
    Key {
        name: "stop-timeout",
        kind: Kind::Duration { positive: false, set: |p, s| p.stop_timeout_s = s },
        presence: Presence::Default("\"10s\""),
        doc: "How long a server may take to stop.",
    },
    Key {
        name: "server-cpus",
        kind: Kind::CpusOrAll(|p, list| p.server_cpus = Some(list)),
        presence: Presence::Optional,
        doc: "The CPUs of the servers; one half of the cores if it is left out. `\"all\"` are those of the load generator too.",
    },
    Key {
        name: "load-cpus",
        kind: Kind::CpusOrAll(|p, list| p.load_cpus = Some(list)),
        presence: Presence::Optional,
        doc: "The CPUs of the load generator; the other half if it is left out.",
    },
];
