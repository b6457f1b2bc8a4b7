// steps.mjs - runs the named steps of a script against an emulator.
// SPDX-License-Identifier: MIT

const printError = console.error; // a script may mute it later
const DEADLINE = 60_000; // ms for one step

function endedLate(name) {
  printError(`not ok ${name}\nno end within ${DEADLINE / 1000} s`);
  process.exit(1);
}

// Runs [name, function] pairs one after the other, also behind one that
// failed, and ends the program: an SDK may leave a connection open whose
// answer it gave up, and Node would wait for the server to close it.
export async function runSteps(steps) {
  for (const [name, run] of steps) {
    const timer = setTimeout(endedLate, DEADLINE, name);
    try {
      await run();
      console.log(`ok ${name}`);
    } catch (e) {
      printError(`not ok ${name}\n${e.stack}`, e.json ?? "");
      process.exitCode = 1;
    }
    clearTimeout(timer);
  }
  console.log(`${steps.length} steps`);
  process.exit();
}
