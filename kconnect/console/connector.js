/**
 * The view of one connector: what its tasks do and why they fail, its config, offsets and topics; and what can be done to it.
 *
 * Each tab has an address of its own. Read next: `config.js`, `offsets.js`.
 */

import { ApiError } from "./api.js";
import { charts } from "./charts.js";
import { config } from "./config.js";
import { needed, perform } from "./connectors.js";
import { confirm, each, notice } from "./dialogs.js";
import { badge, button, commands, fill, h, load, table } from "./dom.js";
import { ago, moment, number, said, size } from "./format.js";
import { letters } from "./letters.js";
import { offsets } from "./offsets.js";

/** @typedef {import("./api.js").Api} Api */
/** @typedef {{element: HTMLElement, changed?: () => void, closed?: () => void}} Tab */
/** @typedef {{api: Api, name: string, hurry: () => void, row: () => import("./api.js").Row | undefined, query: URLSearchParams, go: (path: string, query?: URLSearchParams) => void}} About */

/** @type {Record<string, {title: string, make: (about: About) => Tab, role?: "operate"}>} */
const TABS = {
  overview: { title: "Overview", make: overview },
  config: { title: "Config", make: config },
  offsets: { title: "Offsets", make: offsets },
  topics: { title: "Topics", make: topics },
  letters: { title: "Dead letters", make: letters, role: "operate" },
};

const EVERY_MS = 5000;

/** @type {Record<string, string>} */
const WARNINGS = {
  Stop: "Its tasks end. Offsets and config stay.",
  Restart: "The connector and all its tasks are restarted.",
  Delete: "Its config and tasks are gone then. Its offsets stay.",
};

/**
 * @param {import("./main.js").Place} place
 * @returns {import("./main.js").View}
 */
export function connector({ api, feed, path, query, go }) {
  const name = path[0] ?? "";
  const tabs = Object.entries(TABS).filter(([, { role }]) => role === undefined || api.may(role));
  const chosen = tabs.find(([key]) => key === path[1])?.[0] ?? "overview";
  const hurry = () => feed.hurry();
  const tab = /** @type {typeof TABS[string]} */ (TABS[chosen]).make({ api, name, hurry, row: () => feed.rows.get(name), query, go });
  const facts = h("p", { class: "facts" });
  const actions = h("div", { class: "actions", role: "group", "aria-label": "What to do with this connector" });
  const address = `#/connectors/${encodeURIComponent(name)}`;
  /** @type {string | undefined} */
  let seen = "";

  /** @param {string} verb */
  async function act(verb) {
    const text = WARNINGS[verb];
    if (text !== undefined && !(await confirm(`${verb} this connector?`, [name], { verb, text, danger: verb === "Delete" }))) return;
    await each(verb, [name], () => perform(api, verb, name));
    if (verb === "Delete") location.hash = "#/connectors";
    hurry();
  }

  function changed() {
    const row = feed.rows.get(name);
    if (row === undefined) {
      fill(facts, feed.ready ? "There is no connector of this name (any more)." : "Asking the worker …");
      fill(actions);
    } else {
      const wanted = row.target_state === "STARTED" ? null : `, is to be ${row.target_state}`;
      fill(facts, badge(row.state), wanted, ` · ${row.type} · ${row.class ?? "no class"}`);
      const verbs =
        row.target_state === "STARTED"
          ? ["Pause", "Stop", "Restart", "Delete"]
          : row.target_state === "PAUSED"
            ? ["Resume", "Stop", "Restart", "Delete"]
            : ["Resume", "Delete"];
      const mine = verbs.filter((verb) => api.may(needed(verb)));
      if (actions.dataset["verbs"] !== verbs.join()) {
        actions.dataset["verbs"] = verbs.join();
        fill(actions, ...mine.map((verb) => button(verb, () => act(verb), { class: verb === "Delete" ? "danger" : null })));
      }
    }
    // Of the other connectors there is news all the time.
    const text = JSON.stringify(row);
    if (text !== seen) tab.changed?.();
    seen = text;
  }

  return {
    title: name,
    element: h(
      "section",
      null,
      h("p", { class: "crumbs" }, h("a", { href: "#/connectors" }, "Connectors"), " / "),
      h("div", { class: "head" }, h("h1", null, name), actions),
      facts,
      h(
        "nav",
        { class: "tabs", "aria-label": "Of this connector" },
        ...tabs.map(([key, { title }]) => h("a", { href: `${address}/${key}`, "aria-current": key === chosen ? "page" : null }, title)),
      ),
      tab.element,
    ),
    changed,
    closed: () => tab.closed?.(),
  };
}

/**
 * @param {About} about
 * @returns {Tab}
 */
