// markdownlint.mjs FILE... - markdownlint's defaults, but any length of lines.
// SPDX-License-Identifier: MIT
import { lint } from "markdownlint/promise";

const config = { default: true, MD013: false };
const results = await lint({ files: process.argv.slice(2), config });
let found = 0;

for (const [file, faults] of Object.entries(results))
	for (const fault of faults) {
		found++;
		console.log(`${file}:${fault.lineNumber}: ` +
			`${fault.ruleNames.join("/")} ${fault.ruleDescription}` +
			(fault.errorDetail ? ` [${fault.errorDetail}]` : ""));
	}
process.exitCode = found ? 1 : 0;
