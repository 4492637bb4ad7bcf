#!/usr/bin/env python3
"""Compares `pitot mail --test-mode` with smtp-source on this machine, and draws its curve over concurrency.

    cargo build --release && python3 bench/mail.py [compare|curve|all] [--rounds N] [--recipients N] [--domains N]

compare  recipients per second of both against the same smtp-sink, 200,000 recipients at 9,113 domains
curve    the same engine over concurrency, with a journal, as the bulk mail experiment of 2001 did

smtp-source has no test mode: it always sends a message, here of one byte. Its rows are its default (a connection for each
message), kept connections (-d), kept connections with as many recipients in a transaction as pitot has on the average
(-r 22), and with as many as pitot has at most (-r 50); the last is its fastest and its closest, as it then sends one
message for 50 recipients. pitot resolves every domain (pitot serve dns), keeps a journal or not as the row says, and has
four rows too: a connection and a transaction for each recipient; kept connections with a transaction each; its defaults,
where a transaction carries recipients of one domain, and its defaults through a relay, where it may carry any.

The sink and the DNS responder run on the first CPU, the clients on the last; runs are interleaved, ratios are taken
within a round, and every figure is a median over rounds. smtp-source and smtp-sink are in Debian's package postfix:
apt-get install postfix. Traffic stays on 127.0.0.1.
"""
import argparse, contextlib, json, os, pathlib, pwd, random, resource, socket, statistics, subprocess, sys, tempfile, time

from rig import free_port

PITOT = str(pathlib.Path(__file__).resolve().parent.parent / "target/release/pitot")
CPUS = sorted(os.sched_getaffinity(0))
SERVER_CPU, CLIENT_CPU = CPUS[0], CPUS[-1]
CURVE = [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 1500, 2000, 2500, 4000]


def pinned(cpu):
    return lambda: os.sched_setaffinity(0, {cpu})


@contextlib.contextmanager
def running(command, **more):
    process = subprocess.Popen(command, preexec_fn=pinned(SERVER_CPU), **more)
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


@contextlib.contextmanager
def sink():
    """A fresh smtp-sink; yields its port."""
    port = free_port()
    user = pwd.getpwuid(os.getuid()).pw_name
    with running(["smtp-sink", "-u", user, "-m", "20000", f"127.0.0.1:{port}", "4096"], stdout=subprocess.DEVNULL):
        for _ in range(200):
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                break
            time.sleep(0.02)
        yield port


@contextlib.contextmanager
def dns(domains):
    command = [PITOT, "serve", "dns", "--workers", "1", "--domains", str(domains), "--pattern", "d{}.test"]
    with running(command, stdout=subprocess.PIPE, text=True) as process:
        yield process.stdout.readline().split()[1]


