/**
 * A new connector: a plugin is chosen, a config filled in, validated, and created running, paused or stopped.
 */

import { load } from "./connector.js";
import { notice } from "./dialogs.js";
import { button, fill, h } from "./dom.js";

const DRAFT = "kconnect.draft:new";
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
    const kept = sessionStorage.getItem(DRAFT);
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
    const name = h("input", { type: "text", id: "new-name", value: kept === null ? first["name"] ?? "" : nameIn(kept), autocomplete: "off", required: true });
    const named = (/** @type {string} */ text) => void (name.value = text);
    const made = editor({ api, now: null, first, draft: DRAFT, verb: "Create", submit, leave, more: h("label", null, "as ", state), named });
    name.addEventListener("input", () => made.set("name", name.value));
    fill(element, h("div", { class: "field" }, h("label", { for: "new-name" }, "Name of the connector"), name), made.element);
  }

  function choose() {
    return load(element, async () => {
      const found = /** @type {import("./api.js").Plugin[]} */ (await api.get("connector-plugins"));
      const search = h("input", { type: "search", "aria-label": "Search plugins", placeholder: "What it does, or its name" });
      const list = h("ul", { class: "plugins" });
      const draw = () => {
        const wanted = search.value.toLowerCase();
        const shown = found.filter((each) => `${each.class} ${each.type}`.toLowerCase().includes(wanted));
        fill(
          list,
          shown
            .sort((a, b) => simple(a).localeCompare(simple(b)))
            .map((each) => h("li", null, button(simple(each), () => begin(each)), h("span", null, ` ${each.type} · ${each.class} ${each.version ?? ""}`))),
        );
      };
      search.addEventListener("input", draw);
      draw();
      return [h("p", null, "Choose a plugin, or paste a config."), h("div", { class: "tools" }, search, button("Paste a config", () => fillIn({}))), list];
    });
  }

  /** @param {import("./api.js").Plugin} plugin */
  function begin(plugin) {
    go("create", new URLSearchParams({ class: plugin.class }));
    fillIn({ name: "", "connector.class": plugin.class });
  }

  const chosen = query.get("class");
  const kept = sessionStorage.getItem(DRAFT) !== null;
  if (kept || chosen !== null) fillIn({ name: "", "connector.class": chosen });
  else choose();
  return { title: "A new connector", element: h("section", null, h("h1", null, "A new connector"), element) };
}

/** @param {import("./api.js").Plugin} plugin */
function simple(plugin) {
  return plugin.class.replace(/^.*\./, "").replace(/Connector$/, "");
}
