// runloop.mjs - Runloop's official SDK against our emulator: all content.
// SPDX-License-Identifier: MIT
//
// node runloop.mjs, with RUNLOOP_API_KEY and RUNLOOP_BASE_URL set.
import assert from "node:assert/strict";
import { Runloop, toFile } from "@runloop/api-client";

import { runSteps } from "./steps.mjs";

const client = new Runloop({ http2: false, maxRetries: 0 });
const { devboxes, blueprints, networkPolicies } = client;
const steps = [];
const step = (name, run) => steps.push([name, run]);
const status = (code) => (e) => {
  assert.equal(e.status, code, `${e}`);
  return true;
};
let box;
const run = (command, more) =>
  devboxes.executeAndAwaitCompletion(box.id, { command, ...more });

step("create and wait", async () => {
  box = await devboxes.createAndAwaitRunning({
    name: "n1", metadata: { app: "dcode-sdk", odd: "a b&c=d" },
    environment_variables: { FROM_CREATE: "yes" },
    launch_parameters: {
      keep_alive_time_seconds: 600, resource_size_request: "SMALL",
      lifecycle: { after_idle: { idle_time_seconds: 300,
        on_idle: "suspend" } },
    },
  });
  assert.match(box.id, /^dbx_/);
  assert.equal(box.status, "running");
  assert.deepEqual(box.state_transitions.map((t) => t.status),
    ["provisioning", "initializing", "running"]);
});
step("create: unknown blueprint", () =>
  assert.rejects(devboxes.create({ blueprint_name: "nope" }), status(400)));
step("create: unknown field", () =>
  assert.rejects(devboxes.create({ image: "python" }), status(400)));
step("create: wrong key", () =>
  assert.rejects(new Runloop({ http2: false, bearerToken: "ak_00" })
    .devboxes.create({}), status(401)));
