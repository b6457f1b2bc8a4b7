"""test_approvals.py - what a chat asks before a call, and what is answered."""
# SPDX-License-Identifier: MIT
import json
import os
import re
import subprocess
import time

import pytest

from test_live_chat import DONE, execute, live  # noqa: F401

# pylint: disable=redefined-outer-name

TEXT = "one\ntwo\nthree\nfour\nfive\n"


def call(tool, **args):
    return {"tool_calls": [{"name": tool, "args": args}]}


def edit(old, new, **more):
    return call("edit_file", file_path="notes.txt", old_string=old,
                new_string=new, **more)


def go(s, wanted="y yes"):
    s.type("go")
    s.keys("Enter")
    return s.until(wanted)


def until_asked(s, title):
    """That question is there, and keys answer it."""
    last = re.escape(title) + r"(?!.*(wants to run|shown above)).*because"
    s.until(lambda t: re.search(last, t, re.DOTALL))


def config(env, text):
    place = os.path.join(env["HOME"], ".deepagents")
    os.makedirs(place, exist_ok=True)
    path = os.path.join(place, "config.toml")
    with open(path, "a", encoding="utf-8") as f:
        f.write(text)
    return path


def hide(env, value):
    """Makes it a key that is masked; returns the config that says so."""
    env["SOME_API_KEY"] = value
    return config(env, "[models.providers.mine]\nbase_url = \"http://x/\"\n"
                       "api_key_env = \"SOME_API_KEY\"\n")


@pytest.fixture
def work(tmp_path):
    (tmp_path / "work").mkdir(exist_ok=True)
    return tmp_path / "work"


def test_an_edit_is_asked_about_with_the_lines_around_it(live, work):
    (work / "notes.txt").write_text(TEXT)
    s, _ = live([edit("three", "3"), DONE])
    seen = go(s)
    assert "change (+1 -1): @@ line 1 @@" in seen
    assert "2 |  two" in seen and "3 | -three" in seen and "3 | +3" in seen
    assert "old_string" not in seen
    s.keys("y")
    seen = s.until("done.")
    assert "3 - three" in seen and "3 + 3" in seen  # numbered by the file
    assert (work / "notes.txt").read_text() == TEXT.replace("three", "3")


def test_a_file_that_is_written_is_compared_with_what_it_held(live, work):
    (work / "notes.txt").write_text(TEXT)
    s, _ = live([call("write_file", file_path="notes.txt",
                      content=TEXT + "six\n"),
                 call("write_file", file_path="new.txt", content="n\n"),
                 DONE])
    seen = go(s)
    assert "| +six" in seen and "| +five" not in seen
    s.keys("y")
    seen = s.until("new file (+1): @@ line 1 @@\n1 | +n\n")
    assert "content" not in seen[seen.index("new.txt"):]
    s.until("y yes")
    s.keys("y")
    s.until("done.")


@pytest.mark.parametrize("content, note", [
    (b"\xff\x00three", "not a text file"),
    (b"x" * (1 << 20) + b"three", "too large"),
    (b"four", "the edit will fail")], ids=["bytes", "large", "another"])
def test_a_file_that_cannot_be_compared_is_named_and_the_call_shown(
        live, work, content, note):
    (work / "notes.txt").write_bytes(content)
    s, _ = live([edit("three", "3"), DONE])
    seen = go(s)
    assert note in seen.replace("\n    ", "")
    assert "old_string: three" in seen and "new_string: 3" in seen


def test_the_change_is_of_the_sandboxs_file_not_of_the_users(
        live, work, env, tmp_path):
    (work / "notes.txt").write_text("host three host\n")
    box = tmp_path / "box"
    config(env, "[approvals]\nsandbox = \"ask\"\n")
    s, _ = live([execute("printf 'box two\\nbox three\\n' > notes.txt"),
                 edit("three", "3"), DONE],
                args=["--sandbox", "local", "--workspace", "none"])
    seen = go(s)
    assert "execute wants to run in the sandbox (local " in seen
    s.keys("y")
    seen = s.until(lambda t: "| +box 3" in t and "y yes" in t)
    assert "|  box two" in seen and "host three" not in seen
    s.keys("y")
    seen = s.until("done.")
    assert "2 + box 3" in seen
    assert (work / "notes.txt").read_text() == "host three host\n"
    assert not box.exists()


def test_a_secret_of_a_file_is_masked_and_its_loss_is_shown(live, work, env):
    hide(env, "sekrit-value-12")
    (work / "notes.txt").write_text("a\nkey=sekrit-value-12\nc\n")
    s, _ = live([call("write_file", file_path="notes.txt",
                      content="a\nkey=[masked:SOME_API_KEY]\nc\n"),
                 DONE])
    seen = go(s)
    assert "| -key=[masked:SOME_API_KEY]" in seen
    assert "| +key=[masked:SOME_API_KEY]" in seen
    assert "sekrit" not in s.text(True)


