#!/usr/bin/env python3
"""What the pace of the CPUs says of runs measured in slices.

    bench/pace.py RUN.pitot ...

For each pair of cells: how the logarithms of CPU time per request and of the pace are correlated over slices; how far the paces of the two
cells are apart, with two standard errors, beyond which the pace depends on the server, as it must not; the share of rounds that count; and
the ratio of the two with its 95% interval, as it is and of the rounds that count, and how far apart the ratios of generations are.
"""

import collections
import itertools
import math
import statistics
import sys

import rig


def of_generations(rows, one, other):
    """Of each generation its rounds: the log ratios of CPU time per request and of the pace, and the pace of both."""
    slices = collections.defaultdict(lambda: collections.defaultdict(lambda: {one: [], other: []}))
    for cell, _, cpu, _, pace, block, number in rows:
        if cell in (one, other):
            slices[block][number][cell].append((cpu, pace))
    mean = lambda pairs, at: statistics.mean(pair[at] for pair in pairs)
    log = lambda of, at: math.log(mean(of[one], at) / mean(of[other], at))
    whole = lambda of: of[one] and of[other]
    return [[(log(of, 0), log(of, 1), mean(of[one] + of[other], 1)) for of in rounds.values() if whole(of)] for rounds in slices.values()]


def counted(generations):
    """The rounds of each generation that count."""
    paces = []
    for rounds in generations:
        own = [pace for _, _, pace in rounds]
        paces += own
        quick = rig.quick(paces)
        most = quick if min(own) <= quick else statistics.median(own)
        yield [of for of in rounds if of[2] <= most]


def ratio(generations):
    """The ratio with its interval, and how far apart generations are."""
    middle = lambda logs: logs[len(logs) // 4:len(logs) - len(logs) // 4]
    logs = [statistics.mean(middle(sorted(log for log, _, _ in rounds))) for rounds in generations]
    interval = rig.signed_rank(logs)
    if not interval:
        return "too few generations"
    low, centre, high = map(math.exp, interval)
    return f"{centre:.4f} [{low:.4f}, {high:.4f}] {statistics.stdev(logs):6.2%}"


def line(rows, one, other):
    of = [row for row in rows if row[0] in (one, other)]
    correlation, _ = rig.fit([math.log(row[4]) for row in of], [math.log(row[2]) for row in of])
    generations = of_generations(rows, one, other)
    count = list(counted(generations))
    paces = [pace for rounds in generations for _, pace, _ in rounds]
    apart, error = statistics.mean(rig.without_wild(paces)), 2 * rig.deviation(paces) / math.sqrt(len(paces))
    share = sum(map(len, count)) / sum(map(len, generations))
    return f"{correlation:11.2f}  {apart:+6.1%} +-{error:5.1%}  {share:6.0%}  {ratio(generations)}  {ratio(count)}"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("cells  correlation   paces apart   count  ratio, 95% interval, apart by       of those that count               file")
    for file in sys.argv[1:]:
        rows = rig.slices(file)
        for other, one in itertools.combinations(sorted({row[0] for row in rows}), 2):
            print(f"{one}, {other}  {line(rows, one, other)}  {file}")


if __name__ == "__main__":
    main()
