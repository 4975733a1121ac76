/**
 * A connector's config: read, and edited as JSON; validated while one types, and shown as a difference before it is submitted.
 */

import { load } from "./connector.js";
import { notice } from "./dialogs.js";
import { button, fill, h, table } from "./dom.js";

const QUIET_MS = 400;
const KEPT = "kconnect.draft.";

/**
 * @param {{api: import("./api.js").Api, name: string, hurry: () => void}} about
 * @returns {{element: HTMLElement}}
 */
export function config({ api, name, hurry }) {
  const element = h("div", null, h("p", null, "Asking the worker …"));
  const draft = KEPT + name;

  const show = () =>
    load(element, async () => {
      const now = await api.config(name);
      const kept = sessionStorage.getItem(draft);
      if (kept !== null) return [editor(now, kept)];
      const rows = Object.entries(now).sort(([a], [b]) => (a < b ? -1 : 1));
      return [
        api.may("admin") ? button("Edit", () => fill(element, editor(now, text(now))), { class: "main" }) : null,
        table(["Setting", "Value"], rows.map(([key, value]) => [h("code", null, key), h("code", null, value ?? "null")]), { caption: "Settings", class: "settings" }),
      ];
    });

  /**
   * @param {import("./api.js").Config} now
   * @param {string} first
   */
  function editor(now, first) {
    const field = h("textarea", { class: "json", rows: 18, spellcheck: "false", "aria-label": "Config as JSON", "aria-describedby": "findings" });
    field.value = first;
    const findings = h("div", { id: "findings", role: "status" });
    const difference = h("div", { class: "difference" });
    const submit = button("Submit", send, { class: "main", disabled: true });
    let timer = 0;
    let asked = 0;

    async function check() {
      const number = ++asked;
      submit.disabled = true;
      const wanted = parsed(field.value, name);
      if (typeof wanted === "string") {
        fill(findings, h("p", { class: "error" }, wanted));
        fill(difference);
        return;
      }
      const changes = differences(now, wanted);
      fill(difference, changes.length ? [h("h2", null, "What changes"), table(["Setting", "Now", "Then"], changes.map(line), { caption: "What changes" })] : h("p", null, "Nothing changes yet."));
      try {
        const plugin = (wanted["connector.class"] ?? "").replace(/^.*\./, "");
        const found = await api.validate(plugin || "none", wanted);
        if (number !== asked) return;
        const errors = found.configs.flatMap(({ value }) => value.errors.map((error) => [h("code", null, value.name), error]));
        fill(findings, errors.length ? [h("p", { class: "error" }, `${errors.length === 1 ? "One setting is" : `${errors.length} settings are`} wrong:`), table(["Setting", "What is wrong"], errors, { caption: "What is wrong" })] : h("p", { class: "fine" }, "The worker takes this config."));
        submit.disabled = errors.length > 0 || changes.length === 0;
      } catch (error) {
        if (number === asked) fill(findings, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
      }
    }

    async function send() {
      const wanted = parsed(field.value, name);
      if (typeof wanted === "string") return;
      submit.disabled = true;
      try {
        await api.putConfig(name, wanted);
        sessionStorage.removeItem(draft);
        notice("The config was replaced. Tasks that it concerns restart.");
        hurry();
        show();
      } catch (error) {
        submit.disabled = false;
        fill(findings, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
      }
    }

    field.addEventListener("input", () => {
      // Kept in this page's window only, for a reload.
      sessionStorage.setItem(draft, field.value);
      submit.disabled = true;
      clearTimeout(timer);
      timer = setTimeout(check, QUIET_MS);
    });
    const leave = () => {
      sessionStorage.removeItem(draft);
      show();
    };
    check();
    return h("div", { class: "editor" }, h("div", null, field, h("div", { class: "actions" }, submit, button("Give up", leave))), h("div", null, findings, difference));
  }

  show();
  return { element };
}

/** @param {import("./api.js").Config} settings */
function text(settings) {
  return JSON.stringify(Object.fromEntries(Object.entries(settings).sort(([a], [b]) => (a < b ? -1 : 1))), null, 2);
}

/**
 * @param {string} json
 * @param {string} name the connector's, which its config has, too
 * @returns {import("./api.js").Config | string} what is wrong with it, in one sentence
 */
function parsed(json, name) {
  try {
    const found = JSON.parse(json);
    if (found === null || typeof found !== "object" || Array.isArray(found)) return "A config is an object: {\"setting\": \"value\"}.";
    const wrong = Object.entries(found).find(([, value]) => typeof value === "object" && value !== null);
    if (wrong !== undefined) return `${wrong[0]} must be a text, a number, true, false or null.`;
    const settings = Object.entries(found).map(([key, value]) => /** @type {const} */ ([key, value === null ? null : String(value)]));
    return { name, ...Object.fromEntries(settings) };
  } catch (error) {
    return `This is no JSON: ${error instanceof Error ? error.message : error}`;
  }
}

/**
 * @param {import("./api.js").Config} now
 * @param {import("./api.js").Config} then
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
