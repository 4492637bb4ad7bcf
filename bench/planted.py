#!/usr/bin/env python3
"""Plants differences of CPU time and counts how often they are found, by `pitot diff` and by hyperfine.

    bench/planted.py command                      # a program of the command line; hyperfine takes turns with pitot if it is installed
    bench/planted.py go --within 60               # a server: go, node, python, python-threads, or pitot, which starts in no time
    bench/planted.py command --neighbour          # beside a process that uses 40% of a CPU in bursts

Each planted difference is compared --runs times. `found` counts the runs whose condition was met (CPU time above --limit), which is wrong
at 0%. What to plant is calibrated first: CPU time against the length of a loop.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# Without what an installation imports at its start, which can take longer than what is measured.
PYTHON = [sys.executable, "-I", "-S"]

COMMAND = """
import sys
n = 0
for i in range(int(sys.argv[1])):
    n += i * i % 7
print("done")
"""

SERVERS = {
    "python": ("server.py", [*PYTHON, "server.py", "{port}", "{burn}"], """
import asyncio, sys
burn = int(sys.argv[2])
class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.read = transport, b""
    def data_received(self, data):
        self.read += data
        while (end := self.read.find(b"\\r\\n\\r\\n")) >= 0:
            self.read = self.read[end + 4:]
            n = 0
            for i in range(burn):
                n += i * i % 7
            self.transport.write(b"HTTP/1.1 200 OK\\r\\nContent-Length: 13\\r\\n\\r\\nhello, world\\n")
async def main():
    await (await asyncio.get_running_loop().create_server(Server, "127.0.0.1", int(sys.argv[1]))).serve_forever()
asyncio.run(main())
"""),
    "python-threads": ("server.py", [*PYTHON, "server.py", "{port}", "{burn}"], """
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
burn = int(sys.argv[2])
class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def do_GET(self):
        n = 0
        for i in range(burn):
            n += i * i % 7
        self.send_response(200)
        self.send_header("Content-Length", "13")
        self.end_headers()
        self.wfile.write(b"hello, world\\n")
    def log_message(self, *_):
        pass
Handler.wbufsize = -1
ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""),
    "node": ("server.js", ["node", "server.js", "{port}", "{burn}"], """
const burn = parseInt(process.argv[3]);
let sink = 0;
require("http").createServer((request, response) => {
  let n = 0;
  for (let i = 0; i < burn; i++) n += i * i % 7;
  sink = n;
  response.setHeader("Content-Length", 13);
  response.end("hello, world\\n");
}).listen(parseInt(process.argv[2]), "127.0.0.1");
process.on("SIGTERM", () => process.exit(sink < 0 ? 1 : 0));
"""),
    "go": ("server.go", ["./server", "{address}", "{burn}"], """
package main

import (
	"net/http"
	"os"
	"strconv"
)

var sink int

func main() {
	burn, _ := strconv.Atoi(os.Args[2])
	http.ListenAndServe(os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n := 0
		for i := 0; i < burn; i++ {
			n += i * i % 7
		}
		sink = n
		w.Write([]byte("hello, world\\n"))
	}))
}
"""),
}


# The length of the loop that is compared with, some 100 us in a server and 20 ms in the command, and what is added to calibrate it.
BASES = {"command": (100_000, 100_000), "pitot": (5_000, 5_000), "go": (100_000, 100_000), "node": (10_000, 10_000), "python": (1_500, 1_500),
         "python-threads": (1_500, 1_500)}


def neighbour():
    """Uses 40% of a CPU, in bursts."""
    code = """
import random, time
while True:
    burst = random.uniform(0.02, 0.5)
    end = time.monotonic() + burst
    while time.monotonic() < end:
        pass
    time.sleep(burst * 1.5)
"""
    return subprocess.Popen([sys.executable, "-c", code])