def test_in_a_sandbox_nothing_is_asked_unless_the_user_says_so(live, work):
    s, _ = live([execute("echo x > made"), DONE],
                args=["--sandbox", "local", "--workspace", "none"])
    go(s, "done.")
    assert not (work / "made").exists()


def test_a_review_of_all_asks_about_reading_too(live, work, env):
    (work / "notes.txt").write_text(TEXT)
    config(env, "[approvals]\nreview = \"all\"\n")
    s, _ = live([call("read_file", file_path="notes.txt"), DONE])
    seen = go(s)
    assert "read_file wants to run on this machine" in seen
    s.keys("y")
    s.until("done.")


@pytest.mark.parametrize("text", ["sandbox = \"no\"", "review = \"some\""])
def test_a_setting_that_is_no_word_of_it_is_an_error(env, dcode, text):
    config(env, f"[approvals]\n{text}\n")
    r = subprocess.run([dcode, "-n", "x", "-M", "anthropic:m"], env=env,
                       capture_output=True, text=True, check=False)
    assert r.returncode != 0 and "can only be" in r.stderr


def test_a_changed_command_is_what_runs_and_what_the_model_learns(live, work):
    s, server = live([execute("echo a >> log"), DONE])
    go(s)
    s.keys("e")
    s.until("Enter keeps the change")
    s.keys("C-u")
    s.type("echo b >> log")
    s.keys("Enter")
    seen = s.until("as you changed it")
    assert "command: echo b >> log" in seen
    s.until("y yes")
    s.keys("y")
    seen = s.until("done.")
    assert "(changed by you)" in seen
    assert (work / "log").read_text() == "b\n"
    last = json.dumps(server.requests[-1]["body"]["messages"][-1])
    assert "The user changed this call" in last and "echo b >> log" in last


def test_a_change_that_is_left_changes_nothing(live, work):
    s, server = live([execute("echo a >> log"), DONE])
    go(s)
    s.keys("e")
    s.until("Enter keeps the change")
    s.type("; x")
    s.keys("Escape")
    s.until("y yes")
    s.keys("y")
    s.until("done.")
    assert (work / "log").read_text() == "a\n"
    assert "changed this call" not in json.dumps(
        server.requests[-1]["body"]["messages"])


def test_new_content_is_changed_in_the_users_own_editor(live, work, env):
    env["EDITOR"] = "sed -i s/n/m/"
    s, _ = live([call("write_file", file_path="new", content="n\n\ttab\r\n"),
                 DONE])
    go(s)
    s.keys("e")
    s.until("as you changed it")
    s.until("y yes")
    s.keys("y")
    s.until("done.")
    assert (work / "new").read_bytes() == b"m\n\ttab\r\n"


def test_always_after_a_change_is_for_the_changed_call(live, work):
    s, _ = live([execute("echo a >> log"), execute("echo b >> log"),
                 execute("echo a >> log"), DONE])
    go(s)
    s.keys("e")
    s.until("Enter keeps the change")
    s.keys("C-u")
    s.type("echo b >> log")
    s.keys("Enter")
    s.until("as you changed it")
    s.until("y yes")
    s.keys("a")
    s.until("a again")
    s.keys("a")
    s.until(lambda t: "command: echo a" in t and "y yes" in t)
    assert (work / "log").read_text() == "b\nb\n"


def test_always_can_be_kept_in_the_users_config(live, work, env):
    path = config(env, "# mine\n[sandboxes]\ndefault = \"local\"\n")
    one = execute('echo "it\'s" >> log')
    s, _ = live([one, one, DONE])
    go(s)
    s.keys("A")
    s.until("A again")
    s.keys("A")
    s.until("done.")
    assert "/approvals remove 1" in s.text(True)
    text = open(path, encoding="utf-8").read()
    assert text.startswith("# mine\n[sandboxes]\ndefault = \"local\"\n")
    assert 'it' in text and '>> log' in text
    s.keys("C-d")
    s.status()
    s, _ = live([one, execute("echo other >> log"), DONE])
    go(s)  # asks about the other one only
    assert (work / "log").read_text() == 3 * "it's\n"
    s.keys("n")
    s.until("Say what to do instead")
    s.type("/approvals")
    s.keys("Enter")
    seen = " ".join(s.until("stored in config.toml").split())
    assert "1 execute: echo \"it's\" >> log on this machine, in /" in seen
    assert "{" not in seen.split("/approvals")[-1]
    s.type("/approvals remove 1")
    s.keys("Enter")
    s.until("asks about this call again")
    assert "echo it" not in open(path, encoding="utf-8").read()


