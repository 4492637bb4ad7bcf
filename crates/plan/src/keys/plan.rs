//! The keys at the top of a plan.

use crate::definition::{Measure, Order, Plan, Profiled, Replies};
use crate::options::Side;
use pitot_host::check::SUBJECTS;

use super::key::{Key, Kind, Presence, Shape};
use super::levels::Strict;
use super::{commands, factors, faults, host, hosts, kernels, published, servers, soak, targets};

/// More repetitions than this are a typing mistake.
const REPETITIONS_MAX: i64 = 10_000;

/// Words of `measure`, and what they stand for.
const MEASURES: [Measure; 2] = [Measure::Fresh, Measure::Slices];

/// Words of `order`, and what they stand for.
const ORDERS: [Order; 2] = [Order::Interleaved, Order::Sequential];

/// Words of `replies`, and what they stand for.
const REPLIES: [Replies; 2] = [Replies::Alike, Replies::MayDiffer];

/// Words of `needs`, and what they stand for.
const NEEDS: [&str; SUBJECTS.len()] = [SUBJECTS[0].0];

/// Renamed keys: old and new name.
pub(crate) const RENAMED: &[(&str, &str)] = &[("beside", "helpers"), ("keeps", "durability")];

/// The keys, in the order in which they are applied: a key that declares servers, factors or levels comes before those that
/// name them.
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
        doc: "The question that the run answers; the report opens with it.",
    },
    Key {
        name: "notes",
        kind: Kind::Texts(|p, texts| p.notes = texts),
        presence: Presence::Optional,
        doc: "Notes on the method for the reader.",
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
        doc: "Additional metrics for the report's table and answer.",
    },
    Key {
        name: "charts",
        kind: Kind::Charts(|p, names| p.charts = names),
        presence: Presence::Optional,
        doc: "The charts of the report, in order (`pitot list charts`). Default: all that fit.",
    },
    Key {
        name: "measure",
        kind: Kind::Choice {
            what: "a way to measure",
            words: &["fresh", "slices"],
            set: |p, index| p.measure = MEASURES[index],
        },
        presence: Presence::Optional,
        doc: "`slices`: the compared servers stay up side by side and are loaded in turn, for a slice of time each; every \
              generation starts them again. `fresh`: one cell after the other, each repetition with a fresh server. \
              Default: `slices`, or `fresh` if the plan sets `repetitions`, `duration`, `faults` or `durability`.",
    },
    Key {
        name: "generations",
        kind: Kind::Count { least: 1, most: REPETITIONS_MAX, set: |p, n| p.generations = Some(n as u32) },
        presence: Presence::Optional,
        doc: "Number of generations. They are the sample: fewer than 6 decide nothing. Default: 10, or more for many \
              comparisons.",
    },
    Key {
        name: "until-decided",
        kind: Kind::Duration { positive: true, set: |p, s| p.until_decided_s = Some(s) },
        presence: Presence::Optional,
        doc: "Start new generations until every comparison of the metric is decided, for at most this time. The sequential \
              test needs more generations than a test of a fixed number.",
    },
    Key {
        name: "slices",
        kind: Kind::Count { least: 2, most: 1000, set: |p, n| p.slices = n as u32 },
        presence: Presence::Optional,
        doc: "Slices of each cell in a generation, an even number: each round has two, in opposite orders. Default: 8. With `until-decided` \
              a generation has fewer if it would take more than a tenth of the time that is left. Once eleven generations have shown how \
              they vary, it has as many as tell most in the time.",
    },
    Key {
        name: "slice",
        kind: Kind::Duration { positive: true, set: |p, s| p.slice_s = Some(s) },
        presence: Presence::Optional,
        doc: "Length of a slice. Default: a pilot chooses it, 5 ms or more. What `slices` counts are then some 30 ms in all: six slices of \
              5 ms count as one. Of commands they are 50 ms in all, whatever an execution takes.",
    },
    Key {
        name: "repetitions",
        kind: Kind::Count { least: 1, most: REPETITIONS_MAX, set: |p, n| p.repetitions = n as u32 },
        presence: Presence::Optional,
        doc: "Repetitions of each cell in fresh runs, each with a fresh server. Fewer than 6 give no 95% interval of a \
              median. Default: 8.",
    },
    Key {
        name: "warmup",
        kind: Kind::Duration { positive: false, set: |p, s| p.warmup_s = s },
        presence: Presence::Optional,
        doc: "Load before the measurement, for every fresh server. Default: 500ms, or 150ms for slices.",
    },
    Key {
        name: "duration",
        kind: Kind::Duration { positive: true, set: |p, s| (p.duration_s, p.untimed_s) = (s, s) },
        presence: Presence::Optional,
        doc: "Length of the measurement in a fresh run. Default: 3s. Of a load that ends when its work is done, about how long that \
              takes, for the estimate of the run's length. Default: 500ms.",
    },
    Key {
        name: "order",
        kind: Kind::Choice {
            what: "an order",
            words: &["interleaved", "sequential"],
            set: |p, index| p.order = ORDERS[index],
        },
        presence: Presence::Default("\"interleaved\""),
        doc: "`interleaved`: blocks with every cell once, shuffled. `sequential`: cell by cell.",
    },
    Key {
        name: "seed",
        kind: Kind::Count { least: 0, most: i64::MAX, set: |p, n| p.seed = Some(n as u64) },
        presence: Presence::Optional,
        doc: "The seed of the order. Default: a random one, which is recorded.",
    },
    Key {
        name: "statistic",
        kind: Kind::Statistic(|p, statistic| p.statistic = statistic),
        presence: Presence::Default("\"median\""),
        doc: "How the repetitions of a cell are combined: `median`, or `trimmed-mean(N)` without the N largest and the N \
              smallest.",
    },
    Key {
        name: "tolerance",
        kind: Kind::Share(|p, share| p.tolerance = share),
        presence: Presence::Default("\"2%\""),
        doc: "The smallest difference that is reported as one.",
    },
    Key {
        name: "hosts",
        kind: Kind::Structure(Shape::Hosts, |known, item, p| {
            p.hosts = hosts::hosts(known, item)?;
            known.hosts = p.hosts.iter().map(|host| host.name.clone()).collect();
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Hosts other than this machine, by name; `host` under `server` and `load` selects one (docs/agent.md).",
    },
    Key {
        name: "server",
        kind: Kind::Structure(Shape::Server, |known, item, p| {
            p.server_host = hosts::of_side(known, item)?;
            p.server = commands::settings(known, item, Side::Server)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "`protocol`, and options of `pitot serve` for all cells. `host`: the host of the servers.",
    },
    Key {
        name: "target",
        kind: Kind::Structure(Shape::Target, |known, item, p| {
            p.target = targets::settings(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Settings of all targets that have them (`pitot list targets`).",
    },
    Key {
        name: "load",
        kind: Kind::Structure(Shape::Load, |known, item, p| {
            p.load_hosts = hosts::of_load(known, item, p.server_host.as_deref())?;
            (p.load, p.program) = commands::load(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "`url`, `size`, and options of `pitot load` for all cells; or `program`, which runs instead, and its options. \
              `host`: the host of the load; `hosts`: several hosts, each with an equal part of it.",
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
        doc: "Servers, by the names of levels of the factor `server`.",
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
        doc: "Sets of settings of the host (docs/host.md), by the names of levels of the factor `settings`.",
    },
    Key {
        name: "kernels",
        kind: Kind::Structure(Shape::Kernels, |known, item, p| {
            p.kernels = kernels::kernels(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Kernels with parameters (docs/kernels.md), by the names of levels of the factor `kernel`.",
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
        presence: Presence::Required("add [factors] with a line such as server = [\"loop\"]"),
        doc: "What is varied: `server`, `server.OPTION`, `target.SETTING`, `load.OPTION`, `host.SETTING`, `settings`, \
              `kernel`, `replicate`. The last one varies fastest. The level `found` leaves a setting of the host as it is.",
    },
    Key {
        name: "left-out",
        kind: Kind::Structure(Shape::Factors, |known, item, p| {
            (p.left_out, _) = factors::factors(known, item)?;
            known.left_out.clone_from(&p.left_out);
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Levels of factors that the plan had before `--set` named others. `exclude`, `published` and `claim` may still name \
              them; what is about them alone has no effect.",
    },
    Key {
        name: "baseline",
        kind: Kind::Levels(Strict::All, |p, levels| p.baseline = Some(levels)),
        presence: Presence::Optional,
        doc: "The cells that others are compared with, by levels of some factors. Cells with the same levels of all other \
              factors are compared.",
    },
    Key {
        name: "reference",
        kind: Kind::Levels(Strict::All, |p, levels| p.reference = Some(levels)),
        presence: Presence::Optional,
        doc: "A server that never changes, by its level: `{ server = \"reference\" }`. Runs are compared with each other by the ratio to \
              it, and no condition is judged by it. Default: the baseline.",
    },
    Key {
        name: "replies",
        kind: Kind::Choice {
            what: "a rule for replies",
            words: &["alike", "may-differ"],
            set: |p, index| p.replies = REPLIES[index],
        },
        presence: Presence::Default("\"alike\""),
        doc: "`alike`: a cell is not ranked if its replies differ in size by more than 64 bytes and 1% from those of most cells \
              with the same request. `may-differ`: replies are not compared, for instance to measure compression.",
    },
    Key {
        name: "labels",
        kind: Kind::Variables(|p, labels| p.labels = labels),
        presence: Presence::Optional,
        doc: "What the run is known by beside others, as names and values: `{ branch = \"main\" }`. `--label` adds to them, and a checkout \
              of git its `commit` and `commit-time` (docs/history.md).",
    },
    Key {
        name: "profile",
        kind: Kind::Choices {
            what: "something to record",
            words: &["cpu", "off-cpu", "counters", "calls"],
            set: |p, chosen| p.profile = chosen.into_iter().map(|index| Profiled::ALL[index].1).collect(),
        },
        presence: Presence::Optional,
        doc: "Recorded in slices of their own that do not count (docs/profile.md). `cpu`: where the CPU time goes, by function; \
              `off-cpu`: where threads wait; `counters`: switches, page faults and, where the machine has them, instructions and \
              misses; `calls`: system calls by name, with the time in each.",
    },
    Key {
        name: "exclude",
        kind: Kind::Structure(Shape::Exclusions, |known, item, p| {
            p.exclude = published::exclusions(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Combinations to leave out, each with its `reason`.",
    },
    Key {
        name: "published",
        kind: Kind::Structure(Shape::Published, |known, item, p| {
            p.published = published::published(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Published figures, shown with those of the run.",
    },
    Key {
        name: "claim",
        kind: Kind::Structure(Shape::Claims, |known, item, p| {
            p.claim = published::claims(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Claims of publications, each with the rule by which the run decides whether it holds.",
    },
    Key {
        name: "needs",
        kind: Kind::Choice {
            what: "something that a machine is checked for",
            words: &NEEDS,
            set: |p, index| p.needs = Some(SUBJECTS[index].1),
        },
        presence: Presence::Optional,
        doc: "What to check before the run. `connections`: whether limits and memory allow as many connections as the cells \
              open. If not, the run is refused, with the fix.",
    },
    Key {
        name: "faults",
        kind: Kind::Structure(Shape::Faults, |known, item, p| {
            p.faults = faults::faults(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Faults that are made while the server is under load (docs/faults.md). Such a plan is measured in fresh runs.",
    },
    Key {
        name: "durability",
        kind: Kind::Text(|p, text| p.durability = Some(text)),
        presence: Presence::Optional,
        doc: "The directory in which servers store what they acknowledge: uploads whose paths contain `{request-id}`, or mail in a \
              Maildir. It is searched after a server has stopped; a repetition fails if acknowledged data is missing \
              (docs/faults.md). Such a plan is measured in fresh runs.",
    },
    Key {
        name: "soak",
        kind: Kind::Structure(Shape::Soak, |known, item, p| {
            p.soak = soak::soak(known, item)?;
            Ok(())
        }),
        presence: Presence::Optional,
        doc: "Settings of `pitot soak` (docs/soak.md); `pitot run` ignores them.",
    },
    Key {
        name: "ready-timeout",
        kind: Kind::Duration { positive: false, set: |p, s| p.ready_timeout_s = s },
        presence: Presence::Default("\"10s\""),
        doc: "Timeout until a server is ready.",
    },
    Key {
        name: "stop-timeout",
        kind: Kind::Duration { positive: false, set: |p, s| p.stop_timeout_s = s },
        presence: Presence::Default("\"10s\""),
        doc: "Timeout until a server has stopped.",
    },
    Key {
        name: "server-cpus",
        kind: Kind::CpusOrAll(|p, list| p.server_cpus = Some(list)),
        presence: Presence::Optional,
        doc: "The CPUs of the servers. Default: one half of the cores. `\"all\"` shares all CPUs with the load generator.",
    },
    Key {
        name: "load-cpus",
        kind: Kind::CpusOrAll(|p, list| p.load_cpus = Some(list)),
        presence: Presence::Optional,
        doc: "The CPUs of the load generator. Default: the other half of the cores.",
    },
];
