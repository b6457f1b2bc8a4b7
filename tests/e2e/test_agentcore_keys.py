"""test_agentcore_keys.py - whose key signs, and for which address."""
# SPDX-License-Identifier: MIT
import http.server
import json
import pathlib
import threading
import time

import pytest

from agentcore import ID, SECRET, TOKEN, AgentCore
from clouds import DONE, emulated, task_of
from lifecycle import execute

START = "PUT /code-interpreters/[^/]+/sessions/start"
STOP = "PUT /code-interpreters/[^/]+/sessions/stop"
KEY = {"AccessKeyId": ID, "SecretAccessKey": SECRET}


@pytest.fixture
def aws(env):
    yield from emulated(AgentCore, env)


@pytest.fixture
def task(run):
    return task_of(run, "agentcore")


def keys(env, cloud, **more):
    for name in list(env):
        if name.startswith("AWS_") and "ENDPOINT" not in name:
            del env[name]
    env.update(AWS_EC2_METADATA_DISABLED="true", **more)
    cloud.keys = {ID: (SECRET, None)}


def write(tmp_path, name, text, mode=0o600):
    path = tmp_path / name
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def tried(task, cloud):
    r = task()
    assert r.status == 0, r.err
    assert cloud.left() == []


def test_no_key(aws, model, task, env, run):
    cloud = aws()
    keys(env, cloud)
    model([DONE])
    r = task()
    assert r.status != 0 and "AWS_ACCESS_KEY_ID" in r.err
    assert "aws configure" in r.err
    env["AWS_ACCESS_KEY_ID"] = ID
    r = task()
    assert r.status != 0 and "AWS_SECRET_ACCESS_KEY" in r.err
    assert cloud.requests == []
    env["AWS_SECRET_ACCESS_KEY"] = "wrong"
    r = task()
    assert r.status != 0 and "does not match" in r.err
    env["DEEPAGENTS_CODE_AWS_SECRET_ACCESS_KEY"] = SECRET
    tried(task, cloud)


@pytest.mark.parametrize("name", [None, "other"])
def test_credentials_file(aws, model, task, env, tmp_path, name):
    cloud = aws()
    text = (f"[{name or 'default'}]\naws_access_key_id = {ID}\n"
            f"aws_secret_access_key = {SECRET}\naws_session_token = t\n")
    keys(env, cloud)
    cloud.keys = {ID: (SECRET, "t")}
    if name:
        env["AWS_PROFILE"] = name
        env["AWS_SHARED_CREDENTIALS_FILE"] = write(tmp_path, "keys", text)
    else:
        home = pathlib.Path(env["HOME"], ".aws")
        home.mkdir(parents=True)
        write(home, "credentials", text)
    model([DONE])
    tried(task, cloud)
    env["AWS_PROFILE"] = "ghost"
    r = task()
    assert r.status != 0 and "unknown AWS profile" in r.err


def test_config_file(aws, model, task, env, tmp_path):
    cloud = aws()
    file = write(tmp_path, "conf", "[profile a]\n"
                 f"aws_access_key_id = {ID}\n"
                 f"aws_secret_access_key = {SECRET}\n"
                 "[profile role]\nrole_arn = arn:x\nsource_profile = a\n")
    keys(env, cloud, AWS_CONFIG_FILE=file, AWS_PROFILE="a")
    model([DONE])
    tried(task, cloud)
    env["AWS_PROFILE"] = "role"
    r = task()
    assert r.status != 0 and "role_arn" in r.err
    assert "export-credentials" in r.err


def test_credential_process(aws, model, task, env, tmp_path):
    cloud = aws()
    tool = write(tmp_path, "tool", "#!/bin/sh\necho x >>\"$1\"\n"
                 f"echo '{json.dumps({'Version': 1, **KEY})}'\n", 0o700)
    file = write(tmp_path, "conf", "[default]\ncredential_process = "
                 f"\"{tool}\" '{tmp_path}/ran' ;true\n")
    keys(env, cloud, AWS_CONFIG_FILE=file)
    model([execute("true"), execute("true"), DONE])
    tried(task, cloud)
    assert (tmp_path / "ran").read_text() == "x\n"


