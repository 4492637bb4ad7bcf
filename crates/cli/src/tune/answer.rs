//! What a search found, as a page and as JSON.

use std::path::Path;

use pitot_meter::units::counted;
use pitot_plan::Plan;
use pitot_record::Better;
use pitot_record::metric::Metric;
use pitot_report::Tone;
use pitot_report::document::{Block, Column, Document, Item, Table};
use pitot_stats::Comparison;
use pitot_study::tune::{Effect, Extent, Fate, Permanent, SYSCTL_FILE, Search, permanent};
use serde_json::{Value, json as object};

use super::candidates::{Candidate, LeftOut};
use pitot_meter::units::span;

/// What an answer is made of.
pub(super) struct SearchAnswer<'a> {
    pub(super) search: &'a Search,
    pub(super) candidates: &'a [Candidate],
    pub(super) left_out: &'a [LeftOut],
    pub(super) metric: &'static Metric,
    pub(super) tolerance: f64,
    pub(super) plan: &'a Plan,
    pub(super) folder: &'a Path,
    pub(super) took_s: f64,
    /// Settings that another program has changed meanwhile, in sentences.
    pub(super) not_as_found: Vec<String>,
}

/// A change of the metric: 0.05 is 5% more, with its interval.
struct Change {
    value: f64,
    interval: Option<(f64, f64)>,
}

impl SearchAnswer<'_> {
    /// The change of the metric that belongs to a logarithm of better.
    fn change(&self, log: f64, interval: Option<(f64, f64)>) -> Change {
        let of = |log: f64| match self.metric.better {
            Better::Higher => log.exp_m1(),
            Better::Lower => (-log).exp_m1(),
        };
        let ordered = |(low, high): (f64, f64)| {
            let (a, b) = (of(low), of(high));
            (a.min(b), a.max(b))
        };
        Change { value: of(log), interval: interval.map(ordered) }
    }

    fn of_effect(&self, effect: &Effect) -> Change {
        self.change(effect.log, effect.interval.map(|i| (i.low, i.high)))
    }

    fn of_comparison(&self, comparison: &Comparison) -> Change {
        self.change(comparison.ratio.ln(), comparison.interval.map(|i| (i.low.ln(), i.high.ln())))
    }

    /// What a setting does. A winner of one setting was measured by itself when it was confirmed.
    fn effect(&self, setting: usize) -> Option<Change> {
        let confirmed = self.search.confirmed.as_ref().filter(|c| c.winner == [setting]);
        let change = match confirmed.and_then(|c| c.comparison.as_ref()) {
            Some(comparison) => Some(self.of_comparison(comparison)),
            None => self.search.effect(setting).map(|effect| self.of_effect(&effect)),
        };
        // Of fewer runs than an interval takes there is nothing to say.
        change.filter(|change| change.interval.is_some())
    }

    /// Whether it tells of each setting what it does.
    pub(super) fn is_told(&self) -> bool {
        self.search.untold().is_empty()
    }

    fn permanent(&self) -> Permanent {
        let kept = self.search.kept();
        let settings: Vec<(String, String)> = kept
            .iter()
            .map(|&at| (self.candidates[at].key.clone(), self.candidates[at].wanted.clone()))
            .collect();
        permanent(&settings, &format!("Found by pitot tune search: {}", self.headline()))
    }

    /// The answer in a sentence.
    fn headline(&self) -> String {
        let kept = self.search.kept();
        let all = counted(self.candidates.len() as u64, "setting", "settings");
        let untold = self.search.untold().len();
        if kept.is_empty() && untold > 0 {
            let lost: usize = self.search.extents().map(|extent| extent.lost).sum();
            let lost = counted(lost as u64, "pair", "pairs");
            let which = if untold == self.candidates.len() { String::new() } else { format!("{untold} of ") };
            return format!("the effect of {which}{all} is unknown: {lost} of runs were lost.");
        }
        if kept.is_empty() {
            return match &self.search.confirmed {
                Some(_) => format!("keep what you have: of {all} none was confirmed to help."),
                None => format!("keep what you have: of {all} none was seen to help{}.", self.bound()),
            };
        }
        let names: Vec<&str> = kept.iter().map(|&at| self.candidates[at].key.as_str()).collect();
        let by = self.search.confirmed.as_ref().and_then(|c| c.comparison.as_ref());
        let by = by.map_or_else(String::new, |c| {
            let change = self.of_comparison(c);
            format!(": {} {}{}", percent(change.value), self.metric.words.noun, in_brackets(&change))
        });
        let untold = match untold {
            0 => String::new(),
            n => format!("; the effect of {n} is unknown, since runs were lost"),
        };
        format!(
            "{} of {all} {}{by}: {}{untold}.",
            kept.len(),
            if kept.len() == 1 { "helps" } else { "help" },
            names.join(", ")
        )
    }

    /// How large an effect could have stayed unseen.
    fn bound(&self) -> String {
        let effects = (0..self.candidates.len()).filter_map(|at| self.search.effect(at));
        let highest = effects.filter_map(|e| Some(e.interval?.high)).fold(0.0f64, f64::max);
        if highest > 0.0 {
            format!(", and none by more than {:.1}% (95% interval of each)", highest.exp_m1() * 100.0)
        } else {
            String::new()
        }
    }
}

