#!/usr/bin/env python3
"""Compares ways to find changes of level in simulated histories of runs, as Markdown tables.

    bench/histories.py                                     # our methods, 200 histories of each kind
    python3 -m venv /var/tmp/otava && /var/tmp/otava/bin/pip install apache-otava
    bench/histories.py --otava /var/tmp/otava/bin/python   # and Apache Otava, on the same histories
    bench/histories.py --histories 1000 --seed 3

The methods, the histories and the scores are those of `crates/stats/examples/histories.rs`. Otava gets the histories as files and
runs with its defaults: a window of 50 runs, and p below 0.001.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile


def example(*arguments):
    command = ["cargo", "run", "--quiet", "--release", "-p", "pitot-stats", "--example", "histories", "--", *arguments]
    subprocess.run(command, check=True, cwd=os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))


def find(histories, found):
    """Runs within the Python that has Otava."""
    from otava.analysis import compute_change_points

    os.makedirs(found)
    for name in sorted(os.listdir(histories)):
        with open(os.path.join(histories, name)) as lines, open(os.path.join(found, name), "w") as output:
            for line in lines:
                changes, _ = compute_change_points([float(value) for value in line.split(",")])
                output.write(",".join(str(change.index) for change in changes) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--otava", help="a Python that has apache-otava")
    parser.add_argument("--find", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.find:
        return find(*options.find)
    size = [str(options.histories), str(options.seed)]
    has_otava = options.otava and subprocess.run([options.otava, "-c", "import otava.analysis"]).returncode == 0
    if not has_otava:
        print("without Apache Otava: see --help", file=sys.stderr)
        return example(*size)
    folder = tempfile.mkdtemp(prefix="histories-")
    try:
        histories, found = os.path.join(folder, "histories"), os.path.join(folder, "found")
        example(*size, "--write", histories)
        command = [options.otava, os.path.abspath(__file__), "--find", histories, found]
        subprocess.run(command, check=True)
        example(*size, "--found", f"Otava={found}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
