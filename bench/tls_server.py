#!/usr/bin/env python3
"""Compares `pitot serve --tls` with nginx on this machine: server CPU time per request and per handshake.

    cargo build --release && python3 bench/tls_server.py [keep-alive|handshakes|resumed|profile|memory|all]
                                                         [--version 1.2|1.3] [--saturate]
                                                         [--generations N] [--rounds N] [--slice TIME]

keep-alive   a file of 1 KiB and one of 100 KiB over 64 connections that stay open
handshakes   a new connection with a full handshake for each request, 64 at a time (--tls-resume off)
resumed      the same with the session of the connection before
profile      whose CPU time it is: the kernel's, the library's (rustls and ring, libssl and libcrypto), the rest (perf)
memory       resident memory per idle connection after its handshake and one request

All servers have one certificate (ECDSA P-256), one version of TLS (1.3) and one cipher suite (AES-256-GCM), which nginx is told
and which is printed as the client saw it. Servers run on the first CPU and the client, `pitot load --hold`, on the last. They are
kept up side by side and loaded in turn (bench/held.py); "busy" is how much of the slices the server's CPU was its own, and
"sleeps" how often it had nothing to do, for each request: near 0 it is saturated. A client needs about as much CPU as these
servers do, so that with a CPU each they wait for it; with --saturate it has two threads, one of them on the server's CPU too.
Traffic stays on 127.0.0.1. Debian packages: apt-get install nginx-light openssl linux-perf. On a machine that has other
work, run it with a priority (`nice -n -10`).
"""
import argparse, contextlib, os, pathlib, re, resource, socket, ssl, statistics, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from held import Held, alternate, told
from rig import certificate, free_port
from serve import CLIENT_CPU, PITOT, SERVER_CPU, Server, cpu_seconds, processes_of, rss_bytes

CONNECTIONS = 64
NGINX = """
daemon off; master_process on; worker_processes 1; pid {dir}/nginx.pid; error_log stderr crit;
worker_rlimit_nofile 20000;
events {{ worker_connections 19500; use epoll; multi_accept on; }}
http {{
  access_log off; sendfile on; tcp_nodelay on; keepalive_timeout 300s; keepalive_requests 100000000;
  open_file_cache max=1000 inactive=60s; open_file_cache_valid 60s; open_file_cache_min_uses 1;
  client_body_temp_path {dir}/body; proxy_temp_path {dir}/proxy; fastcgi_temp_path {dir}/fastcgi;
  uwsgi_temp_path {dir}/uwsgi; scgi_temp_path {dir}/scgi;
  ssl_protocols TLSv{version}; ssl_conf_command Ciphersuites TLS_AES_256_GCM_SHA384; ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384;
  ssl_ecdh_curve X25519;
  ssl_certificate {dir}/cert.pem; ssl_certificate_key {dir}/key.pem; ssl_session_tickets on;
  server {{ listen 127.0.0.1:{port} ssl backlog=4096; root {site}; }}
}}
"""


def nginx(site, directory, version):
    port = free_port()
    conf = pathlib.Path(directory) / "nginx.conf"
    conf.write_text(NGINX.format(dir=directory, site=site, port=port, version=version))
    return Server("nginx", ["nginx", "-p", directory, "-e", "stderr", "-c", conf], port)


def pitot(site, directory, model, mechanism):
    return Server(f"{model}+{mechanism}", [
        PITOT, "serve", "http", "--root", site, "--model", model, "--mechanism", mechanism, "--idle-timeout", "300s",
        "--tls", f"{directory}/cert.pem", "--key", f"{directory}/key.pem"])


def context(version):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.minimum_version = context.maximum_version = ssl.TLSVersion["TLSv" + version.replace(".", "_")]
    return context


def sleeps(pid):
    """How often the threads of a server had nothing to do so far."""
    count = 0
    for process in processes_of(pid):
        for status in pathlib.Path(f"/proc/{process}/task").glob("*/status"):
            count += int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)", status.read_text(), re.M)[1])
    return count


