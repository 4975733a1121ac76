/**
 * A chain tried on records before it is submitted: what each predicate said, and what each transform changed.
 *
 * Used by `editor.js`, with the config as it is edited. The worker does it (`POST /kconnect/preview`), in a process of its own.
 */

import { badge, button, fill, h, table } from "./dom.js";

/** @typedef {import("./answers.js").PreviewOutcome} Outcome */
/** @typedef {import("./answers.js").PreviewStep} Step */
/** @typedef {NonNullable<Outcome["in"]>} Body */

/**
 * @param {import("./api.js").Api} api
 * @param {() => import("./api.js").Config} wanted
 * @returns {HTMLElement}
 */
export function preview(api, wanted) {
  const topic = h("input", { type: "text", id: "preview-topic", autocomplete: "off" });
  const limit = h("input", { type: "number", id: "preview-limit", min: 1, max: 100, value: 5 });
  const newest = h("input", { type: "checkbox", id: "preview-newest" });
  const pasted = h("textarea", {
    class: "json",
    rows: 5,
    spellcheck: "false",
    "aria-label": "Records as JSON",
    placeholder: '[{"topic": "t", "value": {"n": 1}}]',
  });
  const found = h("div", { role: "status" });
  const go = button("Try it", run, { class: "main" });
  const made = h(
    "details",
    { class: "preview" },
    h("summary", null, "Try it on records"),
    h("p", { class: "help" }, "Some records of a topic, or pasted ones, pass the chain as it is written here. Nothing is committed, and nothing is written."),
    h(
      "div",
      { class: "tools" },
      h("label", { for: "preview-topic" }, "Topic "),
      topic,
      h("label", { for: "preview-limit" }, "Records "),
      limit,
      h("label", { for: "preview-newest" }, newest, " the newest"),
    ),
    h("label", null, "Or records, one object or a list", pasted),
    h("div", { class: "actions" }, go),
    found,
  );
  made.addEventListener("toggle", () => {
    const config = wanted();
    if (made.open && topic.value === "") topic.value = (config["topics"] ?? config["topic"] ?? config["kafka.topic"] ?? "").split(",")[0]?.trim() ?? "";
  });

  async function run() {
    go.disabled = true;
    fill(found, "Trying …");
    try {
      const given = pasted.value.trim();
      const more = given === "" ? { topic: topic.value, limit: Number(limit.value) || 5, newest: newest.checked } : { records: records(given) };
      const answer = /** @type {{kind: string, records: Outcome[]}} */ (await api.send("POST", "kconnect/preview", { config: wanted(), ...more }));
      fill(found, answer.records.length ? answer.records.map((each, index) => outcome(each, `Record ${index + 1}`)) : "There are no records.");
    } catch (error) {
      fill(found, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
    go.disabled = false;
  }

  return made;
}

/**
 * @param {string} text
 * @returns {unknown[]}
 */
function records(text) {
  try {
    const found = JSON.parse(text);
    return Array.isArray(found) ? found : [found];
  } catch (error) {
    throw new Error(`The records are no JSON: ${error instanceof Error ? error.message : error}`);
  }
}

/**
 * @param {Outcome} each
 * @param {string} title
 */
export function outcome(each, title) {
  const place = each.in.offset === undefined || each.in.offset === null ? "" : `, offset ${each.in.offset} of ${each.in.topic}-${each.in.partition}`;
  let before = each.in;
  const steps = each.steps.map((step) => {
    const shown = stepped(step, before, each);
    before = step.record ?? before;
    return shown;
  });
  return h(
    "section",
    { class: "outcome", "aria-label": title },
    h(
      "h3",
      null,
      `${title}${place} `,
      each.error
        ? badge("FAILED", each.error.tolerated ? "failed, tolerated" : "failed")
        : each.out === null
          ? badge("PAUSED", "dropped")
          : badge("RUNNING", "comes out"),
    ),
    each.error ? h("p", { class: "error" }, `${each.error.stage}: ${each.error.message}`) : null,
    h("ol", null, steps),
    whole("Before", each.in),
    each.out === null ? null : whole("After", each.out),
  );
}

/**
 * @param {Step} step
 * @param {Body} before
 * @param {Outcome} each
 */
function stepped(step, before, each) {
  const asked = step.predicate === null ? null : ` (${step.predicate.negate ? "unless" : "if"} ${step.predicate.alias}: ${step.predicate.result})`;
  const name = h("strong", null, step.alias);
  if (!step.applied) return h("li", null, name, asked, " is not applied.");
  if (step.record === null) return h("li", null, name, asked, each.error?.alias === step.alias ? " fails." : " drops the record.");
  const [one, other] = [flat(before), flat(step.record)];
  const changed = [...new Set([...one.keys(), ...other.keys()])].filter((path) => one.get(path) !== other.get(path));
  if (changed.length === 0) return h("li", null, name, asked, " changes nothing.");
  const rows = changed.map((path) => [
    h("code", null, path),
    one.has(path) ? h("del", null, one.get(path)) : "",
    other.has(path) ? h("ins", null, other.get(path)) : "",
  ]);
  return h("li", null, name, asked, table(["Part", "Before", "After"], rows, { caption: `What ${step.alias} changes` }));
}

/**
 * @param {string} title
 * @param {Body} body
 */
function whole(title, body) {
  return h("details", null, h("summary", null, title), h("pre", { tabindex: "0" }, JSON.stringify(body, null, 2)));
}

/**
 * A record's parts by their paths, as text: schemas are named by their type.
 *
 * @param {Body} body
 * @returns {Map<string, string>}
 */
function flat(body) {
  /** @type {Map<string, string>} */
  const found = new Map();
  /** @param {string} path @param {any} value */
  const add = (path, value) => {
    if (value !== null && typeof value === "object" && Object.keys(value).length)
      for (const [name, part] of Object.entries(value)) add(`${path}.${name}`, part);
    else found.set(path, JSON.stringify(value));
  };
  /** @param {string} path @param {any} envelope */
  const data = (path, envelope) => {
    add(path, envelope?.payload ?? null);
    if (envelope?.schema) found.set(`${path} schema`, JSON.stringify(envelope.schema.name ?? envelope.schema.type));
  };
  for (const name of /** @type {const} */ (["topic", "partition", "timestamp"])) found.set(name, JSON.stringify(body[name]));
  data("key", body.key);
  data("value", body.value);
  for (const { name, value } of body.headers ?? []) data(`header ${name}`, value);
  return found;
}
