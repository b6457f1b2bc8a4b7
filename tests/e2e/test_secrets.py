"""test_secrets.py - a sandbox uses a credential that it never sees.

The servers of egress_world.py record each request; the sandbox's programs get a
placeholder and the server gets the value.
"""
# SPDX-License-Identifier: MIT
import base64
import hashlib
import json
import os
import pathlib
import re
import shutil
import signal
import time

import pytest

import docker_rig
import test_egress
from egress_world import AWS_KEY, TOKEN as VALUE, make_crate
from test_egress import Box, fixture_world  # noqa: F401

HOST = "api.good.example"
CONFIG = """
[network]
allow = ["good.example", "*.good.example", "bad.example"]
[secrets.TOKEN]
env = "TOKEN"
hosts = ["api.good.example"]
value_env = "THE_VALUE"
"""


def write_config(home, text=CONFIG):
    (home / ".deepagents").mkdir(exist_ok=True)
    (home / ".deepagents/config.toml").write_text(text)


class Place:
    """A sandbox in a world, and what the servers of it got."""

    def __init__(self, world, dcode, env, home, work, kind="local"):
        work.mkdir(exist_ok=True)
        self.folder = world[1].parent
        env = {**env, "THE_VALUE": VALUE,
               "SSL_CERT_FILE": str(self.folder / "cert.pem")}
        self.box = Box(world[0], dcode, env, home, work, kind)

    def do(self, command):
        return self.box.do(command)

    def heads(self):
        path = self.folder / "heads"
        return path.read_text("latin-1") if path.exists() else ""


@pytest.fixture(name="place")
def fixture_place(world, dcode, env, home, tmp_path):
    write_config(home)
    return Place(world, dcode, env, home, tmp_path / "work")


CURL = "curl -sS -m 10 "
PYTHON = "/usr/bin/python3 -c "
# name: (program that must be there, command)
CLIENTS = {
    "curl": ("curl", CURL + f'-H "Authorization: Bearer $TOKEN" '
             f"https://{HOST}/"),
    "curl -u": ("curl", CURL + f'-u "me:$TOKEN" https://{HOST}/'),
    "wget": ("wget", f'wget -qO- --header "Authorization: Bearer $TOKEN" '
             f"https://{HOST}/"),
    "urllib": ("python3", PYTHON + "'import os, urllib.request as r; print("
               'r.urlopen(r.Request("https://' + HOST + '/", headers={'
               '"Authorization": "Bearer " + os.environ["TOKEN"]}))'
               ".read())'"),
    "requests": ("python3", PYTHON + "'import os, requests; print("
                 'requests.get("https://' + HOST + '/", headers={'
                 '"Authorization": "Bearer " + os.environ["TOKEN"]}).text)'
                 "'"),
    "pip": ("pip3", "pip3 download --no-deps --no-cache-dir -d /tmp --retries "
            f'0 -i "https://me:$TOKEN@{HOST}/simple" nothing; echo REACHED'),
    "git": ("git", "git -c credential.helper= ls-remote "
            f'"https://me:$TOKEN@{HOST}/repo.git" && echo REACHED'),
    "node": ("node", "node -e 'fetch(\"https://" + HOST + "/\", {headers: {"
             "authorization: \"Bearer \" + process.env.TOKEN}}).then(r => "
             "r.text()).then(console.log)'"),
    "java": ("java", "cat >/tmp/A.java <<'END'\n"
             "import java.net.URI; import java.net.http.*;\n"
             "class A { public static void main(String[] a) throws Exception {"
             "System.out.println(HttpClient.newHttpClient().send(HttpRequest"
             '.newBuilder(URI.create("https://' + HOST + '/")).header('
             '"Authorization", "Bearer " + System.getenv("TOKEN")).build(), '
             "HttpResponse.BodyHandlers.ofString()).body()); } }\nEND\n"
             "java /tmp/A.java"),
    "java 11 -": ("java", "cat >/tmp/B.java <<'END'\n"
                  "import java.net.*;\n"
                  "class B { public static void main(String[] a) throws "
                  "Exception { URLConnection c = new URL("
                  f'"https://{HOST}/").openConnection(); '
                  'c.setRequestProperty("Authorization", "Bearer " + '
                  'System.getenv("TOKEN")); System.out.write('
                  "c.getInputStream().readAllBytes()); System.out.flush(); "
                  "} }\nEND\njava /tmp/B.java"),
    "npm": ("npm", "npm --cache /tmp/c --fetch-retries=0 --registry "
            f'https://{HOST}/ --//{HOST}/:_authToken="$TOKEN" view x; '
            "echo REACHED"),
}


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_is_authenticated(place, name):
    program, command = CLIENTS[name]
    assert shutil.which(program, path="/usr/bin:/usr/local/bin:/bin")
    said = place.do(command)
    assert "REACHED" in said, said
    value = base64.b64encode(f"me:{VALUE}".encode()).decode()
    heads = place.heads()
    assert f"Bearer {VALUE}" in heads or f"Basic {value}" in heads, said + heads
    assert VALUE not in said


