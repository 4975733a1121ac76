/**
 * A form made from a plugin's definitions, as the worker's validation answers them: groups, documentation, recommended values,
 * settings that do not apply left out, and what is wrong beside each setting.
 *
 * Used by `editor.js`, which has the config and asks the worker.
 */

import { commands, fill, h } from "./dom.js";

/** @typedef {import("./answers.js").ConfigKeyInfo} Definition */
/** @typedef {{definition: Definition | null, value: import("./api.js").ConfigValue | null}} Entry */

/** Of every connector, and never of one's own choice. */
const FIXED = new Set(["name", "connector.class"]);
const OWN = "Of this plugin";
const OTHERS = "Other settings";
/** The groups of what every connector has, as Connect calls them, come after the plugin's own. */
const COMMON = ["Common", "Transforms", "Predicates", "Error Handling", "Topic Creation", "Exactly Once Support", "offsets.topic", OTHERS];

/**
 * The heading under which a setting stands.
 *
 * @param {Definition | null | undefined} definition
 */
export function groupOf(definition) {
  return definition ? (definition.group ?? OWN) : OTHERS;
}

export class Form {
  /** @param {(name: string, value: string | null) => void} changed a setting has another value; null: none of its own */
  constructor(changed) {
    this._changed = changed;
    this._all = h("input", { type: "checkbox", id: "form-all" });
    this._find = h("input", { type: "search", placeholder: "Find a setting", "aria-label": "Find a setting" });
    this._groups = h("div", null);
    this.element = h(
      "div",
      { class: "form" },
      h("div", { class: "tools" }, this._find, h("label", { for: "form-all" }, this._all, " All settings")),
      this._groups,
    );
    /** @type {Map<string, Field>} */
    this._fields = new Map();
    /** @type {Map<string, HTMLElement>} */
    this._sections = new Map();
    this._all.addEventListener("change", () => this._sift());
    this._find.addEventListener("input", () => this._sift());
  }

  /**
   * @param {Entry[]} entries
   * @param {import("./api.js").Config} config
   */
  show(entries, config) {
    const seen = new Set();
    for (const { definition, value } of entries) {
      const name = definition?.name ?? value?.name;
      if (name === undefined || FIXED.has(name)) continue;
      seen.add(name);
      this._field(name, definition).show(value, config[name]);
    }
    for (const name of Object.keys(config)) {
      // What no plugin knows stays, and is shown.
      if (!seen.has(name) && !FIXED.has(name)) this._field(name, null).show(null, config[name]);
    }
    for (const [name, field] of this._fields) if (!seen.has(name) && !(name in config)) field.show(null, undefined);
    this._sift();
  }

  /**
   * @param {string} name
   * @param {Definition | null} definition
   */
  _field(name, definition) {
    const known = this._fields.get(name);
    if (known !== undefined && (known.defined || definition === null)) return known;
    // By now it is known what it is.
    known?.element.remove();
    const made = new Field(name, definition, this._changed);
    this._fields.set(name, made);
    const group = groupOf(definition);
    let section = this._sections.get(group);
    if (section === undefined) {
      section = h("fieldset", null, h("legend", null, group));
      this._sections.set(group, section);
      const later = [...this._sections].find(([other]) => COMMON.indexOf(other) > COMMON.indexOf(group));
      this._groups.insertBefore(section, later?.[1] ?? null);
    }
    section.append(made.element);
    return made;
  }

  /** Show what is asked for: what is set, wrong or important, unless all is wanted. */
  _sift() {
    const wanted = this._find.value.toLowerCase();
    for (const section of this._sections.values()) section.hidden = true;
    for (const [name, field] of this._fields) {
      const found = !wanted || name.toLowerCase().includes(wanted) || field.documentation.toLowerCase().includes(wanted);
      const shown = found && (wanted !== "" || this._all.checked || field.matters) && (field.applies || field.matters);
      field.element.hidden = !shown;
      if (shown) /** @type {HTMLElement} */ (field.element.parentElement).hidden = false;
    }
  }
}

