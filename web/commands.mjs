// SPDX-License-Identifier: Apache-2.0
// From command lines to addresses: what `warpbit ask` proposes becomes a view.
const kFlags = new Set(["json", "transposed", "satfinite", "explain", "evidence", "forms", "table", "ranges"]);

// {positional, options} of arguments behind the command's name.
function split(words) {
  const positional = [], options = {};
  for (let i = 0; i < words.length; ++i) {
    const name = words[i].startsWith("--") ? words[i].slice(2) : null;
    if (name === "") return { positional: [...positional, ...words.slice(i + 1)], options };
    if (name === null) positional.push(words[i]);
    else options[name] = kFlags.has(name) ? "1" : words[++i];
  }
  return { positional, options };
}

// What a view is about and its parameters, of the arguments of its commands.
const kMakers = {
  layout: ([form], { target, operand, ...options }) => [target ? `${form}@${target}` : form, options],
  sum: ([form], { target, targets = target, ...options }) => [form, { targets, ...options }],
  gpu: ([form]) => [form, {}],
  descriptor: ([bits], options) => [bits, options],
  tensormap: words => [words.join(" "), {}],
  format: ([format, ...numbers], { table, ...options }) => [format, { number: numbers.join(" "), ...options }],
};

export function stateOf({ view, commands }) {
  const { positional, options: { json, explain, ...options } } = split(commands[0].slice(1));
  const [subject = "", parameters] = kMakers[view](positional, options);
  return { view, subject, parameters };
}
