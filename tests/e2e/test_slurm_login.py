"""test_slurm_login.py - Slurm's programs on a login node, over ssh."""
# SPDX-License-Identifier: MIT
import json

import sshd_rig
from clouds import DONE, results
from lifecycle import call, execute

TASK = ("-n", "hi", "-y", "-M", "anthropic:m", "--sandbox", "slurm")


def test_a_login_node_runs_slurms_programs(slurm, model, run):
    """Over ssh: neither SLURM_CONF nor a program of Slurm's is used here."""
    conf = slurm.env.pop("SLURM_CONF")
    sshd = sshd_rig.Rig(more=f"SetEnv SLURM_CONF={conf}")
    try:
        slurm.params('via = "box"\n', more="[sandboxes.providers.ssh.params]"
                     f'\nconfig = "{sshd.config}"\n')
        server = model([execute("echo $SLURM_JOB_ID; echo x >f"),
                        {"tool_calls": [call("read_file", file_path="f")]},
                        DONE])
        r = run(*TASK)
        assert r.status == 0, r.err
        first, second = results(server)
        job = slurm.rig.jobs(every=True)[-1]
        assert first.split()[0] == str(job["job_id"]) and "x" in second
        assert job["comment"].startswith("dcode label=")
        # one connection for the programs, one for the job's stream
        assert sshd.logins() == 2
        r = run("sandbox", "list", "--json")
        assert json.loads(r.out)["data"] == []
    finally:
        sshd.close()
    slurm.nothing_left()
