/**
 * What is asked before something is done, and what is said after it.
 */

import { button, fill, h } from "./dom.js";

const SHOWN_MS = 8000;
const MOST_NAMES = 200;

/**
 * Ask before something is done to some connectors. Their names are shown.
 *
 * @param {string} title such as "Delete 2 connectors?"
 * @param {string[]} names
 * @param {{verb: string, text?: string, danger?: boolean}} what
 * @returns {Promise<boolean>}
 */
export function confirm(title, names, what) {
  return new Promise((resolve) => {
    const closed = () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    };
    const dialog = h(
      "dialog",
      { "aria-labelledby": "dialog-title", onclose: closed },
      h("h2", { id: "dialog-title" }, title),
      what.text ? h("p", null, what.text) : null,
      h(
        "ul",
        { class: "names", tabindex: "0", "aria-label": "Names" },
        names.slice(0, MOST_NAMES).map((name) => h("li", null, name)),
        names.length > MOST_NAMES ? h("li", null, `and ${names.length - MOST_NAMES} more`) : null,
      ),
      h(
        "form",
        { method: "dialog", class: "actions" },
        h("button", { value: "no" }, "Cancel"),
        h("button", { value: "yes", class: what.danger ? "danger" : "main" }, what.verb),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

/**
 * @param {string} text
 * @param {"done" | "error"} [kind]
 */
export function notice(text, kind = "done") {
  const place = /** @type {HTMLElement} */ (document.getElementById("notices"));
  const close = () => void made.remove();
  /** @type {HTMLElement} */
  const made = h("div", { class: `notice ${kind}` }, h("p", null, text), button("Close", close, { "aria-label": `Close: ${text.slice(0, 80)}` }));
  place.append(made);
  // What went wrong stays until it was read.
  if (kind === "done") setTimeout(close, SHOWN_MS);
}

/**
 * Do something to each of some connectors, with a bar that can be left: what was begun is finished.
 *
 * @param {string} doing such as "Pausing"
 * @param {string[]} names
 * @param {(name: string) => Promise<unknown>} action
 * @returns {Promise<void>} once all are done, or it was left
 */
export async function each(doing, names, action) {
  const place = /** @type {HTMLElement} */ (document.getElementById("notices"));
  let left = false;
  const bar = h("progress", { max: names.length, value: 0, "aria-label": doing });
  const text = h("p", null);
  const shown = h(
    "div",
    { class: "notice" },
    text,
    bar,
    button("Leave", () => (left = true)),
  );
  if (names.length > 1) place.append(shown);
  /** @type {string[]} */
  const failed = [];
  const waiting = names.slice();
  let done = 0;
  const work = async () => {
    for (let name = waiting.shift(); name !== undefined && !left; name = waiting.shift()) {
      try {
        await action(name);
      } catch (error) {
        failed.push(`${name}: ${error instanceof Error ? error.message : error}`);
      }
      done += 1;
      bar.value = done;
      fill(text, `${doing} ${done} of ${names.length}`);
    }
  };
  await Promise.all([work(), work(), work(), work()]);
  shown.remove();
  if (failed.length) notice(`${doing} failed for ${failed.length} of ${names.length}. ${failed.slice(0, 5).join(" ")}`, "error");
  else if (left) notice(`${doing} was left after ${done} of ${names.length}.`);
  else if (names.length > 1) notice(`${doing} ${names.length} connectors: done.`);
}
