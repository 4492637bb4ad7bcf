#!/usr/bin/env python3
"""How wide is the interval of a ratio, measured in five ways in the same time on the same machine?

    python3 bench/slices/ablation.py [--pitot target/release/pitot] [--rounds 4] [--seconds 24] [--wrk 1]

Two servers, loop+poll against loop+uring with 64 connections and replies of 1 KiB, are compared

  fresh     in fresh runs of 500 ms, the two samples compared by the Mann-Whitney test
  paired    in the same fresh runs, paired by block (signed-rank test)
  one start in slices, but servers are started once and every round is taken for a sample: it says how steady slices
            are, and leaves out what another start of the servers would change
  slices    in slices with generations, as `pitot run` does
  wrk       by wrk, run by hand in turn, 10 s each and 6 times: a common way (needs: apt-get install wrk)

A width is the upper end of the 95% interval over the lower one; the table gives the median of the rounds. The steal of
the machine meanwhile is printed beside.
"""
import argparse
import json
import math
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import statistics
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).parent.parent))
import rig

SERVERS = ["loop+poll", "loop+uring"]
PLAN = """
metric = "cpu-per-request"
{amount}
baseline = {{ server = "loop+poll" }}
tolerance = "0%"
[server]
protocol = "http"
[load]
url = "http://{{address}}/bytes/1024"
connections = 64
[factors]
server = ["loop+poll", "loop+uring"]
"""
METRICS = ["cpu-per-request", "throughput"]
COLUMNS = {"cpu-per-request": "CPU/request", "throughput": "requests/s"}


def steal():
    words = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n")[0].split()[1:9]]
    return words[7], sum(words)


def run(pitot, folder, amount, *options):
    """Runs the plan and returns the report's cells by server, and the path of the run file."""
    plan, path = f"{folder}/plan.toml", f"{folder}/run.pitot"
    pathlib.Path(plan).write_text(PLAN.format(amount=amount))
    pathlib.Path(path).unlink(missing_ok=True)
    subprocess.run([pitot, "run", plan, "-o", path, *options], check=True, capture_output=True)
    report = subprocess.run([pitot, "report", path, "--format", "json"], check=True, capture_output=True)
    return {cell["factors"]["server"]: cell for cell in json.loads(report.stdout)["cells"]}, path


def signed_rank_width(logs):
    """The width of the 95% interval of the signed-rank test, as a ratio."""
    interval = rig.signed_rank(logs)
    return interval and math.exp(interval[2] - interval[0])


def mann_whitney_width(a, b):
    """The 95% interval of the shift, by the exact distribution of the Mann-Whitney statistic."""
    differences = sorted(x - y for x in a for y in b)
    n, m = len(a), len(b)
    ways = [[0] * (n * m + 1) for _ in range(n + 1)]
    ways[0][0] = 1
    for rank in range(1, n + m + 1):
        for k in range(min(rank, n), 0, -1):
            for u in range(n * m, -1, -1):
                if u >= rank - k and rank - k <= m:
                    ways[k][u] += ways[k - 1][u - (rank - k)]
    total, skip, below = math.comb(n + m, n), 0, ways[n][0]
    while 2 * below / total <= 0.05:
        skip += 1
        below += ways[n][skip]
    return None if skip == 0 else math.exp(differences[-skip] - differences[skip - 1])


def repetitions(path):
    """The logarithms of the repetitions of a run by metric and server, in the order of the blocks."""
    rows = sqlite3.connect(path).execute(
        "SELECT level, throughput_rps, cpu_per_request_ns FROM result "
        "JOIN repetition ON repetition.id = repetition_id JOIN factor ON factor.cell_id = repetition.cell_id "
        "ORDER BY repetition.block"
    )
    found = {metric: {server: [] for server in SERVERS} for metric in METRICS}
    for server, rate, cpu in rows:
        found["throughput"][server].append(math.log(rate))
        found["cpu-per-request"][server].append(math.log(cpu))
    return found


