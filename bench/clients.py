#!/usr/bin/env python3
"""Serves a small site with every pair of `pitot list pairs` to curl, wrk, ab and a browser, and checks what each received.

    cargo build --release && python3 bench/clients.py [MODEL+MECHANISM ...]

curl fetches a page, a range of a picture and a file that is not there; wrk and ab load a page with 16 connections; a
headless Chromium opens the page, which is right if its style sheet, its picture and its script (which fetches a file)
have all arrived. The clients are Debian packages (curl wrk apache2-utils chromium); missing ones are reported and left
out. Exit code 1 if anything went wrong. Traffic stays on 127.0.0.1.
"""
import json, pathlib, re, shutil, signal, struct, subprocess, sys, tempfile, zlib

PITOT = pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot"
PACKAGES = {"curl": "curl", "wrk": "wrk", "ab": "apache2-utils", "chromium": "chromium"}
PAGE = """<!doctype html><title>A site</title><link rel="stylesheet" href="style.css">
<img id="picture" src="pictures/red.png"><p id="verdict">nothing has run</p><script src="script.js"></script>
"""
SCRIPT = """addEventListener("load", async () => {
  const notes = await (await fetch("notes.txt")).text();
  const style = getComputedStyle(document.body).marginTop;
  const width = document.getElementById("picture").naturalWidth;
  document.getElementById("verdict").textContent = `notes ${notes.length} margin ${style} picture ${width}`;
});
"""
VERDICT = "notes 70000 margin 7px picture 3"


def png(width, height):
    """A red picture."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = (b"\0" + b"\xff\0\0" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def make_site(root):
    (root / "pictures").mkdir()
    (root / "index.html").write_text(PAGE)
    (root / "style.css").write_text("body { margin: 7px }\n")
    (root / "script.js").write_text(SCRIPT)
    (root / "notes.txt").write_text("n" * 70000)
    (root / "pictures/red.png").write_bytes(png(3, 2))


def run(*command, timeout=60):
    return subprocess.run(command, capture_output=True, timeout=timeout)


def curl(url, root):
    picture = (root / "pictures/red.png").read_bytes()
    got = [
        run("curl", "-sS", url + "/").stdout == PAGE.encode(),
        run("curl", "-sS", "-r", "8-19", url + "/pictures/red.png").stdout == picture[8:20],
        run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", url + "/absent").stdout == b"404",
    ]
    return all(got), f"page, range, absent: {got}"


def wrk(url, _):
    out = run("wrk", "-t1", "-c16", "-d1s", url + "/notes.txt").stdout.decode()
    requests = int(re.search(r"(\d+) requests in", out)[1])
    return requests > 0 and "Non-2xx" not in out and "Socket errors" not in out, f"{requests} requests"


def ab(url, _):
    out = run("ab", "-q", "-k", "-n", "500", "-c", "16", url + "/style.css").stdout.decode()
    complete, failed = (int(re.search(rf"{name} requests:\s+(\d+)", out)[1]) for name in ("Complete", "Failed"))
    return (complete, failed) == (500, 0) and "Non-2xx" not in out, f"{complete} complete, {failed} failed"


def chromium(url, _):
    with tempfile.TemporaryDirectory() as profile:
        out = run("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                  f"--user-data-dir={profile}", "--virtual-time-budget=5000", "--dump-dom", url + "/").stdout.decode()
    verdict = re.search(r'id="verdict">([^<]*)', out)
    return bool(verdict) and verdict[1] == VERDICT, verdict[1] if verdict else "no page"


def main():
    clients = {}
    for client in (curl, wrk, ab, chromium):
        if shutil.which(client.__name__):
            clients[client.__name__] = client
        else:
            print(f"{client.__name__} is not installed: apt-get install {PACKAGES[client.__name__]}")
    listed = json.loads(run(PITOT, "list", "pairs", "--format", "json").stdout)
    pairs = sys.argv[1:] or [f"{p['model']}+{p['mechanism']}" for p in listed if p["usable"]]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        root.chmod(0o755)
        make_site(root)
        for pair in pairs:
            model, mechanism = pair.split("+")
            server = subprocess.Popen([PITOT, "serve", "http", "--root", root, "--model", model, "--mechanism", mechanism],
                                      stdout=subprocess.PIPE, text=True)
            try:
                address = server.stdout.readline().removeprefix("ready ").strip()
                results = {name: client(f"http://{address}", root) for name, client in clients.items()}
            finally:
                server.send_signal(signal.SIGTERM)
                code = server.wait(30)
            wrong += code != 0 or not all(right for right, _ in results.values())
            print(f"{pair:18}", "  ".join(f"{n} {'ok' if right else 'WRONG'} ({detail})" for n, (right, detail) in results.items()),
                  "" if code == 0 else f"exit code {code}", flush=True)
    print(f"{len(pairs)} pairs, {wrong} with something wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
