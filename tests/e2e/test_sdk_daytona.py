"""test_sdk_daytona.py - Daytona's official SDK is content with our emulator."""
# SPDX-License-Identifier: MIT
import sdk
from daytona import Daytona


def test_sdk(top):
    with Daytona(delay=0.05) as cloud:
        out = sdk.run(top, "daytona.mjs", cloud.env)
        assert out.splitlines()[-1] == "20 steps"
        assert cloud.violations == [] and cloud.left() == []