fn percent(share: f64) -> String {
    format!("{:+.1}%", share * 100.0)
}

fn in_brackets(change: &Change) -> String {
    change.interval.map_or_else(String::new, |(low, high)| {
        format!(" (95% interval {} to {})", percent(low), percent(high))
    })
}

fn fate(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "kept",
        Fate::Harms => "dropped: it harms",
        Fate::NoEffect => "dropped: no effect seen",
        Fate::CannotTell => "unknown: too many runs were lost",
        Fate::NotBorneOut => "dropped: the effect in the screen was not confirmed",
        Fate::NotInTheBest => "dropped: the best combination is without it",
        Fate::NotConfirmed => "dropped: not confirmed in new runs",
        Fate::LeftForLater => "helps, but only four are crossed at once: apply the result and search again",
    }
}

pub(super) fn page(answer: &SearchAnswer<'_>) -> Document {
    let headline = answer.headline();
    let headline = match headline.get(..1) {
        Some(first) => first.to_uppercase() + &headline[1..],
        None => headline,
    };
    let rows = answer.candidates.iter().enumerate().map(|(at, candidate)| {
        let effect = answer.effect(at);
        let interval = effect.as_ref().and_then(|e| e.interval);
        let figures = [
            format!("{} -> {}", candidate.found, candidate.wanted),
            effect.map_or_else(|| "-".into(), |e| percent(e.value)),
            interval
                .map_or_else(|| "-".into(), |(low, high)| format!("{} to {}", percent(low), percent(high))),
            fate(answer.search.fates[at]).to_owned(),
        ];
        (candidate.key.clone(), figures.to_vec())
    });
    let columns = vec![
        Column::of_words("found -> wanted"),
        Column::of(answer.metric.words.noun),
        Column::of("95% interval"),
        Column::of_words("outcome"),
    ];
    let left_out = answer.left_out.iter();
    let left_out = left_out.map(|left_out| format!("not tried: {}: {}", left_out.setting, left_out.why));
    let settings =
        vec![Block::Table(Table::plain("Settings", "setting", columns, rows)), Block::list(left_out)];
    let mut blocks = vec![
        Block::Paragraph(headline),
        Block::section("settings", "Settings", settings),
        Block::section("stages", "How it was found", vec![Block::list(stages(answer))]),
    ];
    let kept = answer.permanent();
    let command = |text: String| vec![Block::Commands(vec![(String::new(), text)])];
    if !kept.sysctl.is_empty() {
        let text = format!("cat > {SYSCTL_FILE} <<'END'\n{}END\nsysctl --system", kept.sysctl);
        blocks.push(Block::section("permanent", "To make it permanent, as root", command(text)));
    }
    if !kept.commands.is_empty() {
        let title = "At each boot, since these are no kernel parameters";
        blocks.push(Block::section("at-boot", title, command(kept.commands.join("\n"))));
    }
    Document { blocks, ..Document::default() }
}