REGISTRY = f"{HOST}/registry"
INDEX = json.dumps({
    "name": "m", "vers": "1.0.0", "deps": [], "features": {}, "yanked": False,
    "cksum": hashlib.sha256(make_crate()).hexdigest()})
# The index is a repository in the sandbox: cargo of Debian 12 knows none of
# another kind, and sends no token for it.
CARGO = f"""export HOME=/tmp CARGO_HOME=/tmp/cargo CARGO_NET_RETRY=0
export CARGO_REGISTRIES_MINE_INDEX=file:///tmp/index
export CARGO_REGISTRIES_MINE_TOKEN="$TOKEN"
mkdir -p /tmp/index/1 /tmp/own/src && cd /tmp/index
cat >config.json <<END
{{"api": "https://{REGISTRY}/cargo",
 "dl": "https://me:$TOKEN@{REGISTRY}/cargo/{{crate}}.crate"}}
END
echo '{INDEX}' >1/m
git init -q . && git add . && git -c user.name=x -c user.email=x commit -qm x
cd /tmp/own && touch src/lib.rs
cat >Cargo.toml <<END
[package]
name = "own"
version = "0.1.0"
[dependencies]
m = {{ version = "1", registry = "mine" }}
END
"""
GO = f"""export HOME=/tmp GOPATH=/tmp/go GOCACHE=/tmp/gocache GOSUMDB=off
export GOPROXY="https://me:$TOKEN@{REGISTRY}/go" GOFLAGS=-modcacherw
mkdir -p /tmp/own && cd /tmp/own && go mod init own.example
"""
# name: (package that must be there, command, calls that it makes at least)
TOOLS = {
    "cargo owner": ("cargo", CARGO + "cargo owner --list --registry mine m", 1),
    "cargo yank": ("cargo", CARGO + "cargo yank --registry mine --vers 1.0.0 m "
                   "&& echo REACHED", 1),
    "cargo fetch": ("cargo", CARGO + "cargo fetch && cat /tmp/cargo/registry/"
                    "src/*/m-1.0.0/src/lib.rs", 1),
    "go mod": ("golang-go", GO + "go mod download m.example/m@v1.0.0 && cat "
               "/tmp/go/pkg/mod/m.example/m@v1.0.0/m.go", 3),
    "go get": ("golang-go", GO + "go get m.example/m && cat "
               "/tmp/go/pkg/mod/m.example/m@v1.0.0/m.go", 4),
}


@pytest.mark.long
@pytest.mark.parametrize("name", TOOLS)
def test_each_call_of_a_tool_is_authenticated(place, name):
    package, command, calls = TOOLS[name]
    program = package.removeprefix("golang-")
    assert shutil.which(program, path="/usr/bin:/usr/local/bin:/bin"), \
        f"the package {package} is missing: apt-get install {package}"
    said = place.do(command)
    assert "REACHED" in said, said
    heads = re.findall(r"\w+ /registry/.*(?:\n.+)*", place.heads())
    assert len(heads) >= calls, heads
    basic = base64.b64encode(f"me:{VALUE}".encode()).decode()
    for head in heads:
        assert re.search(f"^authorization: (Basic {re.escape(basic)}|{VALUE})$",
                         head, re.M | re.I), head
    assert VALUE not in said and basic not in said
    files = [p for p in place.box.home.rglob("*") if p.is_file()]
    assert [p for p in files if VALUE.encode() in p.read_bytes()] == []


def test_java_trusts_a_store_of_the_run(place):
    command = CLIENTS["java"][1]
    said = place.do(command.replace(
        "java /tmp/A", "env -u JAVA_TOOL_OPTIONS java /tmp/A"))
    assert "PKIX" in said and "REACHED" not in said
    assert "REACHED" in place.do(command)  # the control
    said = place.do("keytool -list -keystore /run/dcode-trust.pem.jks "
                    "-storepass changeit; echo $(grep -c BEGIN "
                    "/run/dcode-trust.pem) of them")
    wanted = re.search(r"(\d+) of them", said)[1]
    assert f"contains {wanted} entr" in said


def test_the_placeholder_has_the_form_of_the_value(place):
    said = place.do('echo "${#TOKEN} $TOKEN"').split()
    assert said[0] == str(len(VALUE)) and said[1] != VALUE


@pytest.mark.parametrize("form", ["plain", "chunked", "base64", "quoted"])
def test_an_echo_is_turned_back(place, form):
    said = place.do(CURL + f'-i -H "Authorization: Bearer $TOKEN" '
                    f"https://{HOST}/echo/{form}; echo; echo $TOKEN")
    assert VALUE in place.heads()
    own = said.split()[-1]
    assert "HTTP/1.1 200" in said
    forms = [VALUE] + [
        base64.b64encode(b"\0" * n + VALUE.encode()).decode()[n + 1:-4]
        for n in range(3)]
    assert not [f for f in forms if f in said]
    assert f"X-Seen: Bearer {own}" in said
    if form in ("plain", "chunked"):
        assert f"Authorization: Bearer {own}" in said


