"""test_media.py - images and PDF files as input, on every wire."""
# SPDX-License-Identifier: MIT
import base64
import json
import re
import struct
import zlib

import pytest

from model_media import words
from slash_chat import begin, on_screen, talk  # noqa: F401 (a fixture)

WIRES = ["anthropic", "openai-chat", "openai-responses", "gemini", "bedrock"]
PDF = (b"%PDF-1.4\n1 0 obj <</Type /Page>> endobj\n"
       b"trailer <</Root 1 0 R>>\n%%EOF\n")


def png(width, height, more=b""):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + \
            struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + b"\x7f" * width for _ in range(height))
    return (b"\x89PNG\r\n\x1a\n" +
            chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0,
                                       0)) +
            (chunk(b"tEXt", more) if more else b"") +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


PNG = png(64, 48)


@pytest.fixture
def work(tmp_path):
    top = tmp_path / "work"
    top.mkdir(exist_ok=True)
    (top / "a.png").write_bytes(PNG)
    (top / "paper.pdf").write_bytes(PDF)
    return top


@pytest.fixture
def on(model, config, env):
    """on(wire, script) -> (server, flags): a vendor that speaks this wire."""
    def begin(wire, script, name="m"):
        server = model(script)
        env.update(MINE_KEY="k", AWS_REGION="us-west-2")
        config(f'[models.providers.mine]\nwire = "{wire}"\n'
               f'base_url = "{server.url}"\napi_key_env = "MINE_KEY"\n')
        return server, ("-M", f"mine:{name}")
    return begin


def read(*names):
    return [{"name": "read_file", "args": {"file_path": n}} for n in names]


@pytest.mark.parametrize("wire", WIRES)
def test_a_prompt_and_a_tool_bring_files_to_every_wire(on, run, work, wire):
    image, paper = words("image/png", PNG), words("application/pdf", PDF)
    server, flags = on(wire, [
        {"expect": [image, "what is @a.png"],
         "tool_calls": read("paper.pdf", "a.png")},
        {"expect": [paper, image], "text": "seen"},
        {"expect": ["again"], "text": "still"}])
    r = run("-n", "what is @a.png", "-y", *flags)
    assert (r.status, r.out) == (0, "seen\n"), r.err
    assert "[image a.png 64x48 " in r.err
    # from the database again, with the same bytes
    before = server.requests[-1]["body"]
    r = run("-n", "again", "-r", "-y", *flags)
    assert (r.status, r.out) == (0, "still\n"), r.err
    assert not server.violations
    sent = json.dumps(server.requests[-1]["body"])
    for data in (PNG, PDF):
        text = base64.b64encode(data).decode()
        assert sent.count(text) == json.dumps(before).count(text) > 0


@pytest.mark.parametrize("name", ["gemini-2.5-pro", "gemini-3.1-pro"])
def test_gemini_has_files_in_results_from_generation_3_on(on, run, work,
                                                          name):
    server, flags = on("gemini", [
        {"tool_calls": read("a.png")},
        {"expect": [words("image/png", PNG)], "text": "seen"}], name)
    assert run("-n", "go", *flags).out == "seen\n"
    last = server.requests[-1]["body"]["contents"]
    response = next(p["functionResponse"] for c in last for p in c["parts"]
                    if "functionResponse" in p)
    assert ("parts" in response) == ("3.1" in name)


def test_the_bytes_say_what_a_file_is(on, run, work):
    (work / "b.jpg").write_bytes(PNG)
    (work / "text.png").write_text("no image")
    (work / "none.png").write_bytes(b"")
    (work / "both.gif").write_bytes(b"GIF89a\1\0\1\0\0\0\0<script>x</script>")
    server, flags = on("anthropic", [
        {"expect": [words("image/png", PNG)],
         "tool_calls": read("text.png", "none.png", "both.gif")},
        {"expect": ["not a PNG, JPEG, GIF, WebP or PDF", "empty contents",
                    "file image/gif"], "text": "ok"}])
    r = run("-n", "@b.jpg", *flags)
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert "<script>" not in r.err and "image b.jpg 64x48" in r.err


def test_a_file_that_is_too_large_is_named_with_the_limit(on, run, work):
    (work / "big.png").write_bytes(png(9, 9, b"x" * 3_750_000))
    (work / "large.png").write_bytes(png(9, 9, b"y" * 3_700_000))
    large = words("image/png", (work / "large.png").read_bytes())
    server, flags = on("anthropic", [
        {"expect": [large], "tool_calls": read("big.png")},
        {"expect": ["maximum preview size of 3750000 bytes"], "text": "ok"}])
    r = run("-n", "@big.png and @large.png", *flags)
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert "@big.png is too large: the limit for images and PDF " \
        "files is 3.75 MB" in r.err


