#!/usr/bin/env python3
"""Compares two builds of pitot on this machine: CPU time per request of the servers and of the client, its start, its
instructions, and idle memory of the servers.

    python3 bench/versions.py OLD NEW [server|connections|memcache|load|start|instructions|memory|run|all]
                              [--only PART_OF_A_NAME] [--generations N] [--rounds N] [--slice TIME]

OLD and NEW are paths of two `pitot` binaries. Servers run on the first CPU, clients on the last.

server        CPU time per request, keep-alive connections
connections   the same with a new connection for each request
memcache      the same, memcached's protocol
load          CPU time of the client per request, both engines
start         CPU time of a `pitot load` of 64 requests on 64 connections
instructions  user-mode instructions of the client for each request, which hardly vary (valgrind's cachegrind, which knows
              io_uring and not epoll_pwait2; what both engines share is the most of them)
memory        resident memory per idle connection
run           `pitot run quick --seed 1` as a whole, three generations where --generations does not say: how long it takes, and the
              figures that it comes to, cell by cell; some minutes for each, so not part of `all`

Both builds, and OLD once more as a control, are kept up side by side and loaded in turn (bench/held.py): the ratio of the
control shows what the machine does to two equal programs. The client of the server tests is always OLD, and the server of the
others too. On a machine that has other work as well, run it with a priority (`nice -n -10`). Traffic stays on 127.0.0.1.
"""
import argparse, contextlib, json, os, pathlib, re, resource, signal, statistics, subprocess, sys, tempfile, time

from held import Held, alternate, client_cpu, told
from serve import CLIENT_CPU, SERVER_CPU, cpu_seconds, hold, rss_bytes

PER_REQUEST = ["--requests-per-connection", "1"]


