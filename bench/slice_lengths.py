#!/usr/bin/env python3
"""How far apart three equal servers look in CPU time per request, by the length of slices and by how a generation becomes one figure.

    bench/slice_lengths.py                            # 5, 10, 20, 40 and 100 ms, the same time of load for each
    bench/slice_lengths.py --lengths 5,40 --neighbour # beside a process that uses 40% of a CPU in bursts

Each length is one run of the same server twice, with its control. A column is a way to get the ratio of two servers from the slices of a
generation: `middle half` is what Pitot does (the mean of the middle half of the log ratios of its rounds), `mean` and `median` of the same
ratios, `totals` the quotient of the sums, `apart` the quotient of the middle halves of each side's slices, `two copies` as the first, but
against the mean of two copies, as every candidate is compared. Figures are the root mean square of the log ratios, in percent: the truth
is 0.
"""

import argparse
import collections
import math
import os
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile

from planted import neighbour

PLAN = """
title = "Equal servers"
question = "How equal are they?"
metric = "cpu-per-request"
generations = {generations}
slices = {slices}
slice = "{length:g}ms"
warmup = "100ms"
tolerance = "0%"
baseline = {{ server = "a" }}
[server]
protocol = "http"
[load]
url = "http://{{address}}/bytes/2"
connections = 64
[factors]
server = ["a", "b"]
[servers.a]
model = "loop"
[servers.b]
model = "loop"
"""


def middle(values):
    values = sorted(values)
    cut = len(values) // 4
    return statistics.mean(values[cut : len(values) - cut])


def logs(file):
    """Of each way, the log ratios of all pairs of servers in all generations."""
    with sqlite3.connect(file) as run:
        rows = run.execute(
            "SELECT cell_id, block, round, server_cpu_ns, requests FROM slice JOIN repetition ON repetition.id = repetition_id "
            "WHERE requests > 0 AND server_cpu_ns > 0"
        ).fetchall()
    slices = collections.defaultdict(list)
    for cell, block, number, cpu, requests in rows:
        slices[cell, block, number].append((cpu, requests))
    cells = sorted({row[0] for row in rows})
    found = collections.defaultdict(list)
    for block in sorted({row[1] for row in rows}):
        rounds = [n for n in sorted({row[2] for row in rows if row[1] == block}) if all(len(slices[c, block, n]) == 2 for c in cells)]
        each = {cell: [[cpu / requests for cpu, requests in slices[cell, block, n]] for n in rounds] for cell in cells}
        total = {cell: sum(s[0] for n in rounds for s in slices[cell, block, n]) / sum(s[1] for n in rounds for s in slices[cell, block, n])
                 for cell in cells}
        for at, one in enumerate(cells):
            for other in cells[:at]:
                third = next(cell for cell in cells if cell not in (one, other))
                ratios = [math.log(sum(a) / sum(b)) for a, b in zip(each[one], each[other])]
                found["middle half"].append(middle(ratios))
                found["mean"].append(statistics.mean(ratios))
                found["median"].append(statistics.median(ratios))
                found["totals"].append(math.log(total[one] / total[other]))
                found["apart"].append(math.log(middle(sum(each[one], [])) / middle(sum(each[other], []))))
                both = [math.log(2 * sum(a) / (sum(b) + sum(c))) for a, b, c in zip(each[one], each[other], each[third])]
                found["two copies"].append(middle(both))
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lengths", default="5,10,20,40,100", help="milliseconds")
    parser.add_argument("--generations", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=1.2, help="load of each server in a generation")
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--neighbour", action="store_true")
    options = parser.parse_args()
    # What was started is ended also when this is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    beside = neighbour() if options.neighbour else None
    try:
        with tempfile.TemporaryDirectory(prefix="slices-") as folder:
            plan, run = os.path.join(folder, "plan.toml"), os.path.join(folder, "run.pitot")
            for number, length in enumerate(float(length) for length in options.lengths.split(",")):
                slices = round(options.seconds * 1000 / length / 2) * 2
                with open(plan, "w") as file:
                    file.write(PLAN.format(generations=options.generations, slices=slices, length=length))
                if os.path.exists(run):
                    os.remove(run)
                subprocess.run([options.pitot, "run", plan, "-o", run], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                found = logs(run)
                if number == 0:
                    print("  slice  slices  " + "  ".join(f"{way:>11}" for way in found))
                figures = (100 * math.sqrt(statistics.mean(log * log for log in of)) for of in found.values())
                print(f"{length:4g} ms  {slices:6}  " + "  ".join(f"{figure:10.2f}%" for figure in figures), flush=True)
    finally:
        if beside:
            beside.kill()
            beside.wait()


if __name__ == "__main__":
    main()
