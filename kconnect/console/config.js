/**
 * A connector's config: read, in the groups of its plugin, with secrets hidden; and edited (`editor.js`).
 */

import { confirm, notice } from "./dialogs.js";
import { button, commands, fill, h, load, table } from "./dom.js";
import { drop, keep, kept } from "./drafts.js";
import { groupOf } from "./form.js";
import { pluginsOf, schemasOf } from "./plugins.js";

/** As the worker writes it. */
const HIDDEN = "[hidden]";

/** @typedef {import("./api.js").Config} Config */

/**
 * @param {import("./connector.js").About} about
 * @returns {{element: HTMLElement}}
 */
export function config({ api, name, hurry, query, go }) {
  const element = h("div", null, h("p", null, "Asking the worker …"));
  const draft = `draft.${name}`;
  // No name of a connector makes it the draft of another one.
  const begun = `begun.${name}`;
  const address = `connectors/${encodeURIComponent(name)}/config`;
  let editing = query.get("edit") !== null;

  async function edit() {
    const { differences, editor } = await import("./editor.js");
    editing = true;
    go(address, new URLSearchParams({ edit: "" }));
    // What a draft changes is told by the config that it was begun with: others may have changed that since.
    const stored = kept(draft) === null ? null : kept(begun);
    // So a draft is there for who wrote it although somebody has deleted the connector; it can't be submitted then.
    const base = stored === null ? await api.config(name) : /** @type {Config} */ (JSON.parse(stored));
    keep(begun, JSON.stringify(base));
    const submit = async (/** @type {Config} */ wanted) => {
      const changes = differences(base, wanted);
      const patch = Object.fromEntries(changes.map(([setting, , then]) => [setting, then ?? null]));
      const done = await api.changeConfig(name, patch, async (there) => {
        const both = changes.filter(([setting, before, then]) => there[setting] !== before && there[setting] !== then);
        if (both.length === 0) return true;
        const lines = both.map(([setting]) => setting);
        return confirm("Somebody else has changed these, too", lines, {
          verb: "Submit mine",
          text: `You and somebody else have changed the same ${both.length === 1 ? "setting" : "settings"} of ${name}. If you submit yours, theirs are lost.`,
          danger: true,
        });
      });
      if (!done) throw new Error("Nothing was submitted. Give up to see the config of now.");
      notice("The config was changed. Tasks that it concerns restart.");
      hurry();
      drop(draft);
      leave();
    };
    const leave = () => {
      editing = false;
      drop(begun);
      go(address);
      show();
    };
    const consequences = (/** @type {string[]} */ changed) => api.restarts(name, changed);
    return editor({ api, now: base, first: { ...base, name }, draft, verb: "Submit", submit, leave, consequences }).element;
  }

  function show() {
    return load(element, async () => {
      if ((editing || kept(draft) !== null) && api.may("admin")) return [await edit()];
      // The worker knows what may be a secret.
      const now = (await api.own(name)).config;
      const shown = h("div", null, settings(now, []));
      definitions(now).then((known) => fill(shown, settings(now, known)));
      return [
        api.may("admin") ? button("Edit", () => load(element, async () => [await edit()]), { class: "main" }) : null,
        shown,
        pluginsOf(api, now),
        schemasOf(api, name, now),
      ];
    });
  }

  /** @param {Config} now */
  async function definitions(now) {
    try {
      return await api.definitions(now["connector.class"] ?? "");
    } catch {
      // The plugin is not on this worker. Its settings are there all the same.
      return [];
    }
  }

  show();
  return { element };
}

/**
 * @param {Config} now
 * @param {import("./form.js").Definition[]} known empty until they are known: then what a plugin declares a secret is hidden, too
 */
function settings(now, known) {
  const by = new Map(known.map((each) => [each.name, each]));
  /** @type {Map<string, (import("./dom.js").Child | import("./dom.js").Child[])[][]>} */
  const groups = new Map();
  for (const [key, value] of Object.entries(now).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const definition = by.get(key);
    const secret = value === HIDDEN || (definition?.type === "PASSWORD" && value !== null && !value.startsWith("${"));
    const cell = secret ? h("span", { title: "A secret is not shown here" }, HIDDEN) : h("code", null, value ?? "null");
    const rows = groups.get(groupOf(definition)) ?? [];
    rows.push([h("code", { title: definition?.documentation }, key), cell, commands(definition?.documentation ?? "")]);
    groups.set(groupOf(definition), rows);
  }
  const defaults = known.filter((each) => !(each.name in now) && each.default_value !== null);
  return [
    ...[...groups].map(([group, rows]) => h("section", null, h("h2", null, group), table(["Setting", "Value", "What it means"], rows, { caption: group }))),
    defaults.length
      ? h(
          "details",
          { class: "defaults" },
          h("summary", null, `${defaults.length} settings have their defaults`),
          table(
            ["Setting", "Default", "What it means"],
            defaults.map((each) => [h("code", null, each.name), h("code", null, each.default_value), commands(each.documentation)]),
            { caption: "Defaults" },
          ),
        )
      : null,
  ];
}
