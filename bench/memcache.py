#!/usr/bin/env python3
"""Compares `pitot serve memcache` with memcached on this machine: what an operation costs the server in CPU time.

    cargo build --release && python3 bench/memcache.py [PAIR ...] [--rounds N] [--seconds S] [--workers N]

A PAIR is model/mechanism, such as loop/uring; without one several are tried. memcached runs with as many threads as
there are workers. Servers run on the first CPUs, as many as workers, and one `pitot load` on the last; runs are
interleaved in an order that changes, and ratios are taken within a round. 90% reads of 1 KiB on 64 connections, unless
--query says otherwise. memcached is a Debian package. Traffic stays on 127.0.0.1.
"""
import argparse, contextlib, json, os, pathlib, random, signal, statistics, subprocess, tempfile, time

PITOT = os.environ.get("PITOT") or str(pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot")
CPUS = sorted(os.sched_getaffinity(0))


def cpu_seconds(pid):
    """CPU time of all threads of a process, (user, all), with the nanoseconds of schedstat if available."""
    user = total = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
        user += int(fields[11]) / os.sysconf("SC_CLK_TCK")
        total += int((task / "schedstat").read_text().split()[0]) / 1e9
    return user, total


@contextlib.contextmanager
def memcached(cpus, threads):
    with tempfile.TemporaryDirectory() as folder:
        ports = pathlib.Path(folder) / "port"
        command = ["memcached", "-p", "-1", "-l", "127.0.0.1", "-U", "0", "-u", "root", "-t", str(threads), "-m", "64"]
        server = subprocess.Popen(
            command,
            env=os.environ | {"MEMCACHED_PORT_FILENAME": str(ports)},
            preexec_fn=lambda: os.sched_setaffinity(0, cpus),
        )
        try:
            while not (ports.exists() and "TCP" in ports.read_text()):
                time.sleep(0.02)
            yield server.pid, int(ports.read_text().split(":")[1])
        finally:
            server.kill()
            server.wait()


@contextlib.contextmanager
def pitot(pair, cpus, workers):
    model, mechanism = pair.split("/")
    server = subprocess.Popen(
        [PITOT, "serve", "memcache", "--model", model, "--mechanism", mechanism, "--workers", str(workers),
         "--cpus", ",".join(map(str, cpus))],
        stdout=subprocess.PIPE, text=True,
    )
    try:
        yield server.pid, int(server.stdout.readline().rsplit(":", 1)[1])
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


def load(port, args, more=()):
    url = f"memcache://127.0.0.1:{port}/?{args.query}"
    if not more:
        url += "&fill=no"
        more = ("-d", f"{args.seconds}s", "-c", str(args.connections), "--pipeline", str(args.pipeline))
    out = subprocess.run([PITOT, "load", url, *more, "--cpus", str(CPUS[-1]), "--json", "-"], check=True,
                         capture_output=True, text=True).stdout
    result = json.loads(out)
    if result["errors"]:
        raise SystemExit(f"wrong answers: {result['errors']}")
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pairs", nargs="*", metavar="PAIR")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--pipeline", type=int, default=1)
    parser.add_argument("--query", default="keys=10k&get=0.9&value=1KiB")
    args = parser.parse_args()
    model = "loop" if args.workers == 1 else "loops"
    pairs = args.pairs or [f"{model}/epoll-et", f"{model}/uring"]
    cpus = CPUS[: args.workers]
    costs, rates = {}, {}
    with contextlib.ExitStack() as stack:
        servers = {"memcached": stack.enter_context(memcached(cpus, args.workers))}
        for pair in pairs:
            servers[pair] = stack.enter_context(pitot(pair, cpus, args.workers))
        for pid, port in servers.values():
            load(port, args, ("-n", "1", "-c", "1"))
        for _ in range(args.rounds):
            for name in random.sample(list(servers), len(servers)):
                pid, port = servers[name]
                before = cpu_seconds(pid)
                result = load(port, args)
                after = cpu_seconds(pid)
                n = result["requests"]["completed"]
                costs.setdefault(name, []).append([(b - a) / n * 1e6 for a, b in zip(before, after)])
                rates.setdefault(name, []).append(result["throughput_rps"])
    print(f"{'':22} CPU us/op (user)        ops/s   CPU against memcached, by round")
    for name, rounds in costs.items():
        ratios = sorted(own[1] / other[1] for own, other in zip(rounds, costs["memcached"]))
        print(f"{name:22} {statistics.median(r[1] for r in rounds):6.2f} ({statistics.median(r[0] for r in rounds):.2f})"
              f"  {statistics.median(rates[name]):14.0f}   median {statistics.median(ratios):.2f}"
              f"  ({ratios[0]:.2f} to {ratios[-1]:.2f})")


main()
