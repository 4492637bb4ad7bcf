"""What several comparisons set up alike."""
import math, socket, sqlite3, statistics, subprocess, time


def free_port():
    """A port of 127.0.0.1 that nobody has now."""
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def certificate(folder):
    """Makes `cert.pem` and `key.pem` (ECDSA, P-256, for localhost) in a folder."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "30",
                    "-subj", "/CN=localhost", "-keyout", f"{folder}/key.pem", "-out", f"{folder}/cert.pem"],
                   check=True, capture_output=True)


def wait_for(what, is_so):
    """Waits until it is so, for a minute at most."""
    deadline = time.monotonic() + 60
    while not is_so():
        if time.monotonic() > deadline:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.05)


def text(path):
    """What is in a file; nothing if it is not there."""
    return path.read_text() if path.exists() else ""


def slices(file):
    """Of each slice: the cell, when it began, CPU time per request, requests per second."""
    with sqlite3.connect(file) as run:
        rows = run.execute(
            "SELECT cell_id, began_unix_ns / 1e9, server_cpu_ns * 1.0 / requests, requests * 1e9 / duration_ns "
            "FROM slice JOIN repetition ON repetition.id = repetition_id WHERE requests > 0 AND server_cpu_ns IS NOT NULL"
        ).fetchall()
    return rows


def signed_rank(values):
    """The Hodges-Lehmann estimate with its 95% interval (normal approximation, good from ten values on)."""
    means = sorted((a + b) / 2 for at, a in enumerate(values) for b in values[at:])
    n = len(values)
    outside = max(0, round(n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24)))
    return means[outside], statistics.median(means), means[-1 - outside]
