#!/usr/bin/env python3
"""Percentiles of `pitot load` and of h2load beside the truth: a server that delays each reply by a time it knows.

    cargo build --release && python3 bench/latency_truth.py [--rounds N] [--requests N] [--part NAME]

The server draws its delays from a log-normal distribution (median 16 ms, p90 39 ms, p99 82 ms, at least 2 ms) by a fixed
seed, so that every run has the same ones, and notes for each request how long it really took from the bytes of the request
to those of the reply. That is the truth of the run. Compared are p50, p90 and p99 of three kinds of load, each with both
tools in turn:

HTTP/1.1         16 connections, closed loop
HTTP/1.1 at rate 384 requests per second on 32 connections (pitot -R, h2load --rps); service time
TLS, HTTP/1.1    16 connections over TLS 1.3 to nginx, which asks the server
TLS, HTTP/2      4 connections of 4 streams, the same

h2load's percentiles are taken from its --log-file. Nobody is short of CPU here, so that what the tools say must agree with the
truth and with each other; the exit code is 1 if a median over the rounds is off by more than 5%. What both have beyond the
truth is the way through the kernel and, with TLS, nginx. Needs h2load (nghttp2-client), nginx and openssl. Traffic stays on
127.0.0.1.
"""
import argparse, contextlib, heapq, http.client, itertools, json, math, os, pathlib, random, selectors, signal, socket, statistics
import subprocess, sys, tempfile, time

from rig import certificate

PITOT = str(pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot")
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[0], CPUS[-1]
QUANTILES = (0.5, 0.9, 0.99)
LIMIT = 0.05
NGINX = """daemon off; master_process off; pid {0}/pid; error_log {0}/error.log; events {{ worker_connections 1024; }}
http {{ access_log off; keepalive_requests 1000000000;
client_body_temp_path {0}/b; proxy_temp_path {0}/p; fastcgi_temp_path {0}/f; uwsgi_temp_path {0}/u; scgi_temp_path {0}/s;
ssl_protocols TLSv1.3; ssl_certificate {0}/cert.pem; ssl_certificate_key {0}/key.pem;
upstream truth {{ server 127.0.0.1:{1}; keepalive 64; keepalive_requests 1000000000; }}
server {{ listen 127.0.0.1:{2} ssl http2;
location / {{ proxy_pass http://truth; proxy_http_version 1.1; proxy_set_header Connection ""; }} }} }}
"""


class Delays:
    """A server for GET without bodies. `/take` is answered with the times of the requests since the last one."""

    def __init__(self, listener):
        self.selector, self.listener = selectors.EpollSelector(), listener
        self.selector.register(listener, selectors.EVENT_READ)
        self.partial, self.due, self.turn = {}, [], itertools.count()
        self.restart()

    def restart(self):
        self.random, self.took = random.Random(15), []

    def draw(self):
        return int(max(2e6, self.random.lognormvariate(math.log(16e6), 0.7)))

    def run(self):
        while True:
            wait = max(0, self.due[0][0] - time.monotonic_ns()) / 1e9 if self.due else None
            events, came = self.selector.select(wait), time.monotonic_ns()
            for key, _ in events:
                self.accept() if key.fileobj is self.listener else self.read(key.fileobj, came)
            while self.due and self.due[0][0] <= time.monotonic_ns():
                _, _, came, client = heapq.heappop(self.due)
                with contextlib.suppress(OSError):
                    client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 64\r\n\r\n" + b"x" * 64)
                self.took.append(time.monotonic_ns() - came)

    def accept(self):
        client, _ = self.listener.accept()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.selector.register(client, selectors.EVENT_READ)
        self.partial[client] = b""

    def read(self, client, came):
        try:
            data = client.recv(65536)
        except OSError:
            data = b""
        if not data:
            self.selector.unregister(client)
            del self.partial[client]
            return client.close()
        *heads, self.partial[client] = (self.partial[client] + data).split(b"\r\n\r\n")
        for head in heads:
            if head.startswith(b"GET /take "):
                body = json.dumps(self.took).encode()
                client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body))
                self.restart()
            else:
                heapq.heappush(self.due, (came + self.draw(), next(self.turn), came, client))


def take(port):
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("GET", "/take")
    return sorted(nanos / 1e6 for nanos in json.loads(connection.getresponse().read()))


def percentiles(times):
    return [times[math.ceil(q * len(times)) - 1] for q in QUANTILES]


def pinned(cpu):
    return lambda: os.sched_setaffinity(0, {cpu})


def run(command):
    out = subprocess.run(command, capture_output=True, text=True, preexec_fn=pinned(CLIENT_CPU))
    if out.returncode:
        sys.exit(f"{' '.join(command)}: exit code {out.returncode}\n{out.stdout}{out.stderr}")
    return out.stdout


