"""test_html.py - the page of a thread runs nothing and loads nothing."""
# SPDX-License-Identifier: MIT
import html.parser
import http.server
import json
import re
import shutil
import subprocess
import threading

import pytest

MARK = "document.documentElement.dataset.ran='yes'"
MEASURE = """
import os, sys
pid = os.fork() or os.execv(sys.argv[1], sys.argv[1:])
_, status, usage = os.wait4(pid, 0)
print(status, usage.ru_maxrss)
"""
TAGS = set("""html head meta title style body header h1 h2 h3 h4 h5 h6 p main
section details summary div pre code span a em strong del ul ol li hr br
blockquote table thead tbody tr th td""".split())
ATTRIBUTES = set("""lang charset http-equiv content name class rel href
start""".split())


def hostile(url):
    """Texts of which each runs or loads something as HTML, or in a browser
    that is led astray by it."""
    return [
        f"<script>{MARK}</script>",
        f"</title></style></textarea><script>{MARK}</script>",
        f"<script src={url}/script></script>",
        f"<img src={url}/img onerror=\"{MARK}\">",
        f"<img src=x onerror={MARK}>",
        f"<svg onload={MARK}><image href={url}/svg /></svg>",
        f"<iframe src={url}/iframe></iframe>"
        f"<iframe srcdoc='<script>{MARK}</script>'></iframe>",
        f"<body onload={MARK}>", f"<details open ontoggle={MARK}>",
        f"<base href={url}/base/>",
        f"<meta http-equiv=refresh content='0;url={url}/refresh'>",
        f"<link rel=stylesheet href={url}/css>"
        "<link rel=icon href=http://icon.evil.example/>"
        "<img src=http://name.evil.example/>",
        f"</style><style>@import '{url}/import';"
        f"*{{background:url({url}/background)}}</style>",
        f"<div style='background:url({url}/style)'>",
        f"<object data={url}/object><embed src={url}/embed>",
        f"<video src={url}/video autoplay><audio src={url}/audio autoplay>",
        f"<form action={url}/form><input autofocus onfocus={MARK}>",
        f"</details></summary></pre></section></main><script>{MARK}"
        "</script>",
        f"<!--><script>{MARK}</script>-->", f"]]><script>{MARK}</script>",
        f"\"'><script>{MARK}</script>", f"`'\"><img src=x onerror={MARK}>",
        f"&lt;script&gt;{MARK}&lt;/script&gt;",
        f"[a]({url}/link) [a](http://link.evil.example/)",
        f"[a](javascript:{MARK})", f"[a](JAVASCRIPT:{MARK})",
        f"[a](&#106;avascript:{MARK})", f"[a](java\tscript:{MARK})",
        f"[a](data:text/html,<script>{MARK}</script>)",
        f"![i]({url}/markdown) ![i](data:image/svg+xml,<svg/onload={MARK}>)",
        f"[![i]({url}/nested)](javascript:{MARK})",
        f"[x]: {url}/reference\n![x][x] ![x]",
        f"[a](http://x\" onmouseover=\"{MARK}\" y=\")",
        f"<http://x\"onmouseover=\"{MARK}\">",
        f"```\"><script>{MARK}</script>\n</code></pre><script>{MARK}"
        "</script>\n```",
        f"```diff\n+</span><script>{MARK}</script>\n```",
        f"|a|\n|---|\n|</td><script>{MARK}</script>|",
        f"--- a\n+++ b\n@@ -1 +1 @@\n+</span><script>{MARK}</script>",
        f"\x1b]8;;{url}/ansi\x1b\\x\x1b[31m\x00\x7f\u202e\u2066\ufeff",
        f"\x0b<\x00script>{MARK}</\x00script>",
    ]


def texts(url):
    every = hostile(url)
    return every + ["\n\n".join(every)]


def exported(url):
    """A thread with each text in each place that there is."""
    messages = []
    for n, text in enumerate(texts(url)):
        args = {"file_path": text, "old_string": text, "new_string": "x" + text,
                "content": text, text: text, "n": [text]}
        messages += [
            {"role": "user", "parts": [{"kind": "text", "text": text}]},
            {"role": "assistant", "parts": [
                {"kind": "thinking", "text": text},
                {"kind": "text", "text": text},
                {"kind": "tool_call", "id": f"{n}", "name": text[:100],
                 "args": json.dumps(args)},
                {"kind": "tool_call", "id": f"{n}x", "name": "execute",
                 "args": text}]},
            {"role": "tool", "parts": [
                {"kind": "tool_result", "id": f"{n}", "name": text[:100],
                 "text": text, "failed": n % 2 == 0}]}]
    return json.dumps({"format": "dcode-thread", "version": 1,
                       "thread": {"title": f"</title><script>{MARK}</script>"},
                       "patch": {"name": "\"><script>"}, "patch_base64": [],
                       "messages": messages})


