"""docs_world.py - runs the commands of a page as its reader would: in a
terminal, from a clean home, in a repository.

Stand-ins, started if a page needs them:
  a model        at the address of each model vendor. It writes the file
                 notes.md if the first message asks for a change (CHANGE),
                 otherwise it only answers
  a repository   at every path that `cd` names and that does not exist. Pages
                 other than README start in ~/project, a repository (STOCK)
  docker         a Podman with an image named python:3
  ssh, slurm     an sshd and a cluster of the tests, named in config.toml
  clouds         the vendors' emulators. For README only their addresses are
                 set, for other pages also their keys
Ids in a command are replaced: dcode-xxxxxxxx by the newest sandbox, eight
hexadecimal digits by the newest thread. Only the syntax is checked of programs
in OTHERS and of lines with sudo; scripts in ./scripts must exist.
"""
# SPDX-License-Identifier: MIT
import json
import pathlib
import re
import shutil
import subprocess
import time

from chat_pty import Pty
from docs_pages import (TOP, Tables, blocks_of, calls_of, commands_of,
                        shell_error, wrong_text)

CHANGE = r"(?i)\b(fix|add|write|make|change|rename|update|port|implement|raise)"
OTHERS = re.compile(
    r"^\s*(curl|wget|apt|apt-get|pip|npm|npx|ollama|docker|podman|systemctl|"
    r"ssh|scp|gcloud|aws|gh|llama-server|vllm|modal|vercel|xdg-open|code)\b"
    r"|^\s*git clone\b")
VENDORS = ("agentcore", "daytona", "deno", "e2b", "langsmith", "modal",
           "runloop", "vercel")
ADDRESS = re.compile(r"_(URL|ENDPOINT|HOST|REGION|BASE|CORE)$")
MODEL_ADDRESSES = {
    "ANTHROPIC_BASE_URL": "", "OPENAI_BASE_URL": "/v1", "OLLAMA_HOST": "",
    "GOOGLE_GEMINI_BASE_URL": "", "OPENROUTER_BASE_URL": "/v1",
    "GROQ_BASE_URL": "/v1", "MISTRAL_BASE_URL": "/v1",
    "LMSTUDIO_BASE_URL": "/v1"}
ESCAPES = re.compile(rb"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*"
                     rb"(\x07|\x1b\\)|[()][A-Z0-9]|[=>78])")
QUESTIONS = (  # what ends the screen, what is typed
    (re.compile(r"\[[DdAa]/[^\]]*\] ?$"), "d\r"),
    (re.compile(r"\[[Yy]/[Nn][^\]]*\] ?$"), "y\r"))
SECRET = re.compile(r"(?i)(key|token|secret|_id|not shown)[^\n]*: ?$")
LIMIT_S = 60

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108020000009077"
    "53de0000000c49444154789c63f8cfc00000030101"
    "00c9fe92ef0000000049454e44ae426082")
STOCK = {
    "README.md": "# Project\n\nGreets people.\n",
    "Makefile": "test:\n\tpython3 -m unittest discover tests\n",
    "src/app.py": 'def greet(name):\n    return "Hello, " + name\n',
    "tests/test_app.py": "import unittest\n",
    "setup.sh": "#!/bin/sh\necho 'export GREETING=hello' >>~/.profile\n",
    "data.csv": "name,age\nann,41\n",
    "notes.txt": "Greet in French, too.\n",
    "task.md": "Explain what src/app.py does.\n",
    ".gitignore": "build/\n.env\n",
    ".env": "API_TOKEN=not-a-real-one\n"}


def script():
    """Returns the model's script; the last prompt selects the answer."""
    talk = [{"tool_calls": [{"name": "write_file", "args": {
        "file_path": "notes.md", "content": "Greet in French, too.\n"}}]},
        {"text": "notes.md is written."}]
    return {"turns": [{"text": "It greets people by name."}], "repeat": True,
            "open": True, "latest": True, "talks": {CHANGE: talk}}


def make_repository(path):
    for name, text in STOCK.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(text)
    (path / "setup.sh").chmod(0o755)
    (path / "shot.png").write_bytes(PNG)
    git = ["git", "-C", path, "-c", "user.name=Ann", "-c",
           "user.email=ann@example.org"]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "add", "-A"], check=True)
    subprocess.run([*git, "commit", "-q", "-m", "Greet"], check=True)
    app = path / "src/app.py"
    app.write_text(app.read_text().replace("Hello", "Good morning"))


