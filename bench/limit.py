#!/usr/bin/env python3
"""CPU time per request of `pitot serve` beside the best that we know, line by line, each in one run with its rival.

    cargo build --release && python3 bench/limit.py [LINE ...] [--within 120] [--pitot PATH] [--rust-epoll PATH]

LINE: cache, connection, pipeline, pipeline-file, closed, closed-file, hot; without one all of them. The ratios are to the rival, with 95%
intervals over generations. Run it at different hours: the machine differs more between them than the servers do.

nginx and memcached are packages of the distribution. rust-epoll is the server of that name in HttpArena (github.com/MDA2AV/HttpArena,
frameworks/rust-epoll). It replies with two bytes to one path at one port, so both are changed before it is built:

    sed -i 's#"0.0.0.0:8080"#std::env::args().nth(1).unwrap()#' src/main.rs
    sed -i 's#path_matches(path, b"/pipeline")#(path_matches(path, b"/bytes/2") || path_matches(path, b"/page"))#' src/main.rs
    cargo build --release

For the lines with a file, `pitot serve` sends a file of 1 KiB, and rust-epoll still two bytes. Other lines: bench/load.py
(client), bench/serve.py (idle connections), `pitot floor --beside` (the floor of a request), docs/million.md.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

OURS = ["loop+epoll-et", "loop+uring"]
HTTP = """
[server]
protocol = "http"
[load]
url = "http://{address}/bytes/2"
"""
# The file has the same path for all servers.
FILE = """
[server]
protocol = "http"
root = "{{dir}}/html"
[files]
"html/page" = {{ size = "{size}" }}
[load]
url = "http://{{address}}/page"
"""
CACHE = """
[server]
protocol = "memcache"
[load]
url = "memcache://{address}/?keys=10k&get=0.9&value=1KiB"
"""
SMALL, LARGE = FILE.format(size="1KiB"), FILE.format(size="1MiB")
# Of each line: the goal, the rival, and the plan with what its load says besides.
LINES = {
    "cache": (0.70, "memcached", CACHE + "connections = 64\n"),
    "connection": (0.71, "nginx", SMALL + "connections = 64\nrequests-per-connection = 1\n"),
    "pipeline": (1.0, "rust-epoll", HTTP + "connections = 64\npipeline = 16\n"),
    "pipeline-file": (1.3, "rust-epoll", SMALL + "connections = 64\npipeline = 16\n"),
    "closed": (0.9, "rust-epoll", HTTP + "connections = 64\nrequests-per-connection = 10\n"),
    "closed-file": (0.9, "rust-epoll", SMALL + "connections = 64\nrequests-per-connection = 10\n"),
    "hot": (0.46, "nginx", LARGE + "connections = 16\n"),
}
HEAD = """
title = "{name}"
question = "What does a request cost?"
metric = "cpu-per-request"
slices = 12
warmup = "150ms"
tolerance = "1%"
baseline = {{ server = "{rival}" }}
[factors]
server = ["{rival}", "loop+epoll-et", "loop+uring"]
"""
RUST_EPOLL = """
[servers.rust-epoll]
command = ["{program}", "{{address}}"]
ready = "port"
"""


def plan(name, rust_epoll):
    _, rival, text = LINES[name]
    if rival == "rust-epoll":
        text += RUST_EPOLL.format(program=rust_epoll)
    return HEAD.format(name=name, rival=rival) + text


def measure(options, name, folder):
    path, run = os.path.join(folder, "plan.toml"), os.path.join(folder, f"{name}.pitot")
    with open(path, "w") as file:
        file.write(plan(name, options.rust_epoll))
    ran = subprocess.run([options.pitot, "run", path, "-o", run, "--within", f"{options.within}s"],
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if ran.returncode != 0:
        sys.exit(ran.stderr)
    report = subprocess.run([options.pitot, "report", run, "--format", "json", "-o", "-"], check=True, stdout=subprocess.PIPE)
    return json.loads(report.stdout)["cells"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lines", nargs="*", metavar="LINE")
    parser.add_argument("--within", type=int, default=120, help="seconds of a line")
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--rust-epoll", help="its program")
    options = parser.parse_args()
    options.pitot = os.path.abspath(options.pitot)
    unknown = [line for line in options.lines if line not in LINES]
    if unknown:
        parser.error(f"no line {unknown[0]}: {', '.join(LINES)}")
    lines = [line for line in options.lines or LINES if options.rust_epoll or LINES[line][1] != "rust-epoll"]
    print("line           rival       goal  " + "  ".join(f"{name:22}" for name in OURS))
    with tempfile.TemporaryDirectory(prefix="limit-") as folder:
        for name in random.sample(lines, len(lines)):
            cells = {cell["factors"]["server"]: cell for cell in measure(options, name, folder)}
            told = []
            for server in OURS:
                comparison = cells[server]["figures"]["cpu-per-request"].get("against_baseline")
                if comparison:
                    interval = comparison["interval"]
                    told.append(f"{comparison['ratio']:.2f} [{interval['low']:.2f}, {interval['high']:.2f}]")
                else:
                    told.append("no comparison")
            goal, rival, _ = LINES[name]
            print(f"{name:14} {rival:10}  {goal:.2f}  " + "  ".join(f"{text:22}" for text in told), flush=True)


if __name__ == "__main__":
    sys.exit(main())