def test_only_files_that_a_model_is_shown_go_with_n(on, run, work):
    (work / "key.txt").write_text("SECRET-WORDS")
    server, flags = on("anthropic", [{"text": "ok"}, {"text": "ok"}])
    assert run("-n", "@key.txt @a.png", *flags).status == 0
    assert run("-q", *flags, stdin="see @a.png").status == 0
    first, second = (json.dumps(r["body"]) for r in server.requests)
    assert "SECRET-WORDS" not in first
    assert "iVBORw0KGgo" in first and "iVBORw0KGgo" not in second


def test_a_thread_with_files_is_exported_imported_and_shown(on, run, work):
    server, flags = on("anthropic", [{"text": "one"}, {"text": "two"}])
    assert run("-n", "@a.png @paper.pdf", *flags).status == 0
    assert run("threads", "export", "latest", "t.json").status == 0
    page = run("threads", "export", "latest", "t.html", "--html")
    assert page.status == 0, page.err
    html = (work / "t.html").read_text()
    assert "[image a.png 64x48 " in html and "[PDF paper.pdf " in html
    assert "iVBOR" not in html and "<img" not in html
    r = run("threads", "show", "latest")
    assert "> [image a.png 64x48 " in r.out and "iVBOR" not in r.out
    r = run("threads", "import", "t.json")
    assert r.status == 0, r.err
    assert run("-n", "more", "-r", *flags).out == "two\n"
    assert base64.b64encode(PNG).decode() in json.dumps(
        server.requests[-1]["body"])


REFUSALS = {
    "anthropic": (400, "messages.0.content.0.image.source.base64.data: At "
                  "least one of the image dimensions exceed max allowed size"),
    "openai-chat": (400, "unknown variant `image_url`, expected `text`"),
    "openai-responses": (400, "The image data you provided does not represent "
                         "a valid image."),
    "gemini": (400, "Request contains an invalid argument."),
    "bedrock": (400, "Could not process image"),
}


@pytest.mark.parametrize("wire", WIRES)
def test_a_file_that_the_vendor_refuses_does_not_end_the_thread(
        on, run, work, wire):
    status, words_of_it = REFUSALS[wire]
    fault = {"status": status, "body": {"error": {"message": words_of_it},
                                        "message": words_of_it}}
    image = words("image/png", PNG)
    server, flags = on(wire, [
        {"tool_calls": read("a.png")},
        {"fault": fault, "tool_calls": read("a.png")},
        {"expect": [image], "text": "ok"},  # the next one goes as it is
        {"fault": fault, "text": "still"}])
    r = run("-n", "go", "-y", *flags)
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert "asking again without images and PDF files" in r.err
    refused, asked = (json.dumps(q["body"]) for q in server.requests[1:3])
    data = base64.b64encode(PNG).decode()
    assert data in refused and data not in asked
    assert "not shown to this model" in asked
    r = run("-n", "more", "-r", *flags)
    assert (r.status, r.out) == (0, "still\n"), r.err
    assert not server.violations


@pytest.mark.parametrize("status, text", [
    (404, "No endpoints found that support image input"),
    (413, "Request exceeds the maximum size"), (415, "no"),
    (422, "messages: image_url"),
    (500, "image input is not supported - hint: provide the mmproj"),
    (500, 'Unsupported content part type: "image_url"')])
def test_other_ways_to_refuse_a_file(on, run, work, status, text):
    fault = {"status": status, "body": {"error": {"message": text}}}
    server, flags = on("openai-chat", [{"text": "ok", "fault": fault}])
    r = run("-n", "@a.png", "--max-retries", "0", *flags)
    assert (r.status, r.out) == (0, "ok\n"), r.err
    assert "asking again without images and PDF files" in r.err
    data = base64.b64encode(PNG).decode()
    assert [data in json.dumps(q["body"]) for q in server.requests] == [
        True, False]


def test_a_failure_of_the_server_is_no_refusal_of_files(on, run, work):
    fault = {"status": 500, "body": {"error": {"message": "no memory"}}}
    server, flags = on("openai-chat", [{"text": "ok", "fault": fault}])
    r = run("-n", "@a.png", *flags, "--max-retries", "0")
    assert r.status == 1 and "without images" not in r.err
    assert len(server.requests) == 1


def test_a_refusal_without_any_file_is_not_asked_again(on, run):
    server, flags = on("anthropic", [
        {"fault": {"status": 400, "body": {"error": {
            "message": "Could not process image"}}}, "text": "ok"}])
    r = run("-n", "go", *flags)
    assert r.status == 1 and "Could not process image" in r.err
    assert len(server.requests) == 1


