// deno.mjs - Deno's official SDK against our emulator.
// SPDX-License-Identifier: MIT
//
// node deno.mjs, with DENO_DEPLOY_TOKEN, DENO_SANDBOX_ENDPOINT and
// DENO_DEPLOY_ENDPOINT set.
import assert from "node:assert/strict";
import { Client, Sandbox } from "@deno/sandbox";

import { runSteps } from "./steps.mjs";

const steps = [];
const step = (name, run) => steps.push([name, run]);
const client = new Client();
const text = (bytes) => Buffer.from(bytes ?? []).toString();
const run = async (command, options = {}) => {
  const child = await box.spawn("/bin/bash", {
    args: ["-c", command], stdout: "piped", stderr: "piped", ...options });
  return child.output();
};
let box, other;

step("create: with options", async () => {
  box = await Sandbox.create({
    timeout: "10m", memory: "1GiB", labels: { app: "sdk" },
    allowNet: ["github.com", "*.npmjs.org"], env: { GREETING: "hello" },
    volumes: { "/data": "my-volume" },
  });
  assert.match(box.id, /^sbx_ord_[0-9a-hjkmnp-z]{20}$/);
});
step("create: lives as long as its socket", async () => {
  other = await Sandbox.create();
  await other.close();
  for (let i = 0; i < 200; i++) {
    const all = await client.sandboxes.list();
    if (all.find((s) => s.id === other.id)?.status === "stopped") return;
    await new Promise((wake) => setTimeout(wake, 50));
  }
  assert.fail("it is still there");
});
step("create: wrong token, too long", async () => {
  await assert.rejects(Sandbox.create({ token: "ddo_wrong" }),
    /token is invalid or expired/);
  await assert.rejects(Sandbox.create({ timeout: "90m" }));
});
step("list: all and by label", async () => {
  const all = await client.sandboxes.list();
  assert.deepEqual(all.map((s) => s.id).sort(), [box.id, other.id].sort());
  const [one, ...more] = await client.sandboxes.list(
    { labels: { app: "sdk" } });
  assert.deepEqual(more, []);
  assert.equal(one.id, box.id);
  assert.equal(one.status, "running");
  assert.equal(one.stoppedAt, null);
  assert.ok(Math.abs(Date.now() - one.createdAt) < 60000);
  assert.deepEqual(await client.sandboxes.list({ labels: { app: "x" } }), []);
});
step("exec: output, environment, directory", async () => {
  const r = await run("echo out; echo err >&2; echo $X $GREETING; pwd",
    { env: { X: "y" }, cwd: "/tmp" });
  assert.equal(text(r.stdout), "out\ny hello\n/tmp\n");
  assert.equal(text(r.stderr), "err\n");
  assert.deepEqual(r.status,
    { success: true, code: 0, signal: null, oom: false });
  assert.equal(await box.sh`pwd`.text(), "/home/sandbox\n");
});
step("exec: exit codes", async () => {
  for (const [command, code, signal] of [["exit 3", 3, null],
    ["no-such-program", 127, null], ["kill -9 $$", 137, "SIGKILL"]]) {
    const { status } = await run(command);
    assert.deepEqual([status.code, status.signal], [code, signal]);
  }
  await assert.rejects(run("true", { cwd: "/nope" }), /No such cwd/);
});
step("exec: a megabyte, and none", async () => {
  const r = await run("head -c 1000000 /dev/zero | tr '\\0' x");
  assert.equal(text(r.stdout), "x".repeat(1_000_000));
  const quiet = await run("echo x", { stdout: "null", stderr: "null" });
  assert.equal(quiet.stdout, null);
});
step("exec: input", async () => {
  const child = await box.spawn("wc", { args: ["-c"], stdin: "piped",
    stdout: "piped", stderr: "piped" });
  const writer = child.stdin.getWriter();
  for (let i = 0; i < 20; i++) await writer.write(new Uint8Array(10000));
  await writer.close();
  assert.equal(text((await child.output()).stdout).trim(), "200000");
});
step("exec: kill", async () => {
  const child = await box.spawn("sleep", { args: ["100"], stdout: "piped",
    stderr: "piped" });
  await child.kill();
  assert.deepEqual(await child.status,
    { success: false, code: 143, signal: "SIGTERM", oom: false });
  await child.kill("SIGKILL"); // it has ended
});
step("exec: output that nobody wants", async () => {
  const child = await box.spawn("yes", { stdout: "piped", stderr: "null" });
  await child.stdout.cancel(new Error("enough"));
  await child.kill();
  assert.equal((await child.status).signal, "SIGTERM");
});
step("files: in and out", async () => {
  const bytes = new Uint8Array(300_000).map((_, i) => i * 7);
  await box.fs.mkdir("/tmp/dir/deep", { recursive: true });
  await box.fs.writeFile("/tmp/dir/a b.bin", bytes, { mode: 0o600 });
  assert.deepEqual(Buffer.from(await box.fs.readFile("/tmp/dir/a b.bin")),
    Buffer.from(bytes));
  const about = await box.fs.stat("/tmp/dir/a b.bin");
  assert.equal(about.size, 300_000);
  assert.equal(about.mode & 0o777, 0o600);
  await box.fs.writeFile("/tmp/dir/deep/x", bytes.slice(0, 3),
    { mode: 0o755 });
  await box.fs.writeTextFile("note", "kept\n");
  assert.equal(await box.fs.readTextFile("/home/sandbox/note"), "kept\n");
  const names = [];
  for await (const entry of await box.fs.readDir("/tmp/dir"))
    names.push(entry.name);
  assert.deepEqual(names.sort(), ["a b.bin", "deep"]);
  await box.fs.rename("/tmp/dir/a b.bin", "/tmp/dir/c");
  await box.fs.remove("/tmp/dir", { recursive: true });
  await assert.rejects(box.fs.stat("/tmp/dir"));
});
step("files: as a stream", async () => {
  await box.fs.writeFile("/tmp/stream", new ReadableStream({
    start(controller) {
      for (let i = 0; i < 10; i++)
        controller.enqueue(new Uint8Array(65536).fill(i));
      controller.close();
    } }));
  const bytes = await box.fs.readFile("/tmp/stream");
  assert.equal(bytes.length, 655360);
  assert.equal(bytes[655359], 9);
});
step("files: errors", async () => {
  const code = (wanted) => (e) => e.code === wanted;
  await assert.rejects(box.fs.readFile("/missing"), code("ENOENT"));
  await assert.rejects(box.fs.readFile("/etc"), code("EISDIR"));
  await assert.rejects(box.fs.writeFile("/no/such/dir", new Uint8Array(1)),
    code("ENOENT"));
  await assert.rejects(box.fs.mkdir("/etc/passwd/x", { recursive: true }));
});
step("variables", async () => {
  await box.env.set("COLOUR", "blue");
  assert.equal(await box.env.get("COLOUR"), "blue");
  assert.equal(text((await run("echo $COLOUR")).stdout), "blue\n");
  await box.env.delete("COLOUR");
});
step("lifetime", async () => {
  const end = await box.extendTimeout("20m");
  assert.ok(Math.abs(end - Date.now() - 1_200_000) < 60000);
});
step("connect: a second socket, and after the first is closed", async () => {
  const second = await Sandbox.connect(box.id);
  assert.equal(await second.fs.readTextFile("note"), "kept\n");
  await box.close();
  assert.equal(await second.fs.readTextFile("note"), "kept\n");
  box = second;
});
step("connect: no such sandbox", () =>
  assert.rejects(Sandbox.connect("sbx_ord_0123456789abcdefghjk"),
    /not found/));
step("ports", async () => {
  assert.match(await box.exposeHttp({ port: 3000 }), /^https:.*deno\.net$/);
});
step("kill", async () => {
  await box.kill();
  await assert.rejects(Sandbox.connect(box.id), /not found/);
  const [one] = await client.sandboxes.list({ labels: { app: "sdk" } });
  assert.equal(one.status, "stopped");
});

console.error = () => {}; // The SDK reports what we provoke.
await runSteps(steps);
