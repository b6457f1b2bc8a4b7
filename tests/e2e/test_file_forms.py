"""test_file_forms.py - edits keep a file's line ends, encoding and mark."""
# SPDX-License-Identifier: MIT
import codecs
import random

import pytest

from clouds import call
from test_search import ask, git  # noqa: F401

ENCODINGS = {
    "utf-8": ("utf-8", b""),
    "utf-8 with a mark": ("utf-8", codecs.BOM_UTF8),
    "utf-16le": ("utf-16-le", codecs.BOM_UTF16_LE),
    "utf-16be": ("utf-16-be", codecs.BOM_UTF16_BE),
    "utf-16le without a mark": ("utf-16-le", b""),
    "utf-16be without a mark": ("utf-16-be", b""),
    "latin-1": ("cp1252", b""),
}
SAID = {"utf-16le": "UTF-16 (little-endian)", "latin-1": "Latin-1",
        "utf-16be": "UTF-16 (big-endian)",
        "utf-16le without a mark": "UTF-16 (little-endian)",
        "utf-16be without a mark": "UTF-16 (big-endian)"}


def edit(old, new, **args):
    return call("edit_file", file_path="f", old_string=old, new_string=new,
                **args)


def encode(text, form):
    name, mark = ENCODINGS[form]
    return mark + text.encode(name)


@pytest.mark.parametrize("form", ENCODINGS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_edit_changes_nothing_else(ask, tmp_path, form, end):
    text = end.join(["caf\xe9 \xfcber", "tw\xf6", "last \xdf"])
    (tmp_path / "f").write_bytes(encode(text + end, form))
    read, first, lines, end_of_it = ask([
        call("read_file", file_path="f"),
        edit("caf\xe9", "tea\nand\ncoff\xe9e"),
        edit("tw\xf6\nlast", "2\nl\xe0st"),
        edit("\xdf\n", "\xdf\nmore\n")], tmp_path)
    want = ["tea", "and", "coff\xe9e \xfcber", "2", "l\xe0st \xdf", "more", ""]
    assert (tmp_path / "f").read_bytes() == encode(end.join(want), form)
    assert "caf\xe9 \xfcber" in read and "tw\xf6" in read
    for said in (read, first, lines, end_of_it):
        assert (SAID.get(form, "<none>") in said) == (form in SAID), said


@pytest.mark.parametrize("form", ENCODINGS)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False])
def test_a_file_that_is_replaced_keeps_its_form(ask, tmp_path, form, end, last):
    tail = end if last else ""
    for name in "gh":
        (tmp_path / name).write_bytes(encode(f"\xe9{end}body{tail}", form))
    said = ask([call("write_file", file_path="g", content="x\n\xfc\nz\n"),
                call("write_file", file_path="h", content="x\n\xfc\nz")],
               tmp_path)
    want = encode(end.join(["x", "\xfc", "z"]) + tail, form)
    assert (tmp_path / "g").read_bytes() == want
    assert (tmp_path / "h").read_bytes() == want
    assert ("CR LF" in said[0]) == (end == "\r\n")
    assert SAID.get(form, "Updated") in said[0]


def test_what_has_no_form_to_keep_is_written_as_it_is_sent(ask, tmp_path):
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(b"\x89PNG\r\n\0\xff\r\n")
    (tmp_path / "gone").write_bytes(b"a\r\n")
    calls = [call("write_file", file_path=name, content=text)
             for name, text in (("new", "a\r\nb"), ("empty", "a\r\nb"),
                                ("binary", "a\nb"), ("gone", ""))]
    assert all("kept" not in said for said in ask(calls, tmp_path))
    for name, want in (("new", b"a\r\nb"), ("empty", b"a\r\nb"),
                       ("binary", b"a\nb"), ("gone", b"")):
        assert (tmp_path / name).read_bytes() == want


def test_a_mark_alone_is_kept_and_nothing_else(ask, tmp_path):
    (tmp_path / "f").write_bytes(codecs.BOM_UTF8)
    said, = ask([call("write_file", file_path="f", content="a\nb\n")], tmp_path)
    assert (tmp_path / "f").read_bytes() == codecs.BOM_UTF8 + b"a\nb\n"
    assert "byte order mark" in said and "line break" not in said


@pytest.mark.parametrize("data", [
    b"a\0b\0c\0d\0e\0\0f\0g\0h", b"\1\0\2\0\3\0\4\0\5\0\6\0",
    b"a\0b\0c\0", b"name\0other\0third\0"])
def test_zeros_alone_make_no_utf_16(ask, tmp_path, data):
    (tmp_path / "f").write_bytes(data)
    said, = ask([call("read_file", file_path="f")], tmp_path)
    assert "UTF-16" not in said


def test_a_character_that_the_encoding_lacks_is_refused(ask, tmp_path):
    (tmp_path / "f").write_bytes("caf\xe9\n".encode("latin-1"))
    said = ask([edit("caf", "\u2192"),
                call("write_file", file_path="f", content="\u2192\n"),
                edit("caf", "\u20ac")], tmp_path)
    assert "U+2192" in said[0] and "U+2192" in said[1]
    assert (tmp_path / "f").read_bytes() == b"\x80\xe9\n"


