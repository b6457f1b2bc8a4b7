// ws_server.mjs - the npm package ws as an independent WebSocket server.
// SPDX-License-Identifier: MIT
//
// node ws_server.mjs [KEY.pem CERT.pem]   TLS with both; prints its port,
// then serves until its standard input ends. What it does goes by path:
//   /echo       sends every message back, of the same kind
//   /fragments  sends "héllo" in three fragments with a ping between
//   /count?n=N  sends N bytes in one binary message, then closes with 1000
//   /ping       pings with "are you there", sends the pong's data as text
//   /bye        closes with 4001 "enough"
//   /drop       ends the connection without a close frame
//   /about      sends what it saw of the request, as JSON
//   /auth       401 unless X-Api-Key is "k"
import { readFileSync } from "node:fs";
import { createServer as createPlain } from "node:http";
import { createServer as createTls } from "node:https";
import { WebSocketServer } from "ws";

const [key, cert] = process.argv.slice(2).map((f) => readFileSync(f));
const server = key
  ? createTls({ key, cert, ALPNProtocols: ["h2", "http/1.1"] })
  : createPlain();
const sockets = new WebSocketServer({
  noServer: true,
  maxPayload: 64 << 20,
  handleProtocols: (offered) => (offered.has("b") ? "b" : false),
});

const doings = {
  "/echo": (ws) =>
    ws.on("message", (data, binary) => ws.send(data, { binary })),
  "/fragments": (ws) => {
    const [a, b, c] = [[0x68, 0xc3], [0xa9, 0x6c], [0x6c, 0x6f]]
      .map((bytes) => Buffer.from(bytes));
    ws.send(a, { binary: false, fin: false });
    ws.ping("between");
    ws.send(b, { binary: false, fin: false });
    ws.send(c, { binary: false, fin: true });
  },
  "/count": (ws, url) => {
    ws.send(Buffer.alloc(Number(url.searchParams.get("n")), 7));
    ws.close(1000, "done");
  },
  "/ping": (ws) => {
    ws.on("pong", (data) => ws.send(data.toString()));
    ws.ping("are you there");
  },
  "/bye": (ws) => ws.close(4001, "enough"),
  "/drop": (ws) => ws.terminate(),
  "/about": (ws, url, request) =>
    ws.send(JSON.stringify({
      path: request.url,
      headers: request.headers,
      alpn: request.socket.alpnProtocol ?? null,
      protocol: ws.protocol,
    })),
  "/auth": (ws) => ws.send("welcome"),
};

server.on("upgrade", (request, socket, head) => {
  const url = new URL(request.url, "http://localhost");
  const doing = doings[url.pathname];
  const denied = url.pathname === "/auth" &&
    request.headers["x-api-key"] !== "k";
  socket.on("error", () => {});
  if (!doing || denied) {
    const body = JSON.stringify({ detail: denied ? "bad key" : "no such" });
    socket.end(`HTTP/1.1 ${denied ? "401 Unauthorized" : "404 Not Found"}\r\n`
      + `Content-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`);
    return;
  }
  sockets.handleUpgrade(request, socket, head, (ws) => {
    ws.on("error", (error) => console.error(`server: ${error.message}`));
    doing(ws, url, request);
  });
});
server.listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
