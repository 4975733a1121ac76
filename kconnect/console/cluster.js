/**
 * The views of the cluster: workers and their hosts, what is wrong with the internal topics, and the levels of loggers.
 */

import { notice } from "./dialogs.js";
import { badge, button, commands, fill, h, load, table } from "./dom.js";
import { ago, number, size } from "./format.js";

const LEVELS = ["OFF", "ERROR", "WARN", "INFO", "DEBUG", "TRACE"];
const EVERY_MS = 5000;

/**
 * @param {import("./main.js").Place} place
 * @returns {import("./main.js").View}
 */
export function cluster({ api }) {
  const element = h("div", null, h("p", null, "Asking the worker …"));
  /** What each process had used when that was new. @type {Map<string, {at: number, cpu: number, share: number | null}>} */
  const used = new Map();

  /** @param {string} process @param {number | undefined} cpu seconds, which hosts tell every few seconds */
  function share(process, cpu) {
    if (cpu === undefined) return "";
    const before = used.get(process);
    const at = Date.now() / 1000;
    if (before === undefined || cpu < before.cpu) used.set(process, { at, cpu, share: null });
    else if (cpu > before.cpu || at - before.at > 10) used.set(process, { at, cpu, share: (100 * (cpu - before.cpu)) / (at - before.at) });
    const now = used.get(process)?.share;
    return now === null || now === undefined ? "" : `${Math.round(now)} %`;
  }

  async function read() {
    const found = await api.get("cluster");
    const workers = found.workers.map((/** @type {any} */ each) => [
      [each.worker_id, each.worker_id === found.leader ? " (leader)" : "", each.worker_id === found.answered_by ? " (this one)" : ""].join(""),
      each.url === null ? badge("FAILED", "gone") : badge("RUNNING", "there"),
      number(each.connectors),
      number(each.tasks),
      each.version ?? "",
      number(each.generation),
      each.leaving ? "leaving" : each.drained ? "drained" : "",
      !/^https?:/.test(each.url ?? "") ? "" : h("a", { href: `${each.url.replace(/\/$/, "")}/console`, rel: "noreferrer" }, "Its console"),
    ]);
    const hosts = found.workers.flatMap((/** @type {any} */ worker) =>
      worker.hosts.map((/** @type {any} */ host) => [
        worker.worker_id,
        number(host.host),
        host.node ?? "",
        host.pid === null ? "" : String(host.pid),
        number(host.connectors),
        number(host.tasks),
        [size(host.usage?.memory), host.usage?.memory_max ? ` of ${size(host.usage.memory_max)}` : ""].join(""),
        share(`${worker.worker_id} ${host.host} ${host.pid}`, host.usage?.cpu_s),
      ]),
    );
    const moves = found.moving.map((/** @type {any} */ each) => [
      each.connector,
      each.task === null ? "the connector itself" : `task ${each.task}`,
      each.from ?? "nowhere",
      each.to ?? "nowhere",
    ]);
    return [
      h("h2", null, "Workers"),
      table(["Worker", "State", "Connectors", "Tasks", "Version", "Generation", "", ""], workers, { caption: "Workers" }),
      h("h2", null, "Task hosts"),
      hosts.length
        ? table(["Worker", "Host", "Node", "Process", "Connectors", "Tasks", "Memory", "CPU"], hosts, { caption: "Task hosts" })
        : h("p", null, "There is none yet: Spark is starting."),
      moves.length ? [h("h2", null, "Being moved"), table(["Connector", "What", "From", "To"], moves, { caption: "Being moved" })] : null,
    ].flat();
  }

  const timer = setInterval(() => document.visibilityState === "visible" && load(element, read), EVERY_MS);
  load(element, read);
  return { title: "Cluster", element: h("section", null, h("h1", null, "Cluster"), element, internalTopics(api)), closed: () => clearInterval(timer) };
}

/**
 * The internal topics, checked when somebody asks: the worker reads them whole for that.
 *
 * @param {import("./api.js").Api} api
 */
function internalTopics(api) {
  const found = h("div", { role: "status" });
  const go = button("Check them", check);
  async function check() {
    go.disabled = true;
    await load(found, async () => {
      fill(found, "Reading them …");
      const { topics, findings } = await api.internalTopics();
      const rows = topics.map((each) => [
        each.role,
        h("code", null, each.topic),
        each.there ? number(each.partitions) : badge("FAILED", "is not there"),
        number(each.replication),
        number(each.records),
      ]);
      const wrong = findings.map((each) => [
        badge(each.severity === "error" ? "FAILED" : each.severity === "warning" ? "RETRYING" : "PAUSED", each.severity),
        each.topic,
        commands(each.text),
        commands(each.remedy),
      ]);
      return [
        table(["Holds", "Topic", "Partitions", "Replicas", "Records"], rows, { caption: "Internal topics" }),
        wrong.length
          ? table(["", "Topic", "What is found", "What helps"], wrong, { caption: "What is found" })
          : h("p", { class: "fine" }, "Nothing is wrong with them."),
      ];
    });
    go.disabled = false;
  }
  return h("div", null, h("h2", null, "Internal topics"), h("div", { class: "actions" }, go), found);
}

/**
 * @param {import("./main.js").Place} place
 * @returns {import("./main.js").View}
 */
export function loggers({ api }) {
  const element = h("div", null, h("p", null, "Asking the worker …"));

  /**
   * @param {string} name
   * @param {string} level
   * @param {boolean} everywhere
   */
  async function set(name, level, everywhere) {
    try {
      await api.send("PUT", `admin/loggers/${encodeURIComponent(name)}?scope=${everywhere ? "cluster" : "worker"}`, { level });
      notice(`${name} is at ${level} on ${everywhere ? "all workers" : "this worker"}.`);
      show();
    } catch (error) {
      notice(error instanceof Error ? error.message : String(error), "error");
    }
  }

  function show() {
    return load(element, async () => {
      const found = /** @type {Record<string, {level: string, last_modified: number | null}>} */ (await api.get("admin/loggers"));
      const rows = Object.entries(found).map(([name, { level, last_modified }]) => {
        const choice = h(
          "select",
          { "aria-label": `Level of ${name}` },
          ...[...new Set([...LEVELS, level])].map((each) => h("option", { value: each, selected: each === level }, each)),
        );
        return [
          h("code", null, name),
          choice,
          ago(last_modified),
          api.may("admin")
            ? h(
                "div",
                { class: "actions" },
                button("Set here", () => set(name, choice.value, false)),
                button("Set everywhere", () => set(name, choice.value, true)),
              )
            : "",
        ];
      });
      return [table(["Logger", "Level", "Changed", ""], rows, { caption: "Loggers" })];
    });
  }

  const name = h("input", { type: "text", "aria-label": "Another logger", placeholder: "Another logger, such as kconnect.rest" });
  const add = h("form", { class: "tools" }, name, h("button", { type: "submit" }, "DEBUG here"));
  add.addEventListener("submit", (event) => {
    event.preventDefault();
    if (name.value.trim()) set(name.value.trim(), "DEBUG", false);
  });
  show();
  return { title: "Loggers", element: h("section", null, h("h1", null, "Loggers"), api.may("admin") ? add : null, element) };
}
