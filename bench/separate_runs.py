#!/usr/bin/env python3
"""Compares equal servers by separate runs, each of which holds the same reference, and counts the pairs that are told apart.

    bench/separate_runs.py                 # 30 pairs of runs of 20 s each; the second of each pair beside a neighbour
    bench/separate_runs.py --no-reference  # the same without the reference, for comparison: pitot compare then claims no interval

The server is the Go server of bench/planted.py. Every pair is compared by `pitot compare`, which says whether they differ.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile

import planted


def run(program, options, output):
    line = program.line(planted.BASES["go"][0])
    command = [program.pitot, "run", "--server", line, *program.options(), "--within", f"{options.within}s", "-o", output]
    command += [] if options.no_reference else ["--reference", line]
    ran = subprocess.run(command, cwd=program.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if not os.path.exists(output):
        raise SystemExit(f"{' '.join(command)}: {ran.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--pairs", type=int, default=30)
    parser.add_argument("--within", type=int, default=20, help="seconds of a run")
    parser.add_argument("--no-reference", action="store_true")
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="separate-")
    apart, ratios = 0, []
    try:
        program = planted.Program("go", folder, os.path.abspath(options.pitot))
        for number in range(options.pairs):
            files = [os.path.join(folder, name) for name in ("first.pitot", "second.pitot")]
            run(program, options, files[0])
            beside = planted.neighbour()
            try:
                run(program, options, files[1])
            finally:
                beside.kill()
                beside.wait()
            command = [program.pitot, "compare", *files, "--format", "json"]
            compared = json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)
            cell = next(cell for cell in compared["cells"] if cell["cell"] != "reference")
            figure = cell["figures"]["cpu-per-request"]["comparison"]
            is_apart = figure["decision"] in ("higher", "lower")
            apart += is_apart
            ratios.append(figure["ratio"])
            print(json.dumps({"pair": number, "apart": is_apart, **figure}), flush=True)
            for name in os.listdir(folder):
                if name.startswith(("first", "second")):
                    os.remove(os.path.join(folder, name))
        ratios.sort()
        middle = ratios[len(ratios) // 2]
        print(f"{apart} of {options.pairs} pairs told apart; ratios {ratios[0]:.3f} to {ratios[-1]:.3f}, median {middle:.3f}")
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
