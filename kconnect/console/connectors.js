/**
 * The view of all connectors: what runs, what fails and what moves, live; searched, sorted, and acted on together.
 *
 * Search, filters and order are in the address, so that they can be sent to somebody, and come back after a reload.
 */

import { confirm, each } from "./dialogs.js";
import { badge, button, fill, h } from "./dom.js";
import { ago, moment, number, said, states } from "./format.js";
import { Rows } from "./rows.js";

/** @typedef {import("./api.js").Row} Row */

/** @type {{key: string, title: string, of: (row: Row) => string | number, down?: boolean, cell: (row: Row) => import("./dom.js").Child | import("./dom.js").Child[], right?: boolean}[]} */
const COLUMNS = [
  {
    key: "name",
    title: "Name",
    of: (row) => row.name,
    cell: (row) => [
      h("a", { href: `#/connectors/${encodeURIComponent(row.name)}`, "data-key": `link ${row.name}` }, row.name),
      ...labels(row).map((text) => h("span", { class: "label" }, text)),
    ],
  },
  { key: "state", title: "State", of: (row) => worst(row), down: true, cell: (row) => badge(row.state) },
  { key: "since", title: "Since", of: (row) => row.since ?? 0, down: true, cell: (row) => h("span", { title: moment(row.since) }, ago(row.since)) },
  { key: "tasks", title: "Tasks", of: (row) => tasks(row), cell: (row) => taskCell(row) },
  { key: "why", title: "Why", of: (row) => row.why ?? "", cell: (row) => h("span", { class: "why", title: row.why }, said(row.why)) },
  { key: "class", title: "Class", of: (row) => simple(row.class), cell: (row) => h("span", { title: `${row.type}: ${row.class}` }, simple(row.class)) },
  { key: "in", title: "In/s", of: (row) => row.in_per_s ?? -1, down: true, cell: (row) => number(row.in_per_s), right: true },
  { key: "out", title: "Out/s", of: (row) => row.out_per_s ?? -1, down: true, cell: (row) => number(row.out_per_s), right: true },
  { key: "lag", title: "Lag", of: (row) => row.lag ?? -1, down: true, cell: (row) => number(row.lag), right: true },
  { key: "errors", title: "Errors", of: (row) => row.errors ?? -1, down: true, cell: (row) => number(row.errors), right: true },
  { key: "letters", title: "Dead letters", of: (row) => row.dead_letters ?? -1, down: true, cell: (row) => number(row.dead_letters), right: true },
  { key: "moved", title: "Last record", of: (row) => row.moved_at ?? 0, down: true, cell: (row) => ago(row.moved_at) },
];

const STATES = ["RUNNING", "PAUSED", "STOPPED", "FAILED", "UNASSIGNED", "RESTARTING"];

/** @type {Record<string, {doing: string, text?: string, danger?: boolean}>} */
const ACTIONS = {
  Pause: { doing: "Pausing", text: "Their tasks stay where they are, and move nothing." },
  Resume: { doing: "Resuming" },
  Stop: { doing: "Stopping", text: "Their tasks end. Offsets and configs stay." },
  Restart: { doing: "Restarting", text: "The connectors and all their tasks are restarted." },
  Delete: { doing: "Deleting", text: "Configs and tasks are gone then. Offsets stay.", danger: true },
};

/**
 * @param {import("./main.js").Place} place
 * @returns {import("./main.js").View}
 */