class Metadata(http.server.BaseHTTPRequestHandler):
    """A container's and an instance's endpoint."""

    def reply(self, status, body):
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_PUT(self):
        good = self.path == "/latest/api/token" and self.headers.get(
            "x-aws-ec2-metadata-token-ttl-seconds") == "21600"
        self.reply(200 if good else 400, b"secret-token" if good else b"")

    def do_GET(self):
        roles = "/latest/meta-data/iam/security-credentials/"
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(
            time.time() + self.server.seconds))
        answer = {**KEY, "Token": TOKEN, "Expiration": end}
        self.server.asked.append(self.path)
        if self.path == "/creds" and \
                self.headers.get("Authorization") == "container-token":
            return self.reply(200, answer)
        if self.headers.get("x-aws-ec2-metadata-token") != "secret-token":
            return self.reply(401, b"")
        if self.path == roles:
            return self.reply(200, b"a-role\n")
        return self.reply(200, answer) if self.path == roles + "a-role" \
            else self.reply(404, b"")

    def log_message(self, *_):
        pass


@pytest.fixture
def metadata():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Metadata)
    server.daemon_threads = True
    server.seconds, server.asked = 3600, []
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.05,),
                     daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def test_container(aws, model, task, env, tmp_path, metadata):
    cloud = aws()
    keys(env, cloud, AWS_CONTAINER_CREDENTIALS_FULL_URI=metadata.url +
         "/creds", AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE=write(
             tmp_path, "token", "container-token\n"))
    cloud.keys = {ID: (SECRET, TOKEN)}
    model([execute("true"), DONE])
    tried(task, cloud)
    assert metadata.asked == ["/creds"]
    metadata.seconds = 100  # soon over: a new one for each request
    tried(task, cloud)
    assert len(metadata.asked) > 3
    env["AWS_CONTAINER_CREDENTIALS_FULL_URI"] = "http://example.com/creds"
    r = task()
    assert r.status != 0 and "FULL_URI" in r.err


def test_instance(aws, model, task, env, metadata):
    cloud = aws()
    keys(env, cloud, AWS_EC2_METADATA_SERVICE_ENDPOINT=metadata.url + "/")
    del env["AWS_EC2_METADATA_DISABLED"]
    cloud.keys = {ID: (SECRET, TOKEN)}
    model([execute("true"), DONE])
    tried(task, cloud)
    assert len(metadata.asked) == 2
    cloud.fault(START, expired=True)  # a new key, once
    tried(task, cloud)
    assert len(metadata.asked) == 6
    metadata.shutdown()
    metadata.server_close()
    r = task()
    assert r.status != 0 and "the instance's credentials" in r.err
    assert "AWS_ACCESS_KEY_ID" in r.err


def test_expired(aws, model, task):
    cloud = aws()
    cloud.fault(START, times=None, expired=True)
    model([DONE])
    r = task()
    assert r.status != 0 and "expired" in r.err and "aws sso login" in r.err
    assert cloud.count(START) == 1


@pytest.mark.parametrize("skew", [-4000, 4000])
def test_a_clock_that_is_wrong(aws, model, task, skew):
    """One request is refused, then it goes by the server's clock."""
    cloud = aws(skew=skew)
    model([execute("true"), DONE])
    tried(task, cloud)
    assert cloud.count(START) == 2 and cloud.count(STOP) == 1


@pytest.mark.parametrize("name", [
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_BEDROCK_AGENTCORE",
    "BEDROCK_AGENTCORE_DP_ENDPOINT"])
def test_addresses(aws, model, task, env, name):
    cloud = aws()
    del env["AWS_ENDPOINT_URL_BEDROCK_AGENTCORE"]
    env[name] = cloud.url + "/"
    model([DONE])
    tried(task, cloud)
    env[name] = "http://example.com"
    r = task()
    assert r.status != 0 and name in r.err
