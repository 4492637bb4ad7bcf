#!/usr/bin/env python3
"""What the pace of the CPUs explains of the CPU time per request in runs measured in slices.

    bench/pace.py RUN.pitot ...

For each pair of cells: how the logarithms of CPU time per request and of the pace are correlated over slices, how far apart the log ratios
of rounds are (their middle half, as a standard deviation) as they are and at one pace, and the slope; and how far the paces of the two
cells are apart, with two standard errors: beyond them the pace depends on the server, as it must not. Pitot fits the slope to the rounds
so far; here it is fitted once to all. What lies beyond three deviations counts as if it did not.
"""

import collections
import math
import statistics
import sys

import rig


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    print("cells  slices  correlation  rounds  apart by  at one pace  slope  paces apart     file")
    for file in sys.argv[1:]:
        rows = rig.slices(file)
        rounds = collections.defaultdict(lambda: collections.defaultdict(list))
        for cell, _, cpu, _, pace, block, number in rows:
            rounds[block, number][cell].append((math.log(cpu), math.log(pace)))
        cells = sorted({row[0] for row in rows})
        for at, one in enumerate(cells):
            for other in cells[:at]:
                slices = [pair for of in rounds.values() for cell in (one, other) for pair in of[cell]]
                correlation, _ = rig.fit([pace for _, pace in slices], [cpu for cpu, _ in slices])
                means = lambda pairs: [statistics.mean(values) for values in zip(*pairs)]
                both = [(means(of[one]), means(of[other])) for of in rounds.values() if of[one] and of[other]]
                ratios, paces = [a[0] - b[0] for a, b in both], [a[1] - b[1] for a, b in both]
                _, slope = rig.fit(paces, ratios)
                left = [ratio - slope * pace for ratio, pace in zip(ratios, paces)]
                apart, error = statistics.mean(rig.without_wild(paces)), 2 * rig.deviation(paces) / math.sqrt(len(paces))
                print(f"{one}, {other}  {len(slices):7}  {correlation:11.2f}  {len(both):6}  {rig.deviation(ratios):8.2%}  "
                      f"{rig.deviation(left):11.2%}  {slope:5.2f}  {apart:+6.1%} +-{error:5.1%}  {file}")


if __name__ == "__main__":
    main()
