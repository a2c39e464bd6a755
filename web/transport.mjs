// SPDX-License-Identifier: Apache-2.0
// Questions to the library: command lines, answered by a worker, so that the page never waits.
const kKept = 200;  // answers

export class Refusal extends Error {}

// Commands answered by `send`: arguments, and texts of files by their names -> promise of {status, stdout, stderr}.
export class Transport {
  constructor(send) { this.send = send; this.answers = new Map(); }

  // The object that a command prints with --json. Throws a Refusal with the library's sentence. Answers about files are not kept.
  ask(words, files = {}) {
    const key = JSON.stringify(words), isKept = Object.keys(files).length === 0;
    const known = isKept && this.answers.get(key);
    if (known) return known;
    const answer = this.send([...words, "--json"], files).then(({ status, stdout, stderr }) => {
      if (stdout === "") throw new Refusal(stderr.replace(/^warpbit: /gm, "").trim() || `status ${status}`);
      return JSON.parse(stdout);
    });
    if (isKept) this.answers.set(key, answer);
    if (this.answers.size > kKept) this.answers.delete(this.answers.keys().next().value);
    return answer;
  }
}

// The library in a worker of its own.
export function worker(url) {
  const thread = new Worker(url);
  const waiting = new Map();
  let next = 0;
  thread.onmessage = ({ data }) => { waiting.get(data.id)(data); waiting.delete(data.id); };
  thread.onerror = event => {
    for (const done of waiting.values()) done({ failure: event.message || "the library could not be loaded" });
    waiting.clear();
  };
  return (words, files) => new Promise((resolve, reject) => {
    waiting.set(++next, ({ answer, failure }) => failure ? reject(new Refusal(failure)) : resolve(answer));
    thread.postMessage({ id: next, words, files });
  });
}

// As a shell would take it.
export const commandLine = words => ["warpbit", ...words.map(word =>
  /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`)].join(" ");
