/**
 * What is installed on the worker: plugins with their versions and places, and which of them a connector's config names.
 */

import { h, load, table } from "./dom.js";

/** @typedef {import("./api.js").Api} Api */

/**
 * @param {import("./main.js").Place} place
 * @returns {import("./main.js").View}
 */
export function plugins({ api }) {
  const element = h("div", null, h("p", null, "Asking the worker …"));
  load(element, async () => {
    const [found, places] = await Promise.all([api.plugins(), api.pluginPlaces()]);
    const where = new Map(places.plugins.map((each) => [`${each.class} ${each.version ?? ""}`, each.location]));
    found.sort((a, b) => a.type.localeCompare(b.type) || a.class.localeCompare(b.class));
    const rows = found.map((each) => [
      each.type,
      h("code", null, each.class),
      each.version ?? "",
      h("code", null, where.get(`${each.class} ${each.version ?? ""}`)),
    ]);
    const broken = places.broken.map((each) => [h("code", null, each.location), each.reason]);
    return [
      broken.length
        ? [h("h2", null, "What could not be read"), table(["Place", "Why"], broken, { caption: "What could not be read" }), h("h2", null, "Plugins")]
        : null,
      table(["Type", "Class", "Version", "Place"], rows, { caption: "Plugins" }),
    ].flat();
  });
  return { title: "Plugins", element: h("section", null, h("h1", null, "Plugins"), h("p", null, "What is installed on this worker."), element) };
}

/**
 * The schemas that a sink's tasks have inferred of JSON, if its config asks for that.
 *
 * @param {Api} api
 * @param {string} name
 * @param {import("./api.js").Config} config
 */
export function schemasOf(api, name, config) {
  const element = h("div", null);
  if (!["key", "value"].some((part) => config[`${part}.converter.schemas.infer`]?.toLowerCase() === "true")) return element;
  load(element, async () => {
    const found = await api.schemas(name);
    const rows = found.flatMap((each) =>
      each.fields.map(({ field, type }) => [h("code", null, each.topic), each.part, String(each.version), h("code", null, field), type]),
    );
    return [
      h("h2", null, "Inferred schemas"),
      rows.length ? table(["Topic", "Of", "Version", "Field", "Type"], rows, { caption: "Inferred schemas" }) : h("p", null, "Nothing is inferred yet."),
    ];
  });
  return element;
}

/**
 * The plugins that a config names, with the versions of them that this worker has.
 *
 * @param {Api} api
 * @param {import("./api.js").Config} config
 */
export function pluginsOf(api, config) {
  const element = h("div", null);
  const aliases = (/** @type {string} */ kind) =>
    (config[kind] ?? "")
      .split(",")
      .map((alias) => alias.trim())
      .filter(Boolean)
      .map((alias) => `${kind}.${alias}.type`);
  const named = ["connector.class", "key.converter", "value.converter", "header.converter", ...aliases("transforms"), ...aliases("predicates")].filter(
    (key) => config[key],
  );
  load(element, async () => {
    const { plugins } = await api.pluginPlaces();
    const rows = named.map((key) => {
      const name = /** @type {string} */ (config[key]);
      const known = plugins.filter((each) => [each.class, each.class.replace(/^.*\./, ""), each.class.replace(/^.*\.|Connector$/g, "")].includes(name));
      const asked = config[`${key.replace(/\.type$|\.class$/, "")}.plugin.version`];
      return [
        h("code", null, key),
        h("code", null, name),
        asked ?? [...new Set(known.map((each) => each.version).filter(Boolean))].join(", "),
        [...new Set(known.map((each) => each.location))].join(", ") || "not on this worker",
      ];
    });
    return [h("h2", null, "Its plugins"), table(["Setting", "Class", "Version", "Place"], rows, { caption: "Its plugins" })];
  });
  return element;
}