export function connectors({ api, feed, query, go }) {
  /** @type {Set<string>} */
  const chosen = new Set();
  const search = h("input", {
    type: "search",
    placeholder: "Name, class, topic, label or reason",
    "aria-label": "Search connectors",
    value: query.get("q") ?? "",
  });
  const state = choice("State", "any state", STATES, query.get("state"));
  const type = choice("Type", "any type", ["source", "sink"], query.get("type"));
  const order = { key: query.get("sort") ?? "name", turned: query.get("turned") !== null };
  const count = h("p", { class: "count", role: "status" });
  const all = h("input", { type: "checkbox", "aria-label": "Choose all that are listed" });
  const actions = Object.keys(ACTIONS)
    .filter((verb) => api.may(needed(verb)))
    .map((verb) => button(verb, () => act(verb), { class: verb === "Delete" ? "danger" : null }));
  const head = h("tr", { "aria-rowindex": "1" }, h("th", { class: "box" }, all), ...COLUMNS.map(title));
  const rows = new Rows("Connectors", head, line);
  /** @type {Row[]} */
  let listed = [];

  search.addEventListener("input", () => remember());
  state.addEventListener("change", () => remember());
  type.addEventListener("change", () => remember());
  all.addEventListener("change", () => {
    for (const row of listed) all.checked ? chosen.add(row.name) : chosen.delete(row.name);
    draw();
  });

  /** @param {typeof COLUMNS[0]} column */
  function title(column) {
    const sort = () => {
      order.turned = order.key === column.key && !order.turned;
      order.key = column.key;
      remember();
    };
    return h("th", { scope: "col", "data-key": column.key, class: column.right ? "right" : null }, button(column.title, sort));
  }

  /** @param {Row} row */
  function line(row) {
    const box = h("input", { type: "checkbox", "aria-label": `Choose ${row.name}`, "data-key": `box ${row.name}` });
    box.checked = chosen.has(row.name);
    box.addEventListener("change", () => {
      box.checked ? chosen.add(row.name) : chosen.delete(row.name);
      summary();
    });
    return h("tr", null, h("td", { class: "box" }, box), ...COLUMNS.map((column) => h("td", { class: column.right ? "right" : null }, column.cell(row))));
  }

  /** What is chosen here goes into the address. */
  function remember() {
    const kept = new URLSearchParams();
    if (search.value) kept.set("q", search.value);
    if (state.value) kept.set("state", state.value);
    if (type.value) kept.set("type", type.value);
    if (order.key !== "name") kept.set("sort", order.key);
    if (order.turned) kept.set("turned", "");
    go("connectors", kept);
    draw();
  }

  function draw() {
    const wanted = search.value.toLowerCase();
    const column = COLUMNS.find((each) => each.key === order.key) ?? /** @type {typeof COLUMNS[0]} */ (COLUMNS[0]);
    listed = [...feed.rows.values()].filter(
      (row) =>
        (!wanted || [row.name, row.class, row.why, ...row.topics, ...labels(row)].some((text) => text?.toLowerCase().includes(wanted))) &&
        (!state.value || row.state === state.value || state.value in row.tasks) &&
        (!type.value || row.type === type.value),
    );
    const sign = Boolean(column.down) !== order.turned ? -1 : 1;
    listed.sort((a, b) => {
      const [one, other] = [column.of(a), column.of(b)];
      return one < other ? -sign : one > other ? sign : a.name < b.name ? -1 : 1;
    });
    for (const cell of head.querySelectorAll("th[data-key]")) {
      const sorted = cell.getAttribute("data-key") === column.key;
      if (sorted) cell.setAttribute("aria-sort", sign > 0 ? "ascending" : "descending");
      else cell.removeAttribute("aria-sort");
    }
    for (const name of chosen) if (!feed.rows.has(name)) chosen.delete(name);
    rows.show(listed);
    summary();
  }

  function summary() {
    const total = feed.rows.size;
    const failed = listed.filter((row) => row.state === "FAILED" || "FAILED" in row.tasks).length;
    const parts = [
      feed.ready ? (listed.length === total ? `${total} connectors` : `${listed.length} of ${total} connectors`) : "Asking the worker …",
      failed ? `${failed} with failures` : "",
      chosen.size ? `${chosen.size} chosen` : "",
    ];
    fill(count, parts.filter(Boolean).join(" · "));
    all.checked = listed.length > 0 && listed.every((row) => chosen.has(row.name));
    for (const each of actions) each.disabled = chosen.size === 0;
  }

  /** @param {string} verb */
  async function act(verb) {
    const names = [...chosen].sort();
    const what = /** @type {typeof ACTIONS[string]} */ (ACTIONS[verb]);
    const title = `${verb} ${names.length === 1 ? "this connector" : `these ${names.length} connectors`}?`;
    if (!(await confirm(title, names, { verb, ...what }))) return;
    await each(what.doing, names, (name) => perform(api, verb, name));
    if (verb === "Delete") for (const name of names) chosen.delete(name);
    feed.hurry();
  }

  draw();
  return {
    title: "Connectors",
    element: h(
      "section",
      { class: "connectors" },
      h("div", { class: "head" }, h("h1", null, "Connectors"), api.may("admin") ? h("a", { class: "button", href: "#/create" }, "New connector") : null),
      h(
        "div",
        { class: "tools" },
        search,
        state,
        type,
        h("div", { class: "actions", role: "group", "aria-label": "What to do with those that are chosen" }, actions),
      ),
      count,
      rows.element,
    ),
    changed: draw,
  };
}

/** @param {string} verb */
export function needed(verb) {
  return verb === "Delete" ? "admin" : "operate";
}

/**
 * @param {import("./api.js").Api} api
 * @param {string} verb
 * @param {string} name
 */
export function perform(api, verb, name) {
  if (verb === "Delete") return api.delete(name);
  if (verb === "Restart") return api.restart(name);
  return api.setState(name, verb === "Pause" ? "pause" : verb === "Resume" ? "resume" : "stop");
}

/**
 * @param {string} label
 * @param {string} any
 * @param {string[]} values
 * @param {string | null} value
 */
function choice(label, any, values, value) {
  const made = h("select", { "aria-label": label }, h("option", { value: "" }, any), ...values.map((each) => h("option", { value: each }, each)));
  made.value = value !== null && values.includes(value) ? value : "";
  return made;
}

/** @param {Row} row */
function tasks(row) {
  return Object.values(row.tasks).reduce((sum, count) => sum + count, 0);
}

/** @param {Row} row */
function taskCell(row) {
  const total = tasks(row);
  const running = row.tasks["RUNNING"] ?? 0;
  const text = total === 0 ? "none" : `${running} of ${total}`;
  const failed = row.tasks["FAILED"] ?? 0;
  return h(
    "span",
    { title: states(row.tasks) },
    text,
    failed ? [" ", badge("FAILED", `${failed} failed`)] : null,
    row.retrying_since ? [" ", badge("RETRYING", "retrying")] : null,
  );
}

/** @param {Row} row */
function labels(row) {
  return Object.entries(row.labels).map(([name, value]) => (value ? `${name}=${value}` : name));
}

/** @param {Row} row */
function worst(row) {
  if (row.state === "FAILED" || "FAILED" in row.tasks) return 9;
  return row.retrying_since ? 8 : STATES.indexOf(row.state);
}

/** @param {string | null} name */
function simple(name) {
  return (name ?? "").replace(/^.*\./, "");
}
