"""test_search.py - grep and glob: what git ignores, odd names, long lines."""
# SPDX-License-Identifier: MIT
import os
import random
import re
import shutil
import subprocess
import time

import pytest

from clouds import call

M = ("-M", "anthropic:m", "--sandbox", "none", "-y")
GIT = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent",
       "GIT_CONFIG_NOSYSTEM": "1"}
LEFT = re.compile(r"\n\nNote: (up to )?(\d+) files? that git ignores")


def git(where, *args):
    return subprocess.run(
        ["git", "-C", where, "-c", "user.name=a", "-c", "user.email=a@b.c",
         *args], env=GIT, capture_output=True, check=True).stdout


@pytest.fixture
def ask(run, model, tmp_path):
    """ask([call, ...], cwd) -> the result of each, one turn a call."""
    def results(calls, cwd, **how):
        script = [{"tool_calls": [one]} for one in calls] + [{"text": "end"}]
        server = model(script)
        r = run("-n", "go", *M, cwd=cwd, **how)
        assert r.status == 0, r.err
        assert len(server.requests) == len(calls) + 1
        last = server.requests[-1]["body"]["messages"]
        return [part["content"] if isinstance(part["content"], str) else
                "".join(p.get("text", "") for p in part["content"])
                for m in last if isinstance(m["content"], list)
                for part in m["content"] if part["type"] == "tool_result"]
    return results


def grep(pattern="needle", **args):
    return call("grep", pattern=pattern, **args)


def fill(top, **files):
    for name, text in files.items():
        put(top, name, text)


def put(top, name, text="needle\n"):
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def left(text):
    found = LEFT.search(text)
    return int(found.group(2)) if found else 0


def names(text, top):
    """The paths in a list of grep, below top."""
    body = LEFT.split(text)[0]
    if body == "No matches found":
        return set()
    return {p.removeprefix(f"{top}/") for p in body.split(f"\n{top}/")}


