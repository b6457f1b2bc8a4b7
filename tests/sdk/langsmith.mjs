// langsmith.mjs - LangSmith's official SDK against our emulator.
// SPDX-License-Identifier: MIT
//
// node langsmith.mjs, with LANGSMITH_API_KEY and LANGSMITH_ENDPOINT set.
import assert from "node:assert/strict";
import {
  LangSmithCommandTimeoutError, LangSmithResourceCreationError,
  LangSmithResourceNotFoundError, SandboxClient,
} from "langsmith/sandbox";

import { runSteps } from "./steps.mjs";

const steps = [];
const step = (name, run) => steps.push([name, run]);
const client = new SandboxClient();
const GIB = 1 << 30;
let snapshot, box;

step("snapshot: build and wait", async () => {
  snapshot = await client.createSnapshot("sdk", "python:3", 16 * GIB);
  assert.equal(snapshot.status, "ready");
});
step("snapshot: list and filters", async () => {
  const all = await client.listSnapshots();
  assert.ok(all.some((s) => s.id === snapshot.id));
  const some = await client.listSnapshots(
    { nameContains: "sd", limit: 500, offset: 0 });
  assert.deepEqual(some.map((s) => s.id), [snapshot.id]);
});
step("snapshot: a build that fails", () =>
  assert.rejects(client.waitForSnapshot("ghost"),
    LangSmithResourceNotFoundError));
step("create", async () => {
  box = await client.createSandbox(snapshot.id, { timeout: 180 });
  assert.equal(box.status, "ready");
});
step("create: without waiting, with options", async () => {
  const made = await client.createSandbox(undefined, {
    snapshotName: "sdk", name: "box2", waitForReady: false,
    idleTtlSeconds: 600, deleteAfterStopSeconds: 3600, vcpus: 2,
    memBytes: 8 * GIB, fsCapacityBytes: 16 * GIB,
    proxyConfig: { access_control: { allow_list: ["github.com"] } },
  });
  assert.equal(made.name, "box2");
  const same = await client.waitForSandbox("box2", { timeout: 10 });
  assert.equal(same.status, "ready");
});
step("create: no such snapshot, name taken, wrong key", async () => {
  await assert.rejects(client.createSandbox("no-such-snapshot"));
  await assert.rejects(client.createSandbox(snapshot.id, { name: "box2" }));
  const other = new SandboxClient({ apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(other.listSandboxes());
});
step("get and list", async () => {
  assert.equal((await client.getSandbox(box.name)).name, box.name);
  const names = (await client.listSandboxes()).map((s) => s.name).sort();
  assert.deepEqual(names, ["box2", box.name].sort());
  await assert.rejects(client.getSandbox("ghost"),
    LangSmithResourceNotFoundError);
});
step("exec: output, environment, directory", async () => {
  const seen = [];
  const r = await box.run("echo out; echo err >&2; echo $X; pwd", {
    env: { X: "y" }, cwd: "/tmp", onStdout: (s) => seen.push(s) });
  assert.deepEqual([r.stdout, r.stderr, r.exit_code],
    ["out\ny\n/tmp\n", "err\n", 0]);
  assert.equal(seen.join(""), r.stdout);
});
step("exec: exit codes", async () => {
  for (const [command, code] of [["exit 3", 3], ["no-such-program", 127],
    ["/etc/passwd", 126], ["kill -9 $$", 137]])
    assert.equal((await box.run(command)).exit_code, code);
});
step("exec: a megabyte", async () => {
  const r = await box.run("head -c 1000000 /dev/zero | tr '\\0' x");
  assert.equal(r.stdout, "x".repeat(1_000_000));
});
step("exec: timeout", () =>
  assert.rejects(box.run("sleep 20", { timeout: 1 }),
    LangSmithCommandTimeoutError));
step("exec: a handle: reconnect, kill", async () => {
  const h = await box.run("echo begun; sleep 50", { wait: false });
  for await (const chunk of h) {
    assert.equal(chunk.data, "begun\n");
    break;
  }
  const again = await box.reconnect(h.commandId);
  let text = "";
  for await (const chunk of again) {
    text += chunk.data;
    again.kill();
  }
  assert.equal(text, "begun\n");
  assert.equal((await again.result).exit_code, 137);
});
step("upload and download", async () => {
  const bytes = new Uint8Array(300_000).map((_, i) => i * 7);
  await box.run("mkdir -p /tmp/dir");
  await box.write("/tmp/dir/a b.bin", bytes);
  assert.deepEqual(Buffer.from(await box.read("/tmp/dir/a b.bin")),
    Buffer.from(bytes));
  assert.equal((await box.run("wc -c <'/tmp/dir/a b.bin'")).stdout.trim(),
    "300000");
});
step("files: errors", async () => {
  await assert.rejects(box.read("/missing"), LangSmithResourceNotFoundError);
  await assert.rejects(box.read("/etc"), /is a directory/);
  await assert.rejects(box.write("/tmp", "x"), /is a directory/);
});
step("lifetime", async () => {
  const same = await client.updateSandbox(box.name,
    { idleTtlSeconds: 1200 });
  assert.equal(same.idle_ttl_seconds, 1200);
});
step("capture", async () => {
  await box.write("/root/note", "kept");
  const made = await box.captureSnapshot("captured");
  const copy = await client.createSandbox(made.id);
  assert.equal((await copy.run("cat /root/note")).stdout, "kept");
  await copy.delete();
  await client.deleteSnapshot(made.id);
});
step("stop and start", async () => {
  await client.stopSandbox(box.name);
  assert.equal((await client.getSandboxStatus(box.name)).status, "stopped");
  box = await client.startSandbox(box.name);
  assert.equal((await box.run("cat /root/note")).stdout, "kept");
});
step("delete", async () => {
  await client.deleteSandbox(box.name);
  await client.deleteSandbox("box2");
  await assert.rejects(client.deleteSandbox("ghost"),
    LangSmithResourceNotFoundError);
  await client.deleteSnapshot(snapshot.id);
  assert.deepEqual(await client.listSandboxes(), []);
});

await runSteps(steps);
