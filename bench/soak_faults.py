#!/usr/bin/env python3
"""Kills a soak with SIGKILL while faults are made to its servers, resumes it each time, and looks whether anything is lost or left.

    bench/soak_faults.py [--kills 20] [--seed 1] [--pitot target/release/pitot]

Three architectures have a fault every four seconds (stop, kill, latency, restart, half-open clients, slow readers), and the lab is killed at
random moments of some seconds. After each kill no process may be left that the soak has started, stopped ones included; in
the end every fault must stand in the file once and with an end, at its time, none may be missing, intervals and totals must agree, and
every kill must be a gap. Exits with 1 if anything is otherwise.
"""
import argparse
import collections
import os
import random
import signal
import sqlite3
import json
import subprocess
import sys
import tempfile
import time

KINDS = ["stop", "kill", "latency", "restart", "half-open", "slow-readers"]
EVERY_S = 4 * len(KINDS)
PLAN = """
title = "Faults and kills"
ready-timeout = "60s"
[server]
protocol = "http"
[load]
size = "1KiB"
connections = 8
rate = "200"
[factors]
server = ["prefork", "thread", "loop+epoll-et"]
[soak]
for = "1h"
restart = "yes"
"""


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def left(directory):
    """Processes that name the directory in their environment, but for this one's."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if directory.encode() in read(f"/proc/{pid}/environ"):
            stat = read(f"/proc/{pid}/stat").decode(errors="replace")
            command = read(f"/proc/{pid}/cmdline").replace(b"\0", b" ").decode(errors="replace")
            if command:
                found.append(f"{pid} {stat.rsplit(') ', 1)[-1][:1]} {command}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pitot", default="target/release/pitot")
    asked = parser.parse_args()
    pitot = os.path.abspath(asked.pitot)
    chance = random.Random(asked.seed)
    failures = []
    with tempfile.TemporaryDirectory(prefix="soak-faults-") as directory:
        faults = "".join(
            f'[[faults]]\nkind = "{kind}"\nat = "{2 + 4 * n}s"\nevery = "{EVERY_S}s"\nfor = "1s"\n' for n, kind in enumerate(KINDS)
        )
        with open(f"{directory}/plan.toml", "w") as file:
            file.write(PLAN + faults)
        path = f"{directory}/a.pitot"
        command = [pitot, "soak", "plan.toml", "--interval", "1s", "-o", path]
        for kill in range(asked.kills + 1):
            environment = {**os.environ, "TMPDIR": directory}
            quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
            lab = subprocess.Popen(command, cwd=directory, env=environment, **quiet)
            time.sleep(chance.uniform(4.0, 9.0))
            if lab.poll() is not None:
                failures.append(f"the soak ended by itself: {lab.stderr.read().decode()}")
                break
            if kill == asked.kills:
                lab.send_signal(signal.SIGINT)
                lab.wait()
                break
            lab.kill()
            lab.wait()
            deadline = time.monotonic() + 20
            while left(directory) and time.monotonic() < deadline:
                time.sleep(0.05)
            if stayed := left(directory):
                failures.append(f"kill {kill + 1}: left behind: {stayed}")
            command = [pitot, "soak", "--resume", path]
        file = sqlite3.connect(path)
        rows = file.execute("SELECT subject, number, due_s, at_s, until_s, was_made, what FROM fault").fetchall()
        events = collections.Counter(kind for (kind,) in file.execute("SELECT kind FROM event"))
        totals = sum(json.loads(text)["completed"] for (text,) in file.execute("SELECT totals FROM load"))
        (completed,) = file.execute("SELECT sum(completed) FROM interval").fetchone()
        reached_s = max(row[2] for row in rows)
        for subject in (1, 2, 3):
            due = [row[2] for row in rows if row[0] == subject]
            expected = [2.0 + 4 * n for n in range(int((reached_s - 2) // 4) + 1)]
            if sorted(due) != expected:
                failures.append(f"server {subject}: due {sorted(due)}, and not every four seconds")
        failures += [f"without an end: {row}" for row in rows if row[4] is None]
        failures += [f"not made: {row}" for row in rows if not row[5]]
        in_faults = sum("the lab was killed" in row[6] for row in rows)
        if totals != completed:
            failures.append(f"{totals} replies in totals, {completed} in intervals")
        if events["gap"] != asked.kills:
            failures.append(f"{events['gap']} gaps of {asked.kills} kills")
        print(f"{asked.kills} kills, {in_faults} faults were under way in them; {len(rows)} faults on 3 servers over "
              f"{reached_s:.0f} s of load; {totals} replies; events: {dict(events)}")
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


main()
