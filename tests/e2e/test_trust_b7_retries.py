"""test_trust_b7_retries.py - who repeats a request, how often, how late."""
# SPDX-License-Identifier: MIT
import email.utils
import time

import pytest

from clouds import DONE, task_of
from elsewhere import ledger
from lifecycle import execute
from test_trust_a6_redirects import CREATE, REMOVE

CONTROL = "POST /modal.client.ModalClient/"
KEYS = {"agentcore": "AWS_", "daytona": "DAYTONA_API_KEY",
        "deno": "DENO_DEPLOY_TOKEN", "e2b": "E2B_API_KEY",
        "langsmith": "LANGSMITH_API_KEY", "runloop": "RUNLOOP_API_KEY",
        "vercel": "VERCEL_TOKEN"}


def times(cloud, pattern):
    import re
    return [r["began"] for r in cloud.requests
            if re.match(pattern, r["line"])]


@pytest.mark.parametrize("name", CREATE)
def test_a_create_that_fails_is_sent_four_times(vendor, model, run, name):
    cloud = vendor(name)
    fault = cloud.fault(CREATE[name], times=None, status=500,
                        body={"message": "HTTP 401"})
    model([DONE])
    r = task_of(run, name)()
    assert r.status == 1 and "HTTP 500" in r.err
    assert fault.struck == 4 and cloud.left() == []
    began = times(cloud, CREATE[name])
    assert began[-1] - began[0] < 20


@pytest.mark.parametrize("name", CREATE)
def test_a_create_that_fails_once_is_sent_twice(vendor, model, run, name):
    cloud = vendor(name)
    fault = cloud.fault(CREATE[name], times=1, status=500)
    model([execute("echo hi"), DONE])
    r = task_of(run, name)()
    assert r.status == 0, r.err
    assert fault.seen == 2 and cloud.left() == []


@pytest.mark.parametrize("name", REMOVE)
def test_a_remove_that_fails_is_sent_four_times(
        vendor, model, run, home, name):
    cloud = vendor(name)
    fault = cloud.fault(REMOVE[name], times=None, status=500)
    model([execute("echo hi"), DONE])
    r = task_of(run, name)()
    assert "Cleanup failed" in r.err and fault.struck == 4
    assert [row["id"] for row in ledger(home)] == cloud.left() != []


@pytest.mark.parametrize("name", REMOVE)
def test_a_remove_that_fails_once_is_sent_twice(vendor, model, run, name):
    cloud = vendor(name)
    fault = cloud.fault(REMOVE[name], times=1, status=500)
    model([execute("echo hi"), DONE])
    r = task_of(run, name)()
    assert r.status == 0, r.err
    assert fault.seen == 2 and cloud.left() == []


@pytest.mark.parametrize("name, status, text", [
    (name, 400, text) for name in ("daytona", "e2b", "langsmith", "runloop",
                                   "vercel", "deno", "agentcore")
    for text in ("HTTP 503", "HTTP 409", "HTTP 429")])
def test_the_text_of_a_refusal_decides_nothing(
        vendor, model, run, home, name, status, text):
    """400 whose body speaks of another status is sent once and final."""
    cloud = vendor(name)
    fault = cloud.fault(CREATE[name], times=None, status=status,
                        body={"message": text, "code": "bad_request"})
    model([DONE])
    r = task_of(run, name)()
    assert r.status == 1 and text in r.err and fault.struck == 1
    assert "Cleanup failed" not in r.err and ledger(home) == []


@pytest.mark.parametrize("status", [401, 403])
@pytest.mark.parametrize("name", CREATE)
def test_a_create_refused_for_the_key_leaves_no_row(
        vendor, model, run, home, name, status):
    cloud = vendor(name)
    cloud.fault(".*", times=None, status=status)
    model([DONE])
    r = task_of(run, name)()
    assert r.status == 1 and f"HTTP {status}" in r.err
    assert "Cleanup failed" not in r.err and ledger(home) == []
    assert len(times(cloud, CREATE[name])) <= 1


@pytest.mark.parametrize("name", KEYS)
def test_a_remove_refused_for_the_key_says_what_to_do(
        vendor, model, run, home, name):
    """The row stays, the key and the way out are named."""
    cloud = vendor(name)
    fault = cloud.fault(REMOVE[name], times=None, status=401)
    model([execute("echo hi"), DONE])
    r = task_of(run, name)()
    warning = r.err[r.err.index("Cleanup failed"):]
    assert KEYS[name] in warning and "sandbox gc" in warning
    assert fault.struck == 1 and len(ledger(home)) == 1
    cloud.faults.clear()
    assert run("sandbox", "gc").status == 0
    assert cloud.left() == [] and ledger(home) == []


@pytest.mark.parametrize("date", [False, True])
@pytest.mark.parametrize("name", ["agentcore", "deno", "e2b", "langsmith"])
def test_a_create_waits_as_long_as_asked(vendor, model, run, name, date):
    cloud = vendor(name)
    wait = email.utils.formatdate(time.time() + 4, usegmt=True) if date else 2
    cloud.fault(CREATE[name], times=1, status=429, retry_after=wait)
    model([execute("echo hi"), DONE])
    r = task_of(run, name)()
    assert r.status == 0, r.err
    first, second = times(cloud, CREATE[name])
    assert 2 <= second - first < 20 and "trying again in" in r.err


@pytest.mark.parametrize("pattern", ["DELETE ", "POST .*Process/Start"])
def test_other_calls_wait_as_long_as_asked(vendor, model, run, pattern):
    cloud = vendor("e2b")
    cloud.fault(pattern, times=1, status=429, retry_after=2)
    model([execute("echo hi"), DONE])
    r = task_of(run, "e2b")()
    assert r.status == 0, r.err
    began = times(cloud, pattern)
    assert 2 <= began[1] - began[0] < 20


@pytest.mark.parametrize("pattern, seconds", [
    ("POST /v2/sandboxes", 99999999), ("DELETE ", 3600)])
def test_a_wait_beyond_the_deadline_is_not_begun(
        vendor, model, run, pattern, seconds):
    cloud = vendor("e2b")
    fault = cloud.fault(pattern, times=None, status=429, retry_after=seconds)
    model([execute("echo hi"), DONE])
    r = task_of(run, "e2b")()
    assert "the server asks to wait" in r.err and fault.struck == 1
    assert r.seconds < 20


def test_an_unknown_id_is_looked_for_by_label(vendor, model, run, home):
    """An answer with a wrong id: what has our label is found and deleted."""
    cloud = vendor("e2b")
    cloud.fault("POST /v2/sandboxes", times=1, replace={"sandboxID": "wrong"})
    model([DONE])
    task_of(run, "e2b")()
    assert cloud.count("DELETE /sandboxes/wrong") == 1
    assert cloud.left() == [] and ledger(home) == []


def test_a_proxy_that_says_404_for_a_delete(vendor, model, run, home):
    """404 while our label is still listed: it is there, and stays known."""
    cloud = vendor("e2b")
    cloud.fault("DELETE ", times=None, status=404)
    model([execute("echo hi"), DONE])
    r = task_of(run, "e2b")()
    assert "Cleanup failed" in r.err
    assert [row["id"] for row in ledger(home)] == cloud.left() != []
