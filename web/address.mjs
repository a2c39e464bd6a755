// SPDX-License-Identifier: Apache-2.0
// State <-> address: {view: "layout", subject: "FORM@TARGET", parameters: {select: "a[3,5]"}} is
// #/layout/FORM@TARGET?select=a[3,5].
const kept = text => encodeURIComponent(text).replace(/%(3A|40|2C|5B|5D|2B)/g, decodeURIComponent);

export function parse(hash) {
  const [path, query = ""] = hash.replace(/^#?\/?/, "").split("?");
  const [view, ...subject] = path.split("/");
  const parameters = {};
  for (const pair of query.split("&").filter(Boolean)) {
    const at = pair.indexOf("=");
    parameters[decodeURIComponent(at < 0 ? pair : pair.slice(0, at))] = at < 0 ? "" : decodeURIComponent(pair.slice(at + 1));
  }
  return { view: view || "home", subject: decodeURIComponent(subject.join("/")), parameters };
}

// Parameters that are empty are left out.
export function address({ view, subject = "", parameters = {} }) {
  const query = Object.entries(parameters)
    .filter(([, value]) => value !== "" && value !== undefined && value !== null)
    .map(([name, value]) => `${kept(name)}=${kept(value)}`);
  return `#/${view}${subject && "/" + kept(subject)}${query.length > 0 ? "?" + query.join("&") : ""}`;
}

// Of a form without its target: ["FORM", "TARGET"].
export const parts = form => {
  const at = form.lastIndexOf("@");
  return at < 0 ? [form, ""] : [form.slice(0, at), form.slice(at + 1)];
};

// A form's name in the addresses of pre-rendered pages.
export const fileName = form => form.replaceAll(":", "_");