class Program:
    """What is compared: a command or a server whose CPU time grows with a loop."""

    def __init__(self, name, folder, pitot):
        self.name, self.folder, self.pitot = name, folder, pitot
        self.is_server = name != "command"
        if name == "pitot":
            self.words = [pitot, "serve", "http", "--listen", "{address}", "--burn", "{burn}ns"]
        elif self.is_server:
            file, self.words, text = SERVERS[name]
            with open(os.path.join(folder, file), "w") as out:
                out.write(text)
            if name == "go":
                subprocess.run(["go", "build", "-o", "server", file], cwd=folder, check=True)
        else:
            with open(os.path.join(folder, "command.py"), "w") as out:
                out.write(COMMAND)
            self.words = [*PYTHON, "command.py", "{burn}"]

    def line(self, burn):
        return " ".join(self.words).replace("{burn}", str(burn))

    def options(self):
        return ["--url", "http://{address}/bytes/2"] if self.is_server else []

    def metric(self):
        return "cpu-per-request" if self.is_server else "cpu-time"

    def diff(self, base, head, within, *more):
        """The exit code and the comparison of two lengths of the loop."""
        output = os.path.join(self.folder, "diff.pitot")
        if os.path.exists(output):
            os.remove(output)
        command = [self.pitot, "diff", self.line(base), self.line(head), *self.options(), *more]
        command += ["--within", f"{within}s", "--format", "json", "-o", output]
        begin = time.monotonic()
        ran = subprocess.run(command, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if ran.returncode == 2:
            sys.exit(ran.stderr)
        answer = json.loads(ran.stdout)
        return ran.returncode, answer["cells"][0]["figures"][self.metric()], time.monotonic() - begin

    def calibrate(self, base, more, within):
        """The length of the loop for each planted share."""
        _, figure, _ = self.diff(base, base + more, within, "--tolerance", "0%")
        low, ratio = figure["a"]["value"], figure["comparison"]["ratio"]
        each = low * (ratio - 1) / more
        return lambda share: base + round(low * share / each)


def hyperfine(program, base, head, within):
    """The ratio of the means of CPU and wall time, for as long as `pitot diff` took."""
    output = os.path.join(program.folder, "hyperfine.json")
    begin = time.monotonic()
    subprocess.run(program.line(base).split(), cwd=program.folder, stdout=subprocess.DEVNULL, check=True)
    runs = max(2, round(within / (time.monotonic() - begin) / 2))
    command = ["hyperfine", "--shell", "none", "--style", "none", "--runs", str(runs), "--export-json", output]
    command += [program.line(base), program.line(head)]
    subprocess.run(command, cwd=program.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    with open(output) as file:
        a, b = json.load(file)["results"]
    return (b["user"] + b["system"]) / (a["user"] + a["system"]), b["mean"] / a["mean"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", choices=list(BASES))
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--within", type=int, default=60, help="seconds of a run at most")
    parser.add_argument("--shares", default="0,1,3,10", help="percent of CPU time")
    parser.add_argument("--limit", default="1", help="percent: the condition is met above it")
    parser.add_argument("--neighbour", action="store_true")
    options = parser.parse_args()
    # What was started is ended also when this is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    shares = [float(share) for share in options.shares.split(",")]
    limit = 1 + float(options.limit) / 100
    folder = tempfile.mkdtemp(prefix="planted-")
    beside = neighbour() if options.neighbour else None
    try:
        program = Program(options.program, folder, os.path.abspath(options.pitot))
        base, more = BASES[options.program]
        # A server that has to become warm takes seconds for each generation.
        length = program.calibrate(base, more, 100 if program.is_server else 30)
        has_hyperfine = not program.is_server and shutil.which("hyperfine")
        rows = {share: [] for share in shares}
        # All shares in each round, so that none has the quiet hour.
        for number in range(options.runs):
            for share in random.sample(shares, len(shares)):
                head = length(share / 100)
                condition = f"{program.metric()} > +{options.limit}%"
                code, figure, seconds = program.diff(base, head, options.within, "--fail-if", condition)
                comparison = figure["comparison"]
                row = {"code": code, "ratio": comparison["ratio"], "interval": comparison["interval"], "seconds": seconds}
                if has_hyperfine:
                    row["hyperfine"] = hyperfine(program, base, head, seconds)
                rows[share].append(row)
                print(json.dumps({"share": share, "run": number, **row}), file=sys.stderr, flush=True)
        print(f"{options.program}, {options.runs} runs of at most {options.within} s, condition > +{options.limit}%")
        print("planted  met  passed  undecided  median ratio  median time" + ("  hyperfine CPU  wall" if has_hyperfine else ""))
        for share, runs in rows.items():
            count = lambda code: sum(run["code"] == code for run in runs)
            middle = lambda values: sorted(values)[len(values) // 2]
            line = f"{share:6.1f}%  {count(1):3}  {count(0):6}  {count(3):9}  {middle([r['ratio'] for r in runs]):12.3f}"
            line += f"  {middle([r['seconds'] for r in runs]):9.0f} s"
            if has_hyperfine:
                above = lambda at: sum(run["hyperfine"][at] > limit for run in runs)
                line += f"  {above(0):13}  {above(1):4}"
            print(line)
    finally:
        if beside:
            beside.kill()
            beside.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
