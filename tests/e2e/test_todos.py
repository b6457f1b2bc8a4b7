"""test_todos.py - the list of steps: where it is seen, and that it stays."""
# SPDX-License-Identifier: MIT
import json

from slash_chat import begin, on_screen, talk  # noqa: F401 (a fixture)


def todos(*items, **more):
    return {"name": "write_todos", **more, "args": {"todos": [
        {"content": c, "status": s} for c, s in items]}}


FIRST = todos(("look <b>", "completed"), ("mend\x1b[31m", "in_progress"),
              ("try", "pending"))
LAST = todos(("look <b>", "completed"), ("mend", "completed"),
             ("try", "completed"))
WORK = {"turns": [{"tool_calls": [FIRST]}, {"text": "Mended."}],
        "repeat": True}
A = ("-M", "anthropic:m")


def result(server, n=-1):
    return server.requests[n]["body"]["messages"][-1]["content"]


def test_lines_show_each_step_and_nothing_is_asked(run, model):
    server = model(WORK)
    r = run("-n", "go", *A)
    assert r.status == 0
    assert "write_todos: 1 of 3 done\n" in r.err
    assert "    [x] look <b>\n    [>] mend\n    [ ] try\n" in r.err
    assert "Updated todo list to [{'content'" in result(server)[0]["content"]


def test_json_has_the_list_as_an_event(run, model):
    model(WORK)
    r = run("-n", "go", "--json", *A)
    lines = [json.loads(line) for line in r.out.splitlines()]
    found = [e for e in lines if e["type"] == "todos"]
    assert [e["todos"] for e in found] == [FIRST["args"]["todos"]]


def test_two_lists_in_one_answer_are_both_refused(run, model):
    server = model({"turns": [{"tool_calls": [FIRST, LAST]},
                              {"tool_calls": [LAST]}, {"text": "ok"}]})
    r = run("-n", "go", "--json", *A)
    assert r.status == 0
    assert [x["is_error"] for x in result(server, 1)] == [True, True]
    assert all("once" in x["content"] for x in result(server, 1))
    assert r.out.count('"type":"todos"') == 1


def test_a_stored_thread_shows_its_list(run, model, tmp_path):
    model(WORK)
    assert run("-n", "go", *A).status == 0
    r = run("threads", "show", "latest")
    assert ("* write_todos: 1 of 3 done\n  [x] look <b>\n  [>] mend\n"
            "  [ ] try\n") in r.out
    r = run("threads", "export", "latest", "out.html", "--html")
    assert r.status == 0, r.err
    html = (tmp_path / "work" / "out.html").read_text()
    assert "<li>&#x2611; look &lt;b&gt;</li>" in html
    assert "<li>&#x25B8; mend</li>" in html and "\x1b" not in html


def test_the_chat_keeps_the_list_over_resume_and_drops_it_with_clear(talk):
    c = begin(talk, WORK, columns=100, lines=60)
    c.say("/todos", "no to-do list")
    c.say("go", "Mended.")
    c.say("/todos", "[ ] try", 1 if c.screen else 2)
    seen = c.say("/clear", "Previous thread: /resume lists it")
    c.say("/todos", "no to-do list", 2 if "no to-do list" in seen else 1)
    c.say("/resume latest", "Resumed thread")
    n = c.text().count("[ ] try")
    c.say("/todos", "[ ] try", n + 1)


@on_screen
def test_a_screen_has_a_list_with_signs(talk):
    c = begin(talk, {"turns": [{"tool_calls": [FIRST]},
                               {"text": "Mended.", "delay_ms": 1500}]})
    c.say("go")
    seen = c.until("\u25b8 1 of 3 done: mend")  # the live part
    assert "\u2611 look <b>" in seen and "\u2610 try" in seen
    c.until("Mended.")
    c.until(lambda t: "1 of 3 done: mend" not in t)
