"""credentials.py - strings with the form of credentials, made at run time from
tests/data/credentials."""
# SPDX-License-Identifier: MIT
import base64
import json
import pathlib
import random
import re
import string
import zlib

FORMS = pathlib.Path(__file__).parent.parent / "data" / "credentials"
WORD = string.ascii_letters + string.digits
ALPHABETS = {
    "a": WORD, "u": WORD + "_-", "b": WORD + "+/", "h": "0123456789abcdef",
    "H": string.ascii_uppercase + string.digits,
    "A": string.ascii_uppercase + "234567", "d": string.digits,
    "l": string.ascii_letters, "i": string.ascii_lowercase + string.digits,
}
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
BECH32 = "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
# Text that has to stand before some kinds, by a word of their flags.
BEFORE = {"twilio": "TWILIO_KEY=", "mailgun": "mailgun: ",
          "vault": "VAULT_TOKEN=", "bot": "/bot123456789",
          "terraform": 'token = "abcDEF12345678', "azure": "ab.8"}
AFTER = {"key": "-----END EC PRIVATE KEY-----", "url": "@example.com/"}


def pick(alphabet, n):
    last = WORD if alphabet.endswith("-") else alphabet
    return "".join(random.choices(alphabet, k=n - 1)) + random.choice(last)


def checked():
    body = pick(WORD, 30)
    crc, tail = zlib.crc32(body.encode()), ""
    for _ in range(6):
        crc, digit = divmod(crc, 62)
        tail = BASE62[digit] + tail
    return body + tail


def bech32():
    name, data = "age-secret-key-", random.choices(range(32), k=52)

    def checksum(values):
        total = 1
        for value in values:
            top = total >> 25
            total = (total & 0x1ffffff) << 5 ^ value
            for bit, g in enumerate((0x3b6a57b2, 0x26508e6d, 0x1ea119fa,
                                     0x3d4233dd, 0x2a1462b3)):
                total ^= g if top >> bit & 1 else 0
        return total
    head = [ord(c) >> 5 for c in name] + [0] + [ord(c) & 31 for c in name]
    total = checksum(head + data + [0] * 6) ^ 1
    data += [total >> 5 * i & 31 for i in range(5, -1, -1)]
    return "".join(BECH32[d] for d in data)


def b64(value):
    text = value if isinstance(value, str) else json.dumps(value)
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


SPECIAL = {
    "C": checked, "E": bech32, "P": lambda: b64("alice:hunter22222"),
    "D": lambda: b64("123456789012345678"),
    "K": lambda: "\n" + "".join(pick(ALPHABETS["b"], 64) + "\n"
                                for _ in range(3)),
    "J": lambda: ".".join((b64({"alg": "HS256"}), b64({"sub": "1234567890"}),
                           pick(ALPHABETS["u"], 43))),
}


class Credential:
    def __init__(self, line):
        self.kind, self.keeps, form, flags = line.split("|")
        self.token = re.sub(
            r"%(?:([A-Z])(?!\d)|(\w)(\d+))",
            lambda m: SPECIAL[m[1]]() if m[1] else
            pick(ALPHABETS[m[2]], int(m[3])), form)
        self.hidden = self.token[len(self.keeps):]
        words = flags.split()
        self.text = "".join((
            *(BEFORE.get(w, "") for w in words), self.token,
            *(AFTER.get(w, "") for w in words)))


def credentials():
    """One of each form."""
    return [Credential(line) for line in FORMS.read_text().splitlines()
            if line and line[0] != "#"]


def github():
    return "ghp" + "_" + checked()