step("info", async () => {
  const info = await devboxes.retrieve(box.id);
  assert.equal(info.id, box.id);
  assert.equal(info.metadata.odd, "a b&c=d");
  await assert.rejects(devboxes.retrieve("dbx_ghost"), status(404));
});
step("update", async () => {
  const seen = await devboxes.update(box.id,
    { metadata: { app: "dcode-sdk" } });
  assert.deepEqual(seen.metadata, { app: "dcode-sdk" });
});
step("exec", async () => {
  const r = await run("echo out; echo err >&2; echo $FROM_CREATE; pwd");
  assert.equal(r.exit_status, 0);
  assert.equal(r.stdout, "out\nyes\n/home/user\n");
  assert.equal(r.stderr, "err\n");
  assert.equal(r.stdout_truncated, false);
});
step("exec: exit codes", async () => {
  for (const [command, code] of [["exit 3", 3], ["no-such-program", 127],
    ["/etc/passwd", 126], ["kill -9 $$", 137]])
    assert.equal((await run(command)).exit_status, code, command);
});
step("exec: slower than the long poll", async () => {
  const r = await run("sleep 1; echo late", { optimistic_timeout: 0 });
  assert.equal(r.stdout, "late\n");
});
step("exec: the same command_id runs once", async () => {
  const params = { command: "echo x >>/tmp/once; cat /tmp/once",
    command_id: "01a1f824-7fa0-794d-b877-2b15ad5f10f2" };
  for (let i = 0; i < 2; i++)
    assert.equal((await devboxes.execute(box.id, params)).stdout, "x\n");
  await assert.rejects(devboxes.execute(box.id,
    { command: "true", command_id: "not a uuid" }), status(400));
});
step("exec: only the last lines, all of them streamed", async () => {
  const r = await run("seq 1 1000");
  assert.equal(r.stdout_truncated, true);
  assert.equal(r.stdout.split("\n").length, 101);
  const more = await devboxes.executions.retrieve(box.id, r.execution_id,
    { last_n: "2000" });
  assert.equal(more.stdout_truncated, false);
  let text = "";
  for await (const chunk of await devboxes.executions.streamStdoutUpdates(
    box.id, r.execution_id, {}))
    text += chunk.output;
  assert.equal(text, more.stdout);
});
step("exec: a named shell keeps its directory", async () => {
  await run("cd /tmp; export X='a b'", { shell_name: "s1" });
  assert.equal((await run("echo $X; pwd", { shell_name: "s1" })).stdout,
    "a b\n/tmp\n");
});
step("exec: deprecated, in one request", async () => {
  const r = await devboxes.executeSync(box.id, { command: "echo hi" });
  assert.equal(r.stdout, "hi\n");
});
step("background: input, kill", async () => {
  const p = await devboxes.executeAsync(box.id,
    { command: "read a; echo got $a; sleep 50", attach_stdin: true });
  assert.equal(p.status, "running");
  await devboxes.executions.sendStdIn(box.id, p.execution_id,
    { text: "words\n" });
  for await (const chunk of await devboxes.executions.streamStdoutUpdates(
    box.id, p.execution_id, {})) {
    assert.equal(chunk.output, "got words\n");
    break;
  }
  await assert.rejects(devboxes.waitForCommand(box.id, p.execution_id,
    { statuses: ["completed"], timeout_seconds: 1 }), status(408));
  const r = await devboxes.executions.kill(box.id, p.execution_id,
    { kill_process_group: true });
  assert.equal(r.exit_status, 137);
});
step("upload and download", async () => {
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i * 7));
  await devboxes.uploadFile(box.id,
    { path: "/tmp/a b.bin", file: await toFile(bytes, "a b.bin") });
  const got = await devboxes.downloadFile(box.id, { path: "/tmp/a b.bin" });
  assert.deepEqual(Buffer.from(await got.arrayBuffer()), bytes);
  await devboxes.writeFileContents(box.id,
    { file_path: "two", contents: "zwei ü" });
  assert.equal(await devboxes.readFileContents(box.id,
    { file_path: "/home/user/two" }), "zwei ü");
});
step("files: errors", async () => {
  await assert.rejects(devboxes.downloadFile(box.id, { path: "/missing" }),
    status(404));
  await assert.rejects(devboxes.downloadFile(box.id, { path: "/etc" }),
    status(400));
  await assert.rejects(devboxes.uploadFile("dbx_ghost",
    { path: "/x", file: await toFile(Buffer.from("x"), "x") }), status(404));
});
step("list", async () => {
  const second = await devboxes.createAndAwaitRunning({});
  const seen = [];
  for await (const b of devboxes.list({ limit: 1, status: "running" }))
    seen.push(b.id);
  assert.deepEqual(seen.sort(), [box.id, second.id].sort());
  await devboxes.shutdown(second.id);
});
step("suspend and resume", async () => {
  await devboxes.suspend(box.id);
  assert.equal((await devboxes.awaitSuspended(box.id)).status, "suspended");
  await assert.rejects(run("true"), status(400));
  await devboxes.resume(box.id);
  await devboxes.awaitRunning(box.id);
  await assert.rejects(devboxes.resume(box.id), status(400));
  assert.equal((await run("cat /tmp/once")).stdout, "x\n");
});
step("keep alive", async () => {
  assert.deepEqual(await devboxes.keepAlive(box.id), {});
});
step("blueprint", async () => {
  const made = await blueprints.createAndAwaitBuildCompleted(
    { name: "bp1", dockerfile: "FROM python:3\n" });
  assert.equal(made.status, "build_complete");
  const names = [];
  for await (const b of blueprints.list({ name: "bp1", limit: 100 }))
    names.push(b.name);
  assert.deepEqual(names, ["bp1"]);
  const other = await devboxes.createAndAwaitRunning(
    { blueprint_name: "bp1" });
  await devboxes.shutdown(other.id);
  await blueprints.delete(made.id);
});
step("network policy", async () => {
  const made = await networkPolicies.create(
    { name: "deny", allow_all: false });
  assert.equal(made.egress.allow_all, false);
  await assert.rejects(networkPolicies.create({ name: "deny" }), status(409));
  const other = await devboxes.createAndAwaitRunning(
    { launch_parameters: { network_policy_id: made.id } });
  await devboxes.shutdown(other.id);
});
step("tunnel", async () => {
  const made = await devboxes.enableTunnel(box.id,
    { auth_mode: "authenticated" });
  assert.ok(made.auth_token);
  await assert.rejects(devboxes.enableTunnel(box.id), status(400));
  assert.equal((await devboxes.retrieve(box.id)).tunnel.tunnel_key,
    made.tunnel_key);
  await devboxes.removeTunnel(box.id);
  assert.equal((await devboxes.retrieve(box.id)).tunnel, null);
  const open = await devboxes.enableTunnel(box.id);
  assert.equal(open.auth_mode, "open");
  await devboxes.removeTunnel(box.id);
});
step("disk snapshot", async () => {
  await run("echo kept >~/of-disk");
  const made = await devboxes.snapshotDiskAsync(box.id, { name: "one" });
  assert.equal(made.name, "one");
  assert.equal((await devboxes.diskSnapshots.awaitCompleted(made.id)).status,
    "complete");
  const found = [];
  for await (const s of devboxes.diskSnapshots.list({ limit: 1 }))
    found.push(s.id);
  assert.deepEqual(found, [made.id]);
  const copy = await devboxes.createAndAwaitRunning({ snapshot_id: made.id });
  const said = await devboxes.executeAndAwaitCompletion(copy.id,
    { command: "cat ~/of-disk" });
  assert.equal(said.stdout, "kept\n");
  await devboxes.shutdown(copy.id);
  await devboxes.diskSnapshots.delete(made.id);
  await assert.rejects(devboxes.diskSnapshots.queryStatus(made.id),
    status(404));
});
step("shutdown", async () => {
  assert.equal((await devboxes.shutdown(box.id)).status, "shutdown");
  const info = await devboxes.retrieve(box.id);
  assert.equal(info.status, "shutdown");
  assert.equal(info.shutdown_reason, "api_shutdown");
  await assert.rejects(run("true"), status(400));
});

await runSteps(steps);