def pitot(url, requests, arguments):
    result = json.loads(run([PITOT, "load", url, "--json", "-", "--warmup", "0s", *arguments, "-n", str(requests)]))
    if result["requests"]["ok"] != requests:
        sys.exit(f"pitot: {result['requests']}, {result['errors']}")
    service = result["latency_ns"]["service"]
    return [service["p50"] / 1e6, service["p90"] / 1e6, service["p99"] / 1e6]


def h2load(url, requests, arguments, folder):
    log = folder / "log"
    log.unlink(missing_ok=True)
    run(["h2load", "-t1", *arguments, "-n", str(requests), f"--log-file={log}", url])
    times = sorted(int(line.split("\t")[2]) / 1e3 for line in log.read_text().splitlines())
    if len(times) != requests:
        sys.exit(f"h2load: {len(times)} replies of {requests}")
    return percentiles(times)


def compare(name, port, url, requests, rounds, mine, others, folder):
    """The worst disagreement."""
    runs = {"pitot": [], "h2load": []}
    for n in range(rounds):
        for tool in ("pitot", "h2load") if n % 2 == 0 else ("h2load", "pitot"):
            take(port)
            said = pitot(url, requests, mine) if tool == "pitot" else h2load(url, requests, others, folder)
            truth = take(port)
            if len(truth) != requests:
                sys.exit(f"the server answered {len(truth)} requests of {requests}")
            runs[tool].append((said, percentiles(truth)))
    print(f"\n{name}: {rounds} rounds of {requests} requests")
    print(f"  {'':5}{'truth':>10}{'pitot':>10}{'h2load':>10}   {'pitot to truth':>15}{'h2load to truth':>17}   pitot to h2load (range)")
    worst = 0
    for i, quantile in enumerate(QUANTILES):
        median = lambda tool, what: statistics.median(r[what][i] for r in runs[tool])
        to_truth = {tool: statistics.median(said[i] / true[i] for said, true in runs[tool]) for tool in runs}
        between = [a[0][i] / b[0][i] for a, b in zip(runs["pitot"], runs["h2load"])]
        worst = max([worst] + [abs(ratio - 1) for ratio in (to_truth["pitot"], statistics.median(between))])
        print(f"  p{quantile * 100:<4.0f}{median('pitot', 1):7.2f} ms{median('pitot', 0):7.2f} ms{median('h2load', 0):7.2f} ms"
              f"   {to_truth['pitot']:15.3f}{to_truth['h2load']:17.3f}   {statistics.median(between):.3f}"
              f" ({min(between):.3f} .. {max(between):.3f})", flush=True)
    return worst


@contextlib.contextmanager
def servers(folder):
    """The ports of the server itself and of nginx before it."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=512)
    port = listener.getsockname()[1]
    child = os.fork()
    if child == 0:
        try:
            os.sched_setaffinity(0, {SERVER_CPU})
            Delays(listener).run()
        finally:
            os._exit(1)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        tls = probe.getsockname()[1]
    certificate(folder)
    (folder / "nginx.conf").write_text(NGINX.format(folder, port, tls))
    nginx = subprocess.Popen(["nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf"],
                             env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"}, preexec_fn=pinned(SERVER_CPU))
    try:
        for _ in range(500):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", tls)) == 0:
                    break
            time.sleep(0.01)
        else:
            sys.exit("nginx does not listen")
        yield port, tls
    finally:
        nginx.terminate()
        nginx.wait(30)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=4000)
    parser.add_argument("--part", default="", help="only loads whose name has this in it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        with servers(folder) as (port, tls):
            plain, over_tls = f"http://127.0.0.1:{port}/", f"https://localhost:{tls}/"
            loads = [
                ("HTTP/1.1", plain, ["-c", "16"], ["--h1", "-c", "16"]),
                ("HTTP/1.1 at rate", plain, ["-c", "32", "-R", "384"], ["--h1", "-c", "32", "--rps", "12"]),
                ("TLS, HTTP/1.1", over_tls, ["-k", "-c", "16"], ["--h1", "-c", "16"]),
                ("TLS, HTTP/2", over_tls, ["-k", "--http", "2", "-c", "4", "--streams", "4"], ["-c", "4", "-m", "4"]),
            ]
            worst = [compare(load, port, url, options.requests, options.rounds, mine, others, folder)
                     for load, url, mine, others in loads if options.part in load]
    print(f"\nThe largest disagreement, of pitot with the truth or with h2load: {max(worst):.1%}")
    sys.exit(1 if max(worst) > LIMIT else 0)


if __name__ == "__main__":
    main()