@pytest.mark.parametrize("wire", WIRES)
def test_counts_of_a_server_may_be_any_number(on, run, wire):
    many = 9 * 10 ** 18
    server, flags = on(wire, [{"text": "ok", "usage": {
        "input": many, "output": many, "cache_read": many,
        "cache_write": many}}])
    r = run("-n", "go", "--json", *flags)
    end = json.loads(r.out.splitlines()[-1])
    assert r.status == 0 and "runtime error" not in r.err, r.err
    assert 0 < end["usage"]["output_tokens"] < 1 << 33


def test_a_model_that_is_known_to_take_none_gets_the_line(model, run, work,
                                                          config, env):
    server = model([{"text": "one"}, {"text": "two"}])
    env.update(DEEPSEEK_API_KEY="k", ANTHROPIC_API_KEY="k")
    config(f'[models.providers.deepseek]\nbase_url = "{server.url}"\n')
    assert run("-n", "@a.png", "-M", "anthropic:m").out == "one\n"
    r = run("-n", "go on", "-r", "-M", "deepseek:deepseek-chat")
    assert (r.status, r.out) == (0, "two\n"), r.err
    first, second = (json.dumps(q["body"]) for q in server.requests)
    data = base64.b64encode(PNG).decode()
    assert data in first and data not in second
    assert "[image a.png 64x48 " in second
    assert "not shown to this model]" in second


@pytest.mark.parametrize("profile, sent", [
    ("max_input_tokens = 100000", True), ("image_inputs = false", False)])
def test_a_profile_says_what_a_model_takes(on, run, work, config, profile,
                                           sent):
    server, flags = on("anthropic", [{"text": "ok"}])
    config(f'[models.providers.mine]\nwire = "anthropic"\n'
           f'base_url = "{server.url}"\napi_key_env = "MINE_KEY"\n'
           f'[models.providers.mine.profile]\n{profile}\n')
    assert run("-n", "@a.png", *flags).out == "ok\n"
    body = json.dumps(server.requests[0]["body"])
    assert (base64.b64encode(PNG).decode() in body) == sent


def pasted(c, text):
    """As a terminal sends what is pasted or dragged into it."""
    c.keys("-l", f"\x1b[200~{text}\x1b[201~")


def sent(c, n):
    c.until(lambda _: len(c.server.requests) > n)
    body = json.dumps(c.server.requests[n]["body"])
    return body.count(base64.b64encode(PNG).decode()), body


PASTES = ["{}/odd\\ name\\'s.png", "\"{}/odd name's.png\"",
          "{}/odd name's.png", "file://{}/odd%20name's.png ",
          "{0}/a.png '{0}/b.png'"]


@on_screen
def test_a_pasted_path_of_an_image_is_the_image(talk, tmp_path):  # noqa: F811
    top = tmp_path / "pictures"
    top.mkdir()
    for name in ("odd name's.png", "a.png", "b.png"):
        (top / name).write_bytes(PNG)
    c = begin(talk)
    for i, paste in enumerate(PASTES):
        c.type("what is ")
        pasted(c, paste.format(top))
        mark = f"[image {i + 1}: "
        c.until("what is " + mark)
        c.say(" then?")
        n, body = sent(c, i)
        assert n == i + 1 + (i == len(PASTES) - 1)
        assert "what is " + mark in body and "pictures/" not in body
        assert re.search(r"\[image %d: (odd name's|a)\.png, 64x48, \d+ bytes\]"
                         % (i + 1), body), body
    assert c.server.violations == []


@on_screen
def test_only_a_paste_that_is_nothing_but_a_path_is_an_image(
        talk, tmp_path):  # noqa: F811
    top = tmp_path / "pictures"
    top.mkdir()
    (top / "a.png").write_bytes(PNG)
    (top / "b.png").write_text("no image")
    c = begin(talk)
    for i, text in enumerate((f"look at {top}/a.png", f"{top}/b.png",
                              f"{top}/a.png {top}/b.png", "[image 1]")):
        pasted(c, text)
        c.say(".")
        assert sent(c, i)[0] == 0
    pasted(c, f"{top}/a.png")
    c.until("[image 1: a.png, 64x48, ")
    c.keys(*["BSpace"] * 3)  # no mark any more
    c.say("none")
    assert sent(c, 4)[0] == 0
    c.type("!echo of ")
    pasted(c, f"{top}/a.png")
    c.until(lambda t: "a.png" in t.split("!echo of")[-1])


def test_a_message_that_is_the_path_of_an_image_is_the_image(
        talk, tmp_path):  # noqa: F811
    (tmp_path / "work" / "shot.png").write_bytes(PNG)
    c = begin(talk)
    c.say(f"{tmp_path}/work/shot.png")
    assert sent(c, 0)[0] == 1
    c.until("[image shot.png 64x48 ")
    c.say(f"what is {tmp_path}/work/shot.png")
    assert sent(c, 1)[0] == 1  # that of before
