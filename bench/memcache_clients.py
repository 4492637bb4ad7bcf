#!/usr/bin/env python3
"""Real clients against `pitot serve memcache`: pymemcache, and the tools of libmemcached.

    cargo build --release && python3 bench/memcache_clients.py

pymemcache is a Python package, libmemcached-tools a Debian one; what is missing is skipped with a word. The exit code
is not 0 if a client finds anything wrong.
"""
import os, pathlib, shutil, signal, subprocess, tempfile

PITOT = os.environ.get("PITOT") or str(pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot")


def pymemcache(port):
    try:
        from pymemcache.client.base import Client
    except ImportError:
        return print("pymemcache: skipped, it is not installed (pip install pymemcache)")
    client = Client(("127.0.0.1", port), default_noreply=False, timeout=10)
    large = os.urandom(500_000)
    assert client.set("large", large, expire=60) and client.get("large") == large
    assert client.add("n", b"1") and client.incr("n", 41) == 42 and client.decr("n", 2) == 40
    _, cas = client.gets("n")
    assert client.cas("n", b"7", cas) is True and client.cas("n", b"8", cas) is False
    assert not client.set_many({f"k{i}": str(i).encode() for i in range(100)})
    assert len(client.get_many([f"k{i}" for i in range(120)])) == 100
    assert client.append("k1", b"!") and client.prepend("k1", b"?") and client.get("k1") == b"?1!"
    assert client.touch("k1", 100) and client.delete("k1") and client.get("k1") is None
    assert client.replace("k2", b"r") and not client.replace("none", b"r")
    assert client.version().startswith(b"1.6"), client.version()
    assert int(client.stats()[b"curr_items"]) == 101, client.stats()
    assert client.flush_all() and client.get("k2") is None
    print("pymemcache: right")


def libmemcached(port):
    servers = f"--servers=127.0.0.1:{port}"

    def tool(name, *arguments):
        if not shutil.which(name):
            print(f"{name}: skipped, it is not installed (apt-get install libmemcached-tools)")
            return None
        run = subprocess.run([name, *arguments], capture_output=True, text=True, timeout=60)
        assert run.returncode == 0, (name, run)
        print(f"{name}: right")
        return run.stdout

    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "greeting"
        file.write_text("hello")
        tool("memccp", servers, str(file))
        output = tool("memccat", servers, "greeting")
        assert output is None or output.strip() == "hello", output
        tool("memctouch", servers, "--expire=100", "greeting")
        tool("memcrm", servers, "greeting")
    stats = tool("memcstat", servers)
    assert stats is None or "curr_items" in stats, stats
    tool("memcslap", servers, "--concurrency=4", "--execute-number=500", "--test=get")
    output = tool("memcaslap", "-s", f"127.0.0.1:{port}", "-T", "1", "-c", "8", "-x", "20000", "-v", "0.1")
    assert output is None or "verify_failed: 0" in output or "verify_failed" not in output, output


def main():
    command = [PITOT, "serve", "memcache", "--model", "loop"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        port = int(server.stdout.readline().rsplit(":", 1)[1])
        pymemcache(port)
        libmemcached(port)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait()


main()