@pytest.mark.parametrize("data", [
    b"a\xff", b"\xff\xfea", b"\xff\xfe\x00\xd8a\0", b"a\0\xe9b", b"\x01\xe9",
    "caf\xe9 \u2192".encode() + b"\xe9"])
def test_what_is_no_text_is_neither_read_nor_edited(ask, tmp_path, data):
    (tmp_path / "f").write_bytes(data)
    read, edited = ask([call("read_file", file_path="f"), edit("a", "b")],
                       tmp_path)
    assert read.startswith("Error") and edited.startswith("Error")
    assert (tmp_path / "f").read_bytes() == data


@pytest.mark.parametrize("seed", range(4))
def test_random_edits_keep_the_line_end_of_each_place(ask, tmp_path, seed):
    """Files with mixed line ends: the lines around an edit stay byte for byte,
    what goes in has the end of the line that it goes into."""
    dice = random.Random(seed)
    form = dice.choice(list(ENCODINGS))
    lines = [[f"l\xe9ne <{i}>", dice.choice(["\n", "\r\n"])]
             for i in range(16)]
    if dice.random() < 0.5:
        lines[-1][1] = ""

    def data():
        return encode("".join(text + end for text, end in lines), form)
    (tmp_path / "f").write_bytes(data())
    calls = []
    for i in dice.sample(range(16), 10):
        old, end = lines[i]
        new = dice.choice(["one\ntwo\nthree", "one\r\ntwo", "", "\none"])
        calls.append(edit(old, new))
        near = end or lines[i - 1][1]
        lines[i][0] = new.replace("\r\n", "\n").replace("\n", near)
    ask(calls, tmp_path)
    assert (tmp_path / "f").read_bytes() == data()


@pytest.mark.parametrize("file, old, says", [
    ("print(\u201chello\u201d)", 'print("hello")', "U+201C"),
    ("it\u2019s", "it's", "U+2019"),
    ("a\xa0b", "a b", "no-break space"),
    ("\tif x:", "        if x:", "a tab"),
    ("    if x:", "\tif x:", "4 spaces"),
    ("x  =  1", "x = 1", "2 spaces"),
    ("caf\xe9", "cafe\u0301", "U+00E9"),
    ("cafe\u0301", "caf\xe9", "U+00E9"),
    ("a \u2013 b", "a - b", "U+2013"),
    ("zero\u200bwidth", "zerowidth", "U+200B"),
    ("wait\u2026", "wait...", "U+2026"),
])
def test_a_near_miss_is_answered_with_the_line(ask, tmp_path, file, old, says):
    text = f"first\n\n{file} # 7\nend\n"
    (tmp_path / "f").write_text(text)
    one, two, far = ask([edit(old, "x"), edit(f"{old} # 7\nend", "x"),
                         edit("nothing like it", "x")], tmp_path)
    for said in (one, two):
        assert "line 3 nearly matches" in said and file in said, said
        assert says in said
    assert "nearly" not in far
    assert (tmp_path / "f").read_text() == text


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blanks_at_the_end_of_a_line_are_a_near_miss(ask, tmp_path, end):
    text = end.join(["x", "foo(); ", "bar();", "foo();\t", ""])
    (tmp_path / "f").write_bytes(text.encode())
    one, two, far = ask([edit("foo();\nbar();", "x"), edit("foo();\n", "x"),
                         edit("foo();\nqux();", "x")], tmp_path)
    for said in (one, two):
        assert "line 2 nearly matches" in said, said
        assert "has a space where old_string has the end of the line" in said
    assert "nearly" not in far
    assert (tmp_path / "f").read_bytes() == text.encode()


def test_apply_brings_the_file_in_its_own_form(run, model, tmp_path):
    work = tmp_path / "tree"
    work.mkdir()
    files = {"f": b"\xef\xbb\xbfone\r\ntwo\r\nthree",
             "g": codecs.BOM_UTF16_LE + "\xe91\r\n".encode("utf-16-le"),
             "m": b"".join(b"%d\r\n" % i for i in range(9))}
    for name, data in files.items():
        (work / name).write_bytes(data)
    for args in (["init", "-q"], ["add", "."], ["commit", "-qm", "x"]):
        git(work, *args)
    model([{"tool_calls": [one]} for one in (
        edit("two", "2\n2b"),
        call("write_file", file_path="g", content="x\ny\n"),
        call("edit_file", file_path="m", old_string="7",
             new_string="seven\nlucky"))] + [{"text": "end"}])
    r = run("-n", "go", "-M", "anthropic:m", "--sandbox", "local",
            "--workspace", "repo", "--keep", cwd=work)
    assert r.status == 0, r.err
    (work / "m").write_bytes(files["m"].replace(b"0", b"zero"))
    r = run("apply", cwd=work)
    assert r.status == 0, r.err
    assert (work / "f").read_bytes() == (
        b"\xef\xbb\xbfone\r\n2\r\n2b\r\nthree")
    assert (work / "g").read_bytes() == (
        codecs.BOM_UTF16_LE + "x\r\ny\r\n".encode("utf-16-le"))
    assert (work / "m").read_bytes() == files["m"].replace(
        b"0", b"zero").replace(b"7", b"seven\r\nlucky")
