#!/usr/bin/env python3
"""Compares two builds of pitot on this machine: CPU time per request and idle memory of the servers, CPU time of the client.

    python3 bench/versions.py OLD NEW [server|connections|memcache|load|memory|all] [--generations N] [--rounds N]

OLD and NEW are paths of two `pitot` binaries. Their servers are kept up side by side on the first CPU and loaded in turn
from the last one, in slices of 300 ms in the order A B B A; a generation is a pair of fresh servers. The ratio of a
generation is the median over its rounds, and the figure printed is the median over generations, with all of them beside
it. The client of the server tests is always OLD, and the server of `load` too. Traffic stays on 127.0.0.1.
"""
import argparse, contextlib, json, os, pathlib, resource, signal, socket, statistics, subprocess, sys, tempfile

from serve import CLIENT_CPU, SERVER_CPU, cpu_seconds, hold, rss_bytes

SLICE = "300ms"


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


def load(binary, url, *arguments):
    command = ["taskset", "-c", str(CLIENT_CPU), binary, "load", url, "-d", SLICE, "--warmup", "0s", "--json", "-"]
    for _ in range(3):
        result = json.loads(subprocess.run([*command, *arguments], capture_output=True, text=True).stdout)
        if result["errors"]:
            sys.exit(f"{url}: {result['errors']}")
        # On a machine that stands still for a whole slice nothing is completed in it.
        if result["requests"]["completed"]:
            return result
    sys.exit(f"{url}: no reply in three slices")


def server_slice(client, server, url, arguments):
    """Server CPU seconds per request of one slice."""
    before = cpu_seconds(server.process.pid)[0]
    result = load(client, url.format(server.address), *arguments)
    return (cpu_seconds(server.process.pid)[0] - before) / result["requests"]["completed"]


def alternate(rounds, old, new):
    """The median ratio of new to old over rounds of A B B A, after one that is thrown away."""
    ratios = []
    for _ in range(rounds + 1):
        a, b = old(), new()
        b, a = b + new(), a + old()
        ratios.append(b / a)
    return statistics.median(ratios[1:])


def show(name, ratios):
    spread = " ".join(f"{ratio:.3f}" for ratio in sorted(ratios))
    print(f"  {name:34}{statistics.median(ratios):8.3f}   [{spread}]", flush=True)


def servers(options, title, cells):
    print(f"\n{title}: CPU per request, new to old")
    for name, serve, url, arguments in cells:
        ratios = []
        for _ in range(options.generations):
            with contextlib.ExitStack() as stack:
                old, new = (stack.enter_context(contextlib.closing(Server(b, *serve))) for b in (options.old, options.new))
                one = lambda server: lambda: server_slice(options.old, server, url, arguments)
                ratios.append(alternate(options.rounds, one(old), one(new)))
        show(name, ratios)


def clients(options):
    print("\nload: client CPU per request, new to old")
    for name, arguments in [("epoll, 64 connections", ["--engine", "epoll", "-c", "64"]),
                            ("uring, 64 connections", ["--engine", "uring", "-c", "64"]),
                            ("epoll, 256 connections", ["--engine", "epoll", "-c", "256"])]:
        ratios = []
        for _ in range(options.generations):
            with contextlib.closing(Server(options.old, "http")) as server:
                def one(binary):
                    result = load(binary, f"http://{server.address}/bytes/1024", *arguments)
                    client = result["client"]
                    return (client["cpu_user_s"] + client["cpu_system_s"]) / result["requests"]["completed"]
                ratios.append(alternate(options.rounds, lambda: one(options.old), lambda: one(options.new)))
        show(name, ratios)


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


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("what", nargs="?", default="all",
                        choices=["server", "connections", "memcache", "load", "memory", "all"])
    parser.add_argument("--generations", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
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
                    [(f"{m}+{k}", pair(m, k), url, ["-c", "64", "--requests-per-connection", "1"]) for m, k in pairs[:3] + pairs[5:6]])
        if wants("memcache"):
            servers(options, "memcache, 64 connections",
                    [(f"loop+{k}", ["memcache", "--mechanism", k], "memcache://{}/?keys=1000", ["-c", "64"])
                     for k in ("epoll-et", "uring")])
        if wants("load"):
            clients(options)
        if wants("memory"):
            memory(options, site)


if __name__ == "__main__":
    main()