class Field {
  /**
   * @param {string} name
   * @param {Definition | null} definition
   * @param {(name: string, value: string | null) => void} changed
   */
  constructor(name, definition, changed) {
    const id = `setting-${name}`;
    this._name = name;
    this._changed = changed;
    this._definition = definition;
    this.documentation = definition?.documentation ?? "";
    this.defined = definition !== null;
    this.applies = true;
    this.matters = false;
    const type = definition?.type ?? "STRING";
    this._values = h("datalist", { id: `${id}-values` });
    /** @type {HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement} */
    this._input;
    if (type === "BOOLEAN") {
      this._input = h(
        "select",
        { id },
        h("option", { value: "" }, "by default"),
        h("option", { value: "true" }, "true"),
        h("option", { value: "false" }, "false"),
      );
    } else {
      const hidden = type === "PASSWORD";
      this._input = h("input", {
        id,
        type: hidden ? "password" : "text",
        autocomplete: hidden ? "new-password" : "off",
        spellcheck: "false",
        list: `${id}-values`,
      });
    }
    this._dress();
    this._errors = h("p", { class: "error", id: `${id}-said` });
    const title = definition?.display_name && definition.display_name !== name ? `${definition.display_name} ` : "";
    this.element = h(
      "div",
      { class: "field" },
      h("label", { for: id }, title, h("code", null, name), definition?.required ? h("span", { class: "needed" }, " needed") : null),
      this._input,
      this._values,
      this._errors,
      this.documentation ? h("p", { class: "help" }, commands(this.documentation)) : null,
    );
  }

  _dress() {
    const input = this._input;
    input.setAttribute("aria-describedby", `${input.id}-said`);
    input.addEventListener("input", () => this._changed(this._name, input.value === "" ? null : input.value));
    input.addEventListener("paste", (event) => {
      const text = /** @type {ClipboardEvent} */ (event).clipboardData?.getData("text/plain").replace(/\r\n?/g, "\n") ?? "";
      if (!text.includes("\n") || !(input instanceof HTMLInputElement)) return;
      event.preventDefault();
      const wide = this._widen();
      wide.value = input.value;
      wide.focus();
      wide.setRangeText(text, input.selectionStart ?? 0, input.selectionEnd ?? input.value.length, "end");
      this._changed(this._name, wide.value);
    });
  }

  /** A field of one line would take the ends of lines away. */
  _widen() {
    const secret = this._input instanceof HTMLInputElement && this._input.type === "password";
    const wide = h("textarea", { id: this._input.id, spellcheck: "false", rows: "4", class: secret ? "secret" : null });
    this._input.replaceWith(wide);
    this._input = wide;
    this._dress();
    return wide;
  }

  /**
   * @param {import("./api.js").ConfigValue | null} value
   * @param {string | null | undefined} given
   */
  show(value, given) {
    if (given?.includes("\n") && this._input instanceof HTMLInputElement) this._widen();
    const definition = this._definition;
    const standard = definition?.default_value ?? null;
    if (document.activeElement !== this._input) {
      // A select shows only what it has.
      if (this._input instanceof HTMLSelectElement && given && ![...this._input.options].some((each) => each.value === given))
        this._input.append(h("option", { value: given }, given));
      this._input.value = given ?? "";
    }
    if (this._input instanceof HTMLInputElement) this._input.placeholder = standard ?? "";
    fill(
      this._values,
      (value?.recommended_values ?? []).map((each) => h("option", { value: each })),
    );
    const errors = value?.errors ?? [];
    fill(this._errors, errors.join(" "));
    this._input.setAttribute("aria-invalid", String(errors.length > 0));
    this.applies = value?.visible ?? given !== undefined;
    this.matters =
      errors.length > 0 || (given !== undefined && given !== null) || Boolean(definition?.required) || (definition?.importance === "HIGH" && this.applies);
  }
}
