#!/usr/bin/env python3
"""How often a run of one minute finds a server with 5% more CPU time per reply, and one with 10% less throughput.

    python3 bench/slices/power.py [--pitot target/release/pitot] [--runs 20] [--within 1m]

Each run is `pitot run bench/slices/power.toml --within 1m`, with burns that are 5% and 11% of the CPU time that a reply of
the plain server took in the run before; the differences are read from its JSON report. The steal of the machine
during the runs is printed beside.
"""
import argparse
import json
import pathlib
import re
import subprocess
import tempfile

PLAN = pathlib.Path(__file__).with_name("power.toml")
# Parts of a reply's CPU time that the servers burn, and what reading the clock adds to each burn, nanoseconds.
SHARES = {"more-cpu": 0.05, "less-throughput": 0.11}
CLOCK_NS = 55
WANTED = [("more-cpu", "cpu-per-request", "higher"), ("less-throughput", "throughput", "lower")]


def steal():
    words = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return words[7], sum(words)


def one(pitot, plan, within, path):
    """The figures of a run by server and metric."""
    subprocess.run([pitot, "run", plan, "--within", within, "-o", path], check=True, capture_output=True)
    report = subprocess.run([pitot, "report", path, "--format", "json"], check=True, capture_output=True)
    return {cell["factors"]["server"]: cell["figures"] for cell in json.loads(report.stdout)["cells"]}


def calibrated(folder, plain_ns):
    """The plan as a file, with burns for a plain server that takes so much CPU time for a reply."""
    text = PLAN.read_text()
    for server, share in SHARES.items():
        burn = max(1, round(share * plain_ns - CLOCK_NS))
        text = re.sub(rf'(\[servers.{server}\]\nburn = )"[^"]*"', rf'\1"{burn}ns"', text)
    plan = pathlib.Path(folder) / "power.toml"
    plan.write_text(text)
    return plan


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--within", default="1m")
    args = parser.parse_args()
    found = [0 for _ in WANTED]
    before = steal()
    with tempfile.TemporaryDirectory() as folder:
        figures = one(args.pitot, PLAN, "20s", f"{folder}/before.pitot")
        for number in range(args.runs):
            # What a reply takes moves with what else the machine does: each run burns parts of what the one before saw.
            plan = calibrated(folder, figures["plain"]["cpu-per-request"]["value"])
            figures = one(args.pitot, plan, args.within, f"{folder}/{number}.pitot")
            comparisons = [figures[server][metric]["against_baseline"] for server, metric, _ in WANTED]
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
