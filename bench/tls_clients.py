#!/usr/bin/env python3
"""CPU time per request of `pitot load https://` and of h2load, against the same nginx, in turn.

    cargo build --release && python3 bench/tls_clients.py [ROUNDS [REQUESTS]]

TLS 1.3, HTTP/1.1, 32 connections that are kept, a file of 1 KiB; the client has CPU 0 to itself and nginx CPU 1. Both take
any certificate, as h2load does. The time is what the kernel counted of the client's process, start and end included, so
that REQUESTS should be many (100000). Needs nginx, h2load (nghttp2-client), openssl and taskset. Traffic stays on
127.0.0.1. The machine should have nothing else to do.
"""
import os, pathlib, resource, signal, socket, statistics, subprocess, sys, tempfile, time

PITOT = pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot"
CONNECTIONS = "32"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def start_nginx(folder, port):
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
                    "-subj", "/CN=localhost", "-keyout", folder / "key.pem", "-out", folder / "cert.pem"],
                   check=True, capture_output=True)
    (folder / "1k").write_bytes(b"x" * 1024)
    temporary = "".join(f"{k}_temp_path {folder}/{k};" for k in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(f"""
        pid {folder}/pid; error_log {folder}/error.log; daemon off; master_process off; events {{ }}
        http {{ access_log off; {temporary} keepalive_requests 1000000000;
            server {{ listen 127.0.0.1:{port} ssl; root {folder}; ssl_protocols TLSv1.3;
                ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem; }} }}""")
    nginx = subprocess.Popen(["taskset", "-c", "1", "nginx", "-e", folder / "error.log", "-c", folder / "nginx.conf"],
                             env={**os.environ, "PATH": os.environ["PATH"] + ":/usr/sbin"})
    for _ in range(500):
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return nginx
        time.sleep(0.01)
    sys.exit("nginx does not listen")


def cpu_us(command, requests):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["taskset", "-c", "0", *command], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return used / requests * 1e6


def main():
    rounds, requests = (int(a) for a in (sys.argv[1:] + ["7", "100000"][len(sys.argv) - 1:])[:2])
    with tempfile.TemporaryDirectory() as name:
        folder, port = pathlib.Path(name), free_port()
        folder.chmod(0o755)
        nginx = start_nginx(folder, port)
        url = f"https://localhost:{port}/1k"
        load = [str(PITOT), "load", url, "--insecure", "-n", str(requests), "-c", CONNECTIONS]
        clients = {
            "h2load": ["h2load", "--h1", "-t", "1", "-n", str(requests), "-c", CONNECTIONS, url],
            "pitot epoll": [*load, "--engine", "epoll"],
            "pitot uring": [*load, "--engine", "uring"],
        }
        times = {client: [] for client in clients}
        try:
            for _ in range(rounds):
                for client, command in clients.items():
                    times[client].append(cpu_us(command, requests))
        finally:
            nginx.send_signal(signal.SIGTERM)
            nginx.wait(30)
    for client, values in times.items():
        ratios = [mine / other for mine, other in zip(values, times["h2load"])]
        print(f"{client:12} {statistics.median(values):7.2f} us of CPU per request, {min(values):.2f} to {max(values):.2f};"
              f" {statistics.median(ratios):.3f} of h2load's")


if __name__ == "__main__":
    main()
