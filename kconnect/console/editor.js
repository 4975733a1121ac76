/**
 * A config while it is edited: as a form, as JSON or as YAML, validated by the worker while one types, with what will change.
 *
 * Used by `config.js` for a connector that is there, and by `create.js` for a new one. What was typed is kept in this window for a
 * reload, but for secrets' sake nowhere else. Read next: `form.js`, `code.js`.
 */

import { Code } from "./code.js";
import { NoConfig, read, written } from "./config_text.js";
import { button, fill, h, load, table } from "./dom.js";
import { drop, keep, kept } from "./drafts.js";
import { Form } from "./form.js";
import { preview } from "./preview.js";

const QUIET_MS = 400;

/** @typedef {import("./api.js").Config} Config */
/** @typedef {import("./config_text.js").Language} Language */

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
 * @param {(changed: string[]) => Promise<string>} [about.consequences] said below what changes
 * @param {(name: string) => void} [about.named] the config's name is another one now
 * @returns {{element: HTMLElement, set: (name: string, value: string) => void}}
 */
export function editor({ api, now, first, draft, verb, submit, leave, more, consequences, named }) {
  /** @type {Config} */
  let wanted = first;
  const fixed = now === null ? null : { name: first["name"] ?? null };
  const findings = h("div", { id: "findings", role: "status" });
  const difference = h("div", { class: "difference" });
  const send = button(verb, finish, { class: "main", disabled: true });
  const code = new Code("Config as JSON", typed);
  const form = new Form(set);
  const chosen = h("div", { class: "actions", role: "group", "aria-label": "Edit as" });
  /** @type {"Form" | Language} */
  let side = "Form";
  /** What the text says can't be read. */
  let broken = false;
  let timer = 0;
  let asked = 0;

  /** @param {string} name @param {string | null} value */
  function set(name, value) {
    // Half a config is being typed, and it comes with its name.
    if (broken) return;
    wanted = { ...wanted };
    if (value === null) delete wanted[name];
    else wanted[name] = value;
    if (side !== "Form") code.show(written(wanted, side), side);
    remember();
  }

  /** @param {"Form" | Language} other @param {string} [text] */
  function turn(other, text) {
    if (broken && text === undefined) {
      fill(findings, h("p", { class: "error" }, `Mend the ${side} first: as long as it can't be read, it can't be shown as another.`));
      return;
    }
    side = other;
    keep("side", side);
    form.element.hidden = side !== "Form";
    code.element.hidden = side === "Form";
    if (side !== "Form") code.show(text ?? written(wanted, side), side);
    fill(chosen, .../** @type {const} */ (["Form", "JSON", "YAML"]).map((name) => button(name, () => turn(name), { "aria-pressed": String(name === side) })));
  }

  /** @param {string} text */
  function typed(text) {
    try {
      wanted = { ...read(text, language()), ...fixed };
      broken = false;
      code.mark([]);
      named?.(wanted["name"] ?? "");
      remember();
    } catch (error) {
      refused(error, text);
    }
  }

  /** @param {unknown} error @param {string} text */
  function refused(error, text) {
    if (!(error instanceof NoConfig)) throw error;
    broken = true;
    clearTimeout(timer);
    asked += 1;
    send.disabled = true;
    store(text);
    code.mark([error.at === undefined ? { message: error.message } : { message: error.message, at: error.at }]);
    fill(findings, h("p", { class: "error" }, error.message));
  }

  /** @returns {Language} */
  function language() {
    return side === "YAML" ? "YAML" : "JSON";
  }

  /** @param {string} text */
  function store(text) {
    keep(draft, JSON.stringify({ language: language(), text }));
  }

  function remember() {
    store(side === "Form" ? written(wanted, "JSON") : code.text);
    send.disabled = true;
    asked += 1;
    clearTimeout(timer);
    timer = setTimeout(check, QUIET_MS);
  }

  async function check() {
    const number = ++asked;
    send.disabled = true;
    const changes = differences(now ?? {}, wanted);
    const then = h("p", { class: "help" });
    if (now !== null)
      fill(
        difference,
        changes.length
          ? [h("h2", null, "What changes"), table(["Setting", "Now", "Then"], changes.map(line), { caption: "What changes" }), then]
          : h("p", null, "Nothing changes yet."),
      );
    if (changes.length) load(then, async () => [await consequences?.(changes.map(([name]) => name))]);
    try {
      const plugin = (wanted["connector.class"] ?? "").replace(/^.*\./, "");
      const found = await api.validate(plugin || "none", wanted);
      if (number !== asked) return;
      form.show(found.configs, wanted);
      const errors = found.configs.flatMap(({ value }) => (value?.errors ?? []).map((message) => ({ name: value?.name ?? "", message })));
      if (side !== "Form") code.mark(errors);
      code.offer(
        found.configs.flatMap(({ definition, value }) =>
          definition === null ? [] : [{ name: definition.name, documentation: definition.documentation, values: value?.recommended_values ?? [] }],
        ),
      );
      const lines = errors.map(({ name, message }) => [h("code", null, name), message]);
      fill(
        findings,
        errors.length
          ? [
              h("p", { class: "error" }, `${errors.length === 1 ? "One setting is" : `${errors.length} settings are`} wrong:`),
              table(["Setting", "What is wrong"], lines, { caption: "What is wrong" }),
            ]
          : h("p", { class: "fine" }, "The worker takes this config."),
      );
      send.disabled = errors.length > 0 || (now !== null && changes.length === 0);
    } catch (error) {
      if (number === asked) fill(findings, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
  }

  async function finish() {
    send.disabled = true;
    // What was typed meanwhile would be lost.
    element.inert = true;
    try {
      await submit(wanted);
      drop(draft);
    } catch (error) {
      send.disabled = false;
      element.inert = false;
      fill(findings, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
  }

  const before = kept("side");
  const stored = kept(draft);
  if (stored === null) turn(before === "JSON" || before === "YAML" ? before : "Form");
  else {
    const { language, text } = /** @type {{language: Language, text: string}} */ (JSON.parse(stored));
    side = language;
    try {
      wanted = { ...read(text, language), ...fixed };
      if (before === "Form") turn("Form");
      else turn(language, text);
    } catch (error) {
      turn(language, text);
      refused(error, text);
    }
  }
  if (!broken) check();
  const giveUp = () => {
    drop(draft);
    clearTimeout(timer);
    asked += 1;
    leave();
  };
  const element = h(
    "div",
    { class: "editor" },
    h("div", null, chosen, form.element, code.element),
    h(
      "div",
      null,
      h("div", { class: "actions" }, more, send, button("Give up", giveUp)),
      findings,
      difference,
      preview(api, () => wanted),
    ),
  );
  return { element, set };
}

/**
 * The name in what was stored for a reload; "" if there is none, or it can't be read.
 *
 * @param {string} stored
 */
export function nameIn(stored) {
  try {
    const { language, text } = JSON.parse(stored);
    return read(text, language)["name"] ?? "";
  } catch {
    return "";
  }
}

/**
 * @param {Config} now
 * @param {Config} then
 * @returns {[string, string | null | undefined, string | null | undefined][]}
 */
export function differences(now, then) {
  const names = [...new Set([...Object.keys(now), ...Object.keys(then)])].sort();
  return names.filter((name) => now[name] !== then[name]).map((name) => [name, now[name], then[name]]);
}

/** @param {[string, string | null | undefined, string | null | undefined]} change */
function line([name, now, then]) {
  return [h("code", null, name), now === undefined ? "" : h("del", null, now ?? "null"), then === undefined ? "" : h("ins", null, then ?? "null")];
}
