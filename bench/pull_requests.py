"""Three pull requests of a test repository, as ci/pull-request measures them: equal, 10% slower, broken (issue 33).

    bench/pull_requests.py [--pitot target/release/pitot] [--archive FILE.tar.zst] [--keep FOLDER]

A repository in a temporary folder has a small server in Go, whose replies take CPU time for a digest of a digest, and a branch for each
pull request. Each is merged into the main branch and built, as GitHub does it, beside the main branch; then the script runs with the
files and variables of a job, and comments to a stand-in for GitHub on 127.0.0.1. A second commit of each must change the comment, and
not add one. The table has the exit codes, the times and what the comment says. Ends with 1 if an exit code or a comment is wrong.
"""
import argparse, hashlib, http.server, json, os, pathlib, shutil, subprocess, sys, tempfile, threading, time

# Most of a request's CPU time, so that 11% more of them are 10% more of it.
ROUNDS = 3000
SERVER = """package main

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"os"
)

const rounds = %d

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		sum := sha256.Sum256([]byte("a page"))
		for i := 0; i < rounds; i++ {
			sum = sha256.Sum256(sum[:])
		}
		fmt.Fprintf(w, "%%x\\n", sum[:1])
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe(os.Args[1], nil))
}
"""
# The branch, the server, and the exit codes that are right. Equal servers pass; a machine with too little time may say 3.
BRANCHES = [
    ("equal", SERVER % ROUNDS + "\n// A comment.\n", {0, 3}),
    ("slower", SERVER % (ROUNDS * 111 // 100), {1}),
    ("broken", SERVER.replace("http.ListenAndServe(os.Args[1], nil)", '"cannot start"') % ROUNDS, {1}),
]
CONDITION = "cpu-per-request > +3%"


class GitHub(http.server.BaseHTTPRequestHandler):
    comments, methods = {}, []

    def do_GET(self):
        self.reply(list(self.comments.get(self.path.split("/")[-2], {}).values()))

    def do_POST(self):
        of = self.comments.setdefault(self.path.split("/")[-2], {})
        identity = int(self.path.split("/")[-2]) * 100 + len(of)
        of[identity] = {"id": identity, "user": {"type": "Bot"}, "body": self.body()}
        self.reply(of[identity])

    def do_PATCH(self):
        identity = int(self.path.split("/")[-1])
        comment = self.comments[str(identity // 100)][identity]
        comment["body"] = self.body()
        self.reply(comment)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))["body"]

    def reply(self, value):
        self.methods.append(self.command)
        text = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *_):
        pass


def run(folder, *command):
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def repository(folder):
    """The main branch, and a branch from it for each pull request."""
    git = ["git", "-c", "user.name=Test", "-c", "user.email=test@example.org"]
    run(folder, "git", "init", "--quiet", "--initial-branch=main", ".")
    (folder / "go.mod").write_text("module app\n\ngo 1.21\n")
    (folder / "main.go").write_text(SERVER % ROUNDS)
    (folder / ".gitignore").write_text("app\n")
    run(folder, "git", "add", ".")
    run(folder, *git, "commit", "--quiet", "-m", "A server")
    for branch, text, _ in BRANCHES:
        run(folder, "git", "checkout", "--quiet", "-b", branch, "main")
        (folder / "main.go").write_text(text)
        run(folder, *git, "commit", "--quiet", "-am", branch)
        # What GitHub checks out for a pull request: a merge whose first parent is the target branch.
        run(folder, "git", "checkout", "--quiet", "-b", f"pull-{branch}", "main")
        run(folder, *git, "merge", "--quiet", "--no-ff", "-m", "merge", branch)


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    parser = argparse.ArgumentParser()
    parser.add_argument("--pitot", default=root / "target/release/pitot", type=pathlib.Path)
    parser.add_argument("--archive", type=pathlib.Path)
    parser.add_argument("--keep", type=pathlib.Path, help="where the comments and the artefacts go")
    arguments = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = {"PITOT_PROGRAM": str(arguments.pitot.resolve())}
    if arguments.archive:
        digest = hashlib.sha256(arguments.archive.read_bytes()).hexdigest()
        program = {"PITOT_ARCHIVE": f"file://{arguments.archive.resolve()}", "PITOT_DIGEST": digest}
    is_right = True
    print("| pull request | commit | exit code | build | measure | comment | request | JSON | the comment says |")
    print("|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as temporary:
        place = pathlib.Path(temporary)
        (place / "app").mkdir()
        repository(place / "app")
        for number, (branch, _, right) in enumerate(BRANCHES, 1):
            for commit in (1, 2):
                head = place / f"{branch}-{commit}"
                begun = time.monotonic()
                run(place, "git", "clone", "--quiet", "--branch", f"pull-{branch}", "app", head)
                run(head, "git", "worktree", "add", "--quiet", f"../base-{branch}-{commit}", "HEAD^")
                for folder in (head, place / f"base-{branch}-{commit}"):
                    run(folder, "go", "build", "-o", "app", ".")
                built = time.monotonic()
                files = place / f"job-{branch}-{commit}"
                files.mkdir()
                (files / "event.json").write_text(json.dumps({"pull_request": {"number": number}}))
                variables = {
                    **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
                    **program,
                    "GITHUB_EVENT_PATH": str(files / "event.json"),
                    "GITHUB_STEP_SUMMARY": str(files / "summary.md"),
                    "GITHUB_OUTPUT": str(files / "output"),
                    "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}",
                    "GITHUB_REPOSITORY": "owner/app",
                    "RUNNER_TEMP": str(files),
                    "PITOT_BASE": f"../base-{branch}-{commit}/app {{address}}",
                    "PITOT_HEAD": "./app {address}",
                    "PITOT_URL": "http://{address}/",
                    "PITOT_FAIL_IF": CONDITION,
                    "PITOT_WITHIN": "2m",
                }
                script = [root / "ci/pull-request"]
                with (files / "log").open("w") as log:
                    code = subprocess.run([*script, "measure"], cwd=head, env=variables, stdout=log, stderr=log).returncode
                    measured = time.monotonic()
                    with_token = {**variables, "GITHUB_TOKEN": "token"}
                    said = subprocess.run([*script, "comment"], cwd=head, env=with_token, stdout=log, stderr=log).returncode
                done = time.monotonic()
                comments = list(GitHub.comments.get(str(number), {}).values())
                wanted = "POST" if commit == 1 else "PATCH"
                is_right &= code in right and said == 0 and len(comments) == 1 and GitHub.methods[-1] == wanted
                body = comments[-1]["body"] if comments else ""
                (files / "comment.md").write_text(body)
                artefact = files / "pitot-performance/comparison.json"
                size = artefact.stat().st_size if artefact.exists() else 0
                is_right &= 0 < size <= 20_000
                answer = next((line for line in body.splitlines() if line and line[0] not in "<#-|"), "")
                print(f"| {branch} | {commit} | {code} | {built - begun:.1f} s | {measured - built:.1f} s | {done - measured:.1f} s "
                      f"| {GitHub.methods[-1]} | {size} B | {answer} |", flush=True)
        if arguments.keep:
            for files in place.glob("job-*"):
                shutil.copytree(files, arguments.keep / files.name, dirs_exist_ok=True)
    sys.exit(0 if is_right else 1)


if __name__ == "__main__":
    main()