function overview({ api, name, hurry }) {
  const element = h("div", null, h("p", null, "Asking the worker …"));
  const lastHour = charts(api, name);
  /** Traces that are open stay so. @type {Set<string>} */
  const open = new Set();
  let reading = false;
  let again = false;
  /** What tasks had taken of processors when that last changed, and when that was seen. @type {Map<number, {seconds: number, at: number, share: string}>} */
  const taken = new Map();

  /** How much of a core a task takes. @param {number} id @param {number | null | undefined} seconds */
  function share(id, seconds) {
    const before = taken.get(id);
    const at = Date.now();
    if (seconds === null || seconds === undefined) {
      taken.delete(id);
      return "";
    }
    if (before === undefined || seconds < before.seconds) {
      taken.set(id, { seconds, at, share: "" });
      return "";
    }
    // Hosts tell of it every ten seconds, or not at all while nothing is taken.
    if (seconds === before.seconds && at - before.at < 30000) {
      return before.share;
    }
    const text = `${((100000 * (seconds - before.seconds)) / (at - before.at)).toFixed(0)} %`;
    taken.set(id, { seconds, at, share: text });
    return text;
  }

  /** @param {string} key @param {string} trace */
  function folded(key, trace) {
    const first = trace.trim().split("\n", 1)[0] ?? "";
    const made = h("details", { class: "trace", open: open.has(key) }, h("summary", null, said(first)), h("pre", { tabindex: "0" }, trace));
    made.addEventListener("toggle", () => (made.open ? open.add(key) : open.delete(key)));
    return made;
  }

  async function read() {
    const [status, own, placement] = await Promise.all([statusOf(), api.own(name), api.placement(name)]);
    const tasks = new Map(status?.tasks.map((task) => [task.id, task]));
    const mine = new Map(own.tasks.map((task) => [task.id, task]));
    const rows = placement.tasks.map((placed) => {
      const id = /** @type {number} */ (placed.task);
      const task = tasks.get(id);
      const more = mine.get(id);
      const restart = async () => {
        try {
          await api.restartTask(name, id);
          notice(`Task ${id} is restarted.`);
        } catch (error) {
          notice(`Task ${id} can't be restarted: ${error instanceof Error ? error.message : error}`, "error");
        }
        hurry();
      };
      const reason = task?.trace
        ? folded(`task ${id}`, task.trace)
        : more?.retrying
          ? `Retrying, since ${ago(more.retrying.since)}: ${more.retrying.reason}`
          : placed.waits_for;
      const host = placed.host === null ? "" : `host ${placed.host.host}${placed.host.pid === null ? "" : `, process ${placed.host.pid}`}`;
      return [
        String(id),
        badge(task?.state ?? placed.state),
        h("span", { title: moment(more?.since) }, ago(more?.since)),
        placed.worker_id,
        host,
        size(more?.memory?.used),
        share(id, more?.cpu_s),
        reason,
        api.may("operate") ? button("Restart", restart, { "aria-label": `Restart task ${id}` }) : "",
      ];
    });
    const instance = status?.connector.trace ? folded("connector", status.connector.trace) : placement.connector.waits_for;
    return [
      own.advice.length
        ? h(
            "div",
            { class: "advice", role: "note", "aria-label": "What to do" },
            h("h2", null, "What to do"),
            h(
              "ul",
              null,
              own.advice.map((text) => h("li", null, commands(text))),
            ),
          )
        : null,
      instance ? h("div", { class: "instance" }, h("h2", null, "The connector itself"), instance) : null,
      h("h2", null, "Tasks"),
      rows.length
        ? table(["Task", "State", "Since", "Worker", "Host", "Memory", "CPU", "Why", ""], rows, { caption: "Tasks" })
        : h("p", null, "It has no tasks."),
    ];
  }

  async function statusOf() {
    try {
      return await api.status(name);
    } catch (error) {
      // Nothing was reported of it yet.
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  }

  async function changed() {
    // One at a time; what changes meanwhile is read next.
    again = true;
    if (reading) return;
    reading = true;
    while (again) {
      again = false;
      await load(element, read);
    }
    reading = false;
  }

  // Where a task runs, and what it waits for, is not in what the feed tells.
  const timer = setInterval(() => document.visibilityState === "visible" && changed(), EVERY_MS);
  const closed = () => {
    clearInterval(timer);
    lastHour.closed();
  };
  return { element: h("div", null, lastHour.element, element, past(api, name)), changed, closed };
}

/**
 * What became of it, read once somebody wants to know: the worker reads topics for that.
 *
 * @param {Api} api
 * @param {string} name
 */
function past(api, name) {
  const found = h("div", { role: "status" });
  const read = () =>
    load(found, async () => {
      fill(found, "Reading …");
      const { changes, since, restarts } = await api.changes(name);
      const rows = changes
        .reverse()
        .map((each) => [h("span", { title: ago(each.at) }, moment(each.at)), each.of === "task" ? `task ${each.task}` : (each.of ?? ""), each.text]);
      const far = `${restarts} ${restarts === 1 ? "restart" : "restarts"}; nothing is known from before ${moment(since)}.`;
      return [
        h("p", { class: "help" }, far, " ", button("Read again", read)),
        rows.length ? table(["When", "What", ""], rows, { caption: "What happened" }) : null,
      ];
    });
  const made = h("details", { class: "past" }, h("summary", null, "What happened"), found);
  made.addEventListener("toggle", () => made.open && read());
  return made;
}

/**
 * @param {About} about
 * @returns {Tab}
 */
function topics({ api, name }) {
  const element = h("div", null);
  load(element, async () => {
    const found = await api.topics(name);
    const text = "Topics that it has read or written since it was made, or since they were forgotten.";
    return [
      h("p", null, text),
      found.length
        ? h(
            "ul",
            { class: "plain" },
            found.sort().map((topic) => h("li", null, topic)),
          )
        : h("p", null, `${number(0)} topics.`),
    ];
  });
  return { element };
}