def test_a_config_that_cannot_be_changed_allows_for_the_session(
        live, work, env):
    path = config(env, "approvals.sandbox = \"auto\"\n")
    one = execute("echo a >> log")
    s, _ = live([one, one, DONE])
    go(s)
    s.keys("A")
    s.until("A again")
    s.keys("A")
    s.until("done.")
    assert "until dcode ends" in s.text(True)
    assert (work / "log").read_text() == "a\na\n"
    assert open(path, encoding="utf-8").read() == \
        "approvals.sandbox = \"auto\"\n"


THREE = {"tool_calls": [
    {"name": "execute", "args": {"command": f"echo {c} >> log"}}
    for c in "abc"]}


def test_calls_of_an_answer_are_allowed_together_when_all_were_shown(
        live, work):
    s, _ = live([THREE, execute("echo b >> log"), DONE])
    go(s)
    s.keys("t")
    seen = s.until("these 3 calls (shown above)")
    for c in "abc":
        assert f"command: echo {c} >> log" in seen
    assert not (work / "log").exists()
    s.until("y yes to all")
    s.keys("y")
    # One of them in another answer is asked about again.
    s.until(lambda t: "command: echo b" in t.split("shown above")[-1] and
            "A config" in t)
    assert (work / "log").read_text() == "a\nb\nc\n"


def test_calls_together_can_be_refused_or_asked_one_by_one(live, work):
    s, server = live([THREE, DONE])
    go(s)
    s.keys("t")
    until_asked(s, "these 3 calls (shown above)")
    s.keys("o")
    until_asked(s, "(1 of 3)")
    s.keys("y")
    until_asked(s, "(2 of 3)")
    s.keys("t")
    until_asked(s, "these 2 calls (shown above)")
    s.keys("n")
    s.until("Say what to do instead")
    assert (work / "log").read_text() == "a\n"
    assert len(server.requests) == 1


def test_yolo_is_acknowledged_once_for_this_user(live, work, env):
    for again in (False, True):
        s, _ = live([execute("echo a >> log"), DONE],
                    args=["--yolo"] if again else [])
        if not again:
            s.keys("BTab", "BTab", "BTab")
            s.until("y allows it")  # one that comes before is of a message
            s.keys("y")
        s.until(lambda t: "\nyolo \u00b7" in t)
        go(s, "done.")
        s.keys("C-d")
        s.status()
    assert (work / "log").read_text() == "a\na\n"
    state = os.path.join(env["HOME"], ".deepagents", ".state")
    assert "yolo-acknowledged" in os.listdir(state)


def test_shift_tab_asks_about_yolo_once_in_each_chat(live):
    for _ in range(2):
        s, _ = live([DONE])
        s.keys("BTab", "BTab", "BTab")
        s.until("y allows it")
        s.keys("y")
        s.until(lambda t: "\nyolo \u00b7" in t)
        s.keys("BTab")
        s.until(lambda t: "\nmanual \u00b7" in t)
        s.keys("BTab", "BTab", "BTab")
        s.until(lambda t: "\nyolo \u00b7" in t)


def test_a_message_that_begins_with_y_does_not_allow_yolo(live, work, env):
    s, server = live([{"text": "Gladly."}])
    s.keys("BTab", "BTab", "BTab", "y", "e", "s", "Enter")
    seen = s.until("Gladly.")
    assert "yolo" not in seen and "\u276f yes" in seen
    assert "yes" in json.dumps(server.requests[0])
    state = os.path.join(env["HOME"], ".deepagents", ".state")
    assert not os.path.exists(os.path.join(state, "yolo-acknowledged"))


@pytest.mark.parametrize("key", ["Enter", "Left", "BTab", "C-t", "n"])
def test_another_key_than_y_ends_the_question_of_yolo(live, env, key):
    s, _ = live([DONE])
    s.keys("BTab", "BTab", "BTab")
    s.until("y allows it")
    s.keys(key)
    s.until(lambda t: "yolo" not in t and "manual" in t)
    s.keys("y")
    s.until("\u276f y")
    state = os.path.join(env["HOME"], ".deepagents", ".state")
    assert not os.path.exists(os.path.join(state, "yolo-acknowledged"))


def test_yolo_by_a_flag_is_asked_about_and_a_no_asks_for_each_call(
        live, work):
    s, _ = live([execute("echo a >> log"), DONE], args=["--yolo"],
                ready="Allow it? [y/N]")
    s.type("n")
    s.keys("Enter")
    s.until("\u276f")
    time.sleep(0.3)
    go(s)
    assert not (work / "log").exists()