@pytest.fixture
def canary():
    """A server that notes what it is asked for."""
    hits = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            hits.append(self.path)
            self.send_response(200)
            self.end_headers()

        do_POST = do_GET

        def log_message(self, *args):
            pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}", hits
    server.shutdown()
    server.server_close()


@pytest.fixture
def page(run, canary, tmp_path):
    """The page of the hostile thread."""
    (tmp_path / "work" / "in.json").write_text(exported(canary[0]))
    r = run("threads", "import", "in.json")
    assert r.status == 0, r.err
    assert run("threads", "export", "latest", "out.html", "--html").status == 0
    return tmp_path / "work" / "out.html"


@pytest.fixture
def browse(tmp_path, canary):
    """browse(page) -> (what the page is after its scripts, what of the texts'
    addresses and names is in the browser's log of the network)"""
    chromium = shutil.which("chromium")
    assert chromium, "no chromium: run ./scripts/install-deps test"

    def see(path):
        log = tmp_path / "net.json"
        r = subprocess.run(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu",
             "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", "--disable-component-update",
             "--disable-default-apps", "--disable-extensions",
             "--disable-sync", "--host-resolver-rules=MAP *.* ~NOTFOUND, "
             "EXCLUDE 127.0.0.1", f"--user-data-dir={tmp_path}/profile",
             f"--log-net-log={log}", "--net-log-capture-mode=Everything",
             "--virtual-time-budget=2000", "--dump-dom", path.as_uri()],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120)
        assert r.returncode == 0, r.stderr[-2000:]
        return r.stdout.decode("utf-8", "replace"), re.findall(
            r'"[^"]*(?:evil\.example|127\.0\.0\.1:)[^"]*"',
            log.read_text(errors="replace"))
    return see


class Elements(html.parser.HTMLParser):
    """Collects what is no element, attribute or address of our own."""

    def __init__(self):
        super().__init__()
        self.foreign, self.links = [], []

    def handle_starttag(self, tag, attrs):
        if tag not in TAGS:
            self.foreign.append(tag)
        for name, value in attrs:
            if name not in ATTRIBUTES:
                self.foreign.append(f"{tag} {name}={value}")
            if name == "href":
                self.links.append(value)


def elements(text):
    found = Elements()
    found.feed(text)
    return found


def test_a_hostile_page_runs_nothing_and_loads_nothing(page, browse, canary):
    url, hits = canary
    dom, asked = browse(page)
    assert dom.count("<section") > 100 and "data-ran" not in \
        re.sub(r">[^<]*", ">", dom)
    assert elements(dom).foreign == []
    assert not hits and not asked


def test_the_browser_would_have_run_and_loaded_it(browse, canary, tmp_path):
    url, hits = canary
    path = tmp_path / "control.html"
    path.write_text("<!DOCTYPE html>" + "\n".join(
        t for t in hostile(url) if "refresh" not in t))
    dom, asked = browse(path)
    assert re.match(r"<!DOCTYPE html>\s*<html[^>]* data-ran=\"yes\"", dom)
    assert elements(dom).foreign
    assert {"/script", "/img", "/svg", "/css", "/iframe", "/import",
            "/object", "/video"} <= set(hits), hits
    for name in ("name.evil.example", url + "/img"):
        assert [a for a in asked if name in a], asked


def test_the_page_is_made_of_our_own_elements(page):
    text = page.read_bytes().decode()  # valid UTF-8
    found = elements(text)
    assert found.foreign == []
    assert found.links and all(
        re.match(r"(https?://|mailto:)[!-~]+$", a) for a in found.links)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e"
                         "\u2066-\u2069\ufeff]", text)
    # and nothing that was said is lost
    assert text.count("dataset.ran") > 500
    # the check sees what is foreign
    assert elements("<p><img src=x onerror=y><a href=x onclick=y>").foreign \
        == ["img", "img src=x", "img onerror=y", "a onclick=y"]


@pytest.mark.slow
def test_a_page_of_any_length_takes_little_memory(run, env, tmp_path,
                                                  dcode_release):
    lines = "".join(f"{n} <b>&\n" for n in range(40000))  # half a MB
    messages = [{"role": "user", "parts": [{"kind": "text", "text": "x"}]}]
    messages += [{"role": "user", "parts": [
        {"kind": "text", "text": lines}]}] * 60
    (tmp_path / "work" / "in.json").write_text(json.dumps(
        {"format": "dcode-thread", "version": 1, "messages": messages}))
    for args in (("import", "in.json"),
                 ("export", "latest", "out.html", "--html"),
                 ("export", "latest", "out.json")):
        r = subprocess.run(
            ["/usr/bin/python3", "-c", MEASURE, dcode_release, "threads",
             *args], env=env, cwd=tmp_path / "work", stdout=subprocess.PIPE,
            check=True, text=True)
        status, kib = map(int, r.stdout.split()[-2:])
        assert status == 0 and kib < 40000, (args, r.stdout)
    assert (tmp_path / "work" / "out.html").stat().st_size > 30 << 20
