#!/usr/bin/env python3
"""Measures what viewers of a live run cost the servers that are measured.

    bench/viewers.py                      # 50 viewers for a few seconds, none for a few seconds, and so on, during one run
    bench/viewers.py --viewers 200 --within 600

A viewer has loaded the page of the run, and then follows its events, as a browser does. The slices of the run are divided by whether
viewers were there. Each block of viewers is compared with the block without that is beside it; the ratio is the Hodges-Lehmann estimate
of these, with the 95% interval of the signed-rank test over pairs of blocks.
"""

import argparse
import asyncio
import math
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import rig

PLAN = """
title = "Watched"
question = "Do viewers cost anything?"
generations = 100
""" + rig.TWO_SERVERS


def load(port, file):
    """Loads the page of a run. The address of its events; none if it has ended."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/report/{file}") as page:
        events = re.search(r'data-events="([^"]+)"', page.read().decode())
    return events and events.group(1)


async def view(port, path):
    """One viewer, until it is cancelled. The number of bytes that it was sent."""
    seen = 0
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        while got := await reader.read(65536):
            seen += len(got)
    except asyncio.CancelledError:
        return seen
    finally:
        writer.close()
    return seen


async def watch(run, port, file, viewers, seconds):
    """The blocks: begin, end, and the number of viewers. They come in pairs, in a random order."""
    blocks, seen = [], 0
    while run.poll() is None:
        for count in random.sample([viewers, 0], 2):
            begin = time.time()
            # Once for all of them: what it costs to look is shared, and their browsers are elsewhere.
            path = load(port, file) if count else None
            if count and not path:
                return whole(blocks), seen
            tasks = [asyncio.create_task(view(port, path)) for _ in range(count)]
            await asyncio.sleep(begin + seconds - time.time())
            for task in tasks:
                task.cancel()
            seen += sum(await asyncio.gather(*tasks))
            blocks.append((begin, time.time(), count))
    return whole(blocks), seen


def whole(blocks):
    """The blocks that have a partner."""
    return blocks[: len(blocks) // 2 * 2]


def ratios(rows, blocks, at):
    """The logarithm of the ratio of each pair of blocks, each cell relative to its own mean, at one pace of the CPUs."""
    logs = rig.at_one_pace(rows, at)
    found = []
    for pair in zip(blocks[::2], blocks[1::2]):
        means = {}
        for begin, end, count in pair:
            inside = [log for row, log in zip(rows, logs) if begin < row[1] < end]
            if inside:
                means[count > 0] = statistics.median(inside)
        if len(means) == 2:
            found.append(means[True] - means[False])
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot", help="a build with the feature full")
    parser.add_argument("--viewers", type=int, default=50)
    parser.add_argument("--within", type=int, default=300, help="seconds of the run")
    parser.add_argument("--block", type=float, default=4, help="seconds with viewers, and without")
    options = parser.parse_args()
    # What was started is ended also when this is.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    pitot = os.path.abspath(options.pitot)
    folder = tempfile.mkdtemp(prefix="viewers-")
    started = []
    try:
        with open(os.path.join(folder, "plan.toml"), "w") as out:
            out.write(PLAN)
        run = [pitot, "run", "plan.toml", "-o", "watched.pitot", "--within", f"{options.within}s"]
        run = subprocess.Popen(run, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        started.append(run)
        web = [pitot, "web", ".", "--listen", "127.0.0.1:0"]
        web = subprocess.Popen(web, cwd=folder, stdout=subprocess.PIPE, text=True)
        started.append(web)
        port = int(web.stdout.readline().split("127.0.0.1:")[1].split("/")[0])
        while not os.path.exists(os.path.join(folder, "watched.pitot")):
            time.sleep(0.1)
        # Browsers are elsewhere: at least they do not share the first CPU, which is a server's.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        # The list finds it within a second.
        time.sleep(2)
        blocks, seen = asyncio.run(watch(run, port, "watched.pitot", options.viewers, options.block))
        with open(f"/proc/{web.pid}/stat") as stat:
            ticks = sum(int(word) for word in stat.read().rsplit(")", 1)[1].split()[11:13])
        rows = rig.slices(os.path.join(folder, "watched.pitot"))
        print(f"{options.viewers} viewers in {len(blocks) // 2} of {len(blocks)} blocks of {options.block:g} s, {len(rows)} slices; "
              f"they were sent {seen} bytes; the page took {ticks / os.sysconf('SC_CLK_TCK'):.2f} s of CPU time")
        if not seen:
            sys.exit("no viewer was sent anything")
        for name, at in [("CPU time per request", 2), ("requests per second", 3)]:
            found = ratios(rows, blocks, at)
            interval = rig.signed_rank(found)
            if not interval:
                sys.exit(f"{len(found)} pairs of blocks are too few: allow more with --within")
            low, middle, high = map(math.exp, interval)
            print(f"{name}, with viewers to without: {middle:.4f} [{low:.4f}, {high:.4f}]")
    finally:
        for process in started:
            process.terminate()
            process.wait()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