/// What was run in each stage, and what two settings do together.
fn stages(answer: &SearchAnswer<'_>) -> Vec<Item> {
    let stage = |what: String, extent: &Extent, file: &str| {
        let lost = match extent.lost {
            0 => String::new(),
            n => {
                let why = extent.why_lost.as_ref().map_or_else(String::new, |why| format!(": {why}"));
                format!("; {} of runs failed and were omitted{why}", counted(n as u64, "pair", "pairs"))
            }
        };
        let times = counted(extent.blocks as u64, "time", "times");
        Item::from(format!(
            "{what}: {} combinations, {times} each{lost} ({})",
            extent.combinations,
            answer.folder.join(file).display()
        ))
    };
    let mut items = Vec::new();
    if let Some(screened) = &answer.search.screened {
        let count = screened.effects.len();
        items.push(stage(format!("Screened {count} settings"), &screened.extent, "screen.pitot"));
    }
    if let Some(crossed) = &answer.search.crossed {
        items.push(stage(format!("Crossed {}", crossed.effects.len()), &crossed.extent, "cross.pitot"));
    }
    if let Some(confirmed) = &answer.search.confirmed {
        let what = "Compared the winner with the start again";
        let mut item = stage(what.into(), &confirmed.extent, "confirm.pitot");
        let change = confirmed.comparison.as_ref().map(|c| answer.of_comparison(c));
        item.more.extend(change.map(|change| {
            format!("winner against start: {}{}", percent(change.value), in_brackets(&change))
        }));
        items.push(item);
    }
    let crossed = answer.search.crossed.iter().flat_map(|c| &c.together);
    items.extend(crossed.filter(|t| t.effect.is_proven()).map(|together| {
        let (a, b) = together.settings;
        let change = answer.of_effect(&together.effect);
        Item::from(format!(
            "Together {} and {} do {} beyond what each does alone{}",
            answer.candidates[a].key,
            answer.candidates[b].key,
            percent(change.value),
            in_brackets(&change)
        ))
    }));
    let took = span(answer.took_s);
    items.push(match &answer.not_as_found[..] {
        [] => format!("Took {took}; all settings are as they were found.").into(),
        others => Item {
            tone: Some(Tone::Bad),
            ..Item::from(format!(
                "Took {took}. ANOTHER PROGRAM has changed settings meanwhile, which were left alone: {}. What was measured after \
                 that was measured under them.",
                others.join("; ")
            ))
        },
    });
    items
}

pub(super) fn json(answer: &SearchAnswer<'_>) -> Value {
    let change = |change: &Change| object!({ "change": change.value, "low": change.interval.map(|i| i.0), "high": change.interval.map(|i| i.1) });
    let settings: Vec<Value> = (0..answer.candidates.len())
        .map(|at| {
            let candidate = &answer.candidates[at];
            object!({
                "setting": candidate.key,
                "found": candidate.found,
                "wanted": candidate.wanted,
                "effect": answer.effect(at).as_ref().map(change),
                "outcome": answer.search.fates[at],
            })
        })
        .collect();
    let kept = answer.permanent();
    let names: Vec<&str> =
        answer.search.kept().iter().map(|&at| answer.candidates[at].key.as_str()).collect();
    let confirmed = answer.search.confirmed.as_ref().and_then(|c| c.comparison.as_ref());
    object!({
        "schema": "pitot-tune-search/1",
        "answer": answer.headline(),
        "metric": answer.metric.name,
        "plan": answer.plan.name,
        "tolerance": answer.tolerance,
        "took_s": answer.took_s,
        "kept": names,
        "confirmed": confirmed.map(|c| change(&answer.of_comparison(c))),
        "settings": settings,
        "left_out": answer.left_out,
        "changed_by_others": answer.not_as_found,
        "stages": answer.search,
        "permanent": { "file": SYSCTL_FILE, "sysctl": kept.sysctl, "commands": kept.commands },
    })
}
