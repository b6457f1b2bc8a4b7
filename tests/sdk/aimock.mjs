// aimock.mjs - a model server that nobody here wrote, until its input ends.
// SPDX-License-Identifier: MIT
//
// node aimock.mjs: writes its address as a line. A prompt "hi" is answered with
// two calls of execute, their results with a text.
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0 });
const call = (command) => ({ name: "execute",
  arguments: JSON.stringify({ command }) });

mock.addFixture({
  match: { userMessage: "hi", hasToolResult: false },
  response: { content: "Let me see.", reasoning: "I should look.",
    toolCalls: [call("echo one >> ran"), call("echo two >> ran")] },
});
mock.addFixture({
  match: { userMessage: "hi", hasToolResult: true },
  response: { content: "All is well." },
});
await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on("end", () => mock.stop().then(() => process.exit(0)));
