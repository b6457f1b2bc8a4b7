"""test_money.py - what runs cost: shown, stored, and never above the cap."""
# SPDX-License-Identifier: MIT
import base64
import json

import pytest

from model import ModelServer
from test_media import png

PRICED = "anthropic:claude-opus-5"
# of claude-opus-5, in dollars for a million tokens
USD = {"input": 5, "output": 25, "cache_read": 0.5, "cache_write": 6.25}


def cost(*usages):
    return sum(u.get(k, 0) * USD[k] / 1e6 for u in usages for k in USD)


@pytest.fixture
def serve(env):
    """serve(script) -> ModelServer that env points at."""
    servers = []

    def begin(script, **how):
        servers.append(ModelServer(script, **how).__enter__())
        env.update(servers[-1].env)
        return servers[-1]
    yield begin
    for server in servers:
        server.__exit__()


def result(r):
    return json.loads(r.out.splitlines()[-1])


FIRST = {"input": 1000, "output": 500, "cache_read": 20000,
         "cache_write": 3000}
SECOND = {"input": 200, "output": 4000, "cache_read": 24000}
STEPS = [{"tool_calls": [{"name": "ls", "args": {"path": "/"}}],
          "usage": FIRST}, {"text": "done", "usage": SECOND}]


def test_the_result_says_what_the_run_has_cost(serve, run):
    serve(STEPS)
    end = result(run("-n", "x", "-y", "--json", "-M", PRICED))
    assert end["model_usd"] == pytest.approx(cost(FIRST, SECOND))
    assert end["cost_usd"] == end["model_usd"]
    assert end["sandbox_usd"] == end["unclear_usd"] == 0


def test_the_last_line_says_it_to_people(serve, run):
    serve(STEPS)
    r = run("-n", "x", "-y", "-M", PRICED)
    assert r.status == 0
    assert r.err.splitlines()[-1] == \
        "Cost: $%.2f" % cost(FIRST, SECOND)


def test_quiet_says_nothing_of_it(serve, run):
    serve(STEPS)
    assert run("-n", "x", "-y", "-q", "-M", PRICED).err.count("Cost") == 0


def test_a_model_without_a_price_costs_nobody_knows_what(serve, run):
    serve(STEPS)
    end = result(run("-n", "x", "-y", "--json", "-M", "anthropic:m"))
    assert end["cost_usd"] is None and end["model_usd"] is None


def test_a_thread_keeps_what_its_runs_have_cost(serve, run):
    serve(STEPS + [{"text": "more", "usage": FIRST}])
    run("-n", "x", "-y", "-q", "-M", PRICED)
    run("-n", "y", "-r", "-q")
    listed = json.loads(run("threads", "list", "--json").out)["data"]
    total = cost(FIRST, SECOND, FIRST)
    assert listed[0]["cost_usd"] == pytest.approx(total)
    assert "$%.2f" % total in run("threads", "list").out


def test_the_cap_ends_a_task_and_the_thread_goes_on(serve, run):
    m = serve({"turns": STEPS[:1], "repeat": True})
    r = run("-n", "x", "-y", "--json", "-M", PRICED, "--max-usd", "0.5")
    end = result(r)
    assert (r.status, end["status"], end["exit_status"]) == \
        (124, "max_usd", 124)
    assert 0.1 < end["cost_usd"] < 0.5
    assert "of $0.50 (--max-usd)" in json.loads(r.out.splitlines()[-2])[
        "message"]
    assert "--max-usd N` continues" in r.err
    seen = len(m.requests)
    assert end["cost_usd"] == pytest.approx(seen * cost(FIRST))
    r = run("-n", "y", "-r", "--json", "--max-turns", "1")
    assert len(m.requests) == seen + 1 and not m.violations
    assert result(r)["cost_usd"] == pytest.approx(cost(FIRST))


def test_each_request_says_how_long_its_answer_may_be(serve, run):
    m = serve({"turns": STEPS[:1], "repeat": True})
    run("-n", "x", "-y", "-M", PRICED, "--max-usd", "0.5")
    limits = [q["body"]["max_tokens"] for q in m.requests]
    assert limits == sorted(limits, reverse=True) and limits[-1] >= 1024
    assert limits[0] < 32000


