//! An answer for programs: `pitot-advice/1`.

use pitot_study::advise::{Against, Case, Choice, Contender, LevelAnswer, Standing};
use serde_json::{Value, json};

use super::advice::{Advice, Tried};
use super::measure::Measured;

const SCHEMA: &str = "pitot-advice/1";

pub(super) fn json(advice: &Advice<'_>) -> Value {
    let case = advice.case;
    json!({
        "schema": SCHEMA,
        "description": {
            "protocol": case.service.name,
            "connections": case.connections,
            "active": case.active,
            "size_bytes": case.size_bytes,
            "cpu_work_ns": case.work.0,
            "requests_per_connection": case.requests_per_connection,
            "files": case.files.map(|files| json!({ "bytes": files.bytes, "cold": files.is_cold })),
            "isolation": case.isolation,
        },
        "known": advice.known.iter().map(|known| json!({
            "name": known.name, "says": known.says, "source": known.source, "year": known.year,
        })).collect::<Vec<_>>(),
        "candidates": advice.choices.iter().map(|(contender, choice)| json!({
            "server": contender.name,
            "build": contender.build,
            "in": matches!(choice, Choice::In(_)),
            "why": choice.why(),
            "workers": workers(contender, case),
            "faults_leave_alone": contender.isolates.name(),
        })).collect::<Vec<_>>(),
        "server_cpus": advice.cpus.0,
        "load_cpus": advice.cpus.1,
        "notes": advice.notes,
        "plan": advice.plan,
        "estimate_s": advice.estimate_s,
        "answer": advice.measured.as_ref().map(|(measured, answer)| whole(measured, answer, case)),
        "probes": advice.probes.iter().map(|(probe, tried)| {
            let levels: Vec<String> = probe.levels.iter().map(|&level| probe.axis.spelled(level)).collect();
            let (run, shown, reason) = match tried {
                Tried::Measured(measured, turns) => (
                    Some(run(measured)),
                    Some(turns.levels.iter().map(|turn| json!({
                        "level": probe.axis.spelled(turn.level),
                        "holds": turn.holds,
                        "best": turn.best.name,
                        "ahead": turn.ahead.map(against),
                        "near": turn.near.map(|near| probe.axis.spelled(near)),
                        "answer": one(&turn.answer),
                    })).collect::<Vec<_>>()),
                    None,
                ),
                Tried::Not(reason) => (None, None, Some(reason.as_str())),
                Tried::Planned => (None, None, None),
            };
            json!({
                "varied": probe.axis.word(), "factor": probe.axis.factor(), "levels": levels, "note": probe.note,
                "run": run, "shown": shown, "not_run": reason,
            })
        }).collect::<Vec<_>>(),
        "host": advice.host.iter().map(|judgement| json!({
            "rule": judgement.rule.name,
            "verdict": judgement.verdict.word(),
            "why": judgement.rule.why,
            "source": judgement.rule.source,
            "evidence": judgement.rule.evidence,
            "threshold": judgement.rule.threshold.word(),
            "threshold_source": judgement.rule.threshold.words(),
            "can_apply": judgement.verdict.fix().is_some_and(|fix| !fix.settings.is_empty()),
            "fix": judgement.verdict.fix().map(|fix| fix.by_hand.clone()),
        })).collect::<Vec<_>>(),
    })
}

fn run(measured: &Measured) -> Value {
    json!({ "file": measured.path, "seconds": measured.seconds, "times": measured.times })
}

/// Null if there is a worker for each connection.
fn workers(contender: &Contender, case: &Case) -> Option<u64> {
    contender.workers.map(|of| of(case))
}

fn whole(measured: &Measured, answer: &LevelAnswer, case: &Case) -> Value {
    let mut value = one(answer);
    value["workers"] = json!(workers(answer.build, case));
    value["run"] = run(measured);
    value
}

fn one(answer: &LevelAnswer) -> Value {
    json!({
        "build": answer.build.name,
        "metric": answer.metric.name,
        "level": answer.level().map(|standing| standing.contender.name).collect::<Vec<_>>(),
        "standings": answer.standings.iter().map(standing).collect::<Vec<_>>(),
        "failed": answer.failed.iter().map(|(cell, reason)| json!({ "cell": cell, "reason": reason })).collect::<Vec<_>>(),
        "doubts": answer.doubts.iter().map(|(contender, kind, reason)| json!({
            "server": contender.name, "verdict": kind.name(), "reason": reason,
        })).collect::<Vec<_>>(),
        "samples_needed": answer.needed,
        "control": answer.control.map(against),
        "isolation_costs": answer.isolation_cost().map(against),
        "hardly_loaded": answer.hardly_loaded().is_some(),
    })
}

fn standing(standing: &Standing) -> Value {
    json!({
        "server": standing.contender.name,
        "eligible": standing.is_eligible,
        "throughput_rps": standing.throughput_rps,
        "cpu_ns_per_request": standing.cpu_ns,
        "latency_p99_ns": standing.p99_ns,
        "memory_bytes_per_connection": standing.memory_bytes,
        "cpus_used": standing.cpus_used(),
        "samples": standing.samples,
        "behind": standing.behind.map(against),
    })
}

fn against(against: Against) -> Value {
    json!({
        "factor": against.factor,
        "low": against.interval.map(|(low, _)| low),
        "high": against.interval.map(|(_, high)| high),
        "declared": against.is_declared,
    })
}
