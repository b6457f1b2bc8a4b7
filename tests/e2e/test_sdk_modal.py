"""test_sdk_modal.py - Modal's official SDK is content with our emulator."""
# SPDX-License-Identifier: MIT
import pytest

import sdk
from modal import Modal


@pytest.mark.parametrize("v2", ["0", "1"])
def test_sdk(top, v2):
    with Modal(lenient=True) as cloud:
        out = sdk.run(top, "modal.mjs", {**cloud.env, "MODAL_SANDBOX_V2": v2})
        assert out.splitlines()[-1] == "21 steps"
        assert cloud.violations == [] and cloud.left() == []
        assert (cloud.count("POST .*/SandboxCreateV2") > 0) == (v2 == "1")