def test_a_limit_of_the_users_is_not_raised(serve, run):
    m = serve([{"text": "done"}])
    run("-n", "x", "-M", PRICED, "--max-usd", "5", "--model-params",
        '{"max_tokens": 777}')
    assert m.requests[0]["body"]["max_tokens"] == 777


def test_without_a_cap_requests_are_as_they_were(serve, run):
    m = serve([{"text": "done"}])
    run("-n", "x", "-M", PRICED)
    assert m.requests[0]["body"]["max_tokens"] == 32000


def test_a_cap_needs_a_price(serve, run):
    m = serve(STEPS)
    r = run("-n", "x", "-M", "anthropic:m", "--max-usd", "1")
    assert r.status == 2 and not m.requests
    assert "the price of" in r.err
    assert "models.providers.anthropic" in r.err


@pytest.mark.parametrize("amount", ["0", "-1", "x", "", "1e3", "nan"])
def test_what_is_no_amount_is_refused(run, amount):
    r = run("-n", "x", "--max-usd", amount)
    assert r.status == 2 and "must be an amount in US dollars" in r.err


def test_the_cap_of_the_settings_holds_unless_a_flag_says_more(
        serve, run, config):
    serve({"turns": STEPS[:1], "repeat": True})
    config("[limits]\nmax_usd = 0.3\nwarn_usd = [0.05, 0.1]\n")
    r = run("-n", "x", "-y", "-M", PRICED)
    assert r.status == 124 and "of $0.30" in r.err
    assert r.err.count("has cost more than $0.05") == 1
    assert r.err.count("has cost more than $0.10") == 1
    r = run("-n", "x", "-y", "-M", PRICED, "--max-usd", "0.4")
    assert r.status == 124 and "of $0.40" in r.err


@pytest.mark.parametrize("limits", ["max_usd = 0", "max_usd = 'x'",
                                    "warn_usd = [1, -2]"])
def test_a_wrong_cap_in_the_settings_is_an_error(serve, run, config, limits):
    m = serve(STEPS)
    config("[limits]\n%s\n" % limits)
    r = run("-n", "x", "-y", "-M", PRICED)
    assert r.status != 0 and "US dollars" in r.err and not m.requests


# -- the vendor's invoice ------------------------------------------------------

WIRES = {"anthropic": "", "openai-chat": "/v1", "openai-responses": "/v1",
         "gemini": "/v1beta", "bedrock": ""}
