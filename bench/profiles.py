#!/usr/bin/env python3
"""Measures whether the slices that are profiled change those that are measured.

    bench/profiles.py                             # short runs with and without --profile in turn, for ten minutes
    bench/profiles.py --profile off-cpu --within 1800
    bench/profiles.py --keep pairs.jsonl          # adds to the pairs of earlier hours, and shows what all of them say

Each run with profiles is compared with the one without that is beside it, in a random order. Profiled slices come last in a generation, so
what could change are the generations that follow: the first of each run does not count. The ratio is the Hodges-Lehmann estimate over the
pairs, with the 95% interval of the signed-rank test. The machine drifts from minute to minute, so runs are short and many.
"""

import argparse
import collections
import json
import math
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import rig

PLAN = """
title = "Profiled"
question = "Do profiles cost anything?"
slices = 16
""" + rig.TWO_SERVERS


def run(pitot, folder, generations, profile):
    """The slices of one run, after its first generation."""
    output = os.path.join(folder, "run.pitot")
    command = [pitot, "run", "plan.toml", "-o", output, "--repetitions", str(generations)]
    command += ["--profile", profile] if profile else []
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = rig.slices(output)
    os.remove(output)
    return [row for row in rows if row[5]]


def differences(pairs):
    """How much more CPU time per request each pair of runs shows with profiles, as a logarithm, at like paces of the CPUs."""
    rows = [(pair, profiled, row) for pair in range(len(pairs)) for profiled in (False, True) for row in pairs[pair][profiled]]
    logs = collections.defaultdict(list)
    for (pair, profiled, row), log in zip(rows, rig.at_one_pace([row for _, _, row in rows], 2)):
        logs[pair, profiled, row[0]].append(log)
    usual = {of: statistics.median(of_cell) for of, of_cell in logs.items()}
    for pair in range(len(pairs)):
        yield statistics.mean(log - usual[pair, False, cell] for (of, profiled, cell), log in usual.items() if profiled and of == pair)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--profile", default="cpu,calls,counters")
    parser.add_argument("--generations", type=int, default=6, help="of each run")
    parser.add_argument("--within", type=int, default=600, help="seconds")
    parser.add_argument("--keep", metavar="FILE", help="the pairs of one build and --profile, from several hours")
    options = parser.parse_args()
    # What was started is ended also when this is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    pitot = os.path.abspath(options.pitot)
    pairs = []
    if options.keep and os.path.exists(options.keep):
        with open(options.keep) as kept:
            pairs = [dict(zip((False, True), json.loads(line))) for line in kept]
    with tempfile.TemporaryDirectory(prefix="profiles-") as folder:
        with open(os.path.join(folder, "plan.toml"), "w") as out:
            out.write(PLAN)
        end = time.monotonic() + options.within
        while time.monotonic() < end:
            pair = {}
            for profile in random.sample([options.profile, ""], 2):
                pair[bool(profile)] = run(pitot, folder, options.generations, profile)
            pairs.append(pair)
            if options.keep:
                with open(options.keep, "a") as kept:
                    print(json.dumps([pair[False], pair[True]]), file=kept)
    logs = list(differences(pairs))
    interval = rig.signed_rank(logs)
    if not interval:
        sys.exit(f"{len(logs)} pairs of runs are too few: allow more with --within")
    low, middle, high = map(math.exp, interval)
    print(f"{len(pairs)} pairs of runs, --profile {options.profile}; "
          f"CPU time per request, with profiles to without: {middle:.4f} [{low:.4f}, {high:.4f}]")


if __name__ == "__main__":
    main()
