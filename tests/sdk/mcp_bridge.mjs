// mcp_bridge.mjs - serves an MCP server of stdio over streamable HTTP.
// SPDX-License-Identifier: MIT
//
// mcp_bridge.mjs COMMAND ARGS...: both ends are transports of the official SDK.
// Prints its address. Without COMMAND it is a server of its own with tools that
// need a stream: `cut` ends its stream before the answer, `grow` adds a tool,
// `steps` says how far it is.
import { randomUUID } from 'node:crypto';
import express from 'express';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport }
  from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { StdioClientTransport }
  from '@modelcontextprotocol/sdk/client/stdio.js';
import { InMemoryEventStore } from
  '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js';

const command = process.argv.slice(2);
const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const text = (words) => ({ content: [{ type: 'text', text: words }] });

function streaming() {
  const server = new McpServer({ name: 'streams', version: '1' });
  const reads = { annotations: { readOnlyHint: true } };
  server.registerTool('cut', reads, async (extra) => {
    await server.sendLoggingMessage({ level: 'info', data: 'before' },
      extra.sessionId).catch(() => {});
    extra.closeSSEStream();
    await sleep(300);
    return text('after the cut');
  });
  server.registerTool('grow', reads, async () => {
    if (!server.grown)
      server.registerTool('grown', reads, async () => text('grown'));
    server.grown = true;
    return text('more');
  });
  server.registerTool('steps', reads, async (extra) => {
    for (let i = 1; i <= 3; i++) {
      await extra.sendNotification({ method: 'notifications/progress',
        params: { progressToken: extra._meta.progressToken, progress: i,
                  total: 3, message: `step \x1b[31m${i}` } });
      await sleep(300);
    }
    return text('all steps');
  });
  return server;
}

async function connect(http) {
  if (!command.length)
    return streaming().connect(http);
  const child = new StdioClientTransport({ command: command[0],
                                           args: command.slice(1) });
  child.onmessage = (message) => http.send(message).catch(() => {});
  http.onmessage = (message) => child.send(message);
  http.onclose = () => child.close();
  await child.start();
  return http.start();
}

const sessions = new Map();
const app = express();
app.use(express.json({ limit: '32mb' }));
app.all('/mcp', async (req, res) => {
  const id = req.headers['mcp-session-id'];
  if (id && !sessions.has(id))
    return res.status(404).json({});
  let http = sessions.get(id);
  if (!http) {
    http = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID, retryInterval: 50,
      eventStore: new InMemoryEventStore(),
      onsessioninitialized: (made) => sessions.set(made, http) });
    await connect(http);
  }
  if (req.method === 'GET')
    console.log('listens', req.headers['last-event-id'] ? 'again' : '');
  return http.handleRequest(req, res, req.body);
});
const server = app.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${server.address().port}/mcp`));
