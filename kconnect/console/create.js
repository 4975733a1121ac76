/**
 * A new connector: a plugin is chosen, a config filled in, validated, and created running, paused or stopped.
 */

import { notice } from "./dialogs.js";
import { button, fill, h, load } from "./dom.js";
import { kept } from "./drafts.js";

const DRAFT = "draft:new";
const STATES = { RUNNING: "running", PAUSED: "paused", STOPPED: "stopped" };

/**
 * @param {import("./main.js").Place} place
 * @returns {import("./main.js").View}
 */
export function create({ api, feed, query, go }) {
  const element = h("div", null, h("p", null, "Asking the worker …"));

  /** @param {import("./api.js").Config} first */
  async function fillIn(first) {
    // Half of the console's weight, for those who write.
    const { editor, nameIn } = await import("./editor.js");
    const stored = kept(DRAFT);
    const state = h("select", { "aria-label": "Create it" }, ...Object.entries(STATES).map(([value, text]) => h("option", { value }, text)));
    const submit = async (/** @type {import("./api.js").Config} */ wanted) => {
      const name = (wanted["name"] ?? "").trim();
      await api.create(name, wanted, state.value);
      notice(`${name} was created.`);
      feed.hurry();
      location.hash = `#/connectors/${encodeURIComponent(name)}`;
    };
    const leave = () => {
      go("create");
      choose();
    };
    const name = h("input", {
      type: "text",
      id: "new-name",
      value: stored === null ? (first["name"] ?? "") : nameIn(stored),
      autocomplete: "off",
      required: true,
    });
    const named = (/** @type {string} */ text) => {
      name.value = text;
    };
    const made = editor({ api, now: null, first, draft: DRAFT, verb: "Create", submit, leave, more: h("label", null, "as ", state), named });
    name.addEventListener("input", () => made.set("name", name.value));
    fill(element, h("div", { class: "field" }, h("label", { for: "new-name" }, "Name of the connector"), name), made.element);
  }

  function choose() {
    return load(element, async () => {
      const [all, { EXAMPLES }] = await Promise.all([api.get("connector-plugins"), import("./examples.js")]);
      const found = /** @type {import("./api.js").Plugin[]} */ (all);
      const search = h("input", { type: "search", "aria-label": "Search plugins", placeholder: "What it does, or its name" });
      const list = h("div", null);
      const examples = (/** @type {import("./api.js").Plugin} */ plugin) =>
        EXAMPLES.filter(({ config }) => [simple(plugin), simple(plugin).replace(/Source$/, "")].includes(config["connector.class"] ?? ""));
      const text = (/** @type {import("./api.js").Plugin} */ plugin) =>
        [plugin.class, plugin.type, ...examples(plugin).flatMap((each) => [each.title, each.what])].join(" ").toLowerCase();
      const item = (/** @type {import("./api.js").Plugin} */ plugin) => {
        const known = examples(plugin);
        return h(
          "li",
          null,
          button(simple(plugin), () => begin(plugin)),
          h("span", null, ` ${known[0] === undefined ? "" : `${known[0].title} · `}${plugin.class} ${plugin.version ?? ""}`),
          known.length
            ? h(
                "ul",
                { class: "plain" },
                known.map((each) =>
                  h(
                    "li",
                    null,
                    `${each.what.replace(/:$/, ".")} `,
                    button("Begin with that", () => begin(plugin, each.config), { "aria-label": `Begin with: ${each.what}` }),
                  ),
                ),
              )
            : null,
        );
      };
      const draw = () => {
        const wanted = search.value.toLowerCase().split(/\s+/);
        const shown = found.filter((each) => wanted.every((word) => text(each).includes(word))).sort((a, b) => simple(a).localeCompare(simple(b)));
        const part = (/** @type {string} */ type, /** @type {string} */ title) => {
          const some = shown.filter((each) => each.type === type);
          return some.length ? [h("h2", null, title), h("ul", { class: "plugins" }, some.map(item))] : [];
        };
        fill(
          list,
          ...part("source", "Bring records into Kafka"),
          ...part("sink", "Take records out of Kafka"),
          shown.length ? null : h("p", null, "No plugin of this worker is called so, or does that."),
        );
      };
      search.addEventListener("input", draw);
      draw();
      return [
        h("p", null, "Choose a plugin, begin with an example, or paste a config."),
        h(
          "div",
          { class: "tools" },
          search,
          button("Paste a config", () => fillIn({})),
        ),
        list,
      ];
    });
  }

  /**
   * @param {import("./api.js").Plugin} plugin
   * @param {import("./api.js").Config} [example]
   */
  function begin(plugin, example) {
    go("create", new URLSearchParams({ class: plugin.class }));
    fillIn(example ?? { name: "", "connector.class": plugin.class });
  }

  const chosen = query.get("class");
  if (kept(DRAFT) !== null || chosen !== null) fillIn({ name: "", "connector.class": chosen });
  else choose();
  return { title: "A new connector", element: h("section", null, h("h1", null, "A new connector"), element) };
}

/** @param {import("./api.js").Plugin} plugin */
function simple(plugin) {
  return plugin.class.replace(/^.*\./, "").replace(/Connector$/, "");
}