def connect(port, context):
    s = context.wrap_socket(socket.create_connection(("127.0.0.1", port)))
    s.sendall(b"GET /1k.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    while s.recv(65536):
        pass
    return s


NEW_EACH = ["--requests-per-connection", "1", "--tls-resume"]
KINDS = {
    "keep-alive": [("a request for 1 KiB, kept connections", "/1k.txt", [], None),
                   ("a request for 100 KiB, kept connections", "/100k.bin", [], None)],
    "handshakes": [("a connection with a full handshake and one request", "/1k.txt", [*NEW_EACH, "off"], "handshake")],
    "resumed": [("a connection with a resumed session and one request", "/1k.txt", [*NEW_EACH, "on"], "resumption")],
}


@contextlib.contextmanager
def generation(starts, options, path, arguments, handshakes):
    """Servers and a client with a group for each; yields them, and a function for a slice."""
    with contextlib.ExitStack() as stack:
        servers = [stack.enter_context(start()) for start in starts]
        cpus = f"{SERVER_CPU},{CLIENT_CPU}" if options.saturate else CLIENT_CPU
        client = stack.enter_context(contextlib.closing(Held(PITOT, cpus)))
        arguments = [*arguments, "--tls-version", options.version, *(["-t", "2"] if options.saturate else [])]
        for i, server in enumerate(servers):
            client.open(f"g{i}", f"https://127.0.0.1:{server.port}{path}", ["--insecure", "-c", str(CONNECTIONS), *arguments])
            # The first connection of a user has no session to resume.
            client.run(f"g{i}", "200ms")

        def piece(i, time):
            pid = servers[i].process.pid
            before, slept = cpu_seconds(pid)[0], sleeps(pid)
            answer = client.run(f"g{i}", time)
            used, slept = cpu_seconds(pid)[0] - before, sleeps(pid) - slept
            if list(answer.get("handshakes", {})) != [handshakes] * bool(handshakes):
                sys.exit(f"{servers[i].name}: not the handshakes that were asked for: {list(answer.get('handshakes', {}))}")
            return used, answer["completed"], (answer["duration_us"] + answer["drain_us"]) / 1e6, slept
        yield servers, piece


def compare(title, starts, options, path, arguments, handshakes):
    ratios, figures, names = [], [], []
    for _ in range(options.generations):
        with generation(starts, options, path, arguments, handshakes) as (servers, piece):
            names = [server.name for server in servers]
            sums = [[0, 0, 0, 0] for _ in servers]

            def side(i):
                result = piece(i, options.slice)
                sums[i] = [a + b for a, b in zip(sums[i], result)]
                return result[:2]
            each = alternate(options.rounds, [lambda i=i: side(i) for i in range(len(servers))])
            ratios.append([1.0] + [statistics.median(r) for r in each])
            figures.append([(used / count * 1e6, used / wall, slept / count, count / wall) for used, count, wall, slept in sums])
    print(f"\n{title}: {options.generations} generations of {options.rounds} rounds of two slices of {options.slice} each")
    print(f"  {'server':18}{'CPU us':>9}{'busy':>7}{'sleeps':>8}{'per second':>12}   CPU ratio to nginx")
    for i, name in enumerate(names):
        cpu, busy, slept, rate = (statistics.median(column) for column in zip(*(g[i] for g in figures)))
        ratio = told([r[i] for r in ratios]) if i else ""
        print(f"  {name:18}{cpu:9.1f}{busy:7.0%}{slept:8.2f}{rate:12.0f}   {ratio}", flush=True)


LIBRARY = re.compile(r"rustls|^<?ring|ring_core|ring::|webpki|x25519|p256|ecp_nistz|nistz256|aes|gcm|ghash|gf_mul|sha\d|sha256|bn_mul|"
                     r"LIMB|hkdf|chacha|poly1305|fiat|zeroize|subtle")


def profile(starts, options):
    """Shares of the server's CPU time."""
    print(f"\nwhose CPU time: {'kernel':>24}{'library':>10}{'rest':>8}")
    for kind in KINDS:
        title, path, arguments, handshakes = KINDS[kind][0]
        with generation(starts, options, path, arguments, handshakes) as (servers, piece), tempfile.TemporaryDirectory() as folder:
            for i, server in enumerate(servers):
                pids = ",".join(map(str, processes_of(server.process.pid)))
                data = f"{folder}/perf.data"
                perf = subprocess.Popen(["perf", "record", "-q", "-F", "2000", "-e", "cpu-clock", "-p", pids, "-o", data, "sleep", "3"],
                                        stderr=subprocess.DEVNULL)
                while perf.poll() is None:
                    piece(i, "200ms")
                out = subprocess.run(["perf", "report", "-i", data, "--stdio", "--no-children", "-F", "overhead,dso,symbol"],
                                     capture_output=True, text=True).stdout
                shares = {"kernel": 0.0, "library": 0.0, "rest": 0.0}
                for line in out.splitlines():
                    if found := re.match(r"\s+([\d.]+)%\s+(\S+)\s+\[(.)\] (.*)", line):
                        share, dso, ring, symbol = found.groups()
                        ours = "libssl" in dso or "libcrypto" in dso or LIBRARY.search(symbol)
                        shares["kernel" if ring == "k" else "library" if ours else "rest"] += float(share)
                print(f"  {kind:12}{server.name:18}" + "".join(f"{share:8.0f}%" for share in shares.values()), flush=True)


def memory(starts, options, count=1000):
    print(f"\nresident memory per idle connection, {count} of them, each after a handshake and one request")
    for start in starts:
        with start() as server:
            shared = context(options.version)

            def hold(n):
                held = []
                for _ in range(n):
                    s = shared.wrap_socket(socket.create_connection(("127.0.0.1", server.port)))
                    s.sendall(b"GET /1k.txt HTTP/1.1\r\nHost: x\r\n\r\n")
                    while len(s.recv(65536)) < 1024:
                        pass
                    held.append(s)
                return held

            warm = hold(50)
            before = rss_bytes(server.process.pid)
            held = hold(count)
            each = (rss_bytes(server.process.pid) - before) / count
            print(f"  {server.name:18}{each:10.0f} bytes", flush=True)
            for s in warm + held:
                s.close()


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("what", nargs="?", default="all", choices=[*KINDS, "profile", "memory", "all"])
    options.add_argument("--version", default="1.3", choices=["1.2", "1.3"], help="of TLS")
    options.add_argument("--saturate", action="store_true", help="the client has both CPUs, so that servers never wait for it")
    options.add_argument("--generations", type=int, default=9)
    options.add_argument("--rounds", type=int, default=6)
    options.add_argument("--slice", default="100ms")
    options.add_argument("--pairs", default="loop+epoll-et,loop+uring")
    options = options.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    pairs = [tuple(p.split("+")) for p in options.pairs.split(",")]
    with tempfile.TemporaryDirectory() as site, tempfile.TemporaryDirectory() as directory:
        # nginx drops its rights as a worker.
        os.chmod(site, 0o755)
        os.chmod(directory, 0o755)
        certificate(directory)
        pathlib.Path(site, "1k.txt").write_text("x" * 1023 + "\n")
        pathlib.Path(site, "100k.bin").write_bytes(os.urandom(100 << 10))
        starts = [lambda: nginx(site, directory, options.version)] + [lambda p=p: pitot(site, directory, *p) for p in pairs]
        for start in starts:
            with start() as server:
                s = connect(server.port, context(options.version))
                print(f"{server.name}: {s.version()}, {s.cipher()[0]}", flush=True)
        for kind, cells in KINDS.items():
            if options.what in (kind, "all"):
                for cell in cells:
                    compare(cell[0], starts, options, *cell[1:])
        if options.what in ("profile", "all"):
            profile(starts, options)
        if options.what in ("memory", "all"):
            memory(starts, options)


if __name__ == "__main__":
    main()
