// SPDX-License-Identifier: Apache-2.0
// The page: reads its address, asks, draws, listens.
import { address, parse } from "./address.mjs";
import { stateOf } from "./commands.mjs";
import { html, list, refusal } from "./html.mjs";
import { Refusal, Transport, commandLine, worker } from "./transport.mjs";
import { views } from "./views.mjs";

const base = new URL(".", import.meta.url);
const transport = new Transport(worker(new URL("worker.js", base)));
const at = name => document.getElementById(name);
let shown = null;  // {state, hooks}
let turn = 0;      // of the last state; answers of earlier ones are not drawn

// A pre-rendered page is that of its form until an address says otherwise.
const current = () => location.hash ? parse(location.hash)
  : document.body.dataset.form ? { view: "layout", subject: document.body.dataset.form, parameters: {} } : parse("");

// ---- Commands

// Asks, and keeps what it asked for the reader.
const recorder = asked => (words, files) => { asked.push(words); return transport.ask(words, files); };

const differs = (x, y, names) => names.some(n => (x[n] ?? "") !== (y[n] ?? ""));

// Whether only parameters changed that a view follows without being drawn again.
function follows(next) {
  const before = shown?.state, live = shown?.hooks?.live;
  if (!live || before.view !== next.view || before.subject !== next.subject) return false;
  const others = [...Object.keys(before.parameters), ...Object.keys(next.parameters)].filter(n => !live.includes(n));
  return !differs(before.parameters, next.parameters, others);
}

function go(state, focus) {
  wanted = focus;
  const next = address(state);
  if (next !== location.hash) history.pushState(null, "", next);
  show();
}
let wanted = null;  // what has the focus after drawing

async function busy(promise) {
  document.body.classList.add("busy");
  try { await promise; } catch (error) { report(error); } finally { document.body.classList.remove("busy"); }
}

const report = error => {
  if (!(error instanceof Refusal)) console.error(error);
  at("view").innerHTML = refusal(error.message);
};

// ---- Drawing

// Boxes that scroll are reached by keys.
const scrolling = new ResizeObserver(boxes => {
  for (const { target: box } of boxes)
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0; else box.removeAttribute("tabindex");
});
const watch = root => { for (const box of root.querySelectorAll(".scroll, .panel")) scrolling.observe(box); };

function chrome(state, view) {
  document.title = [state.subject, view.title, "warpbit"].filter(Boolean).join(" · ");
  at("views").innerHTML = Object.entries(views).map(([name, v]) => {
    const subject = v.about === view.about ? state.subject : v.example;
    return html`<a href="${address({ view: name, subject })}" ${name === state.view && html`aria-current="page"`}>${v.title}</a>`;
  }).join("");
  at("heading").textContent = state.view === "home" ? "warpbit" : view.about === "map" ? view.title : `${view.title}${state.subject && ": "}${state.subject}`;
}

// The form of a view's parameters.
function controls(state, view, data) {
  const of = { ...state, ...data };
  at("parameters").innerHTML = html`${view.parameters.filter(p => !p.shown || p.shown(of)).map(p => {
    const value = state.parameters[p.name] ?? "";
    return p.flag ? html`<label class="flag"><input type="checkbox" name="${p.name}" value="${p.value ?? "1"}" ${value && "checked"}> ${p.label}</label>`
      : p.choices ? html`<label>${p.label} <select name="${p.name}">${p.choices.map(c => html`<option ${c === value && "selected"}>${c}</option>`)}</select></label>`
      : html`<label class="${p.wide ? "wide" : p.middle ? "middle" : ""}">${p.label} <input name="${p.name}" value="${value}" placeholder="${p.hint ?? ""}" spellcheck="false" autocomplete="off"></label>`;
  })}`;
}

async function show() {
  const state = current(), view = views[state.view] ?? views.home, mine = ++turn;
  if (follows(state)) {
    shown.state = state;
    for (const input of at("parameters").elements) if (shown.hooks.live.includes(input.name)) input.value = state.parameters[input.name] ?? "";
    return shown.hooks.update(state);
  }
  shown = null;
  chrome(state, view);
  if (view.about && !state.subject && state.view !== "format") return go({ ...state, subject: view.example });
  const asked = [], ask = recorder(asked);
  await busy((async () => {
    let data = {};
    try {
      data = await view.load(state, ask);
    } catch (error) {
      if (mine !== turn) return;
      controls(state, view, {});
      throw error;
    }
    if (mine !== turn) return;
    controls(state, view, data);
    const root = document.createElement("div");
    root.innerHTML = view.render(state, data);
    at("view").replaceChildren(root);
    watch(root);
    shown = { state, hooks: view.enliven?.(root, state, data, { ask, go, busy }) ?? {} };
    for (const a of root.querySelectorAll('a[href^="form/"]')) a.href = new URL(a.getAttribute("href"), base);
    if (wanted) root.querySelector(wanted)?.focus();
    wanted = null;
    tools(view.picture?.(state, data));
  })());
  if (mine === turn) at("commands").innerHTML = asked.length > 0 ? html`<h2>The same on a command line</h2>${list([...new Set(asked.map(commandLine))].map(line => html`<code>${line}</code>`))}` : "";
}

function tools(picture) {
  at("picture").hidden = !picture;
  if (picture) at("picture").href = new URL(picture, base);
}

// ---- The line

let typed = 0, pause = 0;
async function understand(line, enter) {
  const mine = ++typed, out = at("understood");
  if (!line.trim()) { out.textContent = ""; return; }
  try {
    const answer = await transport.ask(["ask", line]);
    if (mine !== typed) return;
    const links = answer.views.filter(v => v.view in views && v.commands.length > 0).map(v => [v.title, address(stateOf(v))]);
    out.innerHTML = html`<p>${answer.understood}</p>${list(links.map(([title, link]) => html`<a href="${link}">${title}</a>`), "links")}
${list((answer.suggestions ?? []).map(s => html`<button type="button" class="suggestion" data-line="${s.line}">${s.line}</button> ${s.why}`))}`;
    if (enter && links.length > 0) go(parse(links[0][1]));
  } catch (error) {
    if (mine === typed) out.innerHTML = refusal(error.message);
  }
}

// ---- Events

at("line").addEventListener("submit", event => { event.preventDefault(); clearTimeout(pause); understand(event.target.elements.line.value, true); });
at("line").addEventListener("input", ({ target }) => { clearTimeout(pause); pause = setTimeout(() => understand(target.value, false), 250); });
at("understood").addEventListener("click", ({ target }) => {
  const { line } = target.dataset;
  if (line) { at("line").elements.line.value = line; understand(line, true); }
});
at("parameters").addEventListener("change", ({ target }) => {
  const state = current(), value = target.type === "checkbox" ? (target.checked ? target.value : "") : target.value.trim();
  go({ ...state, parameters: { ...state.parameters, [target.name]: value } }, null);
});
at("view").addEventListener("toggle", ({ target }) => setTimeout(() => watch(target)), true);
at("parameters").addEventListener("submit", event => event.preventDefault());
at("copy").addEventListener("click", async () => {
  const link = new URL(address(current()), new URL("index.html", base)).href;
  await navigator.clipboard.writeText(link).catch(() => prompt("The address", link));
  at("copy").textContent = "Copied";
  setTimeout(() => { at("copy").textContent = "Copy link"; }, 1500);
});
const theme = name => { document.documentElement.dataset.theme = name; try { localStorage.theme = name; } catch { /* private */ } document.dispatchEvent(new Event("theme")); };
at("theme").addEventListener("click", () => {
  const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
  theme(dark ? "light" : "dark");
});
addEventListener("popstate", show);
show();
