// SPDX-License-Identifier: Apache-2.0
// node web/prerender.mjs SITE [--tool PATH] [--forms REGEX]
//
// Writes a page and a picture for each form into SITE/form, and pages that list them by family and by GPU. SITE has the page
// already. --tool asks that command-line tool, two at a time, instead of the library in SITE/warpbit.js; both answer the same.
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { fileName } from "./address.mjs";
import { html, list, raw, refusal, table } from "./html.mjs";

const kAtOnce = 2;  // forms
const [site, ...rest] = process.argv.slice(2);
const option = name => rest.includes(name) ? rest[rest.indexOf(name) + 1] : "";
if (!site) throw new Error("usage: node web/prerender.mjs SITE [--tool PATH] [--forms REGEX]");

// ---- Asking

const byTool = tool => words => new Promise(resolve => execFile(tool, words, { maxBuffer: 1 << 28 },
  (error, stdout, stderr) => resolve({ status: error?.code ?? 0, stdout, stderr })));

async function byLibrary() {
  const start = createRequire(import.meta.url)(resolve(site, "warpbit.js"));
  const library = await start({ wasmBinary: await readFile(join(site, "warpbit.wasm")) });
  return async words => JSON.parse(library.ccall("warpbit_web_command", "string", ["string"], [JSON.stringify(words)]));
}

const run = option("--tool") ? byTool(option("--tool")) : await byLibrary();

async function object(words) {
  const answer = await run([...words, "--json"]);
  if (answer.stdout === "") throw new Error(answer.stderr);
  return JSON.parse(answer.stdout);
}

// Writes the picture of a form. A library in this process has no files: it hands them back.
async function picture(words, path) {
  const answer = await run([...words, "--svg", path]);
  const written = Object.values(answer.files ?? {})[0];
  if (written !== undefined) await writeFile(path, written);
  return answer;
}

// ---- Pages

const index = await readFile(join(site, "index.html"), "utf8");

// The page of the site, one folder below, with other contents.
function page({ title, form = "", content }) {
  return index.replaceAll(/(href|src)="(style\.css|main\.mjs|form\/)/g, '$1="../$2')
    .replace('href="#/home"', 'href="../index.html"')
    .replace(/<title>.*<\/title>/, () => html`<title>${title} · warpbit</title>`.text)
    .replace(/(<meta name="description" content=")[^"]*/, (_, start) => start + html`${title}: which lane, register and bits hold each element.`.text)
    .replace("<body>", () => (form ? html`<body data-form="${form}">` : raw("<body>")).text)
    .replace(/<script type="module".*<\/script>\n|<link rel="modulepreload".*\n/g, line => form ? line : "")
    .replace(/(<h1 id="heading">)[^<]*/, (_, start) => start + html`${title}`.text)
    .replace(/<div id="view"[^]*?<\/div>\n/, () => `<div id="view" tabindex="-1">${content}</div>\n`)
    .replace(/<noscript>.*<\/noscript>\n/, "")
    .replace(/<div class="tools">.*?<\/div>/, tools => form ? tools : "");
}

const link = form => html`<a href="${fileName(form)}.html">${form}</a>`;
const ofFamily = name => html`<a href="family-${name}.html">${name}</a>`;
const ofGpu = name => html`<a href="gpu-${name}.html">${name}</a>`;

async function formPage(of, before, after) {
  const name = fileName(of.form), words = ["layout", of.form, ...(of.idesc_example ? ["--idesc", of.idesc_example] : [])];
  const text = await run(words);
  const drawn = text.status === 0 ? await picture(words, join(site, "form", name + ".svg")) : text;
  if (text.status === 0 && drawn.status !== 0) throw new Error(drawn.stderr);
  const content = html`<p><a href="index.html">All forms</a> · ${ofFamily(of.family)}${before && html` · before: ${link(before.form)}`}${after && html` · next: ${link(after.form)}`}</p>
<p>On ${of.targets.map((t, i) => [i > 0 && ", ", ofGpu(t)])}. <a href="../index.html#/layout/${of.form}">Interactive</a>, <a href="../index.html#/sum/${of.form}">its sums</a>, <a href="../index.html#/gpu/${of.form}">its evidence</a>.</p>
${list(of.variants.map(v => html`<code>${v}</code>`))}
${of.idesc_example && html`<p>For the instruction descriptor <code>${of.idesc_example}</code>, an example.</p>`}
${text.status === 0 ? html`<div class="scroll"><img src="${name}.svg" alt="The layout of ${of.form}; the text below says the same" loading="lazy"></div><pre tabindex="0">${text.stdout}</pre>`
    : refusal(text.stderr.replace(/^warpbit: /, ""))}`;
  await writeFile(join(site, "form", name + ".html"), page({ title: of.form, form: text.status === 0 ? of.form : "", content }));
}

async function listing(name, title, forms) {
  await writeFile(join(site, "form", name + ".html"), page({ title, content: html`<p><a href="index.html">All forms</a></p>
${table(title, ["form", "operands", "targets"], forms.map(f => [link(f.form), f.variants.map(v => html`<code>${v}</code><br>`), `${f.targets[0]}${f.targets.length > 1 ? ` to ${f.targets.at(-1)}` : ""}`]))}` }));
}

const grouped = (items, keys) => {
  const out = new Map();
  for (const item of items) for (const key of keys(item)) if (out.has(key)) out.get(key).push(item); else out.set(key, [item]);
  return out;
};

// ---- All of them

await mkdir(join(site, "form"), { recursive: true });
const listed = (await object(["list", "--forms", ...(option("--forms") ? [option("--forms")] : [])])).forms;
// A form may have several kinds of operands: they share a page.
const forms = [...grouped(listed, f => [f.form]).values()].map(same => ({ ...same[0],
  variants: same.map(f => f.operands), targets: [...new Set(same.flatMap(f => f.targets))] }));
const families = grouped(forms, f => [f.family]), gpus = grouped(forms, f => f.targets);
for (const [family, members] of families) await listing(`family-${family}`, `Forms of ${family}`, members);
for (const [gpu, members] of gpus) await listing(`gpu-${gpu}`, `Forms on ${gpu}`, members);
await writeFile(join(site, "form", "index.html"), page({ title: "All forms", content: html`
${table("By family", ["family", "forms"], [...families].map(([name, members]) => [ofFamily(name), members.length]))}
${table("By GPU", ["target", "forms"], [...gpus].map(([name, members]) => [ofGpu(name), members.length]))}` }));

const waiting = [...families.values()].flatMap(members => members.map((f, i) => [f, members[i - 1], members[i + 1]]));
await Promise.all(Array.from({ length: kAtOnce }, async () => {
  for (let next = waiting.shift(); next; next = waiting.shift()) await formPage(...next);
}));
console.log(`${listed.length} forms, ${forms.length} names in ${families.size} families`);
