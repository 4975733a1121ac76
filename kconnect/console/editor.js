/**
 * A config while it is edited: as a form or as JSON, validated by the worker while one types, with what will change.
 *
 * Used by `config.js` for a connector that is there, and by `create.js` for a new one. What was typed is kept in this window for a
 * reload, but for secrets' sake nowhere else.
 */

import { button, fill, h, table } from "./dom.js";
import { Form } from "./form.js";
import { preview } from "./preview.js";

const QUIET_MS = 400;

/** @typedef {import("./api.js").Config} Config */

/**
 * @param {object} about
 * @param {import("./api.js").Api} about.api
 * @param {Config | null} about.now the config that is in force; null for a new connector
 * @param {Config} about.first what is edited
 * @param {string} about.draft under which name it is kept for a reload
 * @param {string} about.verb such as "Submit"
 * @param {(config: Config) => Promise<void>} about.submit
 * @param {() => void} about.leave
 * @param {HTMLElement | null} [about.more] shown beside the buttons
 * @returns {HTMLElement}
 */
export function editor({ api, now, first, draft, verb, submit, leave, more }) {
  /** @type {Config} */
  let wanted = first;
  const fixed = now === null ? null : { name: first["name"] ?? null };
  const findings = h("div", { id: "findings", role: "status" });
  const difference = h("div", { class: "difference" });
  const send = button(verb, finish, { class: "main", disabled: true });
  const json = h("textarea", { class: "json", rows: 22, spellcheck: "false", "aria-label": "Config as JSON", "aria-describedby": "findings" });
  const form = new Form((name, value) => {
    wanted = { ...wanted };
    if (value === null) delete wanted[name];
    else wanted[name] = value;
    json.value = text(wanted);
    remember();
  });
  const sides = { Form: form.element, JSON: json };
  const chosen = h("div", { class: "actions", role: "group", "aria-label": "Edit as" });
  let timer = 0;
  let asked = 0;

  /** @param {keyof typeof sides} side */
  function turn(side) {
    sessionStorage.setItem("kconnect.side", side);
    for (const [name, element] of Object.entries(sides)) element.hidden = name !== side;
    fill(chosen, ...Object.keys(sides).map((name) => button(name, () => turn(/** @type {keyof typeof sides} */ (name)), { "aria-pressed": String(name === side) })));
  }

  function remember() {
    sessionStorage.setItem(draft, json.value);
    send.disabled = true;
    asked += 1;
    clearTimeout(timer);
    timer = setTimeout(check, QUIET_MS);
  }

  async function check() {
    const number = ++asked;
    send.disabled = true;
    const changes = differences(now ?? {}, wanted);
    if (now !== null) fill(difference, changes.length ? [h("h2", null, "What changes"), table(["Setting", "Now", "Then"], changes.map(line), { caption: "What changes" })] : h("p", null, "Nothing changes yet."));
    try {
      const plugin = (wanted["connector.class"] ?? "").replace(/^.*\./, "");
      const found = await api.validate(plugin || "none", wanted);
      if (number !== asked) return;
      form.show(found.configs, wanted);
      const errors = found.configs.flatMap(({ value }) => (value?.errors ?? []).map((error) => [h("code", null, value?.name), error]));
      fill(findings, errors.length ? [h("p", { class: "error" }, `${errors.length === 1 ? "One setting is" : `${errors.length} settings are`} wrong:`), table(["Setting", "What is wrong"], errors, { caption: "What is wrong" })] : h("p", { class: "fine" }, "The worker takes this config."));
      send.disabled = errors.length > 0 || (now !== null && changes.length === 0);
    } catch (error) {
      if (number === asked) fill(findings, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
  }

  async function finish() {
    send.disabled = true;
    try {
      await submit(wanted);
      sessionStorage.removeItem(draft);
    } catch (error) {
      send.disabled = false;
      fill(findings, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
  }

  json.addEventListener("input", () => {
    const found = parsed(json.value);
    if (typeof found === "string") {
      clearTimeout(timer);
      asked += 1;
      send.disabled = true;
      sessionStorage.setItem(draft, json.value);
      fill(findings, h("p", { class: "error" }, found));
      return;
    }
    wanted = { ...found, ...fixed };
    remember();
  });

  const kept = sessionStorage.getItem(draft);
  const again = kept === null ? null : parsed(kept);
  json.value = kept ?? text(first);
  if (again !== null && typeof again !== "string") wanted = { ...again, ...fixed };
  turn(sessionStorage.getItem("kconnect.side") === "JSON" ? "JSON" : "Form");
  if (typeof again === "string") fill(findings, h("p", { class: "error" }, again));
  else check();
  const giveUp = () => {
    sessionStorage.removeItem(draft);
    clearTimeout(timer);
    asked += 1;
    leave();
  };
  return h("div", { class: "editor" }, h("div", null, chosen, form.element, json), h("div", null, h("div", { class: "actions" }, more, send, button("Give up", giveUp)), findings, difference, preview(api, () => wanted)));
}

/** @param {Config} settings */
export function text(settings) {
  return JSON.stringify(Object.fromEntries(Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1))), null, 2);
}

/**
 * @param {string} json a config, or what `POST /connectors` takes
 * @returns {Config | string} what is wrong with it, in one sentence
 */
function parsed(json) {
  try {
    let found = JSON.parse(json);
    if (found === null || typeof found !== "object" || Array.isArray(found)) return 'A config is an object: {"setting": "value"}.';
    if (typeof found["config"] === "object" && found["config"] !== null) found = { ...(found["name"] === undefined ? {} : { name: found["name"] }), ...found["config"] };
    const wrong = Object.entries(found).find(([, value]) => typeof value === "object" && value !== null);
    if (wrong !== undefined) return `${wrong[0]} must be a text, a number, true, false or null.`;
    return Object.fromEntries(Object.entries(found).map(([key, value]) => [key, value === null ? null : String(value)]));
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * @param {Config} now
 * @param {Config} then
 * @returns {[string, string | null | undefined, string | null | undefined][]}
 */
function differences(now, then) {
  const names = [...new Set([...Object.keys(now), ...Object.keys(then)])].sort();
  return names.filter((name) => now[name] !== then[name]).map((name) => [name, now[name], then[name]]);
}

/** @param {[string, string | null | undefined, string | null | undefined]} change */
function line([name, now, then]) {
  return [h("code", null, name), now === undefined ? "" : h("del", null, now ?? "null"), then === undefined ? "" : h("ins", null, then ?? "null")];
}
