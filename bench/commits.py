#!/usr/bin/env python3
"""Plants a cost of 5% in one of twelve commits of a small server, and lets `pitot history` find it.

    bench/commits.py                      # all commits are measured; then the search, which measures as few as it can
    bench/commits.py --share 0.03 --commits 24

`history` is right if it names the commit with the cost and no other. The search begins with the first and the last commit and measures
what `pitot history --since-when` asks for.
"""

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

SERVER = r"""
#include <arpa/inet.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#define COST %d
static volatile uint64_t sink;
static void *serve(void *argument) {
    int connection = (int)(long)argument;
    const char *reply = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhello\n";
    char request[4096];
    for (;;) {
        size_t have = 0;
        while (have < 4 || !memmem(request, have, "\r\n\r\n", 4)) {
            ssize_t got = read(connection, request + have, sizeof request - have);
            if (got <= 0) { close(connection); return NULL; }
            have += got;
        }
        for (int i = 0; i < COST; i++) sink = sink * 31 + i;
        if (write(connection, reply, strlen(reply)) < 0) { close(connection); return NULL; }
    }
}
int main(int count, char **words) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(atoi(words[count - 1]))};
    inet_pton(AF_INET, "127.0.0.1", &address.sin_addr);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 1024)) return 1;
    for (;;) {
        int connection = accept(listener, NULL, NULL);
        pthread_t thread;
        if (connection >= 0 && pthread_create(&thread, NULL, serve, (void *)(long)connection) == 0) pthread_detach(thread);
    }
}
"""

PLAN = """
title = "A small server"
question = "Which commit made it slower?"
metric = "cpu-per-request"
generations = {generations}
baseline = {{ server = "frozen" }}
[servers]
frozen = {{ command = ["{folder}/frozen", "{{port}}"] }}
head = {{ command = ["{folder}/head", "{{port}}"] }}
[load]
url = "http://{{address}}/"
connections = 8
[factors]
server = ["frozen", "head"]
"""

# The loop of a request before the change: some 40 us.
COST = 40_000


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default="target/release/pitot")
    parser.add_argument("--commits", type=int, default=12)
    parser.add_argument("--share", type=float, default=0.05)
    parser.add_argument("--generations", type=int, default=10)
    parser.add_argument("--seed", type=int, default=None)
    options = parser.parse_args()
    pitot = os.path.abspath(options.pitot)
    folder = tempfile.mkdtemp(prefix="commits-")
    # With some commits on either side, so that there is a level before and after.
    planted = random.Random(options.seed).randrange(4, options.commits - 3)

    def run(*words, where=folder, check=True):
        ran = subprocess.run(words, cwd=where, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        if check and ran.returncode:
            sys.exit(f"{' '.join(words)}: {ran.stderr}")
        return ran

    def git(*words):
        return run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", *words, where=os.path.join(folder, "repository"))

    def build(cost, to):
        with open(os.path.join(folder, "server.c"), "w") as out:
            out.write("#define _GNU_SOURCE\n" + SERVER % cost)
        run("cc", "-O2", "-pthread", "-o", to, "server.c")

    def measure(number, into):
        git("checkout", "-q", commits[number])
        build(costs[number], "head")
        output = os.path.join(folder, into, f"{number}.pitot")
        run(pitot, "run", os.path.join(folder, "plan.toml"), "-o", output, where=os.path.join(folder, "repository"))

    def history(into, *words, check=True):
        ran = run(pitot, "history", os.path.join(folder, into), "--format", "json", *words, where=os.path.join(folder, "repository"), check=check)
        return (ran.returncode, json.loads(ran.stdout)) if ran.stdout else (ran.returncode, ran.stderr.strip())

    try:
        for name in ["repository", "all", "search"]:
            os.mkdir(os.path.join(folder, name))
        git("init", "-q", "-b", "main")
        costs, commits = [], []
        for number in range(options.commits):
            costs.append(round(COST * (1 + options.share)) if number >= planted else COST)
            with open(os.path.join(folder, "repository", "number"), "w") as out:
                out.write(f"{number}\n")
            git("add", "number")
            os.environ["GIT_COMMITTER_DATE"] = f"2026-01-{number + 1:02}T12:00:00Z"
            git("commit", "-q", "-m", f"commit {number}")
            commits.append(git("rev-parse", "HEAD").stdout.strip())
        with open(os.path.join(folder, "plan.toml"), "w") as out:
            out.write(PLAN.format(folder=folder, generations=options.generations))
        build(COST, "frozen")

        begin = time.monotonic()
        order = list(range(options.commits))
        random.shuffle(order)
        for number in order:
            measure(number, "all")
        _, answer = history("all")
        lines = [line for line in answer["series"] if line["cell"] == "head"]
        changes = [change for line in lines for change in line["changes"]]
        ratios = {commits.index(point["labels"]["commit"]): point["ratio_to_reference"] for line in lines for point in line["points"]}
        print("to the frozen server: " + " ".join(f"{ratios[number]:.3f}" for number in sorted(ratios)), flush=True)
        named = [commits.index(change["after"]["labels"]["commit"]) for change in changes]
        right = named == [planted]
        sizes = ", ".join(f"{change['size']:.3f} [{change['interval'][0]:.3f}, {change['interval'][1]:.3f}]" for change in changes)
        print(f"planted in commit {planted} of {options.commits}: history names {named}: {sizes}; "
              f"{options.commits} runs, {time.monotonic() - begin:.0f} s", flush=True)

        begin = time.monotonic()
        measured = []

        def measure_in_search(number):
            # A commit that is measured again has a file already.
            measured.append(number)
            old = os.path.join(folder, "search", f"{number}.pitot")
            if os.path.exists(old):
                os.rename(old, old.replace(".pitot", f"-{len(measured)}.pitot"))
            measure(number, "search")

        ends = [0, options.commits - 1]
        for number in ends:
            measure_in_search(number)
        number = None
        while len(measured) <= 2 * options.commits:
            code, answer = history("search", "--since-when", "head", check=False)
            if isinstance(answer, str):
                # The ends are not apart yet.
                print(answer, flush=True)
                for number in ends:
                    measure_in_search(number)
                continue
            number = commits.index(answer["commit"])
            if code == 0:
                break
            measure_in_search(number)
        found = number == planted
        print(f"the search names commit {number} after {len(measured)} runs ({measured}), {time.monotonic() - begin:.0f} s")
        return 0 if right and found else 1
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
