#!/usr/bin/env python3
"""Makes the pages of docs/ that show measured figures.

    bench/pages.py answers                # docs/answers/: each question is measured for some minutes
    bench/pages.py answers tls workers    # some of them
    pitot run experiments -o night        # an hour
    bench/pages.py experiments night      # docs/experiments.md
    bench/pages.py again                  # all pages once more, of the runs that are there

The run files beside the pages have no histograms, samples and counters of servers, which would be three quarters of them. A test compares
the pages with them.
"""

import argparse
import json
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")

# The name of the page, its question, and the run that answers it, within WITHIN if it does not say.
ANSWERS = [
    ("cpu-work", "Thread pool or event loop for 5 ms of CPU work?",
     "work --set server=loop+epoll-et,loops+epoll-et,handoff+epoll-et,hybrid+epoll-et,thread,prefork --set server.burn=5ms"),
    ("workers", "How many workers?", "workers"),
    ("tls", "What does TLS cost?", "tls --set server=nginx,nginx-tls,epoll,epoll-tls,thread,thread-tls --set load.size=1KiB --set 'baseline={ server = \"epoll\" }'"),
    ("keep-alive", "What is HTTP keep-alive worth?",
     "web-servers --set server=nginx,loop+epoll-et,thread --set load.url=http://{address}/1k --set load.connections=64 "
     "--set 'baseline={ load.requests-per-connection = 1 }'"),
    ("mail-queue", "Which file system for a mail queue?",
     "mail-queue --set server=synchronised --set 'baseline={ host.filesystem = \"found\" }'"),
    ("io-uring", "Does io_uring pay?",
     "web-servers --set server=loop+epoll-et,loop+uring --set load.connections=64 --set 'baseline={ server = \"loop+epoll-et\" }'"),
    ("idle-connections", "What does an idle connection cost?",
     "idle --set server=loop+poll,loop+epoll-et,loop+uring --set load.idle=0,1000,10000"),
    ("fsync", "What does fsync cost a mail server?", "mail-queue --set host.filesystem=found,ext4,xfs"),
    ("brokerage", "SQLite or PostgreSQL for a small brokerage?",
     "trade --set server=sqlite,sqlite-queued,postgresql --set load.connections=2,60 --within 6m"),
    ("kernel-settings", "Which kernel settings help?", "tuning --within 6m"),
]
WITHIN = "4m"


def lightened(source, target, pitot):
    """A copy of a run file without what no page shows, and without the place of the program."""
    shutil.copyfile(source, target)
    os.chmod(target, 0o644)
    file = sqlite3.connect(target)
    with file:
        for row, load in file.execute("SELECT rowid, load FROM repetition WHERE load IS NOT NULL").fetchall():
            light = {**json.loads(load), "histograms": {}}
            if "domains" in light:
                light["domains"] = []
            file.execute("UPDATE repetition SET load = ?, server_stats = NULL WHERE rowid = ?", (json.dumps(light), row))
        file.execute("DELETE FROM sample")
        for table, column in [("run", "command_line"), ("cell", "server_command"), ("cell", "load_command")]:
            file.execute(f"UPDATE {table} SET {column} = replace({column}, ?, 'pitot')", (pitot,))
        # As a reader types it.
        ((ran,),) = file.execute("SELECT command_line FROM run").fetchall()
        file.execute("UPDATE run SET command_line = ?", (re.split(" (?:-o|--output)[ =]", ran)[0],))
    file.execute("VACUUM")
    file.close()


def experiments(folder, pitot):
    """The page on the published experiments, of the runs of this folder, or of those that are there."""
    files, page = "docs/experiments", "docs/experiments.md"
    if folder:
        names = [name for name in os.listdir(folder) if name.endswith(".pitot")]
        if not names:
            raise SystemExit(f"{folder} has no run files: make them with `pitot run experiments -o {folder}`")
        shutil.rmtree(files, ignore_errors=True)
        os.mkdir(files)
        for name in names:
            lightened(os.path.join(folder, name), os.path.join(files, name), pitot)
    runs = sorted(os.path.join(files, name) for name in os.listdir(files) if name.endswith(".pitot"))
    subprocess.run([pitot, "report", *runs, "--format", "md", "-o", page, "--pictures", files], check=True)


