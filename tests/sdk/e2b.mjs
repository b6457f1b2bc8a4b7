// e2b.mjs - E2B's official SDK against our emulator: all must be content.
// SPDX-License-Identifier: MIT
//
// node e2b.mjs, with E2B_API_KEY, E2B_API_URL and E2B_SANDBOX_URL set.
import assert from "node:assert/strict";
import {
  AuthenticationError, CommandExitError, FileNotFoundError,
  InvalidArgumentError, NotFoundError, Sandbox, TimeoutError,
} from "e2b";

import { runSteps } from "./steps.mjs";

const steps = [];
const step = (name, run) => steps.push([name, run]);
let box;

step("create", async () => {
  box = await Sandbox.create("base", {
    timeoutMs: 60_000, metadata: { app: "dcode-sdk", odd: "a b&c=d" },
    envs: { FROM_CREATE: "yes" }, allowInternetAccess: false,
  });
  assert.match(box.sandboxId, /^[a-z0-9]+$/);
  assert.equal(await box.isRunning(), true);
});
step("create: unknown template", () =>
  assert.rejects(Sandbox.create("no-such-template"), /404/));
step("create: wrong key", () =>
  assert.rejects(Sandbox.create("base", { apiKey: "e2b_00" }),
    AuthenticationError));
step("info", async () => {
  const info = await box.getInfo();
  assert.equal(info.sandboxId, box.sandboxId);
  assert.equal(info.metadata.app, "dcode-sdk");
  assert.equal(info.state, "running");
  const left = info.endAt - Date.now();
  assert.ok(left > 50_000 && left <= 60_000, `${left}`);
});
step("info: unknown", () =>
  assert.rejects(Sandbox.getInfo("ighost"), NotFoundError));
step("extend", async () => {
  await box.setTimeout(600_000);
  assert.ok((await box.getInfo()).endAt - Date.now() > 500_000);
});
step("exec", async () => {
  const seen = [];
  const r = await box.commands.run(
    "echo out; echo err >&2; echo $FROM_CREATE $X; pwd",
    { envs: { X: "y" }, onStdout: (s) => seen.push(s) });
  assert.equal(r.exitCode, 0);
  assert.equal(r.stdout, "out\nyes y\n/home/user\n");
  assert.equal(r.stderr, "err\n");
  assert.equal(seen.join(""), r.stdout);
});
step("exec: exit codes", async () => {
  for (const [command, code] of [["exit 3", 3], ["no-such-program", 127],
    ["/etc/passwd", 126]])
    await assert.rejects(box.commands.run(command), (e) =>
      e instanceof CommandExitError && e.exitCode === code);
});
step("exec: a megabyte", async () => {
  const r = await box.commands.run("head -c 1000000 /dev/zero | tr '\\0' x");
  assert.equal(r.stdout, "x".repeat(1_000_000));
});
step("exec: timeout", () =>
  assert.rejects(box.commands.run("sleep 20", { timeoutMs: 500 }),
    TimeoutError));
step("exec: no such directory", () =>
  assert.rejects(box.commands.run("true", { cwd: "/nope" }),
    InvalidArgumentError));