def test_a_compressed_answer_is_refused(place):
    control = place.do(CURL + f"https://{HOST}/echo/plain")
    assert "Accept-Encoding: identity" in control
    said = place.do(CURL + f'-H "Authorization: Bearer $TOKEN" '
                    f"https://{HOST}/echo/gzip")
    assert "cannot hide the secret" in said
    assert "could not hide the secret" in said


# name: what sends the placeholder where it does not become the value
ELSEWHERE = {
    "User-Agent": CURL + f'-A "$TOKEN" https://{HOST}/echo/plain',
    "cookie": CURL + f'-b "a=$TOKEN" https://{HOST}/echo/plain',
    "URL": CURL + f'"https://{HOST}/echo/plain?$TOKEN"',
    "body": CURL + f'-d "$TOKEN" https://{HOST}/',
    "upper case": CURL + f'-H "Authorization: Bearer ${{TOKEN^^}}" '
    f"https://{HOST}/echo/plain",
    "half": CURL + f'-H "Authorization: Bearer ${{TOKEN%?}}" '
    f"https://{HOST}/echo/plain",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_placeholder_elsewhere_stays_one(place, name):
    control = place.do(CURL + f'-H "X-Api-Key: $TOKEN" https://{HOST}/')
    assert "REACHED" in control and f"X-Api-Key: {VALUE}" in place.heads()
    before = place.heads().count(VALUE)
    said = place.do(f"bash -c '{ELSEWHERE[name]}'")
    assert "HTTP" in place.heads() and place.heads().count(VALUE) == before
    assert VALUE not in said and VALUE.upper() not in said


def test_a_placeholder_for_another_host_is_refused(world, dcode, env, home,
                                                   tmp_path):
    write_config(home, CONFIG + """
[secrets.OTHER]
env = "OTHER"
hosts = ["good.example"]
value_command = ["/bin/echo", "other-value-0123456789"]
""")
    place = Place(world, dcode, env, home, tmp_path / "work")
    control = place.do(CURL + '-H "Authorization: Bearer $OTHER" '
                       "https://good.example/")
    assert "REACHED" in control
    assert "Bearer other-value-0123456789" in place.heads()
    said = place.do(CURL + '-H "Authorization: Bearer $TOKEN" '
                    "https://good.example/")
    assert "secrets.TOKEN is not for this host" in said
    assert "network: good.example:443 refused (it got the placeholder" in said
    said = place.do(CURL + '-u "me:$TOKEN" https://good.example/')
    assert "secrets.TOKEN is not for this host" in said
    assert VALUE not in place.heads()


def test_plain_http_gets_no_secret(place):
    control = place.do(CURL + f"http://{HOST}/")
    assert "REACHED" in control
    said = place.do(CURL + f'-H "Authorization: Bearer $TOKEN" http://{HOST}/')
    assert "REACHED" not in said and "placeholder of a secret" in said
    said = place.do(CURL + f'-u "me:$TOKEN" http://{HOST}/')
    assert "REACHED" not in said and "placeholder of a secret" in said


def test_paths_and_methods_limit_a_secret(world, dcode, env, home, tmp_path):
    write_config(home, CONFIG + 'paths = ["/me/*"]\nmethods = ["GET"]\n')
    place = Place(world, dcode, env, home, tmp_path / "work")
    ask = CURL + '--path-as-is -H "Authorization: Bearer $TOKEN" '
    assert "REACHED" in place.do(ask + f"https://{HOST}/me/app")
    assert place.heads().count(VALUE) == 1
    for more in (f"https://{HOST}/you", f"https://{HOST}/me/../you",
                 f"-X DELETE https://{HOST}/me/app"):
        said = place.do(ask + more)
        assert "is not for this method and path" in said, said
    assert place.heads().count(VALUE) == 1


def test_a_header_is_set_in_every_request(world, dcode, env, home, tmp_path):
    write_config(home, CONFIG + 'header = "X-Api-Key"\nformat = "k {}"\n')
    place = Place(world, dcode, env, home, tmp_path / "work")
    said = place.do(CURL + f'-H "X-Api-Key: mine" https://{HOST}/ '
                    f"https://{HOST}/")
    assert said.count("REACHED") == 2
    assert place.heads().count(f"X-Api-Key: k {VALUE}") == 2
    assert "mine" not in place.heads()


def test_other_hosts_are_not_opened(place):
    said = place.do(CURL + "-kv https://good.example/ 2>&1")
    assert "REACHED" in said and "CN=x" in said
    said = place.do(CURL + f"-v https://{HOST}/ 2>&1")
    assert "REACHED" in said and "CN=dcode run" in said


def test_a_client_that_pins_gets_a_reason(place):
    make = ("openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=y -keyout "
            "/tmp/k -out /tmp/other.pem 2>/dev/null; ")
    said = place.do(make + CURL + f"--cacert /tmp/other.pem https://{HOST}/; "
                    "sleep 1")
    assert "REACHED" not in said
    assert "does not accept the certificate" in said


def test_a_client_of_http2_only_gets_a_reason(place):
    said = place.do(f"openssl s_client -alpn h2 -connect {HOST}:443 "
                    f"-servername {HOST} </dev/null")
    assert "speaks only HTTP/2" in said


def test_another_name_in_tls_is_refused(place):
    said = place.do(f"openssl s_client -connect {HOST}:443 -servername "
                    "good.example </dev/null")
    assert "unrecognized name" in said and "named another host" in said


def test_an_untrusted_server_gets_nothing(place):
    place.box.env.pop("SSL_CERT_FILE")
    said = place.do(CURL + f'-H "Authorization: Bearer $TOKEN" https://{HOST}/')
    assert "is not trusted on this machine" in said
    assert VALUE not in place.heads()


def test_a_name_that_looks_secret_masks_no_host(place):
    said = place.do(f"echo {HOST} $THE_VALUE; curl -sS https://none.example/")
    assert HOST in said and "masked" not in said


def test_the_value_is_nowhere_in_the_sandbox(place):
    assert "REACHED" in place.do(CLIENTS["curl"][1])
    said = place.do("cat /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'; "
                    "env; cat /run/dcode-trust.pem; "
                    "grep -rl dcode-run /tmp /home /run /workspace; "
                    "cat /proc/self/mounts; ls -l /proc/self/fd")
    assert "\nTOKEN=ghp_" in said and "BEGIN CERTIFICATE" in said
    assert VALUE not in said
    assert "PRIVATE KEY" not in said
    home = place.box.home
    found = [p for p in home.rglob("*") if p.is_file()
             and VALUE.encode() in p.read_bytes()]
    assert found == []


# Searches what the processes of the sandbox have in memory, while one of them
# gets an answer to a request with the secret. The value is given in two parts,
# so that this program does not have it itself. The control is the placeholder.
SCAN = r"""cat >/tmp/scan.py <<'END'
import glob, os, re, subprocess, sys
token = os.environ["TOKEN"].encode()
parts = {"value": [bytes.fromhex(h) for h in sys.argv[1:3]],
         "placeholder": [token[:len(token) // 2], token[len(token) // 2:]]}
client = subprocess.Popen(
    ["curl", "-sS", "-N", "-i", "-m", "20", "--limit-rate", "20k", "-H",
     "Authorization: Bearer " + token.decode(), sys.argv[3]],
    stdout=subprocess.PIPE)
seen = client.stdout.read(200)
found = {name: set() for name in parts}
def search(where, data):
    for name, (first, second) in parts.items():
        for m in re.finditer(re.escape(first), data):
            if data[m.end():m.end() + len(second)] == second:
                found[name].add(where)
for folder in glob.glob("/proc/[0-9]*"):
    for name in "environ", "cmdline":
        try:
            search(name, open(f"{folder}/{name}", "rb").read())
        except OSError:
            pass
    try:
        maps = open(folder + "/maps").read().splitlines()
        memory = open(folder + "/mem", "rb", 0)
    except OSError:
        continue
    for line in maps:
        start, end = (int(n, 16) for n in line.split()[0].split("-"))
        for at in range(start, end, 1 << 24):
            try:
                memory.seek(at)
                search("mem", memory.read(min(end - at, (1 << 24) + 4096)))
            except (OSError, ValueError, OverflowError):
                pass
client.kill()
print("answer", seen.split()[:2], {k: sorted(v) for k, v in found.items()})
END
python3 /tmp/scan.py """


def scan(place):
    """Where the value and the placeholder are in the sandbox's processes."""
    half = len(VALUE) // 2
    return place.do(f"{SCAN}{VALUE[:half].encode().hex()} "
                    f"{VALUE[half:].encode().hex()} "
                    f"https://{HOST}/big/2000000")


NOWHERE = ("answer [b'HTTP/1.1', b'200'] {'value': [], "
           "'placeholder': ['cmdline', 'environ', 'mem']}")


def test_the_value_is_in_no_memory_of_the_sandbox(place):
    assert NOWHERE in scan(place)
    assert VALUE in place.heads()  # the control: the request had it
    shown = place.do(f"export SHOWN={VALUE}; {SCAN}"
                     f"{VALUE[:9].encode().hex()} {VALUE[9:].encode().hex()} "
                     f"https://{HOST}/big/2000000")
    assert "'value': ['environ', 'mem']" in shown


def test_a_post_and_a_long_answer_pass_whole(place):
    said = place.do(f"head -c 3000000 /dev/zero > /tmp/big; {CURL} "
                    "-H 'Transfer-Encoding: chunked' --data-binary @/tmp/big "
                    f"https://{HOST}/; {CURL} https://{HOST}/big/5000000 | "
                    "wc -c")
    assert "REACHED with 3000000 bytes" in said and "5000000" in said


def test_none_does_not_use_secrets(place):
    assert test_egress.LIST  # the world is shared with it
    r = place.box.run("sandbox", "secrets", "--sandbox", "e2b")
    assert r.returncode == 2 and "e2b cannot" in r.stderr
    r = place.box.run("sandbox", "secrets", "--sandbox", "local")
    assert r.returncode == 0 and VALUE not in r.stdout


AWS_CONFIG = """
[network]
allow = ["*.amazonaws.com", "good.example"]
[secrets.AWS]
preset = "aws"
value_env = "THE_KEY"
"""
S3 = "box.s3.us-east-1.amazonaws.com"
SQS = "sqs.us-east-1.amazonaws.com"
# Signs with the variables, for a service, and sends: an independent client.
SIGN = r"""cat >/tmp/sign.py <<'END'
import datetime, hashlib, hmac, http.client, os, sys, urllib.parse as u
service, method, host, path, query, body, *more = sys.argv[1:]
id, key, token = (os.environ["AWS_" + n] for n in (
    "ACCESS_KEY_ID", "SECRET_ACCESS_KEY", "SESSION_TOKEN"))
opt = dict(m.split("=", 1) for m in more)
body = body.encode() * int(opt.get("times", 1))
at = datetime.datetime.utcnow() + datetime.timedelta(
    seconds=int(opt.get("shift", 0)))
when = at.strftime("%Y%m%dT%H%M%SZ")
scope = f"{when[:8]}/us-east-1/{service}/aws4_request"
head = {"host": host, "x-odd": "a   b", "range": "bytes=0-3"}
link = "expires" in opt
payload = hashlib.sha256(body).hexdigest()
if link:
    head = {"host": host}
    query += ("&" if query else "") + u.urlencode({
        "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
        "X-Amz-Credential": id + "/" + scope, "X-Amz-Date": when,
        "X-Amz-Expires": opt["expires"], "X-Amz-SignedHeaders": "host",
        "X-Amz-Security-Token": token})
    payload = "UNSIGNED-PAYLOAD"
else:
    head |= {"x-amz-date": when, "x-amz-security-token": token}
if "payload" in opt or service == "s3" and not link:
    head["x-amz-content-sha256"] = payload = opt.get("payload", payload)
if "drop" in opt:
    del head[opt["drop"]]
names = ";".join(sorted(head))
quoted = u.quote(path, safe="/-._~")
wire = quoted
if service != "s3":
    quoted = u.quote(quoted, safe="/-._~")
canonical = "\n".join([
    method, quoted, "&".join(sorted(query.split("&"))) if query else "",
    "".join(f"{n}:{' '.join(head[n].split())}\n" for n in sorted(head)),
    names, payload])
text = "\n".join(["AWS4-HMAC-SHA256", when, scope,
                  hashlib.sha256(canonical.encode()).hexdigest()])
k = ("AWS4" + (opt.get("key") or key)).encode()
for part in (*scope.split("/"), text):
    k = hmac.new(k, part.encode(), "sha256").digest()
if link:
    query += "&X-Amz-Signature=" + k.hex()
else:
    head["Authorization"] = opt.get("authorization") or (
        f"AWS4-HMAC-SHA256 Credential={id}/{scope}, SignedHeaders={names}, "
        f"Signature={k.hex()}")
c = http.client.HTTPSConnection(opt.get("to", host), timeout=20)
if "alone" in opt:  # the head without its body, and then another request
    lines = "".join(f"{n}: {v}\r\n" for n, v in head.items())
    c.connect()
    c.sock.sendall((f"{method} {wire} HTTP/1.1\r\n{lines}Content-Length: "
                    f"{opt['alone']}\r\n\r\nPOST /next HTTP/1.1\r\nHost: "
                    f"{host}\r\nContent-Length: {len(body)}\r\n\r\n"
                    ).encode() + body)
    sys.exit(c.sock.recv(65536))
c.request(method, wire + ("?" + query if query else ""),
          body=body if body or method != "GET" else None, headers=head)
answer = c.getresponse()
print(answer.status, answer.read().decode())
END
ask() { /usr/bin/python3 /tmp/sign.py "$@"; }
"""


@pytest.fixture(name="aws")
def fixture_aws(world, dcode, env, home, tmp_path):
    """A sandbox that has a key of AWS."""
    write_config(home, AWS_CONFIG)
    return Place(world, dcode, {**env, "THE_KEY": ":".join(AWS_KEY)}, home,
                 tmp_path / "work")


def assert_no_key(said):
    assert not [part for part in AWS_KEY if part in said], said


@pytest.mark.parametrize("command, wanted", [
    (f"ask s3 GET {S3} '/a b/(c).txt' '' ''", "SIGNED header s3 e3b0c442"),
    (f"ask s3 GET {S3} /a 'list-type=2&prefix=a%2Fb' ''", "SIGNED header s3"),
    (f"ask s3 PUT {S3} /a '' 'some bytes'", "SIGNED header s3"),
    (f"ask s3 PUT {S3} /a '' 'some bytes' payload=UNSIGNED-PAYLOAD",
     "SIGNED header s3 UNSIGNED-PAYLOAD"),
    (f"ask s3 PUT {S3} /a '' 'bytes' "
     "payload=STREAMING-UNSIGNED-PAYLOAD-TRAILER",
     "SIGNED header s3 STREAMING-UNSIGNED-PAYLOAD-TRAILER"),
    (f"ask sqs GET {SQS} '/a b' '' ''", "SIGNED header sqs"),
    (f"ask sqs POST {SQS} / '' 'Action=ListQueues'", "SIGNED header sqs"),
    # the body is kept until its hash is known
    (f"ask lambda POST lambda.us-east-1.amazonaws.com /f '' 0123456789 "
     "times=600000", "SIGNED header lambda"),
    (f"ask s3 GET {S3} /a%b '' '' expires=604800", "SIGNED link s3"),
    (f"ask s3 PUT {S3} /a '' 'some bytes' expires=60", "SIGNED link s3"),
])
def test_a_request_to_aws_is_signed_with_the_real_key(aws, command, wanted):
    said = aws.do(SIGN + command)
    assert said.startswith("200 " + wanted), said
    assert "ASIA" in said  # the server returns what it got
    assert_no_key(said)


def test_a_link_is_valid_for_minutes(aws):
    said = aws.do(SIGN + f"ask s3 GET {S3} /a '' '' expires=604800")
    seconds = int(said.splitlines()[0].split()[5])
    assert 200 < seconds <= 320


@pytest.mark.parametrize("how", ["sign.py", "curl"])
def test_the_key_of_the_sandbox_is_a_placeholder(aws, how):
    said = aws.do("env | grep ^AWS_; cat /proc/*/environ | tr '\\0' '\\n'")
    assert_no_key(said)
    own = dict(line.split("=", 1) for line in said.splitlines()
               if line.startswith("AWS_") and "_CA_" not in line)
    assert [len(own[n]) for n in (
        "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY",
        "AWS_SESSION_TOKEN")] == [len(part) for part in AWS_KEY]
    assert own["AWS_ACCESS_KEY_ID"].startswith("ASIA")
    said = aws.do(SIGN + f"ask s3 GET {S3} /a '' ''" if how == "sign.py" else
                  CURL + "--aws-sigv4 aws:amz:us-east-1:sqs -u "
                  '"$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" -H '
                  '"X-Amz-Security-Token: $AWS_SESSION_TOKEN" '
                  f"'https://{SQS}/?Action=ListQueues'")
    assert "SIGNED header" in said, said
    assert_no_key(said)


NOW = f"ask s3 GET {S3} /a '' ''"


@pytest.mark.parametrize("command, why", [
    (NOW + " key=another", "is not that of the placeholder"),
    (NOW + " shift=86400", "its time is not now"),
    (NOW + " shift=-86400", "its time is not now"),
    (NOW + " expires=600 shift=86400", "its time is not now"),
    (NOW + " expires=60 shift=-3600", "the link has expired"),
    (NOW + " expires=604800 shift=600", "its time is not now"),
    (NOW + " expires=9999999", "X-Amz-Expires"),
    (NOW + " drop=x-amz-security-token", "lacks the session token"),
    (f"ask sts POST {SQS} / '' 'Action=GetSessionToken'",
     "returns new keys"),
    (f"ask iam POST {SQS} / '' 'Action=CreateAccessKey'",
     "returns new keys"),
    (NOW + " payload=STREAMING-AWS4-HMAC-SHA256-PAYLOAD",
     "signed one by one"),
    (NOW + ' authorization="AWS $AWS_ACCESS_KEY_ID:c2ln"',
     "not signed with AWS4-HMAC-SHA256"),
    (NOW + ' authorization="AWS4-ECDSA-P256-SHA256 '
     'Credential=$AWS_ACCESS_KEY_ID/x"', "not signed with AWS4-HMAC-SHA256"),
])
def test_what_cannot_be_signed_is_refused_with_the_reason(aws, command, why):
    said = aws.do(SIGN + command)
    assert said.startswith("403 dcode: secrets.AWS cannot sign"), said
    assert why in said and "could not sign the request to AWS" in said
    control = aws.do(SIGN + NOW)
    assert "SIGNED header" in control
    assert (aws.folder / "aws").read_text().count("\n") == 1


def test_a_key_of_aws_is_for_its_hosts_only(aws):
    said = aws.do(SIGN + NOW + " to=good.example")
    assert said.startswith("400 dcode") or "SIGNED" not in said
    said = aws.do(SIGN + "ask s3 GET good.example /a '' ''")
    assert "REACHED" in said and AWS_KEY[0] not in aws.heads()
    assert "SIGNED header" in aws.do(SIGN + NOW)  # the control
    assert AWS_KEY[0] in aws.heads()
    assert AWS_KEY[1] not in aws.heads()


def test_a_body_that_is_too_large_to_be_signed_is_refused(aws):
    ask = f"ask sqs POST {SQS} / '' 0123456789 times="
    said = aws.do(SIGN + ask + "1700000; true")
    assert "SIGNED" not in said
    assert "could not sign the request to AWS" in said
    assert "SIGNED header" in aws.do(SIGN + ask + "1500000")


def test_a_head_without_a_body_takes_none_of_the_next_request(aws):
    ask = f"ask sqs POST {SQS} / '' 'Action=ListQueues'"
    said = aws.do(SIGN + ask + " alone=00 2>&1; true")
    assert "is not that of the placeholder" in said, said
    assert "/next" not in aws.heads() and AWS_KEY[2] not in aws.heads()
    assert "SIGNED header" in aws.do(SIGN + ask)  # the control
    assert AWS_KEY[2] in aws.heads()


def test_paths_and_methods_limit_a_key_of_aws(world, dcode, env, home,
                                              tmp_path):
    write_config(home, AWS_CONFIG + 'paths = ["/a"]\nmethods = ["GET"]\n')
    aws = Place(world, dcode, {**env, "THE_KEY": ":".join(AWS_KEY)}, home,
                tmp_path / "work")
    for more in ("", " expires=60"):
        assert "SIGNED" in aws.do(SIGN + NOW + more)
        for other in (NOW.replace("GET", "PUT"), NOW.replace("/a", "/b")):
            said = aws.do(SIGN + other + more)
            assert "is not for this method and path" in said


@pytest.mark.parametrize("victim", ["proxy", "dcode"])
def test_a_kill_leaves_no_way_to_use_a_secret(place, victim):
    ask = CURL + f'-H "Authorization: Bearer $TOKEN" https://{HOST}/'
    p = place.box.start(f"{ask}; touch up; while [ ! -e go ]; do sleep 0.1; "
                        f"done; {ask}; true")
    end = time.monotonic() + 30
    root = place.box.home / ".deepagents/sandboxes" / place.box.id
    while not list(root.rglob("up")):
        assert time.monotonic() < end
        time.sleep(0.05)
    proxy = test_egress.proxies_of(p.pid)[0]
    assert not any(VALUE.encode() in pathlib.Path(f"/proc/{pid}/{name}")
                   .read_bytes() for pid in (proxy, p.pid)
                   for name in ("cmdline", "environ")
                   if pid == proxy or name == "cmdline")
    os.kill(proxy if victim == "proxy" else p.pid, signal.SIGKILL)
    while pathlib.Path(f"/proc/{proxy}/exe").exists():
        assert time.monotonic() < end
        time.sleep(0.02)
    next(root.rglob("up")).with_name("go").touch()
    p.communicate(timeout=60)
    assert place.heads().count(VALUE) == 1


@pytest.mark.parametrize("engine", docker_rig.ENGINES)
@pytest.mark.parametrize("network", ["list", "full"])
def test_a_container_uses_a_secret(world, dcode, env, home, tmp_path, engine,
                                   network):
    with docker_rig.rig(engine) as rig:
        env = {**env, "DOCKER_HOST": rig.docker_host}
        text = CONFIG if network == "list" else CONFIG[CONFIG.index(
            "[secrets"):]
        write_config(home, text + "[sandboxes.providers.docker.params]\n"
                     f'image = "{rig.image}"\nmounts = ["/usr:/usr:ro", '
                     '"/lib:/lib:ro", "/lib64:/lib64:ro"]\n')
        place = Place(world, dcode, env, home, tmp_path / "work", "docker")
        try:
            assert "REACHED" in place.do(CURL + "http://good.example/")
            said = place.do(CURL + '-H "Authorization: Bearer $TOKEN" '
                            f"https://{HOST}/echo/plain; echo; "
                            "cat /etc/dcode-trust.pem; cat /proc/*/environ; "
                            "test -s /etc/dcode-trust.pem.jks && echo STORE; "
                            "echo $JAVA_TOOL_OPTIONS")
            assert "STORE\n-Djavax.net.ssl.trustStore=/etc/dcode-trust" in said
            assert f"Authorization: Bearer {VALUE}" in place.heads(), said
            assert "Authorization: Bearer ghp_" in said and VALUE not in said
            assert "BEGIN CERTIFICATE" in said
            said = place.do(CURL + '-H "Authorization: Bearer $TOKEN" '
                            "http://good.example/; true")
            assert "REACHED" not in said
        finally:
            place.box.run("sandbox", "rm", "--force", place.box.id)


RECORDER = "record.good.example"
LIMITED = CONFIG.replace("api.good.example", RECORDER) + """
methods = ["GET", "POST"]
paths = ["/me/*"]
[secrets.OTHER]
env = "OTHER"
hosts = ["good.example"]
value_command = ["/bin/echo", "other-value-0123456789-other-value"]
[secrets.ALWAYS]
hosts = ["record.good.example"]
header = "X-Always"
value_command = ["/bin/echo", "always-value-0123456789-always-val"]
"""
# Sends bytes in TLS, with the placeholders where their names are, each part
# after the answer to the one before it, or a second.
OVER_TLS = r"""python3 - <<'END'
import os, socket, ssl
c = ssl.create_default_context()
s = c.wrap_socket(socket.create_connection(("record.good.example", 443), 10),
                  server_hostname="record.good.example")
s.settimeout(1)
try:
    for part in {parts!r}:
        for name in ("TOKEN", "OTHER"):
            part = part.replace(name.encode(), os.environ[name].encode())
        s.sendall(part)
        try:
            print(s.recv(65536).decode())
        except TimeoutError:
            pass
    s.settimeout(5)
    while got := s.recv(65536):
        print(got.decode())
except OSError as e:
    print("END:", e)
END"""


def request(first, *fields, host=RECORDER, body=b""):
    return "\r\n".join([f"{first} HTTP/1.1", f"Host: {host}", *fields, "", ""]
                       ).encode() + body


FINE = request("GET /me/fine", "Authorization: Bearer TOKEN")
CHUNKED = "Transfer-Encoding: chunked"
OWN = "Authorization: Bearer TOKEN"
FOREIGN = "Authorization: Bearer OTHER"
# name: parts, of which the last one has a request that must not be sent
REFUSED = {
    "method": [request("DELETE /marked", OWN)],
    "path": [request("GET /marked", OWN)],
    "placeholder of another host": [request("GET /me/marked", FOREIGN)],
    "both placeholders": [request("GET /me/marked", OWN, "X-Token: OTHER")],
    "both in one header": [request("GET /me/marked",
                                   "Authorization: a TOKEN OTHER")],
    "in Basic": [request("GET /me/marked", OWN, "X-Token: Basic "
                         + base64.b64encode(b"no").decode(), FOREIGN)],
    "in the address": [request("GET /me/marked?OTHER", OWN)],
    "after an answer": [FINE, request("GET /marked", OWN)],
    "pipelined": [FINE + request("GET /marked", OWN)],
    "with a body": [request("PUT /marked", OWN, "Content-Length: 6",
                            body=b"marked")],
    "with chunks": [request("POST /me/marked", OWN, FOREIGN, CHUNKED,
                            body=b"6\r\nmarked\r\n0\r\n\r\n")],
    "behind chunks": [request("POST /me/fine", OWN, CHUNKED,
                              body=b"4\r\nfine\r\n0\r\n\r\n")
                      + request("DELETE /marked", OWN)],
    "broken chunk beside its head": [request(
        "POST /me/marked", OWN, CHUNKED, body=b"6;x\r\nmarked\r\n0\r\n\r\n")],
    "in the middle of a body": [
        request("POST /me/fine", OWN, CHUNKED, body=b"4\r\nfine\r\n"),
        b"zz\r\nmarked\r\n0\r\n\r\n" + request("GET /marked", OWN)],
    "another method by a header": [request(
        "POST /me/marked", OWN, "X-HTTP-Method-Override: DELETE",
        "Content-Length: 0")],
    "another path by a header": [request("GET /me/marked", OWN,
                                         "X-Original-URL: /marked")],
    "another host": [request("GET /me/marked", OWN, host="good.example")],
    "two lengths": [request("POST /me/marked", OWN, "Content-Length: 1",
                            "Content-Length: 2", body=b"ab")],
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.every
def test_a_refused_request_reaches_no_server(world, dcode, env, home, tmp_path,
                                             name):
    write_config(home, LIMITED)
    place = Place(world, dcode, env, home, tmp_path / "work")
    path = place.folder / "bytes"

    def connections():
        """What the server got on each connection that has ended."""
        end = time.monotonic() + 20
        while not (path.exists() and path.read_bytes().endswith(b"END\n")):
            assert time.monotonic() < end
            time.sleep(0.02)
        return path.read_bytes().split(b"\nEND\n")[:-1]

    said = place.do(OVER_TLS.format(parts=[
        FINE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")]))
    assert "REACHED" in said
    control = connections()[-1]
    assert f"Bearer {VALUE}".encode() in control
    assert b"X-Always: always-value" in control
    n = len(connections())
    said = place.do(OVER_TLS.format(parts=REFUSED[name]))
    end = time.monotonic() + 20
    while len(connections()) == n:
        assert time.monotonic() < end
        time.sleep(0.02)
    got = connections()[-1]
    assert b"marked" not in got and b"other-value" not in got
    assert got.count(b"HTTP/1.1") == sum(p.count(b"fine HTTP/1.1")
                                         for p in REFUSED[name])
    assert "403 Forbidden" in said or "400 Bad Request" in said