def without_git(tmp_path):
    """A PATH on which everything but git is."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for where in ("/bin", "/usr/bin"):
        for name in os.listdir(where):
            to = tools / name
            if not name.startswith("git") and not to.is_symlink():
                to.symlink_to(f"{where}/{name}")
    return str(tools)


@pytest.fixture
def repo(tmp_path):
    top = tmp_path / "repo"
    top.mkdir()
    git(top, "init", "-q")
    return top


def test_ignored_files_are_left_out_and_counted(ask, repo):
    put(repo, ".gitignore", "node_modules/\n*.log\n")
    put(repo, "src/a.js")
    for i in range(30):
        put(repo, f"node_modules/p{i}/index.js")
    put(repo, "src/b.log")
    plain, listed, every, files, named = ask([
        grep(), call("glob", pattern="**/*.js"), grep(include_ignored=True),
        call("glob", pattern="*.js", include_ignored=True),
        grep(path="node_modules/p7")], repo)
    assert names(plain, repo) == {"src/a.js"}
    assert left(plain) == 31
    assert "src/a.js" in listed and "node_modules" not in listed
    assert left(listed) == 30
    assert names(every, repo) >= {"src/a.js", "src/b.log",
                                  "node_modules/p7/index.js"}
    assert left(every) == left(files) == left(named) == 0
    assert files.count("node_modules") == 30
    assert names(named, repo) == {"node_modules/p7/index.js"}


def test_a_git_directory_is_never_entered(ask, repo):
    put(repo, "a")
    put(repo, ".git/description")
    put(repo, "sub/.git/x/needle")
    put(repo, "file/.git", "needle\n")
    plain, every, files, named = ask([
        grep(), grep(include_ignored=True),
        call("glob", pattern="*", include_ignored=True),
        grep(path=".git")], repo)
    assert names(plain, repo) == names(every, repo) == {"a"}
    assert ".git" not in files
    assert names(named, repo) == {".git/description"}


def test_a_search_starts_no_program_of_the_repository(ask, repo, tmp_path):
    said = tmp_path / "said"
    evil = tmp_path / "evil"
    evil.write_text(f"#!/bin/sh\ntouch {said}\n")
    evil.chmod(0o755)
    put(repo, "a")
    put(repo, ".gitattributes", "* filter=x diff=x\n")
    git(repo, "add", ".")
    for name in ("core.fsmonitor", "filter.x.clean", "filter.x.smudge",
                 "diff.x.textconv", "core.sshCommand", "core.pager"):
        git(repo, "config", name, str(evil))
    put(repo, "a", "needle needle\n")
    subprocess.run(["git", "-C", repo, "status"], env=GIT, check=True,
                   capture_output=True)
    assert said.exists()  # this is how it would be done
    said.unlink()
    found, listed = ask([grep(), call("glob", pattern="*")], repo)
    assert names(found, repo) == {"a"} and "/a'" in listed
    assert not said.exists()


def test_a_search_takes_no_program_from_the_directory_it_is_in(
        ask, repo, env, tmp_path):
    said = tmp_path / "said"
    put(repo, "a")
    for name in ("git", "grep", "find", "awk", "sh", "ls", "head"):
        put(repo, name, f"#!/bin/sh\ntouch {said}\n")
        (repo / name).chmod(0o755)
    subprocess.run("ls", cwd=repo, env={"PATH": ".:/usr/bin"}, check=True)
    assert said.exists()  # this is how it would be done
    said.unlink()
    env["PATH"] = f".::bin:{env['PATH']}"
    found, listed = ask([grep(path="."), call("glob", pattern="*")], repo)
    assert names(found, repo) == {"a"} and "/a'" in listed
    assert not said.exists()


def test_a_tracked_file_is_found_although_a_pattern_names_it(ask, repo):
    put(repo, ".gitignore", "*.gen\n")
    fill(repo, **{"kept.gen": "needle\n", "other.gen": "needle\n"})
    git(repo, "add", "-f", "kept.gen")
    text, = ask([grep()], repo)
    assert names(text, repo) == {"kept.gen"}
    assert left(text) == 1


def test_patterns_above_the_path_count(ask, repo):
    put(repo, ".gitignore", "/src/gen\n")
    put(repo, "src/.gitignore", "*.o\n")
    for name in ("src/gen/a", "src/b.o", "src/c", "src/deep/d.o"):
        put(repo, name)
    from_src, from_deep, gen = ask([grep(path="src"), grep(path="src/deep"),
                                    grep(path="src/gen")], repo)
    assert names(from_src, repo) == {"src/c"} and left(from_src) == 3
    assert names(from_deep, repo) == set() and left(from_deep) == 1
    assert names(gen, repo) == {"src/gen/a"} and left(gen) == 0


def test_repositories_within_follow_their_own_patterns(ask, repo):
    put(repo, ".gitignore", "*.log\n")
    for sub in ("one", "deep/two"):
        put(repo, f"{sub}/.gitignore", "*.tmp\n")
        fill(repo, **{f"{sub}/a": "needle\n", f"{sub}/b.tmp": "needle\n",
                      f"{sub}/c.log": "needle\n"})
        git(repo / sub, "init", "-q")
    git(repo / "one", "add", "a")
    git(repo / "one", "commit", "-qm", "x")
    git(repo, "add", "one")
    text, = ask([grep()], repo)
    assert names(text, repo) == {"one/a", "one/c.log", "deep/two/a",
                                 "deep/two/c.log"}
    assert left(text) == 2


def test_a_linked_worktree_has_the_index_of_its_own(ask, repo, tmp_path):
    put(repo, ".gitignore", "*.gen\n")
    git(repo, "add", ".")
    git(repo, "commit", "-qm", "x")
    tree = tmp_path / "tree"
    git(repo, "worktree", "add", "-q", str(tree))
    (repo / ".git/info/exclude").write_text("secret\n")
    fill(tree, **{"kept.gen": "needle\n", "b.gen": "needle\n",
                  "secret": "needle\n"})
    git(tree, "add", "-f", "kept.gen")
    text, = ask([grep()], tree)
    assert names(text, tree) == {"kept.gen"} and left(text) == 2


def test_a_broken_index_hides_nothing_that_no_pattern_names(ask, repo):
    put(repo, ".gitignore", "*.o\n")
    fill(repo, **{"a": "needle\n", "b.o": "needle\n"})
    (repo / ".git/index").write_bytes(b"DIRC nonsense")
    text, = ask([grep()], repo)
    assert names(text, repo) == {"a"} and left(text) == 1


def test_a_foreign_directory_above_hides_nothing(ask, tmp_path):
    """Whoever may write into /tmp could otherwise hide files with a .git."""
    shared = tmp_path / "shared"
    work = shared / "work"
    work.mkdir(parents=True)
    git(shared, "init", "-q")
    put(shared, ".gitignore", "*\n")
    put(work, "a")
    hidden, = ask([grep()], work)
    assert "a" not in names(hidden, work) or left(hidden) == 0
    shared.chmod(0o1777)
    text, = ask([grep()], work)
    assert names(text, work) == {"a"}


NAMES = ("a", "b", "c", "build", "x.o", "foo.txt", "[id]", "sp ace", "é",
         "#h", "!n", "back\\s", "d-e", "A1", "*", "it's", "tr ")
PATTERNS = (
    "a", "b", "build/", "*.o", "!*.o", "!x.o", "/a", "/a/", "a/b", "a/**",
    "**/b", "a/**/c", "**", "!**/", "*", "!a", "foo*", "foo.?xt", "[abc]",
    "[!abc]", "[^a-c]", "\\#h", "\\!n", "#c", "sp ace", "tr\\ ", "x.o   ",
    "\\[id\\]", "[id]", "[[:upper:]]*", "back\\\\s", "d[-]e", "/*", "!/a",
    "b/*", "**/*.o", "a\\", "[z", "", "/", "!", "é", "[a-c]/x.o", "*/",
    "!*/", "?", "it's", "***", "a/***/c", "*a*", "\\*", "[]a]", "[!]]",
    "[a\\-c]", "[[:foo:]]", "c/**/", "**a", "a**/b", "*[!o]")


def grow(top, dice, depth=0):
    for _ in range(dice.randint(1, 5)):
        path = top / dice.choice(NAMES)
        if os.path.lexists(path):
            continue
        if dice.random() < 0.45 and depth < 4:
            path.mkdir()
            grow(path, dice, depth + 1)
        elif dice.random() < 0.1:
            path.symlink_to(dice.choice(NAMES))
        else:
            path.write_text("needle\n")
    if dice.random() < (0.9 if depth == 0 else 0.4):
        end = "\r\n" if dice.random() < 0.15 else "\n"
        text = end.join(dice.choice(PATTERNS)
                        for _ in range(dice.randint(1, 5)))
        (top / ".gitignore").write_bytes(
            (dice.choice(["", "", "", "\ufeff"]) + text + end).encode())


def forest(where, dice, n, tracked):
    """n random work trees, and of each what git says is to be found."""
    for i in range(n):
        top = where / f"t{i}"
        top.mkdir()
        git(top, "init", "-q")
        grow(top, dice)
        if dice.random() < 0.5:
            (top / ".git/info/exclude").write_text("\n".join(
                dice.choice(PATTERNS) for _ in range(3)) + "\n")
        files = {p.relative_to(top).as_posix() for p in top.rglob("*")
                 if p.is_file() and not p.is_symlink() and
                 ".git" not in p.relative_to(top).parts}
        some = [f for f in sorted(files) if tracked and dice.random() < 0.3]
        if some:
            git(top, "--literal-pathspecs", "add", "-f", "--", *some)
        listed = git(top, "ls-files", "-zco", "--exclude-standard")
        want = files & set(listed.decode().split("\0"))
        yield top, want, len(files - want)


@pytest.mark.parametrize("tool", ["git", "patterns alone"])
def test_what_is_found_is_what_git_lists(ask, tmp_path, env, tool):
    where = tmp_path / "forest"
    where.mkdir()
    n = 400 if os.environ.get("DCODE_TEST_LONG") else 15
    if tool != "git":
        env["PATH"] = without_git(tmp_path)
    trees = list(forest(where, random.Random(n), n, tracked=tool == "git"))
    texts = ask([grep(path=str(top)) for top, _, _ in trees], where,
                timeout=300)
    assert any(out for _, _, out in trees)
    for (top, want, out), text in zip(trees, texts):
        with_needle = {f for f in want if not f.endswith(".gitignore")}
        assert names(text, top) == with_needle, top
        assert left(text) == out, top


def test_a_literal_path_is_found_although_it_holds_pattern_characters(
        ask, repo):
    odd = ("app/[id]/page.tsx", "app/[...slug]/x.ts", "app/(group)/y.ts",
           "app/{a,b}/z.ts", "app/[[...all]]/p.ts")
    for name in odd:
        put(repo, name)
    put(repo, "app/i/page.tsx")
    calls = [call("glob", pattern=name) for name in odd]
    calls += [grep(glob=name) for name in odd]
    calls += [grep(path=name) for name in odd]
    calls += [call("glob", pattern="*", path=os.path.dirname(name))
              for name in odd]
    for name, text in zip(odd * 4, ask(calls, repo)):
        assert f"{repo}/{name}" in text, name


def test_a_pattern_may_be_an_absolute_one(ask, repo):
    for name in ("a.c", "src/a.c", "src/b/c.c", "other/src/a.c"):
        put(repo, name)
    found = {f"{repo}/src/**/*.c": {"src/a.c", "src/b/c.c"},
             f"{repo}/src/a.c": {"src/a.c"}, f"{repo}/*.c": {"a.c"},
             f"{repo}x/a.c": set(), "/a.c": {"a.c"}}
    texts = ask([call("glob", pattern=p) for p in found] +
                [grep(glob=p) for p in found], repo)
    for i, want in enumerate(list(found.values()) * 2):
        assert set(re.findall(rf"{repo}/([\w/.]+)", texts[i])) == want, i


def test_a_pattern_that_is_the_path_of_an_ignored_file_finds_it(ask, repo):
    put(repo, ".gitignore", "build/\n*.log\n")
    for name in ("build/o.js", "build/p.js", "a/x.log", "b/x.log"):
        put(repo, name)
    one, other, searched, every, name, inside = ask([
        call("glob", pattern="build/o.js"), call("glob", pattern="a/x.log"),
        grep(glob=f"{repo}/build/o.js"), call("glob", pattern="build/*.js"),
        call("glob", pattern="x.log"), call("glob", pattern=".git/HEAD")],
        repo)
    assert "build/o.js" in one and "build/o.js" in searched
    assert "a/x.log" in other and "b/x.log" not in other
    assert left(one) == left(other) == left(searched) == 0
    for text in (every, name):
        assert "No files found" in text and left(text) == 2
    assert "No files found" in inside


def test_a_class_still_means_its_characters(ask, repo):
    for name in ("app/i/page.tsx", "app/x/page.tsx", "app/[id]/page.tsx"):
        put(repo, name)
    text, = ask([call("glob", pattern="app/[id]/*.tsx")], repo)
    assert "app/i/" in text and "app/[id]/" in text and "app/x/" not in text


@pytest.mark.parametrize("at", [0, 4000, 6000, 23000, 30000, 300000])
def test_a_long_line_shows_its_match_with_what_is_around_it(ask, repo, at):
    filler = "".join(f"{i:06d}," for i in range(60000))
    line = filler[:at] + "<<before needle after>>" + filler[at:]
    put(repo, "min.js", f"short\n{line}\nneedle 3\n")
    one, many = ask([grep(path="min.js", output_mode="content"),
                     grep(output_mode="content")], repo)
    for text in (one, many):
        assert "<<before needle after>>" in text
        assert "\n  2: " in text and "\n  3: needle 3" in text
        assert len(text) < 6000
        assert at < 5000 or "\n  2: ..." in text


def test_a_secret_in_a_long_line_stays_masked(ask, repo, env):
    secret = "sk-Value-0123456789-abcdefghij"
    env["SOME_API_KEY"] = env["ANTHROPIC_API_KEY"] = secret
    for room in range(11960, 12060, 7):
        put(repo, f"f{room}", "x" * 9000 + "y" * 21000 + secret +
            "z" * room + "needle" + "w" * 50000)
    for room in range(1960, 2040, 7):
        put(repo, f"g{room}", "x" * 9000 + secret + "z" * room + "needle")
    text, = ask([grep(output_mode="content")], repo)
    assert "needle" in text and secret[8:] not in text
    assert not any(secret[-n:] + "z" in text for n in range(5, len(secret)))


def test_without_git_a_tracked_file_may_be_left_out_which_is_said(
        ask, repo, env, tmp_path):
    put(repo, ".gitignore", "*.gen\n")
    fill(repo, **{"kept.gen": "needle\n", "a": "needle\n"})
    git(repo, "add", "-f", "kept.gen")
    env["PATH"] = without_git(tmp_path)
    text, = ask([grep()], repo)
    assert names(text, repo) == {"a"} and left(text) == 1
    assert "git is not installed" in text


@pytest.mark.parametrize("pattern, n", [
    ("x{}*y?z", 20000), ("x{}", 20000), ("*.e{}", 20000),
    ("src/**/*{}*", 20000), ("{}**/x", 20000), ("*{}*y?t", 200),
    ("[ab]{}*", 200)])
def test_many_patterns_cost_little(ask, repo, pattern, n):
    """Each file was compared with each pattern: 14 s for 1,000 of them, and
    nothing was found with 10,000."""
    put(repo, ".gitignore", "".join(pattern.format(i) + "\n"
                                    for i in range(n)) + "*.gen\n")
    for i in range(2000):
        put(repo, f"d{i % 20}/f{i}.txt", "x\n")
    fill(repo, **{"d1/a.gen": "needle\n", "d1/found": "needle\n"})
    text, = ask([grep()], repo)
    assert names(text, repo) == {"d1/found"}
    assert left(text) == 1 and "take too long" not in text


def test_a_pattern_with_many_stars_ends(ask, repo):
    put(repo, ".gitignore", "*f" * 30 + "x\n" + "**/f/" * 30 + "x\n")
    for i in range(50):
        put(repo, "/".join("f" * 20) + f"/{'f' * 150}{i}")
    text, = ask([grep()], repo)
    assert "No matches" not in text and left(text) == 0
    assert "take too long" not in text


def test_patterns_that_take_too_long_leave_nothing_out(ask, repo):
    put(repo, ".gitignore", "".join(f"*{i}*a\n" for i in range(60000)))
    for i in range(3000):
        put(repo, f"d/f{i % 7}x{i}a", "needle\n")
    text, = ask([call("glob", pattern="d/*")], repo)
    assert "take too long" in text and "d/f0x0a" in text


@pytest.mark.long
def test_a_search_of_20000_files_is_quick(ask, repo):
    for d in range(200):
        (repo / f"d{d}").mkdir()
        for f in range(100):
            (repo / f"d{d}/f{f}.c").write_text("int x;\n")
    put(repo, "d7/hit.c")
    began = time.monotonic()
    text, = ask([grep()], repo)
    assert names(text, repo) == {"d7/hit.c"}
    assert time.monotonic() - began < 15
    shutil.rmtree(repo)
