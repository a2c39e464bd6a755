// SPDX-License-Identifier: Apache-2.0
// Answers {id, words} with {id, answer} or {id, failure}, by the library that web/CMakeLists.txt makes: a script, no module.
importScripts("warpbit.js");

const library = warpbit();

onmessage = async ({ data: { id, words } }) => {
  try {
    const text = (await library).ccall("warpbit_web_command", "string", ["string"], [JSON.stringify(words)]);
    postMessage({ id, answer: JSON.parse(text) });
  } catch (error) {
    postMessage({ id, failure: String(error) });
  }
};
