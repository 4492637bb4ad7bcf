#!/usr/bin/env python3
"""Whether the advice for four descriptions agrees with full runs of the suites that ask the same.

    bench/advise_proof.py target/release/pitot [--within 4m] [--only NAME,...] [--keep FOLDER]

For each description: `pitot advise`, then the suite, of which the cells at one level are compared. They agree if the server
that is advised is the best of the suite there, or no difference between the two is proved. Where the suite does
not have that server, one that the advice calls level with it stands for it. Takes half an hour in all; nothing else should run
meanwhile. Exits with 1 if one does not agree.
"""
import argparse, json, os, pathlib, subprocess, sys, tempfile

# Name, description, suite, and the level of it.
CASES = [
    ("idle", "-c 10064 --active 64", "idle", {"load.idle": "10000"}),
    ("work", "-c 50 --cpu-work 5ms", "work", {"server.burn": "5ms"}),
    ("cold", "-c 50 --size 1MiB --files 200GiB", "cold-files", {"load.size": "1MiB"}),
    ("short", "--protocol busy -c 500", "architectures", {"load.connections": "500"}),
]


def run(command, folder):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(folder)})
    # 1 is a candidate that could not be measured: the others count.
    if done.returncode not in (0, 1) or not done.stdout:
        sys.exit(f"{' '.join(map(str, command))}: exit code {done.returncode}")
    return done.stdout


def measured(pitot, folder, suite, level):
    """The servers of a suite at a level, each with its requests per second and how it stands to the best there."""
    file = f"{suite}.pitot"
    if not (folder / file).exists():
        subprocess.run([pitot, "run", suite, "-o", file], cwd=folder, stdout=subprocess.DEVNULL, check=True)
    report = json.loads(run([pitot, "report", file, "--format", "json"], folder))
    cells = {}
    for cell in report["cells"]:
        factors, figure = cell["factors"], cell["figures"].get("throughput")
        if figure and all(factors.get(name) == value for name, value in level.items()):
            cells[factors["server"]] = (figure["value"], cell["standing"])
    if not cells:
        sys.exit(f"{suite} has no cell at {level}: {[cell['factors'] for cell in report['cells']]}")
    if all(standing != "best" for _, standing in cells.values()):
        sys.exit(f"{suite} has no best at {level}: {cells}")
    return cells


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("pitot", type=pathlib.Path)
    parser.add_argument("--within", default="4m")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", type=pathlib.Path)
    arguments = parser.parse_args()
    pitot = arguments.pitot.resolve()
    only = [name for name in arguments.only.split(",") if name]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as name:
        folder = arguments.keep.resolve() if arguments.keep else pathlib.Path(name)
        folder.mkdir(exist_ok=True)
        right = total = 0
        for name, description, suite, level in CASES:
            if only and name not in only:
                continue
            total += 1
            advice = json.loads(run([pitot, "advise", *description.split(), "--within", arguments.within, "--format", "json",
                                     "-o", f"advice-{name}.pitot"], folder))
            build, level_with = advice["answer"]["build"], advice["answer"]["level"]
            cells = measured(pitot, folder, suite, level)
            best = max(cells, key=lambda server: cells[server][0])
            asked = next((server for server in [build, *level_with] if server in cells), None)
            print(f"{description}\n  advice: {build}; level with it: {', '.join(level_with)}")
            if asked is None:
                print(f"  suite {suite} has none of them; its best is {best}: NOT DECIDED")
                continue
            (rate, standing), (best_rate, _) = cells[asked], cells[best]
            agrees = standing in ("best", "no-difference-from-best")
            right += agrees
            print(f"  suite {suite} at {level}: best is {best}; {asked} does {rate / best_rate:.3f} of it ({standing}): "
                  f"{'AGREES' if agrees else 'DOES NOT AGREE'}", flush=True)
        print(f"{right} of {total} agree")
        sys.exit(0 if right == total else 1)


main()
