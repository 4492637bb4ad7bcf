#!/usr/bin/env python3
"""Soaks of servers that leak a little, and of servers that do not: which does `pitot soak` tell apart?

    bench/soak_leaks.py [--pitot PATH] [--for 10m] [--rate 1000] [--each 2] [--runs 1]

Each run is one soak of all kinds at the same time, `--each` servers of each kind:

    memory       1 KiB for every 1,000 requests
    descriptors  one for every 10,000
    threads      one for every 10,000
    cache        memory that rises in the first third of the run, and then stays
    nothing      no leak

A leak counts as found if one of its figures is declared, a server without one as quiet if it has no alarm at all: no figure of it
is declared, of memory or of anything else. The figures are those of `pitot report --format json`, `drifts`. The exit code is 1 if a
leak was missed, or if fewer than nine of ten servers without one were quiet.
"""
import argparse
import collections
import json
import os
import socket
import subprocess
import sys
import tempfile
import threading

KINDS = ["memory", "descriptors", "threads", "cache", "nothing"]
FIGURES = {
    "memory": {"memory-rss", "memory-private", "memory"},
    "descriptors": {"descriptors"},
    "threads": {"threads"},
}
REPLY = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
CACHE_REQUESTS_SHARE = 1 / 3
QUIET_SHARE = 0.9


def serve(kind, address, expected):
    host, port = address.rsplit(":", 1)
    listener = socket.create_server((host, int(port)), backlog=128)
    lock, state, kept = threading.Lock(), {"served": 0}, []

    def lose():
        with lock:
            state["served"] += 1
            served = state["served"]
        if kind == "memory" and served % 1000 == 0:
            kept.append(os.urandom(1024))
        if kind == "cache" and served < expected * CACHE_REQUESTS_SHARE and served % 10 == 0:
            kept.append(os.urandom(1024))
        if served % 10_000 == 0:
            if kind == "descriptors":
                kept.append(os.open("/dev/null", os.O_RDONLY))
            if kind == "threads":
                threading.Thread(target=threading.Event().wait, daemon=True).start()

    def connection(stream):
        with stream:
            while stream.recv(4096):
                stream.sendall(REPLY)
                lose()

    while True:
        stream, _ = listener.accept()
        threading.Thread(target=connection, args=(stream,), daemon=True).start()


def soak(options, folder, number):
    path = os.path.join(folder, f"{number}.pitot")
    units = {"s": 1, "m": 60, "h": 3600}
    seconds = float(options.length[:-1]) * units[options.length[-1]]
    command = [options.pitot, "soak", "--for", options.length, "-o", path, "-R", str(options.rate), "-c", "2"]
    order = []
    for kind in KINDS * options.each:
        me = os.path.abspath(__file__)
        command += ["--server", f"{sys.executable} {me} --serve {kind} {{address}} --expected {int(seconds * options.rate)}"]
        order.append(kind)
    print(" ".join(command), flush=True)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    report = subprocess.run([options.pitot, "report", path, "--format", "json", "-o", "-"], check=True, capture_output=True)
    report = json.loads(report.stdout)
    declared = collections.defaultdict(list)
    for drift in report["drifts"]:
        if drift["declared"] and drift["server"]:
            declared[drift["server"]].append(drift)
    answers = []
    for server in report["servers"]:
        kind = next(kind for kind in KINDS if f"--serve {kind}" in server["command"])
        answers.append((kind, declared[server["name"]]))
    return answers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--for", dest="length", default="10m")
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--each", type=int, default=2)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--serve", nargs=2, metavar=("KIND", "ADDRESS"), help=argparse.SUPPRESS)
    parser.add_argument("--expected", type=int, default=0, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve, options.expected)
    found, of = collections.Counter(), collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.runs):
            for kind, drifts in soak(options, folder, number):
                of[kind] += 1
                leaks = {drift["figure"] for drift in drifts if drift["leak"]}
                if kind in FIGURES:
                    right = bool(leaks & FIGURES[kind])
                else:
                    right = not drifts
                found[kind] += right
                mark = "right" if right else "WRONG"
                print(f"{mark:6} {kind:12}", "; ".join(drift["sentence"] for drift in drifts) or "no alarm", flush=True)
    for kind in KINDS:
        what = "found" if kind in FIGURES else "no alarm"
        print(f"{kind:12} {what} {found[kind]} of {of[kind]}")
    missed = [kind for kind in FIGURES if found[kind] < of[kind]]
    quiet = [kind for kind in KINDS if kind not in FIGURES]
    is_quiet = sum(found[kind] for kind in quiet) >= QUIET_SHARE * sum(of[kind] for kind in quiet)
    sys.exit(1 if missed or not is_quiet else 0)


if __name__ == "__main__":
    main()
