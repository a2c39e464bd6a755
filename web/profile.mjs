// SPDX-License-Identifier: Apache-2.0
// Profile: the picture of a launch, of the answer that `warpbit launch --profile --json` printed. No address has the file: the page
// keeps it as long as it is open.
import { html, refusal } from "./html.mjs";
import { Refusal } from "./transport.mjs";

const kPicture = "profile.svg";
let chosen = null;  // {name, text}

export const parameters = [];

export async function load(state, ask) {
  if (!chosen) return {};
  try {
    return { file: chosen.name, profile: await ask(["profile", chosen.name, "--svg", kPicture], { [chosen.name]: chosen.text }) };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return { refused: error.message };  // another file may be chosen
  }
}

export const render = (state, { file, profile, refused }) => html`<label class="drop">The answer of <code>warpbit launch --profile --json</code>: choose the file, or drop it here
<input type="file" accept=".json,application/json"></label>
<p class="note">It is read in this page and sent nowhere.</p>
${refused && refusal(refused)}
${profile && html`<h2>${profile.title}</h2>
<p><code>${file}</code>: ${profile.lines} lines, ${profile.statements} statements of the block. <a id="whole" download="${kPicture}">The picture as a file</a></p>
<div class="scroll picture"></div>`}`;

// A picture has the colours of the system; here those of the page, which has a button.
function inColours(picture) {
  const { theme } = document.documentElement.dataset;
  return theme ? picture.replace("@media(prefers-color-scheme:dark)", theme === "dark" ? "@media all" : "@media not all") : picture;
}

function draw(root, picture) {
  const again = () => {
    if (!root.isConnected) return document.removeEventListener("theme", again);
    root.querySelector(".picture").innerHTML = inColours(picture).replace(/^<\?xml.*\n/, "");
  };
  document.addEventListener("theme", again);
  again();
  root.querySelector("#whole").href = URL.createObjectURL(new Blob([picture], { type: "image/svg+xml" }));
}

export function enliven(root, state, { profile }, { go, busy }) {
  const take = async ([file]) => {
    if (!file) return;
    chosen = { name: file.name, text: await file.text() };
    go(state, "#view input");
  };
  const drop = root.querySelector(".drop"), mark = is => event => { event.preventDefault(); drop.classList.toggle("over", is); };
  root.querySelector("input").addEventListener("change", ({ target }) => busy(take(target.files)));
  drop.addEventListener("dragover", mark(true));
  drop.addEventListener("dragleave", mark(false));
  drop.addEventListener("drop", event => { mark(false)(event); busy(take(event.dataTransfer.files)); });
  if (profile) draw(root, profile.picture);
  return {};
}
