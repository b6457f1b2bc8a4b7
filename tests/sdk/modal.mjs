// modal.mjs - Modal's official SDK against our emulator: all must be content.
// SPDX-License-Identifier: MIT
//
// node modal.mjs, with MODAL_TOKEN_ID, MODAL_TOKEN_SECRET, MODAL_SERVER_URL
// and MODAL_SANDBOX_V2 (0 or 1) set.
import assert from "node:assert/strict";
import {
  AlreadyExistsError, ModalClient, NotFoundError,
  SandboxFilesystemIsADirectoryError, SandboxFilesystemNotFoundError,
} from "modal";

import { runSteps } from "./steps.mjs";

const v2 = process.env.MODAL_SANDBOX_V2 === "1";
const modal = new ModalClient({ environment: "main" });
const steps = [];
const step = (name, run) => steps.push([name, run]);
const enough = new Uint8Array(3_000_000).map((_, i) => (i * 7919) >> 3);
const gone = "sb-0000000000000000000000";
let app, image, box, saved;

const run = async (...argv) => {
  const p = await box.exec(argv);
  const [out, err] = await Promise.all(
    [p.stdout.readText(), p.stderr.readText()]);
  return [await p.wait(), out, err];
};

step("app", async () => {
  app = await modal.apps.fromName("dcode-sdk", { createIfMissing: true });
  assert.match(app.appId, /^ap-/);
});
step("app: missing", () =>
  assert.rejects(modal.apps.fromName("no-such-app"), NotFoundError));
step("image", async () => {
  image = await modal.images.fromRegistry("python:3-slow").build(app);
  assert.match(image.imageId, /^im-/);
});
step("image: fails to build", () =>
  assert.rejects(modal.images.fromRegistry("missing:1").build(app),
    /no such image/));
step("create", async () => {
  box = await modal.sandboxes.create(app, image, {
    name: "first", tags: { app: "dcode-sdk" }, timeoutMs: 600_000,
    workdir: "/workspace", cpu: 0.5, memoryMiB: 256, regions: ["us-east"],
    blockNetwork: true, command: ["sleep", "600"],
  });
  assert.equal(/^sb-[0-9A-Za-z]{22}$/.test(box.sandboxId), !v2);
  assert.equal(await box.poll(), null);
});
step("create: the name is taken", () =>
  assert.rejects(modal.sandboxes.create(app, image, { name: "first" }),
    AlreadyExistsError));
step("find: by id and by name", async () => {
  const again = await modal.sandboxes.fromId(box.sandboxId);
  assert.equal(again.sandboxId, box.sandboxId);
  const named = await modal.sandboxes.fromName("dcode-sdk", "first");
  assert.equal(named.sandboxId, box.sandboxId);
});
step("find: nothing", async () => {
  await assert.rejects(modal.sandboxes.fromName("dcode-sdk", "second"),
    NotFoundError);
  const ghost = await modal.sandboxes.fromId(gone);
  await assert.rejects(ghost.poll(), /not found/);
});
step("tags", async () =>
  assert.deepEqual(await box.getTags(), { app: "dcode-sdk" }));
step("list: pages, by tag", async () => {
  const more = [];
  for (let i = 0; i < 3; i++)
    more.push(await modal.sandboxes.create(app, image,
      { tags: { app: "other" } }));
  const ids = async (tags) => {
    const found = [];
    for await (const s of modal.sandboxes.list({ appId: app.appId, tags }))
      found.push(s.sandboxId);
    return found;
  };
  assert.deepEqual(await ids({ app: "dcode-sdk" }), [box.sandboxId]);
  assert.equal((await ids({ app: "other" })).length, 3);
  await Promise.all(more.map((s) => s.terminate()));
  assert.deepEqual(await ids(), [box.sandboxId]);
});
step("exec", async () =>
  assert.deepEqual(await run("sh", "-c", "pwd; echo err >&2; exit 3"),
    [3, "/workspace\n", "err\n"]));
step("exec: directory, input", async () => {
  const p = await box.exec(["sh", "-c", "pwd; cat"], { workdir: "/tmp" });
  await p.stdin.writeText("typed\n");
  await p.closeStdin();
  assert.equal(await p.stdout.readText(), "/tmp\ntyped\n");
  assert.equal(await p.wait(), 0);
});
step("exec: a signal", async () =>
  assert.equal((await run("sh", "-c", "kill -9 $$"))[0], 137));
step("exec: three megabytes", async () =>
  assert.equal((await run("sh", "-c",
    "head -c 3000000 /dev/zero | tr '\\0' x"))[1].length, 3_000_000));
step("exec: a time limit", async () => {
  const p = await box.exec(["sleep", "60"], { timeoutMs: 1000 });
  assert.notEqual(await p.wait(), 0);
});
step("files: there and back", async () => {
  await box.filesystem.writeBytes(enough, "/workspace/a/b.bin");
  const back = await box.filesystem.readBytes("/workspace/a/b.bin");
  assert.equal(Buffer.compare(Buffer.from(back), Buffer.from(enough)), 0);
});
step("files: list, make, remove", async () => {
  await box.filesystem.makeDirectory("/workspace/a/c");
  const names = (await box.filesystem.listFiles("/workspace/a")).map(
    (f) => f.name);
  assert.deepEqual(names.sort(), ["b.bin", "c"]);
  await box.filesystem.remove("/workspace/a/c");
});
step("files: errors", async () => {
  await assert.rejects(box.filesystem.readBytes("/workspace/none"),
    SandboxFilesystemNotFoundError);
  await assert.rejects(box.filesystem.readBytes("/workspace/a"),
    SandboxFilesystemIsADirectoryError);
  await assert.rejects(box.filesystem.writeBytes(enough, "/workspace/a"),
    SandboxFilesystemIsADirectoryError);
});
step("snapshot: named, started from", async () => {
  const made = await box.snapshotFilesystem();
  await made.publish("kept");
  saved = await modal.images.fromName("kept");
  assert.equal(saved.imageId, made.imageId);
  const other = await modal.sandboxes.create(app, saved,
    { workdir: "/workspace" });
  const back = await other.filesystem.readBytes("/workspace/a/b.bin");
  assert.equal(back.length, enough.length);
  await other.terminate();
});
step("ports", async () => {
  const { url, token } = await box.createConnectToken({ port: 9 });
  assert.equal((await fetch(url)).status, 401);
  assert.equal((await fetch(url, { headers:
    { Authorization: `Bearer ${token}` } })).status, 502);
  assert.deepEqual(await box.tunnels(), {});
  const open = await modal.sandboxes.create(app, image,
    { encryptedPorts: [3000], command: ["sleep", "600"] });
  const tunnels = await open.tunnels();
  assert.deepEqual(Object.keys(tunnels), ["3000"]);
  assert.match(tunnels[3000].url, /^https:.*modal\.host$/);
  await open.terminate();
});
step("terminate", async () => {
  assert.equal(await box.terminate({ wait: true }), 137);
  assert.equal(await box.poll(), 137);
});

await runSteps(steps);
