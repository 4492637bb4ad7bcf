#!/usr/bin/env python3
"""Compares `pitot serve --disk ENGINE` with nginx on this machine, hot files and cold ones, and prints ratios.

    cargo build --release && python3 bench/data_server.py [hot|cold|put|slow|all] [--rounds N] [--seconds S]
                                                          [--servers LIST]

hot   server CPU time per MB of files of 64 KiB and 1 MiB that are in memory, 64 keep-alive connections (wrk), against
      nginx with sendfile, with `tcp_nopush` (Debian's own nginx.conf has it) and without. Wanted: at most 0.9 of
      nginx's for the best pair. Without tcp_nopush the head of a reply is a packet of its own, as with `--no-cork`,
      which is asked too. BBR then keeps its congestion window at about 12 segments of 64 KiB where it is 25 otherwise
      (`ss -ti`), and what does not fit of a file of 1 MiB is sent when acknowledgements come: on the loopback, at the
      cost of the client's CPU. Look at the rate and at the client's CPU time too.
cold  100 clients read files of 1 MiB whose pages are dropped all the time (posix_fadvise), while 64 clients ask for a
      hot file of 1 KiB at a steady rate: their p99. Wanted: at most half of nginx's with its default (blocking) reads,
      and no worse than nginx's with `aio threads`.
put   8 clients put files of 64 KiB, one after the other in the place of 50, each on the disk before it is answered,
      while 64 clients ask for a hot file of 1 KiB at a steady rate: files stored a second, and the p50 and p99 of
      those 64. (nginx, whose PUT does not wait for the disk, is not asked.)
slow  what a client costs in memory (its share of the processes', without the page cache) that reads a file of 100 MiB
      at 10 KB/s, seen with 20 of them. Wanted: under 1 MiB each.

A server is model+mechanism or model+mechanism+engine, and options may follow after a space. Servers run on the first
CPU and clients on the last; runs are interleaved, and every figure is a median over them. nginx and wrk are Debian
packages: apt-get install nginx-light wrk. Traffic stays on 127.0.0.1.
"""
import argparse, contextlib, json, os, pathlib, resource, signal, socket, statistics, subprocess, sys, tempfile, time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import serve
from rig import free_port
from serve import CLIENT_CPU, PITOT, Server, cpu_seconds

COLD_FILES = 400
MIB = 1 << 20
HOT_NGINX = ["", "tcp_nopush on"]
HOT_TUNED = ["loop+epoll-et --no-cork", "loop+epoll-et --no-cork --congestion cubic"]
COLD_NGINX = ["", "aio threads"]
SLOW_CLIENTS = 20


def nginx(site, directory, option=""):
    port = free_port()
    conf = pathlib.Path(directory) / "nginx.conf"
    text = serve.NGINX.format(dir=directory, site=site, port=port)
    if option:
        text = text.replace("sendfile on;", f"sendfile on; {option};")
    conf.write_text(text)
    name = f"nginx {option}".strip()
    return Server(name, ["nginx", "-p", directory, "-e", "stderr", "-c", conf], port)


def pitot(site, spec, *options):
    pair, *own_options = spec.split()
    model, mechanism, *engine = pair.split("+")
    command = [PITOT, "serve", "http", "--root", site, "--model", model, "--mechanism", mechanism, *own_options, *options]
    if engine:
        command += ["--disk", engine[0]]
    return Server(spec, command)


def starts(site, directory, specs, nginx_options):
    servers = [lambda option=option: nginx(site, directory, option) for option in nginx_options]
    return servers + [lambda spec=spec: pitot(site, spec) for spec in specs]