class World:
    """A home that contains only the configuration of git."""

    def __init__(self, place, dcode):
        self.place, self.dcode = place, dcode
        self.home = place / "home"
        self.keys = {}  # of vendors, by name
        (place / "bin").mkdir()
        (place / "bin/dcode").symlink_to(dcode)
        self.home.mkdir()
        (self.home / ".gitconfig").write_text(
            "[user]\nname = Ann\nemail = ann@example.org\n")
        self.cwd = self.home
        self.env = {
            "HOME": str(self.home), "LANG": "C.UTF-8", "USER": "ann",
            "PATH": f"{place}/bin:/usr/local/bin:/usr/bin:/bin:/usr/sbin",
            "TERM": "xterm-256color", "PAGER": "cat", "GIT_PAGER": "cat",
            "MANPAGER": "cat", "EDITOR": "true", "VISUAL": "true"}
        self.url = ""

    def begin_in_project(self):
        self.cwd = self.home / "project"
        make_repository(self.cwd)

    def use_model(self, server, with_keys):
        self.url = server.url
        for name, path in MODEL_ADDRESSES.items():
            self.env["DEEPAGENTS_CODE_" + name] = server.url + path
        self.keys["anthropic"] = ["sk-ant-api03-stand-in-0123456789abcdef"]
        if with_keys:
            for name in ("ANTHROPIC", "OPENAI", "GOOGLE"):
                self.env[name + "_API_KEY"] = "sk-stand-in"

    def use_vendor(self, name, env, with_keys):
        self.keys[name] = [v for k, v in env.items() if not ADDRESS.search(k)]
        for key, value in env.items():
            if ADDRESS.search(key):
                self.env[key] = value
                self.env["DEEPAGENTS_CODE_" + key] = value
            elif with_keys:
                self.env[key] = value
        self.vendor_env = {**getattr(self, "vendor_env", {}), **env}

    def configure(self, text):
        path = self.home / ".deepagents/config.toml"
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with path.open("a") as f:
            f.write(text)

    def quiet(self, *args):
        """A dcode of our own, beside the page."""
        return subprocess.run([self.dcode, *args], env=self.env, cwd=self.cwd,
                              capture_output=True, text=True, check=False,
                              timeout=LIMIT_S)

    def newest(self, what, key):
        out = self.quiet(what, "list", "--json").stdout
        rows = json.loads(out)["data"] if out else []
        return str(rows[0][key]) if rows else "none"

    def as_here(self, text):
        """The command with the stand-ins' addresses, keys and ids."""
        for name, value in getattr(self, "vendor_env", {}).items():
            text = re.sub(rf"\b{name}=\S+", f"{name}={value}", text)
        text = re.sub(r"http://(localhost|127\.0\.0\.1):\d+", self.url, text)
        text = re.sub(r"[\w.-]+@[\w.-]+\.example\.(org|com)", "box", text)
        text = text.replace("/usr/local/share/dcode/services",
                            str(TOP / "providers/services"))
        if re.search(r"\bdcode-[a-z2-7]{8}\b", text):
            text = re.sub(r"\bdcode-[a-z2-7]{8}\b",
                          self.newest("sandbox", "label"), text)
        if re.search(r"\b0[0-9a-f]{7}\b", text):
            text = re.sub(r"\b0[0-9a-f]{7}\b",
                          self.newest("threads", "id"), text)
        return text

    def wrong(self, command):
        """Runs it, or checks it; what is wrong, or None."""
        error = shell_error(command.text + "\n").strip()
        if error or command.is_privileged or OTHERS.search(command.text):
            return error or None
        for word in re.findall(r"(?<!\S)\./scripts/\S+", command.text):
            if not (TOP / word).exists():
                return f"there is no {word}"
            return None
        make = re.match(r"\s*(?:[A-Z]+=\S+ )*make\b(.*)", command.text)
        if make and self.cwd == TOP and re.search(
                r"\b(check|quick|unit|e2e|lint|fuzz|bench|soak|demo|memcheck)",
                make[1]):
            r = subprocess.run("make -n " + make[1].split("#")[0] +
                               " >/dev/null", shell=True, check=False,
                               cwd=TOP, capture_output=True, text=True)
            return r.stderr if r.returncode else None
        for path in re.findall(r"^\s*cd ([^-\s]\S*)", command.text):
            path = self.cwd / path.replace("~", str(self.home), 1)
            if not path.exists():
                path.mkdir(parents=True)
                make_repository(path)
        status, output = self.run(self.as_here(command.text))
        if status in command.statuses:
            return None
        return f"status {status}\n{output[-1500:]}"

    def run(self, text):
        """(status, output) of a shell line at a terminal, its questions
        answered; `cd` and variables last until the next one."""
        state, there = self.place / "state", self.place / "cwd"
        (self.place / "line").write_text(text + "\n")
        (self.place / "run").write_text(
            f"set -o pipefail\n. {self.place}/line\n_s=$?\n"
            f"declare -p | grep -v '^declare -[a-zA-Z]*r' >{state}\n"
            f"pwd >{there}\nexit $_s\n")
        words = ["bash", "--noprofile", "--norc", self.place / "run"]
        if state.exists():
            words[3:] = ["-c", f". {state} 2>/dev/null; "
                         f". {self.place}/run"]
        pty = Pty(words, self.env, self.cwd, columns=100, lines=40)
        try:
            output = Reader(self, pty, text).to_the_end()
        finally:
            pty.close()
        if there.exists():
            self.cwd = pathlib.Path(there.read_text().strip())
        return pty.process.returncode, output

    def end(self):
        """Nothing that a page has made outlives it."""
        out = self.quiet("sandbox", "list", "--json").stdout
        for row in json.loads(out)["data"] if out else []:
            self.quiet("sandbox", "rm", row["label"], "--force")
        shutil.rmtree(self.place / "home", ignore_errors=True)


