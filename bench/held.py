"""`pitot load --hold` (docs/held-load.md) from Python, and how many short pieces become one ratio with its interval.

Two programs that are compared are kept up side by side and have the machine in turn for some tens of milliseconds each, in
the order A B B A, so that whatever disturbs the machine disturbs both. A round is one such sequence. Fresh processes are a
generation, whose ratio is the median over its rounds: the layout of memory, which differs from process to process, is part
of it. The figure is the median over generations; its interval is that of the order statistics (binomial, at least 95%).
"""
import contextlib, json, math, statistics, subprocess, sys


class Held:
    """A load generator that keeps its connections between slices."""

    def __init__(self, binary, cpu):
        self.binary = binary
        self.process = subprocess.Popen(["taskset", "-c", str(cpu), str(binary), "load", "--hold"], text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"event": "nothing"}
        if answer["event"] in ("error", "nothing") or answer.get("failed") or answer.get("errors"):
            sys.exit(f"{self.binary} load --hold, {command!r}: {line}")
        return answer

    def open(self, name, url, arguments=()):
        self.ask(" ".join(["open", name, url, *arguments]))

    def run(self, name, time):
        """A slice in which something was answered; a machine that stands still for a whole slice gets others."""
        for _ in range(5):
            answer = self.ask(f"run {name} {time}")
            if answer["completed"]:
                return answer
        sys.exit(f"{self.binary} load --hold: no reply in five slices of {time}")

    def close(self):
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.wait(30)


def client_cpu(answer):
    """CPU microseconds of the client and requests of a slice."""
    return answer["client_user_us"] + answer["client_system_us"], answer["completed"]


def alternate(rounds, sides):
    """For each side after the first its ratio to the first, in each of the rounds. A side is a function that has one slice
    measured and returns (cost, count); a round is there and back, and begins with another side each time."""
    ratios = [[] for _ in sides[1:]]
    for side in sides:
        side()
    for n in range(rounds):
        order = [(i + n) % len(sides) for i in range(len(sides))]
        sums = [[0, 0] for _ in sides]
        for i in order + order[::-1]:
            cost, count = sides[i]()
            sums[i][0] += cost
            sums[i][1] += count
        each = [cost / count for cost, count in sums]
        for k, value in enumerate(each[1:]):
            ratios[k].append(value / each[0])
    return ratios


def interval(values):
    """The interval of order statistics that holds the median with a probability of at least 0.95, or None."""
    values, n = sorted(values), len(values)
    below = lambda k: sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    rank = max((k for k in range(n // 2) if 2 * below(k) <= 0.05), default=None)
    return None if rank is None else (values[rank], values[n - 1 - rank])


def told(values):
    """The median of ratios, its interval, and their range."""
    known = interval(values)
    inside = f"{known[0]:.3f} .. {known[1]:.3f}" if known else "too few"
    return f"{statistics.median(values):7.3f}  ({inside:16})  range {min(values):.3f} .. {max(values):.3f}"