def test_modes_have_commands(live):
    s, _ = live([DONE])
    for command, mode in (("/auto-edit", "auto-edit"), ("/manual", "manual"),
                          ("/mode auto-edit", "auto-edit")):
        s.type(command)
        s.keys("Enter")
        s.until(f"The mode is {mode}.")
        s.type("/clear-nothing")
        s.keys("C-u")
    s.type("/mode none")
    s.keys("Enter")
    s.until("Usage: /mode")


def test_calls_together_can_be_refused_for_one_reason(live, work):
    s, server = live([THREE, DONE])
    go(s)
    s.keys("t")
    until_asked(s, "these 3 calls (shown above)")
    s.keys("w")
    s.until("No, because")
    s.type("not now")
    s.keys("Enter")
    s.until("done.")
    assert not (work / "log").exists()
    told = json.dumps(server.requests[-1]["body"]["messages"][-1])
    assert told.count("with reason: not now") == 3


LOCAL = ["--sandbox", "local", "--workspace", "none"]


@pytest.fixture
def foreign(run, home):
    """foreign(known) -> id of a sandbox; the ledger has forgotten it, or
    not."""
    def make(known=False):
        made = run("sandbox", "create", "--sandbox", "local")
        assert made.status == 0, made.err
        if not known:
            for name in (home / ".deepagents" / ".state").glob("dcode.db*"):
                name.unlink()
        return made.out.strip()
    return make


@pytest.mark.parametrize("answer, asks", [("n", True), ("", True),
                                          ("y", False)])
def test_a_sandbox_that_dcode_did_not_make_is_asked_about_once(
        live, work, foreign, answer, asks):
    s, _ = live([execute("echo x > made"), DONE],
                args=[*LOCAL, "--sandbox-id", foreign()],
                ready="without asking? [y/N]")
    s.type(answer)
    s.keys("Enter")
    s.until("\u276f")
    time.sleep(0.3)
    go(s, "y yes" if asks else "done.")
    assert not (work / "made").exists()


def test_ones_own_sandbox_and_a_setting_are_not_asked_about(
        live, work, foreign, env):
    s, _ = live([execute("echo x > made"), DONE],
                args=[*LOCAL, "--sandbox-id", foreign(known=True)])
    go(s, "done.")
    s.keys("C-d")
    s.status()
    config(env, "[approvals]\nsandbox = \"auto\"\n")
    s, _ = live([execute("echo x > made"), DONE],
                args=[*LOCAL, "--sandbox-id", foreign()])
    go(s, "done.")


def test_with_a_task_the_id_is_the_consent(run, model, foreign, work, env):
    model([execute("echo from-there"), DONE])
    r = run("-n", "go", "-M", "anthropic:m", *LOCAL, "--sandbox-id",
            foreign())
    assert r.status == 0 and "from-there" in r.err
    config(env, "[approvals]\nsandbox = \"ask\"\n")
    model([execute("echo from-there"), DONE])
    r = run("-n", "go", "-M", "anthropic:m", *LOCAL)
    assert r.status == 0 and "from-there" in r.err


def test_the_project_cannot_say_what_is_asked_about(live, work, env):
    (work / ".env").write_text(
        "DEEPAGENTS_CODE_APPROVALS_SANDBOX=auto\nAPPROVALS_REVIEW=changes\n")
    for place in (work, work / ".deepagents"):
        place.mkdir(exist_ok=True)
        (place / "config.toml").write_text(
            "[approvals]\nsandbox = \"auto\"\nallow = "
            "['{\"tool\":\"execute\"}']\n")
    config(env, "[approvals]\nsandbox = \"ask\"\n")
    s, _ = live([execute("echo x > made"), DONE], args=LOCAL)
    go(s)


def test_what_was_typed_before_a_question_does_not_answer_it(live, work):
    s, server = live([{**execute("touch made"), "delay_ms": 900}, DONE])
    s.type("go")
    s.keys("Enter")
    s.until("Esc stops it")
    s.type("yyaA")
    s.keys("Enter")
    s.until("y yes")
    assert not (work / "made").exists()
    assert "+ yyaA" in s.text()  # it waits for its turn
    s.keys("y")
    s.until("done.")
    assert (work / "made").exists()
    assert len(server.requests) >= 2


def test_a_call_with_a_secret_is_not_kept_in_the_config(live, work, env):
    path = hide(env, "sekrit-value-12")
    s, _ = live([execute("echo a"), DONE])
    go(s)
    s.keys("e")
    s.until("Enter keeps the change")
    s.type(" sekrit-value-12")
    s.keys("Enter")
    s.until("as you changed it")
    s.until("y yes")
    s.keys("A")
    s.until("A again")
    s.keys("A")
    s.until("done.")
    assert "contains a secret" in s.text(True).replace("\n", " ")
    assert "sekrit" not in open(path, encoding="utf-8").read()