def measure(run, words, pitot):
    with tempfile.TemporaryDirectory() as place:
        measured = os.path.join(place, os.path.basename(run))
        limit = [] if "--within" in words else ["--within", WITHIN]
        subprocess.run([pitot, "run", *shlex.split(words), *limit, "-o", measured], check=True)
        lightened(measured, run, pitot)


def answer(name, question, pitot):
    """The page of a question, of the run that is there."""
    run, page, pictures = (os.path.join("docs/answers", name + end) for end in (".pitot", ".md", ""))
    shutil.rmtree(pictures, ignore_errors=True)
    subprocess.run([pitot, "report", run, "--format", "md", "-o", page, "--pictures", pictures], check=True)
    ((ran,),) = sqlite3.connect(run).execute("SELECT command_line FROM run").fetchall()
    with open(page) as file:
        report = file.read()
    # Under the question and the command instead of those of the whole suite.
    with open(page, "w") as file:
        file.write(f"# {question}\n\n```sh\n{ran}\n```\n\n" + report[report.index("\nmeasured ") + 1:])


def answers(page):
    """The sentences of a page that answer its question: for each group of cells which, and by how much."""
    with open(page) as file:
        section = file.read().split("## Answer\n\n", 1)[1]
    group, said = "", None
    for line in section.split("\n"):
        if re.fullmatch(r"\*\*[A-Z][^*]*\.\*\*", line):
            break
        if line.startswith("### "):
            group = line[4:] + ": "
        elif line.startswith("- ") and said:
            yield f"{said} {line[2:]}"
            said = None
        elif line and not line.startswith("- "):
            if said:
                yield said
            said = group + line
    if said:
        yield said


def index():
    """The list of the answers: each question with the sentences that answer it."""
    lines = ["# Answers", "", "Ten questions, each answered by one command on one machine. Your machine may differ: type the command.", ""]
    for name, question, _ in ANSWERS:
        page = f"docs/answers/{name}.md"
        if os.path.exists(page):
            lines.append(f"- [{question}]({name}.md)")
            lines.extend(f"  - {said}" for said in answers(page))
    with open("docs/answers/index.md", "w") as file:
        file.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pitot", default=os.path.join(ROOT, "target/release/pitot"))
    kinds = parser.add_subparsers(dest="kind", required=True)
    kinds.add_parser("experiments").add_argument("folder", help="the folder that `pitot run experiments` made")
    kinds.add_parser("again", help="all pages, of the runs that are there")
    kinds.add_parser("answers").add_argument("names", nargs="*", help="those to make; all by default")
    options = parser.parse_args()
    pitot = os.path.realpath(options.pitot)
    names = options.names if options.kind == "answers" else []
    unknown = set(names) - {name for name, _, _ in ANSWERS}
    if unknown:
        raise SystemExit(f"no answer is called {', '.join(sorted(unknown))}; there are {', '.join(name for name, _, _ in ANSWERS)}")
    folder = os.path.abspath(options.folder) if options.kind == "experiments" else None
    os.chdir(ROOT)
    if folder or (options.kind == "again" and os.path.exists("docs/experiments")):
        experiments(folder, pitot)
    if options.kind != "experiments":
        os.makedirs("docs/answers", exist_ok=True)
        for name, question, words in ANSWERS:
            if options.kind == "answers" and (not names or name in names):
                measure(f"docs/answers/{name}.pitot", words, pitot)
            if os.path.exists(f"docs/answers/{name}.pitot"):
                answer(name, question, pitot)
        index()


if __name__ == "__main__":
    main()