def timed(command):
    """(seconds, CPU seconds of the client, standard output)."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=pinned(CLIENT_CPU))
    seconds, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout[:2000]}{done.stderr[:2000]}")
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


class Files:
    def __init__(self, directory, recipients, domains):
        self.directory, self.recipients = pathlib.Path(directory), recipients
        self.rows = [f"user{n}@d{n % domains}.test" for n in range(recipients)]
        random.Random(1).shuffle(self.rows)
        (self.directory / "message").write_text("Subject: test\n\nx\n")

    def list(self, recipients):
        path = self.directory / f"list-{recipients}"
        if not path.exists():
            path.write_text("\n".join(self.rows[:recipients]) + "\n")
        return path

    def mail(self, connections, *more, journal=False, recipients=None):
        recipients, path = recipients or self.recipients, self.directory / "journal"
        path.unlink(missing_ok=True)
        command = [PITOT, "mail", "--test-mode", "--list", self.list(recipients), "--from", "sender@d0.test",
                   "--message", self.directory / "message", "-c", str(connections), "--json", "-", "--tls", "off",
                   "--connections-per-host", str(connections), *more] + (["--journal", path] if journal else [])
        seconds, cpu, text = timed(command)
        report = json.loads(text)
        if report["recipients"]["accepted"] != recipients:
            sys.exit(f"not all were accepted: {report['recipients']}")
        return recipients / seconds, cpu / recipients * 1e6, report


def source(recipients, sessions, *more, per_message=1):
    with sink() as port:
        command = ["smtp-source", "-s", str(sessions), "-m", str(recipients // per_message), "-r", str(per_message),
                   "-l", "1", "-M", "d0.test", *more, f"127.0.0.1:{port}"]
        seconds, cpu, _ = timed(command)
        sent = recipients // per_message * per_message
        return sent / seconds, cpu / sent * 1e6


def table(runs, baselines):
    print(f"  {'':44}{'recipients/s':>13}{'client CPU us':>15}" + "".join(f"{'of ' + b:>20}" for b in baselines))
    for name, rows in runs.items():
        rate, cpu = (statistics.median(r[i] for r in rows) for i in (0, 1))
        ratios = [statistics.median(a[0] / b[0] for a, b in zip(rows, runs[base])) for base in baselines]
        print(f"  {name:44}{rate:13.0f}{cpu:15.2f}" + "".join(f"{r:20.2f}" for r in ratios))


def compare(options, files):
    sessions, n = options.sessions, options.recipients
    some = min(n, 2000)  # those that take a connection for each need not be as many
    average = max(1, round(n / options.domains))

    def mail(*more, relay=False, journal=False, recipients=None):
        with sink() as port:
            if relay:
                return files.mail(sessions, "--relay", f"127.0.0.1:{port}", *more, journal=journal)
            with dns(options.domains) as server:
                return files.mail(sessions, "--dns", server, "--port", str(port), *more, journal=journal,
                                  recipients=recipients)

    one = ["--recipients-per-transaction", "1"]
    rows = {
        "smtp-source": lambda: source(some, sessions),
        "smtp-source -d": lambda: source(min(n, 20_000), sessions, "-d"),
        f"smtp-source -d -r {average}": lambda: source(n, sessions, "-d", per_message=average),
        "smtp-source -d -r 50": lambda: source(n, sessions, "-d", per_message=50),
        "pitot, a connection for each recipient": lambda: mail(*one, "--transactions-per-connection", "1",
                                                               recipients=some),
        "pitot, a transaction for each recipient": lambda: mail(*one, recipients=min(n, 20_000)),
        "pitot": lambda: mail(),
        "pitot --journal": lambda: mail(journal=True),
        "pitot --journal --relay": lambda: mail(journal=True, relay=True),
    }
    runs = {name: [] for name in rows}
    for turn in range(options.rounds):
        names = list(rows)
        for name in names[turn % len(names):] + names[:turn % len(names)]:
            runs[name].append(rows[name]())
            print(f"  {turn + 1}: {name}: {runs[name][-1][0]:.0f}/s", file=sys.stderr, flush=True)
    print(f"\n{n} recipients at {options.domains} domains, {sessions} connections, one smtp-sink, test mode"
          f" (medians of {options.rounds})")
    table(runs, ["smtp-source -d", "smtp-source -d -r 50"])


def curve(options, files):
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 100
    print(f"\nrecipients per second over connections, {options.recipients} recipients at {options.domains} domains,"
          " a fresh journal each")
    print(f"  {'connections':>11}{'defaults':>12}{'one each':>12}   (one each: a transaction for each of 20,000 recipients)")
    for connections in [c for c in CURVE if c <= allowed]:
        rates = []
        for more, recipients in ([], None), (["--recipients-per-transaction", "1"], min(options.recipients, 20_000)):
            runs = []
            for _ in range(options.rounds):
                with sink() as port, dns(options.domains) as server:
                    runs.append(files.mail(connections, "--dns", server, "--port", str(port), *more, journal=True,
                                           recipients=recipients)[0])
            rates.append(statistics.median(runs))
        print(f"  {connections:11}{rates[0]:12.0f}{rates[1]:12.0f}", flush=True)


PARTS = {"compare": compare, "curve": curve}

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", nargs="?", default="all", choices=[*PARTS, "all"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--recipients", type=int, default=200_000)
    parser.add_argument("--domains", type=int, default=9113)
    parser.add_argument("--sessions", type=int, default=64)
    parser.add_argument("--pitot", default=PITOT, help="the program to measure")
    options = parser.parse_args()
    PITOT = options.pitot
    # Servers and clients of the curve need as many descriptors as there are connections.
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    with tempfile.TemporaryDirectory() as directory:
        files = Files(directory, options.recipients, options.domains)
        for part in PARTS if options.part == "all" else [options.part]:
            PARTS[part](options, files)
