#!/usr/bin/env python3
"""What the pace of the CPUs says of runs measured in slices.

    bench/pace.py RUN.pitot ...

For each cell against the baseline and its control: how the logarithms of CPU time per request and of the pace are correlated over slices;
how far the paces of the two are apart, with two standard errors, beyond which the pace depends on the server, as it must not; and the ratio
of CPU time per request with its interval, of all rounds as they are and as the report has it (`pitot_stats::Undisturbed`).
"""

import argparse
import collections
import json
import math
import sqlite3
import statistics
import subprocess

import rig


def of_generations(rows, ones, others):
    """Of each generation its rounds: the log ratios of CPU time per request and of the pace."""
    slices = collections.defaultdict(lambda: collections.defaultdict(lambda: ([], [])))
    for cell, _, cpu, _, pace, block, number in rows:
        for side, cells in enumerate((ones, others)):
            if cell in cells:
                slices[block][number][side].append((cpu, pace))
    log = lambda sides, at: math.log(statistics.mean(s[at] for s in sides[0]) / statistics.mean(s[at] for s in sides[1]))
    return [[(log(of, 0), log(of, 1)) for of in rounds.values() if all(of)] for rounds in slices.values()]


def as_they_are(generations):
    middle = lambda logs: logs[len(logs) // 4:len(logs) - len(logs) // 4]
    logs = [statistics.mean(middle(sorted(log for log, _ in rounds))) for rounds in generations]
    interval = rig.signed_rank(logs)
    return "too few generations" if not interval else "{1:.4f} [{0:.4f}, {2:.4f}]".format(*map(math.exp, interval))


def in_report(pitot, file):
    """The ratios of the report: of each cell to the baseline, which has none, and of the baseline's control to it."""
    shown = subprocess.run([pitot, "report", file, "--format", "json"], stdout=subprocess.PIPE, check=True)
    report = json.loads(shown.stdout)
    against = lambda cell: cell["figures"].get("cpu-per-request", {}).get("against_baseline")
    ratios = [of and (of["ratio"], of["interval"]) for of in map(against, report["cells"])]
    return ratios, [(of["ratio"], of) for of in report["control"] if of["metric"] == "cpu-per-request"]


def lines(pitot, file):
    with sqlite3.connect(file) as run:
        cells = run.execute("SELECT id, control_of FROM cell ORDER BY id").fetchall()
    rows = rig.slices(file)
    ratios, of_controls = in_report(pitot, file)
    compared = [cell for cell, of in cells if of is None]
    for control, baseline in ((cell, of) for cell, of in cells if of is not None):
        pairs = [(cell, {baseline, control}, ratio) for cell, ratio in zip(compared, ratios) if ratio]
        pairs += [(control, {baseline}, ratio) for ratio in of_controls]
        for one, others, (value, interval) in pairs:
            of = [row for row in rows if row[0] == one or row[0] in others]
            correlation = rig.correlation([math.log(row[4]) for row in of], [math.log(row[2]) for row in of])
            generations = of_generations(rows, {one}, others)
            paces = [pace for rounds in generations for _, pace in rounds]
            apart, error = statistics.mean(rig.without_wild(paces)), 2 * rig.deviation(paces) / math.sqrt(len(paces))
            reported = f"{value:.4f} [{interval['low']:.4f}, {interval['high']:.4f}]"
            yield f"{one:4}  {correlation:11.2f}  {apart:+6.1%} +-{error:5.1%}  {as_they_are(generations)}  {reported}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", nargs="+")
    parser.add_argument("--pitot", default="target/release/pitot")
    options = parser.parse_args()
    print("cell  correlation   paces apart   as they are              in the report            file")
    for file in options.run:
        for line in lines(options.pitot, file):
            print(f"{line}  {file}")


if __name__ == "__main__":
    main()
