#!/usr/bin/env python3
"""Makes docs/experiments.md of the run files of `pitot run experiments`.

    pitot run experiments -o night        # an hour
    bench/experiments.py night            # the page, its pictures, and the run files without what it does not show

The files in docs/experiments/ have no histograms, samples and counters of servers, which would be three quarters of them. A test compares
the page with them.
"""

import argparse
import json
import os
import shutil
import sqlite3
import subprocess
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
PAGE = "docs/experiments.md"
FILES = "docs/experiments"


def lightened(source, target):
    """A copy of a run file without what the page does not show."""
    shutil.copyfile(source, target)
    os.chmod(target, 0o644)
    file = sqlite3.connect(target)
    with file:
        for row, load in file.execute("SELECT rowid, load FROM repetition WHERE load IS NOT NULL").fetchall():
            light = {**json.loads(load), "histograms": {}}
            file.execute("UPDATE repetition SET load = ?, server_stats = NULL WHERE rowid = ?", (json.dumps(light), row))
        file.execute("DELETE FROM sample")
    file.execute("VACUUM")
    file.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", help="the folder that `pitot run experiments` made")
    parser.add_argument("--pitot", default=os.path.join(ROOT, "target/release/pitot"))
    options = parser.parse_args()
    names = sorted(name for name in os.listdir(options.folder) if name.endswith(".pitot"))
    if not names:
        raise SystemExit(f"{options.folder} has no run files: make them with `pitot run experiments -o {options.folder}`")
    os.chdir(ROOT)
    with tempfile.TemporaryDirectory(dir="docs") as new:
        for name in names:
            lightened(os.path.join(options.folder, name), os.path.join(new, name))
        shutil.rmtree(FILES, ignore_errors=True)
        os.rename(new, FILES)
        os.mkdir(new)
    os.chmod(FILES, 0o755)
    files = [os.path.join(FILES, name) for name in names]
    subprocess.run([options.pitot, "report", *files, "-o", PAGE, "--pictures", FILES], check=True)


if __name__ == "__main__":
    main()
