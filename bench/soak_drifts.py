#!/usr/bin/env python3
"""Soaks of servers whose response times change: does `pitot soak` say what changed, by how much and when?

    bench/soak_drifts.py [--pitot PATH] [--for 10m] [--rate 100] [--each 2] [--runs 1] [--kinds creeps,steps,steady]
                         [--beside 'COMMAND']      # repeated for a minute, then a minute without it

Each run is one soak of all kinds at the same time, `--each` servers of each kind, which answer by a clock:

    creeps    one reply in twenty after 40 ms, 2% more for each minute that has passed, the others after 10 ms: a p99 that creeps up
    steps     replies after 10 ms, from the middle of the run on after 11 ms: a mean that steps up by 10%
    steady    replies after 10 ms

`creeps` counts as found if a drift of p99 is declared, and the script says by how many percent a minute; `steps` if the mean has
one step, within half a minute of the middle; `steady` is quiet if it has no alarm at all: no figure of it is declared. The exit code
is 1 if a drift or a step was missed, or if fewer than nine of ten steady servers were quiet.
"""
import argparse
import collections
import contextlib
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

KINDS = ["creeps", "steps", "steady"]
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
SLOW_OF = 20
WITHIN_S = 30
QUIET_SHARE = 0.9


def delay_s(kind, elapsed_s, length_s, number):
    if kind == "creeps" and number % SLOW_OF == 0:
        return 0.04 * (1 + 0.02 * elapsed_s / 60)
    return 0.011 if kind == "steps" and elapsed_s > length_s / 2 else 0.010


def serve(kind, address, length_s):
    host, port = address.rsplit(":", 1)
    listener = socket.create_server((host, int(port)), backlog=128)
    lock, state = threading.Lock(), {"served": 0}
    begin = time.monotonic()

    def connection(stream):
        with stream:
            while stream.recv(4096):
                arrived = time.monotonic()
                with lock:
                    state["served"] += 1
                    served = state["served"]
                until = arrived + delay_s(kind, arrived - begin, length_s, served)
                time.sleep(max(0, until - time.monotonic()))
                stream.sendall(REPLY)

    while True:
        stream, _ = listener.accept()
        threading.Thread(target=connection, args=(stream,), daemon=True).start()


def disturb(command, seconds=60):
    """Repeats a command for a minute, rests for a minute, and so on, until it is ended."""
    while True:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            running = subprocess.Popen(command, shell=True, start_new_session=True,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            try:
                running.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
            finally:
                # With all that it started.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(running.pid, signal.SIGKILL)
                running.wait()
        time.sleep(seconds)


def soak(options, path, length_s):
    command = [options.pitot, "soak", "--for", options.length, "-o", path, "-R", str(options.rate), "-c", "16"]
    for kind in options.kinds * options.each:
        me = os.path.abspath(__file__)
        command += ["--server", f"{sys.executable} {me} --serve {kind} {{address}} --length {length_s}"]
    print(" ".join(command[:10]), f"and {len(options.kinds) * options.each} servers", flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    report = subprocess.run([options.pitot, "report", path, "--format", "json", "-o", "-"], check=True, capture_output=True)
    report = json.loads(report.stdout)
    for server in report["servers"]:
        kind = next(kind for kind in KINDS if f"--serve {kind}" in server["command"])
        drifts = [d for d in report["drifts"] if d["server"] == server["name"]]
        yield kind, {drift["figure"]: drift for drift in drifts}


def judged(kind, drifts, length_s):
    """Whether the answer is right, and what it was."""
    if kind == "creeps":
        drift = drifts["latency-p99"]
        return drift["declared"] and drift["slope_per_hour"] > 0, drift["sentence"]
    if kind == "steps":
        steps = [change for change in drifts["latency-mean"]["changes"] if change["kind"] == "step"]
        told = ", ".join(f"{step['size'] / 1e6:+.2f} ms at {step['at_s']:.0f} s" for step in steps)
        return len(steps) == 1 and abs(steps[0]["at_s"] - length_s / 2) <= WITHIN_S, told or "no step"
    alarms = [drift["sentence"] for drift in drifts.values() if drift["declared"]]
    return not alarms, "; ".join(alarms) or "no alarm"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--for", dest="length", default="10m")
    parser.add_argument("--rate", type=int, default=100)
    parser.add_argument("--each", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--serve", nargs=2, metavar=("KIND", "ADDRESS"), help=argparse.SUPPRESS)
    parser.add_argument("--length", dest="length_s", type=float, help=argparse.SUPPRESS)
    parser.add_argument("--kinds", type=lambda text: text.split(","), default=KINDS)
    parser.add_argument("--beside", metavar="COMMAND")
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve, options.length_s)
    length_s = float(options.length[:-1]) * {"s": 1, "m": 60, "h": 3600}[options.length[-1]]
    right, of = collections.Counter(), collections.Counter()
    # What was started is ended also when this is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    beside = options.beside and multiprocessing.Process(target=disturb, args=(options.beside,), daemon=True)
    if beside:
        beside.start()
    with tempfile.TemporaryDirectory() as folder:
        for run in range(options.runs):
            for kind, drifts in soak(options, os.path.join(folder, f"{run}.pitot"), length_s):
                is_right, told = judged(kind, drifts, length_s)
                of[kind] += 1
                right[kind] += is_right
                print(f"{'right' if is_right else 'WRONG':6} {kind:8} {told}", flush=True)
    if beside:
        beside.terminate()
    for kind in options.kinds:
        print(f"{kind:8} {'quiet' if kind == 'steady' else 'found'} {right[kind]} of {of[kind]}")
    missed = any(right[kind] < of[kind] for kind in options.kinds if kind != "steady")
    sys.exit(1 if missed or right["steady"] < QUIET_SHARE * of["steady"] else 0)


if __name__ == "__main__":
    main()
