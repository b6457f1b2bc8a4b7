// xterm.mjs - the npm package @xterm/headless as an independent terminal.
// SPDX-License-Identifier: MIT
//
// node xterm.mjs COLUMNS ROWS [JSON options]   reads one JSON array a line:
//   ["write", base64]      bytes of the program
//   ["resize", columns, rows]
//   ["dump"]               what the terminal holds and what was done to it
//   ["widths", [code points]]  cells of each, by the cursor's movement
// and answers each with one line of JSON.
import { createInterface } from "node:readline";
import headless from "@xterm/headless";
import unicode from "@xterm/addon-unicode11";

const [cols, rows, options] = process.argv.slice(2);
const term = new headless.Terminal({
  cols: +cols, rows: +rows, scrollback: 100000, allowProposedApi: true,
  ...JSON.parse(options ?? "{}"),
});
term.loadAddon(new unicode.Unicode11Addon());
term.unicode.activeVersion = "11";

const seen = { titles: [], answers: [], bells: 0, erased: [], osc: [] };
term.onTitleChange((t) => seen.titles.push(t));
term.onData((d) => seen.answers.push(d));
term.onBinary((d) => seen.answers.push(d));
term.onBell(() => seen.bells++);
term.parser.registerCsiHandler({ final: "J" }, (p) => {
  seen.erased.push(p[0]);
  return false;
});
for (const id of [0, 1, 2, 4, 7, 9, 10, 12, 22, 50, 52, 104, 133, 777, 1337])
  term.parser.registerOscHandler(id, (data) => {
    seen.osc.push([id, data]);
    return false;
  });
const write = (data) => new Promise((done) => term.write(data, done));

function dump() {
  const buffer = term.buffer.active;
  const lines = [];
  for (let i = 0; i < buffer.length; i++) {
    const line = buffer.getLine(i);
    // A wide character that went to the next row left an empty cell.
    const gap = buffer.getLine(i + 1)?.isWrapped &&
      !line.getCell(line.length - 1)?.getChars();
    lines.push([line.translateToString(false, 0, term.cols - (gap ? 1 : 0)),
                line.isWrapped]);
  }
  return {
    lines, base: buffer.baseY, cursor: [buffer.cursorX, buffer.cursorY],
    type: buffer.type, modes: term.modes, ...seen,
  };
}

async function widths(points) {
  const found = [];
  for (const c of points) {
    await write("\r" + String.fromCodePoint(c));
    found.push(term.buffer.active.cursorX);
  }
  return found;
}

const doings = {
  write: async (data) => { await write(Buffer.from(data, "base64")); },
  resize: (c, r) => term.resize(c, r),
  dump,
  widths,
};
for await (const line of createInterface({ input: process.stdin })) {
  const [name, ...rest] = JSON.parse(line);
  const answer = await doings[name](...rest);
  process.stdout.write(JSON.stringify(answer ?? null) + "\n");
}
