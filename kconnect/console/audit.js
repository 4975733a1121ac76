/**
 * Who did what: the last lines of the worker's audit log, for admins.
 */

import { button, h, load } from "./dom.js";

/**
 * @param {import("./main.js").Place} place
 * @returns {import("./main.js").View}
 */
export function audit({ api }) {
  const found = h("div", { role: "status" });
  const search = h("input", { type: "search", "aria-label": "Search the lines", placeholder: "User, connector or status" });
  /** @type {string[]} */
  let lines = [];
  const draw = () => {
    const wanted = search.value.toLowerCase();
    const shown = lines.filter((line) => line.toLowerCase().includes(wanted));
    return shown.length ? h("pre", { class: "lines", tabindex: "0", "aria-label": "Audit lines" }, shown.join("\n")) : h("p", null, "No lines.");
  };
  const read = () =>
    load(found, async () => {
      lines = (await api.audit()).reverse();
      return [draw()];
    });
  search.addEventListener("input", () => found.replaceChildren(draw()));
  read();
  const text = "Requests that may have changed something, the newest first: those that this worker answered since it was started. Each worker has its own.";
  return {
    title: "Audit",
    element: h(
      "section",
      null,
      h("h1", null, "Audit"),
      h("p", { class: "help" }, text),
      h("div", { class: "tools" }, search, button("Read again", read)),
      found,
    ),
  };
}
