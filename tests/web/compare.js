// SPDX-License-Identifier: Apache-2.0
// node tests/web/compare.js build/web/site/warpbit.js build/release/warpbit: does the page print what the tool prints?
const {spawnSync} = require("child_process");
const fs = require("fs");
const path = require("path");

const [script, tool] = process.argv.slice(2);
const lines = fs.readFileSync(path.join(__dirname, "command_lines.txt"), "utf8").split("\n").filter(line => line !== "");
const words = line => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(found => found[1] ?? found[2]);

async function main() {
  const begin = performance.now();
  const wasmBinary = fs.readFileSync(script.replace(/js$/, "wasm"));  // Emscripten's own way fails where node has fetch()
  const page = await require(path.resolve(script))({wasmBinary});
  console.log(`start: ${(performance.now() - begin).toFixed(0)} ms`);
  let different = 0;
  for (const line of lines) {
    const before = performance.now();
    const text = page.ccall("warpbit_web_command", "string", ["string"], [JSON.stringify(words(line))]);
    const took = performance.now() - before;
    const {status, stdout, stderr} = JSON.parse(text);
    const wanted = spawnSync(tool, words(line), {encoding: "utf8", maxBuffer: 1 << 28});
    const same = wanted.status === status && wanted.stdout === stdout && wanted.stderr === stderr;
    different += !same;
    console.log(`${same ? "same" : "DIFFERENT"} ${took.toFixed(1)} ms, ${stdout.length} bytes: ${line}`);
    if (!same && process.env.VERBOSE) console.log({wanted, got: {status, stdout, stderr}});
  }
  console.log(`${lines.length} command lines, ${different} different`);
  process.exitCode = different === 0 ? 0 : 1;
}
main();
