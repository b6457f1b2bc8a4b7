// vercel.mjs - Vercel's official SDK against our emulator: all must be content.
// SPDX-License-Identifier: MIT
//
// node vercel.mjs, with VERCEL_TOKEN, VERCEL_TEAM_ID, VERCEL_PROJECT_ID and
// VERCEL_API_URL set. The SDK knows no other address than Vercel's own, but
// takes a fetch.
import assert from "node:assert/strict";
import { Sandbox, Snapshot } from "@vercel/sandbox";

import { runSteps } from "./steps.mjs";

const { VERCEL_API_URL: base } = process.env;
const own = {
  token: process.env.VERCEL_TOKEN, teamId: process.env.VERCEL_TEAM_ID,
  projectId: process.env.VERCEL_PROJECT_ID,
  fetch: (url, init) => fetch(String(url)
    .replace("https://vercel.com", base), init),
};
const steps = [];
const step = (name, run) => steps.push([name, run]);
const refused = (status) => (e) => e.response?.status === status;
let box;

step("create", async () => {
  box = await Sandbox.create({
    ...own, name: "dcode-sdk", runtime: "node24", timeout: 60_000,
    persistent: false, env: { FROM_CREATE: "yes" }, tags: { app: "dcode" },
    resources: { vcpus: 2 }, networkPolicy: "deny-all",
  });
  assert.equal(box.name, "dcode-sdk");
  assert.equal(box.persistent, false);
});
step("create: errors", async () => {
  await assert.rejects(Sandbox.create({ ...own, name: "dcode-sdk" }),
    refused(409));
  await assert.rejects(Sandbox.create({ ...own, token: "wrong" }),
    refused(403));
  await assert.rejects(Sandbox.create({ ...own, projectId: "prj_other" }),
    refused(404));
  await assert.rejects(Sandbox.create({ ...own,
    source: { type: "snapshot", snapshotId: "snap_ghost" } }), refused(410));
});
step("attach", async () => {
  const same = await Sandbox.get({ ...own, name: "dcode-sdk" });
  assert.equal(same.currentSession().sessionId,
    box.currentSession().sessionId);
  await assert.rejects(Sandbox.get({ ...own, name: "ghost" }), refused(404));
});
step("exec", async () => {
  const r = await box.runCommand({ cmd: "bash", args: ["-lc",
    "echo out; echo err >&2; echo $FROM_CREATE $X; pwd; exit 3"],
    env: { X: "y" } });
  assert.equal(r.exitCode, 3);
  assert.equal(await r.stdout(), "out\nyes y\n/vercel/sandbox\n");
  assert.equal(await r.stderr(), "err\n");
});
step("exec: a megabyte", async () => {
  const r = await box.runCommand("sh",
    ["-c", "head -c 1000000 /dev/zero | tr '\\0' x"]);
  assert.equal(await r.stdout(), "x".repeat(1_000_000));
});
step("exec: the server's time limit", async () => {
  const r = await box.runCommand({ cmd: "sleep", args: ["20"],
    timeoutMs: 300 });
  assert.equal(r.exitCode, 137);
});
step("exec: detached, logs, kill", async () => {
  const c = await box.runCommand({ cmd: "sh", args: ["-c",
    "echo begun; sleep 50"], detached: true });
  for await (const log of c.logs()) {
    assert.deepEqual(log, { stream: "stdout", data: "begun\n" });
    break;
  }
  await c.kill("SIGTERM");
  assert.equal((await c.wait()).exitCode, 143);
  assert.equal((await box.getCommand(c.cmdId)).exitCode, 143);
  await assert.rejects(box.getCommand("cmd_ghost"), refused(404));
});
step("upload and download", async () => {
  const bytes = Buffer.from(new Uint8Array(300_000).map((_, i) => i * 7));
  const long = `/tmp/${"d/".repeat(40)}${"n".repeat(90)}`;
  await box.writeFiles([
    { path: "/tmp/dir/a b.bin", content: bytes },
    { path: "two", content: Buffer.from("2") },
    { path: "/tmp/run", content: Buffer.from("#!/bin/sh\necho ran\n"),
      mode: 0o755 },
    { path: long, content: Buffer.from("long") },
  ]);
  assert.deepEqual(await box.readFileToBuffer({ path: "/tmp/dir/a b.bin" }),
    bytes);
  assert.equal(String(await box.readFileToBuffer(
    { path: "/vercel/sandbox/two" })), "2");
  assert.equal(String(await box.readFileToBuffer({ path: long })), "long");
  assert.equal(await (await box.runCommand("/tmp/run")).stdout(), "ran\n");
});
step("files: errors", async () => {
  assert.equal(await box.readFileToBuffer({ path: "/missing" }), null);
  await assert.rejects(box.readFileToBuffer({ path: "/etc" }), refused(400));
  await assert.rejects(box.writeFiles([{ path: "/tmp/dir",
    content: Buffer.from("x") }]), refused(400));
});
step("mkdir", async () => {
  await box.mkDir("/tmp/new");
  await assert.rejects(box.mkDir("/tmp/new"), refused(400));
});
step("extend", async () => {
  const before = box.timeout;
  await box.extendTimeout(100_000);
  const same = await Sandbox.get({ ...own, name: "dcode-sdk" });
  assert.equal(same.timeout, before + 100_000);
});
step("network policy", async () => {
  const now = await box.updateNetworkPolicy({ allow: ["github.com"],
    subnets: { deny: ["10.0.0.0/8"] } });
  assert.deepEqual(now.allow, ["github.com"]);
  assert.deepEqual(now.subnets.deny, ["10.0.0.0/8"]);
});
step("ports", async () => {
  await box.update({ ports: [3000, 8080] });
  assert.match(box.domain(8080), /^https:.*-8080\.vercel\.run$/);
  await box.update({ ports: [3000] });
  assert.throws(() => box.domain(8080));
});
step("list", async () => {
  const second = await Sandbox.create({ ...own, name: "dcode-sdk-2",
    image: "vercel/sandbox/ubuntu", persistent: false });
  const names = async (params) => {
    const found = [];
    for await (const one of await Sandbox.list({ ...own, ...params }))
      found.push(one.name);
    return found;
  };
  assert.deepEqual(await names({ namePrefix: "dcode-sdk", sortBy: "name",
    limit: 1 }), ["dcode-sdk", "dcode-sdk-2"]);
  assert.deepEqual(await names({ tags: { app: "dcode" } }), ["dcode-sdk"]);
  assert.deepEqual(await names({ namePrefix: "x", sortBy: "name" }), []);
  await second.delete();
});
step("a persistent one is resumed from its snapshot", async () => {
  const kept = await Sandbox.create({ ...own, name: "dcode-kept",
    runtime: "python3.13" });
  await kept.writeFiles([{ path: "one", content: Buffer.from("1") }]);
  await kept.stop({ blocking: true });
  const same = await Sandbox.get({ ...own, name: "dcode-kept",
    resume: true });
  assert.equal(await (await same.runCommand("cat", ["one"])).stdout(), "1");
  await same.delete({ deleteOrphanSnapshots: true });
  assert.deepEqual((await Snapshot.list(own)).snapshots, []);
});
step("snapshot", async () => {
  await box.writeFiles([{ path: "one", content: Buffer.from("1") }]);
  const made = await box.snapshot();
  const copy = await Sandbox.create({ ...own, persistent: false,
    source: { type: "snapshot", snapshotId: made.snapshotId } });
  assert.equal(await (await copy.runCommand("cat", ["one"])).stdout(), "1");
  await copy.stop();
  await copy.delete();
  await made.delete();
});
step("delete", async () => {
  await box.delete();
  await assert.rejects(box.delete(), refused(404));
});

await runSteps(steps);
