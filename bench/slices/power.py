#!/usr/bin/env python3
"""How often a run of one minute finds a server with 5% more CPU time per reply, and one with 10% less throughput.

    python3 bench/slices/power.py [--pitot target/release/pitot] [--runs 20] [--within 1m]

Each run is `pitot run bench/slices/power.toml --within 1m`; the differences are read from its JSON report. The steal of
the machine during the runs is printed beside.
"""
import argparse
import json
import pathlib
import subprocess
import tempfile

PLAN = pathlib.Path(__file__).with_name("power.toml")
WANTED = [("more-cpu", "cpu-per-request", "higher"), ("less-throughput", "throughput", "lower")]


def steal():
    words = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return words[7], sum(words)


def one(pitot, within, path):
    subprocess.run([pitot, "run", PLAN, "--within", within, "-o", path], check=True, capture_output=True)
    report = subprocess.run([pitot, "report", path, "--format", "json"], check=True, capture_output=True)
    cells = {cell["factors"]["server"]: cell["figures"] for cell in json.loads(report.stdout)["cells"]}
    return [cells[server][metric]["against_baseline"] for server, metric, _ in WANTED]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--within", default="1m")
    args = parser.parse_args()
    found = [0 for _ in WANTED]
    before = steal()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.runs):
            comparisons = one(args.pitot, args.within, f"{folder}/{number}.pitot")
            words = []
            for index, (comparison, (server, metric, decision)) in enumerate(zip(comparisons, WANTED)):
                found[index] += comparison["decision"] == decision
                low, high = comparison["interval"]["low"], comparison["interval"]["high"]
                words.append(f"{server} {comparison['ratio']:.3f} [{low:.3f}, {high:.3f}] {comparison['decision']}")
            print(f"{number + 1:2}: {comparisons[0]['repetitions']} generations; {'; '.join(words)}", flush=True)
    after = steal()
    share = (after[0] - before[0]) / max(1, after[1] - before[1])
    for (server, metric, decision), count in zip(WANTED, found):
        print(f"{server}: {metric} declared {decision} in {count} of {args.runs} runs")
    print(f"steal: {share:.1%} of the CPU time")


if __name__ == "__main__":
    main()
