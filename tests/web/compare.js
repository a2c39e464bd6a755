// SPDX-License-Identifier: Apache-2.0
// node tests/web/compare.js build/web/site/warpbit.js build/release/warpbit: does the page print what the tool prints?
const {spawnSync} = require("child_process");
const fs = require("fs");
const os = require("os");
const path = require("path");

const [script, tool] = process.argv.slice(2);
const lines = fs.readFileSync(path.join(__dirname, "command_lines.txt"), "utf8").split("\n").filter(line => line !== "");
const words = line => [...line.matchAll(/'([^']*)'|(\S+)/g)].map(found => found[1] ?? found[2]);

// A file of a person: the page draws of it what the launch drew, byte for byte.
function samePicture(ask) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "warpbit-")), svg = path.join(folder, "launch.svg");
  const launch = ["launch", "examples/ring.ptx", "--block", "96", "--arg", "zeros:u32:256", "--arg", "zeros:u32:256"];
  const answer = spawnSync(tool, [...launch, "--profile", "--json", "--svg", svg], {encoding: "utf8", maxBuffer: 1 << 28}).stdout;
  const got = ask({arguments: ["profile", "answer.json", "--svg", "page.svg", "--json"], files: {"answer.json": answer}});
  const wanted = fs.readFileSync(svg, "utf8");
  fs.rmSync(folder, {recursive: true});
  const same = wanted.length > 0 && got.status === 0 && got.files["page.svg"] === wanted && JSON.parse(got.stdout).picture === wanted;
  console.log(`${same ? "same" : "DIFFERENT"} picture of a profile, of ${answer.length} characters`);
  return same;
}

function sameRefusal(ask) {
  const {status, stdout, stderr} = ask({arguments: ["profile", "other.json"], files: {"answer.json": "{}"}});
  const wanted = spawnSync(tool, ["profile", "other.json"], {encoding: "utf8"});
  const same = status === 2 && stdout === "" && stderr === wanted.stderr;
  console.log(`${same ? "same" : "DIFFERENT"} refusal of a file that is not there`);
  return same;
}

async function main() {
  const begin = performance.now();
  const wasmBinary = fs.readFileSync(script.replace(/js$/, "wasm"));  // Emscripten's own way fails where node has fetch()
  const page = await require(path.resolve(script))({wasmBinary});
  console.log(`start: ${(performance.now() - begin).toFixed(0)} ms`);
  const ask = question => {
    const text = JSON.stringify(question), size = page.lengthBytesUTF8(text) + 1, at = page._malloc(size);
    page.stringToUTF8(text, at, size);
    const answer = page.ccall("warpbit_web_command", "string", ["number"], [at]);
    page._free(at);
    return JSON.parse(answer);
  };
  let different = 0;
  for (const line of lines) {
    const before = performance.now();
    const {status, stdout, stderr} = ask(words(line));
    const took = performance.now() - before;
    const wanted = spawnSync(tool, words(line), {encoding: "utf8", maxBuffer: 1 << 28});
    const same = wanted.status === status && wanted.stdout === stdout && wanted.stderr === stderr;
    different += !same;
    console.log(`${same ? "same" : "DIFFERENT"} ${took.toFixed(1)} ms, ${stdout.length} bytes: ${line}`);
    if (!same && process.env.VERBOSE) console.log({wanted, got: {status, stdout, stderr}});
  }
  console.log(`${lines.length} command lines, ${different} different`);
  different += !(samePicture(ask) && sameRefusal(ask));
  process.exitCode = different === 0 ? 0 : 1;
}
main();