PRICES = {"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
LS = [{"name": "ls", "args": {"path": "/"}}]


@pytest.fixture
def mine(serve, env, config):
    """mine(wire, script) -> a server of that wire, and the model's name."""
    def begin(wire, script, more=""):
        server = serve(script)
        env.update(MINE_KEY="sk-mine", AWS_REGION="us-west-2")
        config(more + """[models.providers.mine]
wire = "%s"
base_url = "%s%s"
api_key_env = "MINE_KEY"
[models.providers.mine.profile]
max_input_tokens = 200000
max_output_tokens = 30000
input_price = 3.0
output_price = 15.0
cache_read_price = 0.3
cache_write_price = 3.75
""" % (wire, server.url, WIRES[wire]))
        return server
    return begin


@pytest.mark.parametrize("wire", WIRES)
def test_the_meter_agrees_with_the_invoice(mine, run, wire):
    m = mine(wire, {"turns": [{"tool_calls": LS}] * 4 + [{"text": "done"}],
                    "bill": 7})
    r = run("-n", "x", "-y", "--json", "-M", "mine:m")
    assert r.status == 0, r.err
    billed = m.model.invoice.dollars(PRICES)
    assert len(m.model.invoice.lines) == 5 and billed > 0
    assert result(r)["model_usd"] == pytest.approx(billed, rel=0.01)


# 280 by 280 pixels: 100 patches of 28 by 28 at Claude's, more elsewhere
IMAGE = png(280, 280)
READ = [{"name": "read_file", "args": {"file_path": "long.txt"}}]


def turns_of(seed):
    """What happens in a run: tools, a cut answer; files, retries, summaries."""
    busy = {"status": 529, "body": {"error": {"message": "busy"}}}
    turns = [{"tool_calls": READ if seed % 2 else LS}] * 5
    turns.insert(seed % 4, {"tool_calls": LS, "fault": {
        "cut_after_bytes": 90 * (seed % 9)}})
    turns.insert(seed % 3, {"tool_calls": LS, "fault": {
        **busy, "times": 1 + seed % 2}})
    if seed % 3 == 1:
        turns.insert(1, {"tool_calls": [{"name": "read_file",
                                         "args": {"file_path": "a.png"}}]})
    return turns


def spend(mine, run, wire, seed):
    """A run with a cap and random bills; whether the cap ended it, and whether
    it was compacted."""
    cap = (4 if seed % 2 else 0.05) + seed % 17 / 20
    m = mine(wire, {"turns": turns_of(seed), "repeat": True, "by": "count",
                    "window": {"tokens": 10 ** 9, "summary": "SUMMARY: x"},
                    "bill": {"seed": seed, "image_tokens": 100, "image":
                             base64.b64encode(IMAGE).decode()}},
             "[models]\ncompact_at = %d\n" % (30000 if seed % 2 else 80))
    prompt = "@a.png what?" if seed % 4 == 2 else "x"
    r = run("-n", prompt, "-y", "--json", "-M", "mine:m", "--max-usd",
            "%.3f" % cap, "--max-turns", "12")
    end = result(r)
    billed = m.model.invoice.dollars(PRICES)
    assert r.status == 124 and not m.violations, (seed, r.err, m.violations)
    assert billed <= cap, (wire, seed)
    assert end["cost_usd"] <= billed * 1.01 + 1e-9
    assert billed <= end["cost_usd"] + end["unclear_usd"] + 1e-9
    return end["status"] == "max_usd", '"type":"compaction"' in r.out


@pytest.fixture
def files(tmp_path):
    (tmp_path / "work" / "a.png").write_bytes(IMAGE)
    (tmp_path / "work" / "long.txt").write_text("some words of text\n" * 400)


@pytest.mark.parametrize("wire", WIRES)
def test_no_invoice_passes_the_cap(mine, run, files, wire):
    ended = [spend(mine, run, wire, seed) for seed in range(1, 6)]
    assert any(e for e, _ in ended)


@pytest.mark.long
@pytest.mark.parametrize("wire", WIRES)
def test_no_invoice_passes_the_cap_in_many_runs(mine, run, files, wire):
    ended = [spend(mine, run, wire, seed) for seed in range(6, 206)]
    assert any(e for e, _ in ended) and any(c for _, c in ended)


@pytest.mark.parametrize("priced, told", [
    ("[sandboxes.providers.daytona.params]\nsnapshot = 'daytona-small'\n",
     "is unknown, so --max-usd counts only the model"),
    ("[sandboxes.providers.daytona]\nusd_per_hour = 0.5\n", None),
    ("", None)], ids=["unknown", "settings", "published"])
def test_a_sandbox_costs_what_the_settings_say(serve, run, env, vendor,
                                               config, priced, told):
    serve([{"text": "done", "usage": FIRST}])
    vendor("daytona")
    config(priced)
    r = run("-n", "x", "--json", "-M", PRICED, "--sandbox", "daytona",
            "--max-usd", "5")
    end = result(r)
    assert r.status == 0, r.err
    if told:
        assert told in r.err and end["sandbox_usd"] is None
        assert end["cost_usd"] is None
    else:
        assert 0 < end["sandbox_usd"] < 0.05 and "not known" not in r.err
        assert end["cost_usd"] == pytest.approx(
            end["model_usd"] + end["sandbox_usd"])


@pytest.mark.parametrize("value", ["-1", "'x'", "true"])
def test_a_wrong_price_of_a_sandbox_is_an_error(serve, run, vendor, config,
                                                value):
    m = serve([{"text": "done"}])
    vendor("daytona")
    config("[sandboxes.providers.daytona]\nusd_per_hour = %s\n" % value)
    r = run("-n", "x", "-M", PRICED, "--sandbox", "daytona")
    assert r.status != 0 and "usd_per_hour" in r.err and not m.requests


# -- what is not known ---------------------------------------------------------

def test_a_thread_without_a_price_costs_unknown(serve, run):
    serve(STEPS + [{"text": "more", "usage": FIRST}])
    r = run("-n", "x", "-y", "-M", "anthropic:m")
    assert r.err.splitlines()[-1] == \
        "Cost: unknown (no price is known for the model)"
    listed = run("threads", "list").out
    assert "  unknown  " in listed and "$0.00" not in listed
    run("-n", "y", "-r", "-q", "-M", PRICED)
    assert "  >$%.2f  " % cost(FIRST) in run("threads", "list").out


COSTLY = {"anthropic": ({"mcp_servers": [{"url": "https://x"}]},),
          "openai-chat": ({"n": 2}, {"extra_body": {"best_of": 3}}),
          "openai-responses": ({"previous_response_id": "resp_1"},),
          "gemini": ({"generationConfig": {"candidateCount": 2}},
                     {"cachedContent": "cachedContents/1"}),
          "bedrock": ({"additionalModelRequestFields": {"n": 2}},)}


@pytest.mark.parametrize("wire", COSTLY)
def test_params_that_a_cap_cannot_count_are_refused(mine, run, config, wire):
    m = mine(wire, {"turns": [{"text": "done"}], "repeat": True})
    for params in COSTLY[wire]:
        r = run("-n", "x", "-M", "mine:m", "--max-usd", "1",
                "--model-params", json.dumps(params))
        assert r.status == 2 and "the cost of the parameter" in r.err, \
            (params, r.err)
        assert "Remove it from --model-params" in r.err
    assert not m.requests
    r = run("-n", "x", "-M", "mine:m", "--max-usd", "1", "--model-params",
            '{"temperature": 0.5}')
    assert r.status == 0, r.err


def test_a_dearer_tier_has_no_list_price(serve, run):
    m = serve({"turns": [{"text": "done", "usage": FIRST}], "repeat": True})
    tier = ("--model-params", '{"service_tier": "priority"}')
    r = run("-n", "x", "-M", PRICED, "--max-usd", "1", *tier)
    assert r.status == 2 and 'service_tier = "priority"' in r.err
    assert "input_price and output_price" in r.err and not m.requests
    end = result(run("-n", "x", "-M", PRICED, "--json", *tier))
    assert end["cost_usd"] is None and len(m.requests) == 1


def test_a_repository_sets_no_cap_and_no_price(serve, run, tmp_path):
    m = serve({"turns": STEPS[:1], "repeat": True})
    work = tmp_path / "work"
    for name in (".deepagents/config.toml", "config.toml", "dcode.toml"):
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(
            "[limits]\nmax_usd = 1000\n[models.providers.anthropic.profile]\n"
            "input_price = 0.0\noutput_price = 0.0\n")
    (work / ".env").write_text(
        "MAX_USD=1000\nDEEPAGENTS_CODE_MAX_USD=1000\n"
        "DEEPAGENTS_CODE_LIMITS_MAX_USD=1000\nINPUT_PRICE=0\n")
    r = run("-n", "x", "-y", "--json", "-M", PRICED, "--max-usd", "0.3")
    assert r.status == 124 and result(r)["cost_usd"] == pytest.approx(
        len(m.requests) * cost(FIRST))


# -- the cap ends what a sandbox does ------------------------------------------
# 45 s of the cap are kept for saving and deleting, so it pays for some seconds.

@pytest.mark.parametrize("what, seconds", [("setup", 50), ("tool", 65)])
def test_the_cap_ends_what_runs_in_a_sandbox(serve, run, config, tmp_path,
                                             sandbox_first, what, seconds):
    sleep = {"name": "execute", "args": {"command": "sleep 300"}}
    m = serve({"turns": [{"tool_calls": [sleep]}], "repeat": True})
    config("[sandboxes.providers.local]\nusd_per_hour = %.2f\n" %
           (2 * 3600 / seconds))
    (tmp_path / "work" / "setup.sh").write_text("sleep 300\n")
    setup = ["--sandbox-setup", "setup.sh"] if what == "setup" else []
    r = run("-n", "x", "-y", "--json", "-M", PRICED, "--max-usd", "2",
            "--sandbox", "local", "--workspace", "none", *setup)
    end = result(r)
    assert (r.status, end["status"]) == (124, "max_usd"), r.err
    assert "--max-usd" in r.err
    assert len(m.requests) == (what == "tool")
    assert 0 < end["sandbox_usd"] < 2
    assert json.loads(run("sandbox", "list", "--json").out)["data"] == []
