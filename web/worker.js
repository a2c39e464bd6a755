// SPDX-License-Identifier: Apache-2.0
// Answers {id, words, files} with {id, answer} or {id, failure}, by the library that web/CMakeLists.txt makes: a script, no module.
importScripts("warpbit.js");

const library = warpbit();

// A file may be larger than the stack, on which ccall() puts strings.
function run({ ccall, lengthBytesUTF8, stringToUTF8, _malloc, _free }, question) {
  const size = lengthBytesUTF8(question) + 1, at = _malloc(size);
  stringToUTF8(question, at, size);
  try {
    return JSON.parse(ccall("warpbit_web_command", "string", ["number"], [at]));
  } finally {
    _free(at);
  }
}

onmessage = async ({ data: { id, words, files } }) => {
  try {
    postMessage({ id, answer: run(await library, JSON.stringify({ arguments: words, files })) });
  } catch (error) {
    postMessage({ id, failure: String(error) });
  }
};
