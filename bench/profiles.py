#!/usr/bin/env python3
"""Measures whether the slices that are profiled change those that are measured.

    bench/profiles.py                             # short runs with and without --profile in turn, for ten minutes
    bench/profiles.py --profile off-cpu --within 1800

Each run with profiles is compared with the one without that is beside it, in a random order. Profiled slices come last in a generation, so
what could change are the generations that follow: the first of each run does not count. The ratio is the Hodges-Lehmann estimate over the
pairs, with the 95% interval of the signed-rank test. The machine drifts from minute to minute, so runs are short and many.
"""

import argparse
import collections
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
slices = 2
""" + rig.TWO_SERVERS


def run(pitot, folder, generations, profile):
    """Of each server in each generation of one run but the first, the medians of its slices, as `rig.slices` has them."""
    output = os.path.join(folder, "run.pitot")
    command = [pitot, "run", "plan.toml", "-o", output, "--repetitions", str(generations)]
    command += ["--profile", profile] if profile else []
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    rows = rig.slices(output)
    os.remove(output)
    servers = collections.defaultdict(list)
    for row in rows:
        if row[5]:
            servers[row[0], row[5]].append(row)
    return [tuple(map(statistics.median, zip(*of))) for of in servers.values()]


def differences(pairs):
    """How much more CPU time per request each pair of runs shows with profiles, as a logarithm, at one pace of the CPUs."""
    rows = [row for pair in pairs for profiled in (False, True) for row in pair[profiled]]
    logs = iter(rig.at_one_pace(rows, 2))
    usual = []
    for pair in pairs:
        for profiled in (False, True):
            usual.append(statistics.mean(next(logs) for _ in pair[profiled]))
    return [with_profile - without for without, with_profile in zip(usual[::2], usual[1::2])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--profile", default="cpu,calls,counters")
    parser.add_argument("--generations", type=int, default=3, help="of each run")
    parser.add_argument("--within", type=int, default=600, help="seconds")
    options = parser.parse_args()
    # What was started is ended also when this is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    pitot = os.path.abspath(options.pitot)
    pairs = []
    with tempfile.TemporaryDirectory(prefix="profiles-") as folder:
        with open(os.path.join(folder, "plan.toml"), "w") as out:
            out.write(PLAN)
        end = time.monotonic() + options.within
        while time.monotonic() < end:
            pair = {}
            for profile in random.sample([options.profile, ""], 2):
                pair[bool(profile)] = run(pitot, folder, options.generations, profile)
            pairs.append(pair)
    interval = rig.signed_rank(differences(pairs))
    if not interval:
        sys.exit(f"{len(pairs)} pairs of runs are too few: allow more with --within")
    low, middle, high = map(math.exp, interval)
    print(f"{len(pairs)} pairs of runs of {options.generations} generations, --profile {options.profile}; "
          f"CPU time per request, with profiles to without: {middle:.4f} [{low:.4f}, {high:.4f}]")


if __name__ == "__main__":
    main()