def wrk(port, connections, seconds, lua):
    """Starts wrk with a script that says which path comes next."""
    script = tempfile.NamedTemporaryFile("w", suffix=".lua")
    script.write(lua + '\ndone = function(s) io.write(string.format("RESULT %d %.0f %d\\n", s.requests, s.bytes, '
                 "s.errors.status + s.errors.read + s.errors.write + s.errors.timeout + s.errors.connect)) end\n")
    script.flush()
    command = ["taskset", "-c", str(CLIENT_CPU), "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "30s",
               "-s", script.name, f"http://127.0.0.1:{port}/"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    process.script = script
    return process


def children_cpu():
    """CPU seconds of the children that have ended: after a run, wrk's are among them."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def finished(process):
    out = process.communicate()[0]
    requests, size, errors = map(int, next(l for l in out.splitlines() if l.startswith("RESULT")).split()[1:])
    if errors:
        sys.exit(f"wrk reports {errors} errors:\n{out}")
    return requests, size


def hot(site, directory, specs, slices):
    with contextlib.ExitStack() as stack:
        servers = []
        for option in HOT_NGINX:
            own = stack.enter_context(tempfile.TemporaryDirectory(dir=directory))
            os.chmod(own, 0o755)
            servers.append(stack.enter_context(nginx(site, own, option)))
        servers += [stack.enter_context(pitot(site, spec)) for spec in specs + HOT_TUNED]
        for name in ("64k.bin", "1m.bin"):
            lua = f'request = function() return wrk.format("GET", "/{name}") end'
            rows = {server.name: [] for server in servers}
            for server in servers:
                finished(wrk(server.port, 64, 1, lua))
            for i in range(slices):
                # Back and forth, so that a drift of the machine falls on none of them.
                for server in servers if i % 2 == 0 else servers[::-1]:
                    before, client_before = cpu_seconds(server.process.pid)[0], children_cpu()
                    megabytes = finished(wrk(server.port, 64, 1, lua))[1] / 1e6
                    spent, client = cpu_seconds(server.process.pid)[0] - before, children_cpu() - client_before
                    rows[server.name].append((spent / megabytes, client / megabytes, megabytes))
            print(f"\nserver CPU per MB, {name}, hot, 64 connections, {slices} slices of 1 s each")
            print(f"  {'server':42}{'CPU us/MB':>11}{'client us/MB':>14}{'MB/s':>9}{'/nginx':>9}{'/nopush':>9}")
            for name_, runs in rows.items():
                cpu, client, rate = (statistics.median(values) for values in zip(*runs))
                plain, nopush = (statistics.median(a[0] / b[0] for a, b in zip(runs, rows[f"nginx {option}".strip()]))
                                 for option in HOT_NGINX)
                print(f"  {name_:42}{cpu * 1e6:11.1f}{client * 1e6:14.1f}{rate:9.0f}{plain:9.3f}{nopush:9.3f}")


@contextlib.contextmanager
def dropping(site):
    """Drops the pages of the cold files, one after the other, for as long as the block runs."""
    pid = os.fork()
    if pid == 0:
        os.sched_setaffinity(0, {CLIENT_CPU})
        files = [os.open(f"{site}/cold/{i}.bin", os.O_RDONLY) for i in range(COLD_FILES)]
        while os.getppid() != 1:
            for file in files:
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            time.sleep(0.02)
        os._exit(0)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def latency_of_others(port, seconds):
    """Response times of 64 clients that ask for a hot file at a steady rate."""
    load = [PITOT, "load", f"http://127.0.0.1:{port}/1k.txt", "-c", "64", "-R", "1000", "-d", f"{seconds}s", "--json", "-"]
    out = subprocess.run(["taskset", "-c", str(CLIENT_CPU), *map(str, load)], capture_output=True, text=True)
    return json.loads(out.stdout)["latency_ns"]["response"]


def put(site, specs, rounds, seconds):
    lua = (f'local body = string.rep("x", {64 << 10})\n'
           'request = function() return wrk.format("PUT", "/put-" .. math.random(0, 49), nil, body) end')
    rows = {}
    for _ in range(rounds):
        for spec in specs:
            with pitot(site, spec, "--writable") as server:
                writers = wrk(server.port, 8, seconds + 2, lua)
                time.sleep(1)
                latency = latency_of_others(server.port, seconds)
                stored, _ = finished(writers)
                rows.setdefault(spec, []).append((latency["p50"], latency["p99"], stored / (seconds + 2)))
    print("\nlatency of 64 clients on a hot 1 KiB file with 8 clients that upload files of 64 KiB")
    print(f"  {'server':28}{'p50 ms':>9}{'p99 ms':>9}{'stored/s':>11}")
    for name, runs in rows.items():
        p50, p99, rate = (statistics.median(values) for values in zip(*runs))
        print(f"  {name:28}{p50 / 1e6:9.2f}{p99 / 1e6:9.2f}{rate:11.0f}")


def cold(site, directory, specs, rounds, seconds):
    lua = f'request = function() return wrk.format("GET", "/cold/" .. math.random(0, {COLD_FILES - 1}) .. ".bin") end'
    rows = {}
    for _ in range(rounds):
        for start in starts(site, directory, specs, COLD_NGINX):
            with start() as server, dropping(site):
                cold_clients = wrk(server.port, 100, seconds + 2, lua)
                time.sleep(1)
                latency = latency_of_others(server.port, seconds)
                _, size = finished(cold_clients)
                rows.setdefault(server.name, []).append((latency["p50"], latency["p99"], size / 1e6 / (seconds + 2)))
    print("\nlatency of 64 clients on a hot 1 KiB file with 100 clients on cold 1 MiB files")
    print(f"  {'server':28}{'p50 ms':>9}{'p99 ms':>9}{'cold MB/s':>11}{'p99/nginx':>11}{'p99/nginx aio':>15}")
    for name, runs in rows.items():
        p50, p99, rate = (statistics.median(values) for values in zip(*runs))
        against = [statistics.median(a[1] / b[1] for a, b in zip(runs, rows[n])) for n in ("nginx", "nginx aio threads")]
        print(f"  {name:28}{p50 / 1e6:9.2f}{p99 / 1e6:9.2f}{rate:11.0f}{against[0]:11.2f}{against[1]:15.2f}")


def slow(site, directory, specs, seconds):
    print(f"\nmemory of a client that reads a file of 100 MiB at 10 KB/s, mean of {SLOW_CLIENTS}")
    for start in starts(site, directory, specs, [""]):
        with start() as server:
            clients = []
            with contextlib.closing(fetch(server.port, "/1m.bin")) as first:
                while first.recv(1 << 20):
                    pass
            before = private_bytes(server.process.pid)
            clients = [fetch(server.port, "/100m.bin") for _ in range(SLOW_CLIENTS)]
            for _ in range(10 * seconds):
                time.sleep(0.1)
                for client in clients:
                    client.recv(1000)
            cost = (private_bytes(server.process.pid) - before) / SLOW_CLIENTS
            for client in clients:
                client.close()
        print(f"  {server.name:28}{cost / 1024:11.1f} KiB")


def fetch(port, path):
    client = socket.create_connection(("127.0.0.1", port))
    client.sendall(f"GET {path} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\n\r\n".encode())
    return client


def private_bytes(pid):
    """Pages of the process tree that no file backs."""
    lines = "".join(pathlib.Path(f"/proc/{p}/smaps_rollup").read_text() for p in serve.processes_of(pid)).splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss_Anon:"))


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", nargs="?", default="all", choices=["hot", "cold", "put", "slow", "all"])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=int, default=3)
    options.add_argument("--servers", default="loop+epoll-et,loop+epoll-et+nowait,loop+epoll-et+pool-sendfile,"
                         "loop+epoll-et+pool,loop+epoll-et+uring,loop+uring,relay+epoll-et+pool,"
                         "relay+epoll-et+nowait")
    options.add_argument("--dir", default=None, help="where the files are made; a file system on a disk")
    options = options.parse_args()
    specs = options.servers.split(",")
    with tempfile.TemporaryDirectory(dir=options.dir) as site, tempfile.TemporaryDirectory() as directory:
        for path in (site, directory):
            os.chmod(path, 0o755)  # nginx drops its rights as a worker
        pathlib.Path(site, "1k.txt").write_bytes(os.urandom(1024))
        pathlib.Path(site, "64k.bin").write_bytes(os.urandom(64 << 10))
        pathlib.Path(site, "1m.bin").write_bytes(os.urandom(MIB))
        if options.what in ("hot", "all"):
            hot(site, directory, specs, options.rounds * options.seconds)
        if options.what in ("slow", "all"):
            with open(f"{site}/100m.bin", "wb") as file:
                file.truncate(100 * MIB)
            slow(site, directory, specs, options.seconds)
        if options.what in ("put", "all"):
            put(site, specs, options.rounds, options.seconds)
        if options.what in ("cold", "all"):
            pathlib.Path(site, "cold").mkdir()
            for i in range(COLD_FILES):
                pathlib.Path(site, f"cold/{i}.bin").write_bytes(os.urandom(MIB))
            os.sync()
            cold(site, directory, specs, options.rounds, options.seconds)


if __name__ == "__main__":
    main()
