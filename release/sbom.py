#!/usr/bin/env python3
"""Prints what a static binary of Pitot contains, as CycloneDX 1.5 in JSON: the crates that are linked, SQLite, and the
libraries of Rust and C.

    python3 release/sbom.py TARGET VERSION        # TARGET as rustc calls it; SOURCE_DATE_EPOCH is its time
"""
import datetime, json, os, pathlib, re, subprocess, sys, tomllib, urllib.parse

target, version = sys.argv[1:]


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def library(name, version, licence, **more):
    return {"type": "library", "name": name, "version": version, "licenses": [{"expression": licence}], **more}


lines = output("cargo", "tree", "--locked", "--package", "pitot-cli", "--features", "full", "--target", target,
               "--edges", "normal,no-proc-macro", "--prefix", "none", "--no-dedupe", "--format", "{p}|{l}").splitlines()
with open("Cargo.lock", "rb") as file:
    checksums = {(p["name"], p["version"]): p.get("checksum") for p in tomllib.load(file)["package"]}
components = []
for line in sorted(set(lines)):
    package, licence = line.split("|")
    name, number = re.match(r"(\S+) v(\S+)", package).groups()
    # Crates of this workspace are the program itself.
    if checksum := checksums[name, number]:
        purl = f"pkg:cargo/{name}@{urllib.parse.quote(number)}"
        components.append(library(name, number, licence.replace("/", " OR "), purl=purl, **{"bom-ref": purl},
                                  hashes=[{"alg": "SHA-256", "content": checksum}]))
crates = json.loads(output("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target))["packages"]
folder = next(pathlib.Path(c["manifest_path"]).parent for c in crates if c["name"] == "libsqlite3-sys")
sqlite = re.search(r'define SQLITE_VERSION\s+"(.+)"', (folder / "sqlite3/sqlite3.h").read_text())[1]
components.append({"type": "library", "name": "sqlite", "version": sqlite, "licenses": [{"license": {"name": "Public domain"}}]})
rustc = re.match(r"rustc (\S+)", output("rustc", "--version"))[1]
components.append(library("rust-std", rustc, "MIT OR Apache-2.0"))
libc = {"x86_64": "libc6-dev", "aarch64": "libc6-dev-arm64-cross"}[target.split("-")[0]]
components.append(library("glibc", output("dpkg-query", "--show", "--showformat", "${Version}", libc), "LGPL-2.1-or-later"))
time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.UTC)
pitot = {"type": "application", "name": "pitot", "version": version, "bom-ref": "pitot", "licenses": [{"expression": "Apache-2.0"}]}
print(json.dumps({
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"), "component": pitot},
    "components": components,
}, indent=1))
