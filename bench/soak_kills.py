#!/usr/bin/env python3
"""A long soak that is killed with SIGKILL and resumed: is anything lost, are the gaps right, does the lab need more memory over time?

    bench/soak_kills.py [--pitot target/release/pitot] [--for 2h] [--kills 2] [--pause 40s] [--rate 50] [--keep FILE.pitot]

nginx (where it is installed), a pool of processes and one event loop are loaded side by side. The lab is killed `--kills` times, at equal
distances, and resumed after `--pause`. In the end

- the soak is complete, and intervals and totals have the same replies;
- each load has been under load for the time that was asked for, without a hole that is not a gap and without an interval twice;
- each kill is one gap, which begins at the end of an interval no more than two before the kill, and ends when the lab is back;
- the lab and its loads have in no third of the time more resident memory than a tenth above the first.

Prints what it saw, the size of the file included, and exits with 1 if anything is otherwise.
"""
import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

INTERVAL_S = 10
# A load tells of a second when it is over, so that the begin of its first interval is known to a second.
SECOND = 1.5
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text):
    return float(text[:-1]) * UNITS[text[-1]]


def resident_kib(pid):
    """Of the process and its children that are loads."""
    total = 0
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rsplit(") ", 1)[1].split()[1])
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
            if folder.name == str(pid) or parent == pid and b"load" in arguments[1:2]:
                total += int((folder / "status").read_text().split("VmRSS:")[1].split()[0])
        except (OSError, IndexError, ValueError):
            continue
    return total


class Lab:
    """One `pitot soak`, and how much memory it has every few seconds."""

    def __init__(self, command, directory, began, memory):
        self.process = subprocess.Popen(command, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        threading.Thread(target=self.watch, args=(began, memory), daemon=True).start()

    def watch(self, began, memory):
        time.sleep(15)
        while self.process.poll() is None:
            memory.append((time.monotonic() - began, resident_kib(self.process.pid)))
            time.sleep(5)


def run(asked, directory):
    """Carries the soak out, and says when it was killed and when it was back."""
    pitot, length = os.path.abspath(asked.pitot), seconds(asked.length)
    servers = (["nginx"] if shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin") else []) + ["prefork", "loop+epoll-et"]
    command = [pitot, "soak", *(word for server in servers for word in ("--server", server)), "--url", "http://{address}/1k"]
    command += ["-R", str(asked.rate), "--for", asked.length, "--interval", f"{INTERVAL_S}s", "-o", "a.pitot"]
    began, memory, kills = time.monotonic(), [], []
    for kill in range(asked.kills + 1):
        lab = Lab(command, directory, began, memory)
        if kill == asked.kills:
            _, complaint = lab.process.communicate()
            return memory, kills, lab.process.returncode, complaint.decode()
        try:
            lab.process.wait(length / (asked.kills + 1))
            return memory, kills, lab.process.returncode, "it ended before it was killed: " + lab.process.stderr.read().decode()
        except subprocess.TimeoutExpired:
            lab.process.kill()
            lab.process.wait()
        killed = time.monotonic() - began
        time.sleep(seconds(asked.pause))
        kills.append((killed, time.monotonic() - began))
        command = [pitot, "soak", "--resume", "a.pitot"]


def look(file, asked, kills):
    """What is wrong with the file."""
    wanted = seconds(asked.length)
    (state,) = file.execute("SELECT state FROM soak").fetchone()
    if state != "complete":
        yield f"the soak is {state}"
    gaps = file.execute("SELECT at_s, until_s FROM event WHERE kind = 'gap' ORDER BY at_s").fetchall()
    if len(gaps) != len(kills):
        yield f"{len(gaps)} gaps of {len(kills)} kills"
    for (begin, end), (killed, back) in zip(gaps, kills):
        # The soak's own time begins when its servers are up, and a lab that is resumed starts servers first.
        if not killed - 2 * INTERVAL_S - 10 <= begin <= killed or not back - 10 <= end <= back + 10:
            yield f"a gap from {begin:.1f} to {end:.1f} s, where the lab was killed at {killed:.1f} s and back at {back:.1f} s"
    for load, totals in file.execute("SELECT id, totals FROM load").fetchall():
        intervals = file.execute("SELECT start_s, length_s, completed FROM interval WHERE load = ? ORDER BY start_s", (load,)).fetchall()
        if (counted := sum(row[2] for row in intervals)) != json.loads(totals)["completed"]:
            yield f"load {load}: {counted} replies in intervals, {json.loads(totals)['completed']} in totals"
        under_load = sum(row[1] for row in intervals)
        if not wanted - SECOND * (len(kills) + 1) <= under_load <= wanted + INTERVAL_S:
            yield f"load {load}: {under_load:.1f} s under load of {wanted:.0f}"
        for (start, length, _), (after, _, _) in zip(intervals, intervals[1:]):
            hole = after - start - length
            if hole < -SECOND:
                yield f"load {load}: the intervals at {start:.1f} and {after:.1f} s overlap"
            if hole > SECOND and not any(begin - SECOND <= start + length and after <= end + SECOND for begin, end in gaps):
                yield f"load {load}: a hole of {hole:.1f} s at {start + length:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--for", dest="length", default="2h")
    parser.add_argument("--kills", type=int, default=2)
    parser.add_argument("--pause", default="40s")
    parser.add_argument("--rate", type=int, default=50)
    parser.add_argument("--keep")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-kills-") as directory:
        memory, kills, status, complaint = run(asked, directory)
        path = f"{directory}/a.pitot"
        failures = list(look(sqlite3.connect(path), asked, kills))
        if status != 0:
            failures.append(f"exit status {status}: {complaint.strip()}")
        end = memory[-1][0]
        thirds = [max((kib for at, kib in memory if n * end / 3 <= at <= (n + 1) * end / 3), default=0) for n in range(3)]
        if max(thirds[1:]) > 1.1 * thirds[0]:
            failures.append("the lab's memory grows")
        replies = sum(json.loads(text)["completed"] for (text,) in sqlite3.connect(path).execute("SELECT totals FROM load"))
        print(f"{asked.length} under load, {len(kills)} kills, {replies} replies; the file has {os.path.getsize(path) / 1e6:.2f} MB; resident "
              f"memory of the lab and its loads, at most in each third: {', '.join(f'{kib / 1024:.1f} MiB' for kib in thirds)}")
        if asked.keep:
            shutil.copy(path, asked.keep)
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)


main()
