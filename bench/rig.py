"""What several comparisons set up alike."""
import collections, itertools, math, socket, sqlite3, statistics, subprocess, time


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
    """Of each slice: the cell, when it began, CPU time per request, requests per second, the pace of the server's CPUs, generation, round."""
    with sqlite3.connect(file) as run:
        rows = run.execute(
            "SELECT cell_id, began_unix_ns / 1e9, server_cpu_ns * 1.0 / requests, requests * 1e9 / duration_ns, pace_ns * 1.0, block, round "
            "FROM slice JOIN repetition ON repetition.id = repetition_id WHERE requests > 0 AND server_cpu_ns > 0 AND pace_ns > 0"
        ).fetchall()
    return rows


def deviation(values):
    """The standard deviation of the middle half."""
    low, _, high = statistics.quantiles(values)
    return (high - low) / 1.349


def without_wild(values):
    """The values; those beyond three deviations count as if they were not."""
    middle, most = statistics.median(values), 3 * deviation(values)
    return [min(max(value, middle - most), middle + most) for value in values]


def correlation(x, y):
    return statistics.correlation(without_wild(x), without_wild(y))


def at_one_pace(rows, at):
    """The logarithm of a figure of each slice relative to those of its cell that were taken at the same pace of the CPUs, to 5%."""
    classes = collections.defaultdict(list)
    of = lambda row: (row[0], round(math.log(row[4]) / 0.05))
    for row in rows:
        classes[of(row)].append(math.log(row[at]))
    usual = {at_pace: statistics.median(logs) for at_pace, logs in classes.items()}
    return [math.log(row[at]) - usual[of(row)] for row in rows]


# The servers of a small run, for what is compared between runs or parts of one.
TWO_SERVERS = """
[server]
protocol = "http"
[load]
url = "http://{address}/bytes/2"
connections = 16
[factors]
server = ["loop+epoll-et", "thread"]
"""


def signed_rank(values):
    """The Hodges-Lehmann estimate between the ends of its 95% interval: the exact one for up to 25 values, the normal limit for more. None
    for less than six, which have none."""
    means, n = sorted((a + b) / 2 for a, b in itertools.combinations_with_replacement(values, 2)), len(values)
    if n > 25:
        skip = math.floor(n * (n + 1) / 4 - 1.96 * math.sqrt(n * (n + 1) * (2 * n + 1) / 24))
    else:
        ways = [1] + [0] * (n * (n + 1) // 2)
        for rank in range(1, n + 1):
            for total in range(len(ways) - 1, rank - 1, -1):
                ways[total] += ways[total - rank]
        skip, below = 0, ways[0]
        while 2 * below / 2**n <= 0.05:
            skip += 1
            below += ways[skip]
    return None if skip == 0 else (means[skip - 1], statistics.median(means), means[-skip])
