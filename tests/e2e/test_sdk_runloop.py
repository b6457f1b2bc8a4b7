"""test_sdk_runloop.py - Runloop's official SDK is content with the emulator."""
# SPDX-License-Identifier: MIT
import sdk
from runloop import Runloop


def test_sdk(top):
    with Runloop(page=2) as cloud:
        out = sdk.run(top, "runloop.mjs", cloud.env)
        assert out.splitlines()[-1] == "24 steps"
        # those that the SDK was made to send
        assert len(cloud.violations) == 2, cloud.violations
        assert cloud.left() == []
