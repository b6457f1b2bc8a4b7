"""test_sdk_e2b.py - E2B's official SDK is content with our emulator."""
# SPDX-License-Identifier: MIT
import sdk
from e2b import E2B


def test_sdk(top):
    with E2B() as cloud:
        out = sdk.run(top, "e2b.mjs", cloud.env)
        assert out.splitlines()[-1] == "24 steps"
        assert cloud.violations == [] and cloud.left() == []