step("exec: as root", async () => {
  assert.equal((await box.commands.run("echo hi", { user: "root" })).stdout,
    "hi\n");
  await assert.rejects(box.commands.run("true", { user: "nobody-here" }),
    AuthenticationError);
});
step("background: list, reconnect, input, kill", async () => {
  const p = await box.commands.run("read line; echo got $line; sleep 50",
    { background: true, stdin: true });
  const found = (await box.commands.list()).find((q) => q.pid === p.pid);
  assert.equal(found.cmd, "/bin/bash");
  await p.disconnect();
  let text = "";
  const again = await box.commands.connect(p.pid,
    { onStdout: (s) => { text += s; } });
  await box.commands.sendStdin(p.pid, "words\n");
  while (!text.includes("got words"))
    await new Promise((r) => setTimeout(r, 10));
  assert.equal(await again.kill(), true);
  await assert.rejects(again.wait());
  assert.equal(await box.commands.kill(p.pid), false);
});
step("upload and download", async () => {
  const bytes = new Uint8Array(300_000).map((_, i) => i * 7);
  await box.files.write("/tmp/dir/a b.bin", bytes.buffer);
  const got = await box.files.read("/tmp/dir/a b.bin", { format: "bytes" });
  assert.deepEqual(Buffer.from(got), Buffer.from(bytes));
  await box.files.write([{ path: "/tmp/one", data: "1" },
    { path: "two", data: "2" }]);
  assert.equal(await box.files.read("/home/user/two"), "2");
  assert.equal((await box.commands.run("cat /tmp/one two")).stdout, "12");
});
step("upload: as a raw body", async () => {
  await box.files.write("/tmp/raw", "raw\n", { useOctetStream: true });
  assert.equal(await box.files.read("/tmp/raw"), "raw\n");
});
step("files: errors", async () => {
  await assert.rejects(box.files.read("/missing"), FileNotFoundError);
  await assert.rejects(box.files.read("/etc"), InvalidArgumentError);
  await assert.rejects(box.files.write("/tmp", "x"), InvalidArgumentError);
});
step("directories", async () => {
  assert.equal(await box.files.makeDir("/tmp/new"), true);
  assert.equal(await box.files.makeDir("/tmp/new"), false);
  const names = (await box.files.list("/tmp/dir")).map((e) => e.name);
  assert.deepEqual(names, ["a b.bin"]);
  assert.equal((await box.files.getInfo("/tmp/raw")).size, 4);
  await box.files.rename("/tmp/raw", "/tmp/new/raw");
  assert.equal(await box.files.exists("/tmp/raw"), false);
  await box.files.remove("/tmp/new");
  assert.equal(await box.files.exists("/tmp/new"), false);
});
step("ports", async () => {
  assert.match(box.getHost(3000), /^3000-/);
  assert.equal(box.trafficAccessToken ?? undefined, undefined);
  const closed = await Sandbox.create("base",
    { network: { allowPublicTraffic: false } });
  assert.ok(closed.trafficAccessToken);
  await closed.kill();
});
step("terminal", async () => {
  let seen = "";
  const text = new TextDecoder();
  const shell = await box.pty.create({
    cols: 80, rows: 24, timeoutMs: 0, onData: (d) => seen += text.decode(d),
  });
  const type = (line) =>
    box.pty.sendInput(shell.pid, new TextEncoder().encode(line));
  const until = async (word) => {
    for (let i = 0; i < 200 && !seen.includes(word); i++)
      await new Promise((done) => setTimeout(done, 50));
    assert.ok(seen.includes(word), seen);
  };
  await type("stty size\n");
  await until("24 80");
  await box.pty.resize(shell.pid, { cols: 132, rows: 40 });
  await type("stty size; exit 7\n");
  await until("40 132");
  await assert.rejects(shell.wait(), (e) => e.exitCode === 7);
  const other = await box.pty.create({ cols: 80, rows: 24, onData: () => {} });
  assert.equal(await box.pty.kill(other.pid), true);
  await assert.rejects(other.wait());
});
step("list", async () => {
  const pages = Sandbox.list({ query: {
    metadata: { app: "dcode-sdk", odd: "a b&c=d" } }, limit: 1 });
  const found = [];
  while (pages.hasNext)
    found.push(...await pages.nextItems());
  assert.deepEqual(found.map((s) => s.sandboxId), [box.sandboxId]);
  const none = Sandbox.list({ query: { metadata: { app: "other" } } });
  assert.deepEqual(await none.nextItems(), []);
});
step("attach", async () => {
  const same = await Sandbox.connect(box.sandboxId);
  assert.equal((await same.commands.run("cat /tmp/one")).stdout, "1");
  await assert.rejects(Sandbox.connect("ighost"), NotFoundError);
});
step("pause and resume", async () => {
  await box.pause();
  assert.equal((await box.getInfo()).state, "paused");
  assert.equal(await box.isRunning(), false);
  const same = await Sandbox.connect(box.sandboxId);
  assert.equal((await same.commands.run("cat /tmp/one")).stdout, "1");
});
step("snapshot", async () => {
  const made = await box.createSnapshot();
  const copy = await Sandbox.create(made.snapshotId);
  assert.equal((await copy.commands.run("cat /tmp/one")).stdout, "1");
  assert.equal(await copy.kill(), true);
  assert.equal(await Sandbox.deleteSnapshot(made.snapshotId), true);
  assert.equal(await Sandbox.deleteSnapshot(made.snapshotId), false);
});
step("delete", async () => {
  assert.equal(await box.kill(), true);
  assert.equal(await box.kill(), false);
  assert.equal(await box.isRunning(), false);
});

await runSteps(steps);