class Reader:
    """Who sits at the terminal: answers questions, and leaves a chat."""

    def __init__(self, world, pty, text):
        self.pty, self.seen, self.since = pty, 0, time.monotonic()
        self.chats = any(self.is_chat(words) for words in calls_of(text)) \
            and "|" not in text
        self.sandboxed = "--sandbox" in text
        named = re.search(r"\b(?:auth set|install) (\w+)", text)
        self.keys = list(world.keys.get(named[1], [])) if named else []
        self.leaving = 0

    @staticmethod
    def is_chat(words):
        return (not words or words[0].startswith("-")) and not {
            "-n", "--non-interactive", "-h", "--help", "-v", "--version",
            "--default-model", "--clear-default-model", "--install",
            "--json"} & set(words)

    def text(self):
        got = ESCAPES.sub(b"", bytes(self.pty.seen[self.seen:]))
        return got.decode(errors="replace").replace("\r", "")

    def type(self, text):
        self.seen = len(self.pty.seen)
        self.pty.send(text.encode())

    def look(self):
        """Nothing has come for a while: is it our turn?"""
        tail = self.text()[-400:].rstrip("\n")
        for pattern, answer in QUESTIONS:
            if pattern.search(tail):
                return self.type(answer)
        if SECRET.search(tail):
            return self.type((self.keys.pop(0) if self.keys else "sk-x") +
                             "\r")
        waited = time.monotonic() - self.since
        ready = not self.sandboxed or waited > 4 or "ready" in self.text()
        if self.chats and ready and waited > 0.4 + 2 * self.leaving:
            self.leaving += 1
            self.type("\x15/quit")
            self.pty.quiet(0.05)
            self.type("\r")
        return None

    def to_the_end(self):
        end = self.since + LIMIT_S
        while self.pty.process.poll() is None:
            if time.monotonic() > end:
                self.pty.close()
                self.seen = 0
                return f"did not end within {LIMIT_S} s\n" + self.text()
            if not self.pty.read(0.2):
                self.look()
        self.pty.quiet(0.02)
        self.seen = 0
        return self.text()


def wrong_toml(world, block):
    """Of a block that is all of somebody's config.toml."""
    path = world.place / "toml" / ".deepagents/config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.parent.chmod(0o700)
    path.write_text(block.text)
    env = {"HOME": str(world.place / "toml"), "PATH": "/usr/bin:/bin",
           "LANG": "C.UTF-8", **{n: "x" for n in re.findall(
               r"\$\{(\w+)\}", block.text)}}
    r = subprocess.run([world.dcode, "config"], env=env, cwd="/", check=False,
                       capture_output=True, text=True)
    if r.returncode or r.stderr or "(invalid)" in r.stdout:
        return f"status {r.returncode}\n{r.stderr}" + "\n".join(
            line for line in r.stdout.splitlines() if "(invalid)" in line)
    return None


def failures(path, world):
    """"PAGE:LINE: COMMAND: what is wrong", for each that is."""
    found = list(wrong_text(path, Tables(world.dcode)))
    for block in blocks_of(path.read_text()):
        if block.language == "toml":
            wrong = wrong_toml(world, block)
            if wrong:
                found.append((block.line, wrong))
        for command in commands_of(block) if block.language == "sh" else []:
            wrong = world.wrong(command)
            if wrong:
                found.append((command.line, f"{command.text}: {wrong}"))
    return [f"{path.name}:{line}: {what}" for line, what in sorted(found)]