def slices(path):
    """The log ratio of each round of a run of one generation, by metric."""
    rows = sqlite3.connect(path).execute(
        "SELECT level, round, avg(server_cpu_ns * 1.0 / requests), avg(requests * 1e9 / (duration_ns + drain_ns)) "
        "FROM slice JOIN repetition ON repetition.id = repetition_id JOIN cell ON cell.id = repetition.cell_id "
        "JOIN factor ON factor.cell_id = cell.id WHERE cell.control_of IS NULL GROUP BY level, round"
    )
    figures = {}
    for server, number, cpu, rate in rows:
        figures.setdefault(number, {})[server] = (cpu, rate)
    pairs = [f for f in figures.values() if len(f) == 2]
    return [[math.log(f[SERVERS[1]][i] / f[SERVERS[0]][i]) for f in pairs] for i in (0, 1)]


def wrk(pitot):
    """Six times 10 s of each server in turn, started once; the logarithms of the rates."""
    started, rates = [], {server: [] for server in SERVERS}
    try:
        for server in SERVERS:
            model, mechanism = server.split("+")
            command = [pitot, "serve", "http", "--listen", "127.0.0.1:0", "--model", model, "--mechanism", mechanism]
            process = subprocess.Popen([*command, "--cpus", "0"], stdout=subprocess.PIPE, text=True)
            started.append((server, process, process.stdout.readline().split()[1]))
        for _ in range(6):
            for server, _, address in started:
                command = ["taskset", "-c", "1", "wrk", "-t", "1", "-c", "64", "-d", "10s", f"http://{address}/bytes/1024"]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                rates[server].append(math.log(float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])))
    finally:
        for _, process, _ in started:
            os.kill(process.pid, signal.SIGTERM)
            process.wait()
    return rates


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--seconds", type=int, default=24)
    parser.add_argument("--wrk", type=int, default=1, help="how often to do it with wrk, two minutes each")
    args = parser.parse_args()
    widths = {}

    def note(way, metric, width):
        if width is not None:
            widths.setdefault(way, {}).setdefault(metric, []).append(width)

    before = steal()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(args.rounds):
            # A fresh run of 500 ms takes a second with its warm-up, its start and its end.
            blocks = max(6, round(args.seconds / len(SERVERS) / 1.0))
            amount = f'repetitions = {blocks}\nwarmup = "150ms"\nduration = "500ms"'
            _, path = run(args.pitot, folder, amount)
            for metric, found in repetitions(path).items():
                a, b = found[SERVERS[1]], found[SERVERS[0]]
                note("fresh", metric, mann_whitney_width(a, b))
                note("paired", metric, signed_rank_width([x - y for x, y in zip(a, b)]))
            count = round(args.seconds / 0.045 / (len(SERVERS) + 1) / 2) * 2
            _, path = run(args.pitot, folder, f'generations = 1\nslices = {count}\nslice = "40ms"')
            for metric, logs in zip(METRICS, slices(path)):
                note("one start", metric, signed_rank_width(logs))
            cells, _ = run(args.pitot, folder, 'slices = 4\nslice = "40ms"\nwarmup = "50ms"', "--within", f"{args.seconds}s")
            for metric in METRICS:
                interval = cells[SERVERS[1]]["figures"][metric]["against_baseline"]["interval"]
                note("slices", metric, interval["high"] / interval["low"])
            print(f"round {number + 1}: " + "; ".join(f"{way} {widths[way][METRICS[0]][-1]:.3f}" for way in widths), flush=True)
    if shutil.which("wrk"):
        for _ in range(args.wrk):
            rates = wrk(args.pitot)
            a, b = rates[SERVERS[1]], rates[SERVERS[0]]
            note("wrk", "throughput", mann_whitney_width(a, b))
    after = steal()
    print(f"\n| way | {' | '.join(COLUMNS[m] for m in METRICS)} |\n|---|---|---|")
    for way, by_metric in widths.items():
        shown = [f"{statistics.median(by_metric[m]):.3f}" if m in by_metric else "-" for m in METRICS]
        print(f"| {way} | {' | '.join(shown)} |")
    share = (after[0] - before[0]) / max(1, after[1] - before[1])
    print(f"\nwidths of 95% intervals, high end over low end; steal: {share:.1%} of the CPU time")


if __name__ == "__main__":
    main()
