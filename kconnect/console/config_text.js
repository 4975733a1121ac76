/**
 * A config as JSON and as YAML, both ways.
 *
 * Used by `editor.js`. What `POST /connectors` takes, a name beside a config, is read, too.
 */

import { FAILSAFE_SCHEMA, YAMLException, dump, load, nullCoreTag } from "./jsyaml.js";

/** @typedef {import("./api.js").Config} Config */
/** @typedef {"JSON" | "YAML"} Language */

// A setting's value is the text that stands there, be it 1e5, true or 1.50; null removes it.
const SCHEMA = FAILSAFE_SCHEMA.withTags(nullCoreTag);

/** A text that is no config. `at` is where, if that is known. */
export class NoConfig extends Error {
  /** @param {string} message @param {number} [at] */
  constructor(message, at) {
    super(message);
    this.at = at;
  }
}

/**
 * @param {Config} config
 * @param {Language} language
 */
export function written(config, language) {
  const sorted = Object.fromEntries(Object.entries(config).sort(([a], [b]) => (a < b ? -1 : 1)));
  if (language === "JSON") return JSON.stringify(sorted, null, 2);
  return Object.keys(sorted).length ? dump(sorted, { lineWidth: -1 }) : "";
}

/**
 * NoConfig, with what is wrong in one sentence.
 *
 * @param {string} text
 * @param {Language} language
 * @returns {Config}
 */
export function read(text, language) {
  if (text.trim() === "") return {};
  let found = language === "JSON" ? fromJson(text) : fromYaml(text);
  if (found === null || typeof found !== "object" || Array.isArray(found))
    throw new NoConfig(
      language === "JSON" ? 'A config is an object: {"setting": "value"}.' : "A config has a setting and its value on each line: setting: value.",
    );
  if (typeof found["config"] === "object" && found["config"] !== null)
    found = { ...(found["name"] === undefined ? {} : { name: found["name"] }), ...found["config"] };
  const wrong = Object.entries(found).find(([, value]) => typeof value === "object" && value !== null);
  if (wrong !== undefined) throw new NoConfig(`${wrong[0]} must be a text, a number, true, false or null.`);
  return Object.fromEntries(Object.entries(found).map(([key, value]) => [key, value === null ? null : String(value)]));
}

/** @param {string} text @returns {any} */
function fromJson(text) {
  try {
    return JSON.parse(text, asWritten);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Browsers say it in their own ways.
    const [, position] = /at position (\d+)/.exec(message) ?? [];
    const [, line = "", column = ""] = /at line (\d+) column (\d+)/.exec(message) ?? [];
    const at =
      position !== undefined
        ? Number(position)
        : line === ""
          ? undefined
          : text
              .split("\n")
              .slice(0, Number(line) - 1)
              .join("\n").length + Number(column);
    throw new NoConfig(`This is no JSON: ${message}`, at);
  }
}

/**
 * A number as it stands there, as the worker itself reads it: JavaScript's own has 53 bits, and no 1.50.
 *
 * @param {string} _key
 * @param {any} value
 * @param {{source?: string}} [context] browsers before 2025 have none
 */
function asWritten(_key, value, context) {
  return typeof value === "number" && context?.source !== undefined ? context.source : value;
}

/** @param {string} text @returns {any} */
function fromYaml(text) {
  try {
    return load(text, { schema: SCHEMA });
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const mark = error.mark;
    throw new NoConfig(`This is no YAML: ${error.reason}${mark === undefined ? "" : `, line ${mark.line + 1}`}`, mark?.position);
  }
}