class Server:
    def __init__(self, binary, *arguments):
        self.process = subprocess.Popen(
            ["taskset", "-c", str(SERVER_CPU), binary, "serve", *arguments, "--idle-timeout", "300s"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )
        line = self.process.stdout.readline().decode()
        if not line.startswith("ready "):
            sys.exit(f"{binary} serve {' '.join(arguments)} did not start")
        self.address = line.split()[1]

    def close(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(15)


def show(name, generations):
    """`generations` has the medians of each: of the control and of the new build."""
    control, new = zip(*generations)
    print(f"  {name:34}{told(new)}  control {told(control)}", flush=True)


def servers(options, title, cells):
    print(f"\n{title}: CPU per request, new to old")
    for name, serve, url, arguments in cells:
        if options.only not in name:
            continue
        generations = []
        for _ in range(options.generations):
            with contextlib.ExitStack() as stack:
                client = stack.enter_context(contextlib.closing(Held(options.old, CLIENT_CPU)))
                sides = []
                for i, binary in enumerate((options.old, options.old, options.new)):
                    server = stack.enter_context(contextlib.closing(Server(binary, *serve)))
                    client.open(f"g{i}", url.format(server.address), arguments)

                    def side(server=server, group=f"g{i}"):
                        before = cpu_seconds(server.process.pid)[0]
                        answer = client.run(group, options.slice)
                        return cpu_seconds(server.process.pid)[0] - before, answer["completed"]
                    sides.append(side)
                generations.append([statistics.median(r) for r in alternate(options.rounds, sides)])
        show(name, generations)


def clients(options):
    print("\nload: client CPU per request, new to old")
    for engine in ("epoll", "uring"):
        for kind, arguments in [("64 connections", ["-c", "64"]), ("1 connection", ["-c", "1"]),
                                ("256 connections", ["-c", "256"]), ("a new one each", ["-c", "64", *PER_REQUEST])]:
            name = f"{engine}, {kind}"
            if options.only not in name:
                continue
            generations = []
            for _ in range(options.generations):
                with contextlib.ExitStack() as stack:
                    server = stack.enter_context(contextlib.closing(Server(options.old, "http")))
                    sides = []
                    for binary in (options.old, options.old, options.new):
                        client = stack.enter_context(contextlib.closing(Held(binary, CLIENT_CPU)))
                        client.open("g", f"http://{server.address}/bytes/1024", ["--engine", engine, *arguments])
                        sides.append(lambda client=client: client_cpu(client.run("g", options.slice)))
                    generations.append([statistics.median(r) for r in alternate(options.rounds, sides)])
            show(name, generations)


def short_load(binary, url, requests, *arguments):
    return [binary, "load", url, "-n", str(requests), "-c", "64", "--warmup", "0s", "--engine", "epoll", *arguments]


def start(options):
    print("\nstart: CPU time of a load of 64 requests, new to old")

    def one(command):
        child = subprocess.Popen(["taskset", "-c", str(CLIENT_CPU), *command], stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            sys.exit(f"{' '.join(command)}: exit code {child.returncode}")
        times.setdefault(command[0], []).append(usage.ru_utime + usage.ru_stime)
        return times[command[0]][-1], 1

    times, generations = {}, []
    for _ in range(options.generations):
        with contextlib.closing(Server(options.old, "http")) as server:
            url = f"http://{server.address}/bytes/1024"
            sides = [lambda b=b: one(short_load(b, url, 64)) for b in (options.old, options.old, options.new)]
            generations.append([statistics.median(r) for r in alternate(options.rounds, sides)])
    show("epoll, 64 connections", generations)
    print("  " + "".join(f"{n}: {statistics.median(times[b]) * 1e3:.2f} ms  " for n, b in
                         (("old", options.old), ("new", options.new))))


def instructions(options):
    print("\ninstructions: of the client, user mode, per request, old and new")

    def count(binary, url, requests, more):
        command = [binary, "load", url, "-n", str(requests), "-c", "64", "--warmup", "0s", "--engine", "uring", *more]
        out = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null", *command],
                             capture_output=True, text=True)
        if out.returncode:
            sys.exit(f"valgrind {' '.join(command)}:\n{out.stderr}")
        return int(re.search(r"I +refs: +([\d,]+)", out.stderr)[1].replace(",", ""))

    with tempfile.TemporaryDirectory() as folder, contextlib.closing(Server(options.old, "http")) as server:
        copies = []
        for name, binary in (("old", options.old), ("new", options.new)):
            # The kernel tells prctl(PR_GET_AUXV) of a vDSO that valgrind has unmapped: the copy asks for nothing that exists.
            copies.append(pathlib.Path(folder, name))
            asks, asks_in_vain = 0x41555856.to_bytes(4, "little"), 0x41555857.to_bytes(4, "little")
            copies[-1].write_bytes(pathlib.Path(binary).read_bytes().replace(asks, asks_in_vain))
            copies[-1].chmod(0o755)
        for name, more in (("uring, 64 connections", []), ("uring, a new one each", PER_REQUEST)):
            # What a run has more than another is that of seconds that it took.
            url = f"http://{server.address}/bytes/1024"
            few, many = ([min(count(copy, url, n, more) for _ in range(3)) for copy in copies] for n in (2000, 12000))
            old, new = ((m - f) / 10000 for f, m in zip(few, many))
            print(f"  {name:34}{old:8.0f}{new:8.0f}   ratio {new / old:.3f}", flush=True)


def memory(options, site, count=9000):
    print(f"\nmemory: resident bytes per idle keep-alive connection, {count} of them, old and new")
    for mechanism in ("epoll-et", "uring"):
        figures = []
        for binary in (options.old, options.new):
            with contextlib.closing(Server(binary, "http", "--root", site, "--mechanism", mechanism)) as server:
                port = int(server.address.rsplit(":", 1)[1])
                warm = hold(port, 50)
                before = rss_bytes(server.process.pid)
                kept = hold(port, count)
                figures.append((rss_bytes(server.process.pid) - before) / count)
                for s in warm + kept:
                    s.close()
        print(f"  loop+{mechanism:29}{figures[0]:8.0f}{figures[1]:8.0f}   ratio {figures[1] / figures[0]:.3f}", flush=True)


def run(options):
    print("\nrun: pitot run quick --seed 1, new to old (medians over cells)")

    def one(binary, folder):
        began = time.monotonic()
        command = [binary, "run", options.plan, "--seed", "1", "-o", "run.pitot"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        took = time.monotonic() - began
        if done.returncode:
            sys.exit(f"{' '.join(command)}:\n{done.stderr}")
        # One build reads all files, so that nothing is compared but the runs: the new one, which knows the files of the old one too.
        report = subprocess.run([options.new, "report", "run.pitot", "--format", "json"], cwd=folder, capture_output=True, text=True)
        if report.returncode:
            sys.exit(f"{options.new} cannot read the run of {binary}:\n{report.stderr}")
        cells = json.loads(report.stdout)["cells"]
        key = lambda cell: json.dumps(cell["factors"], sort_keys=True)
        return {"seconds": took, **{(key(cell), metric): cell["figures"][metric]["value"] for cell in cells
                                    for metric in ("throughput", "cpu-per-request") if metric in cell["figures"]}}

    generations = {"seconds": [], "throughput": [], "cpu-per-request": []}
    for number in range(options.generations if options.generations_given else 3):
        sides = [("old", options.old), ("control", options.old), ("new", options.new)]
        seen = {}
        for name, binary in sides[number % 3:] + sides[:number % 3]:
            with tempfile.TemporaryDirectory() as folder:
                seen[name] = one(binary, folder)
        if not seen["old"].keys() == seen["control"].keys() == seen["new"].keys():
            sys.exit("the two builds do not run the same cells")
        for what, ratios in generations.items():
            keys = [k for k in seen["old"] if k == what or k[1] == what]
            ratios.append([statistics.median(seen[side][k] / seen["old"][k] for k in keys) for side in ("control", "new")])
    for what, ratios in generations.items():
        show(what, ratios)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("what", nargs="?", default="all",
                        choices=["server", "connections", "memcache", "load", "start", "instructions", "memory", "run", "all"])
    parser.add_argument("--only", default="", help="cells whose name has this in it")
    parser.add_argument("--generations", type=int)
    parser.add_argument("--plan", default="quick", help="run: the suite or plan")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--slice", default="50ms")
    options = parser.parse_args()
    options.old, options.new = (str(pathlib.Path(path).resolve()) for path in (options.old, options.new))
    options.generations_given = options.generations is not None
    options.generations = options.generations or 12
    if options.what == "run":
        return run(options)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    wants = lambda what: options.what in (what, "all")
    with tempfile.TemporaryDirectory() as site:
        pathlib.Path(site, "1k.txt").write_text("x" * 1023 + "\n")
        pair = lambda model, mechanism: ["http", "--root", site, "--model", model, "--mechanism", mechanism]
        pairs = [("loop", m) for m in ("epoll-et", "epoll-lt", "uring", "poll")] + [
            ("hybrid", "epoll-et"), ("thread", "blocking"), ("tokio", "epoll-et")]
        url = "http://{}/1k.txt"
        if wants("server"):
            servers(options, "server, 64 keep-alive connections",
                    [(f"{m}+{k}", pair(m, k), url, ["-c", "64"]) for m, k in pairs])
        if wants("connections"):
            servers(options, "connections, a new one for each request",
                    [(f"{m}+{k}", pair(m, k), url, ["-c", "64", *PER_REQUEST]) for m, k in pairs[:3] + pairs[5:6]])
        if wants("memcache"):
            servers(options, "memcache, 64 connections",
                    [(f"loop+{k}", ["memcache", "--mechanism", k], "memcache://{}/?keys=1000", ["-c", "64"])
                     for k in ("epoll-et", "uring")])
        if wants("load"):
            clients(options)
        if wants("start"):
            start(options)
        if wants("instructions"):
            instructions(options)
        if wants("memory"):
            memory(options, site)


if __name__ == "__main__":
    main()
