//! `pitot advise`.

mod advice;
mod asked;
mod files;
mod json;
mod measure;
mod options;
mod page;

use std::path::Path;
use std::process::ExitCode;

use pitot_host::check::{Judgement, TOPICS, Use};
use pitot_host::{Facts, Machine, offer};
use pitot_results::Failure;
use pitot_study::advise::{
    Case, Choice, Contender, LevelAnswer, Probe, Wanted, choose, entrants, excluded, known, may_be_advised,
    probes, topics, turns,
};

use crate::formats::TextOrJson;
use crate::output::{default_output, draw, print};
use crate::screen::Color;
use advice::{Advice, Tried};
use files::FileStore;
use measure::Bench;
pub(crate) use options::Advise;

/// On a slow machine a run may take this many times its time before it ends without a decision.
const OVERRUN: f64 = 2.0;

impl Advise {
    pub(crate) fn run(self) -> Result<ExitCode, Failure> {
        // The limits before this process raises its own.
        let facts = Facts::collect(&Machine::here());
        // Before anything starts a thread: guardians are forks of this process.
        let mut bench = if self.dry_run { Bench::dry()? } else { Bench::new(self.files.is_some())? };
        let case = self.case(&bench)?;
        let store = FileStore::of(&case, bench.directory());
        let impossible = |name: &str| bench.why_impossible(name);
        let choices = choose(&case, &impossible);
        refuse_if_none_is_left(&case, &choices)?;
        let chosen: Vec<&'static Contender> =
            choices.iter().filter(|(_, choice)| choice.is_in()).map(|(contender, _)| *contender).collect();
        let planned = probes(&case, bench.descriptors);
        let within_s = self.within.as_secs_f64();
        let share = if planned.len() > 1 { 0.5 } else { 0.65 };
        let wanted = bench.wanted(&case, chosen, store.as_ref());
        // The rest of the time is for other loads.
        let enough_s = within_s * share;
        let prepared = bench.prepare(&wanted, enough_s).or_else(|_| bench.prepare(&wanted, within_s))?;
        let (host, host_others) = host_rules(&case, &facts);
        let mut advice = Advice {
            case: &case,
            known: known(&case),
            choices: &choices,
            plan: prepared.source.clone(),
            cpus: (prepared.cpus.server_list(), prepared.cpus.load_list()),
            estimate_s: prepared.estimate_s(),
            probes: Vec::new(),
            measured: None,
            host,
            host_others,
            notes: store.iter().map(|store| store.note()).collect(),
        };
        if self.dry_run {
            advice.probes = planned.into_iter().map(|probe| (probe, Tried::Planned)).collect();
            self.print(&advice)?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(store) = &store {
            store.write()?;
        }
        let output = self.output.clone().unwrap_or_else(|| default_output("advice"));
        let measured = bench.run(prepared, (enough_s, within_s * OVERRUN), &output)?;
        let answer = LevelAnswer::of(&measured.run, &case, None).ok_or_else(|| {
            Failure::run(
                "no candidate could be measured",
                format!("see the reasons: pitot report {}", output.display()),
            )
        })?;
        let count = planned.len();
        for (number, probe) in planned.into_iter().enumerate() {
            let left_s = within_s - bench.elapsed_s();
            let times = [left_s / (count - number) as f64, left_s];
            let tried = try_probe(&mut bench, &case, &probe, &answer, store.as_ref(), times, &output)?;
            advice.probes.push((probe, tried));
        }
        let is_whole = answer.failed.is_empty();
        advice.measured = Some((measured, answer));
        self.print(&advice)?;
        Ok(if is_whole { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    fn print(&self, advice: &Advice<'_>) -> Result<(), Failure> {
        match self.format {
            TextOrJson::Text => draw(&page::page(advice).draw(Color::AUTO.screen())),
            TextOrJson::Json => print(&format!("{:#}\n", json::json(advice))),
        }
    }
}

/// With --isolation, all candidates that isolate faults may be excluded for another reason.
fn refuse_if_none_is_left(case: &Case, choices: &[(&'static Contender, Choice)]) -> Result<(), Failure> {
    let mut eligible = choices.iter().filter(|(contender, _)| may_be_advised(case, contender));
    if eligible.clone().any(|(_, choice)| choice.is_in()) {
        return Ok(());
    }
    let why = eligible.next().map_or("no candidate isolates faults", |(_, choice)| choice.why());
    let protocol = case.service.name;
    Err(Failure::misuse(
        format!("--protocol {protocol} and --isolation leave nothing to advise: {why}"),
        "omit --isolation, or describe a part of the load whose connections share no data",
    ))
}

/// Runs a probe, in the first of two times that suffices.
fn try_probe(
    bench: &mut Bench,
    case: &Case,
    probe: &Probe,
    answer: &LevelAnswer,
    store: Option<&FileStore>,
    times_s: [f64; 2],
    output: &Path,
) -> Result<Tried, Failure> {
    let eligible = answer.standings.iter().filter(|standing| standing.is_eligible);
    let ranked: Vec<&'static Contender> = eligible.map(|standing| standing.contender).collect();
    let impossible = |name: &str| bench.why_impossible(name);
    let mut entrants = entrants(&ranked, probe, case, &impossible);
    // The advised candidate may tie with the best of its family without being first.
    if !entrants.iter().any(|c| c.name == answer.build.name) {
        entrants.insert(0, answer.build);
    }
    let wanted = Wanted {
        axis: Some((probe.axis, probe.levels.clone())),
        excluded: excluded(&ranked, &entrants, probe, case, &impossible),
        ..bench.wanted(case, entrants, store)
    };
    let first = bench.prepare(&wanted, times_s[0]);
    // One probe with all the remaining time is better than several without a decision.
    match first.or_else(|failure| bench.prepare(&wanted, times_s[1]).map_err(|_| failure)) {
        Ok(prepared) => {
            let enough_s = times_s[0];
            let output = measure::beside(output, probe.axis.word());
            let measured = bench.run(prepared, (enough_s, enough_s * OVERRUN), &output)?;
            let turns = turns(&measured.run, case, probe, answer);
            Ok(Tried::Measured(Box::new(measured), turns))
        }
        Err(_) if times_s[1] < 1.0 => Ok(Tried::Not("no time left".into())),
        Err(failure) => Ok(Tried::Not(format!("{}: {}", failure.what, failure.fix))),
    }
}

/// The violated rules on topics that matter for a case, then those to consider; and how many rules on other topics are violated.
fn host_rules(case: &Case, facts: &Facts) -> (Vec<Judgement>, usize) {
    let wanted = match case.files {
        Some(_) => None,
        None => Some(case.service.host_use),
    };
    let uses = [Some(case.service.host_use), case.files.map(|_| Use::Files)];
    let matters = topics(case);
    let is_for = |judgement: &Judgement| {
        judgement.rule.uses.is_empty()
            || uses.iter().flatten().any(|wanted| judgement.rule.uses.contains(wanted))
    };
    let of_topic = |judgement: &Judgement| {
        TOPICS
            .iter()
            .filter(|(topic, _)| matters.contains(topic))
            .any(|(_, rules)| rules.iter().any(|rule| rule.name == judgement.rule.name))
    };
    let all = offer::judgements(&Machine::here(), facts, wanted);
    let (mut mattering, others): (Vec<Judgement>, Vec<Judgement>) =
        all.into_iter().filter(|j| j.verdict.fix().is_some() && is_for(j)).partition(of_topic);
    mattering.sort_by_key(|judgement| !judgement.is_wrong());
    (mattering, others.iter().filter(|judgement| judgement.is_wrong()).count())
}
