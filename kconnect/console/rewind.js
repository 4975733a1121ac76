/**
 * A sink moved to a time, to an end of its topics, or back: first what that means in records, then done, with a stop around it.
 *
 * Used by `offsets.js`. A connector must be stopped while its offsets change, which takes as long as its tasks take to end.
 */

import { confirm, notice } from "./dialogs.js";
import { button, fill, h, table } from "./dom.js";

const PATIENCE_MS = 120_000;
const LOOK_MS = 500;

/** @typedef {import("./answers.js").Move} Move */

/**
 * @param {import("./api.js").Api} api
 * @param {string} name
 * @param {() => import("./api.js").Row | undefined} row
 * @param {() => void} moved
 */
export function rewind(api, name, row, moved) {
  const where = h(
    "select",
    { "aria-label": "Where to" },
    ...[
      ["time", "to a time"],
      ["earliest", "to the first record that is there"],
      ["latest", "to the end"],
      ["back", "back by some records"],
    ].map(([value, text]) => h("option", { value }, text)),
  );
  const time = h("input", { type: "datetime-local", step: 1, "aria-label": "Time" });
  const count = h("input", { type: "number", min: 1, value: 100, "aria-label": "Records in each partition" });
  const found = h("div", { role: "status" });
  time.value = local(Date.now() - 3_600_000);
  where.addEventListener("change", turn);
  turn();

  function turn() {
    time.hidden = where.value !== "time";
    count.hidden = where.value !== "back";
    fill(found);
  }

  function wanted() {
    if (where.value === "time") return `time=${new Date(time.value).getTime()}`;
    return where.value === "back" ? `back=${count.value}` : `to=${where.value}`;
  }

  async function look() {
    fill(found, "Asking the worker …");
    try {
      if (where.value === "time" && Number.isNaN(new Date(time.value).getTime())) throw new Error("Say which time.");
      const moves = await api.moves(name, wanted());
      const rows = moves.map((each) => [each.topic, each.partition, each.now ?? "", each.then, exact(each.again), exact(each.skipped)]);
      const [again, skipped] = [sum(moves, "again"), sum(moves, "skipped")];
      const told = [again ? `${exact(again)} records come again` : "", skipped ? `${exact(skipped)} never come` : ""].filter(Boolean);
      const change = moves.filter((each) => each.now !== each.then);
      fill(
        found,
        h("p", null, told.length ? `At most ${told.join(", and ")}.` : "No record comes again, and none is skipped."),
        moves.length
          ? table(["Topic", "Partition", "Now", "Then", "Again", "Skipped"], rows, { caption: "What it means" })
          : h("p", null, "It has committed nothing yet, so it can't go back from there."),
        change.length
          ? h(
              "div",
              { class: "actions" },
              button("Move it", () => move(change, told), { class: "main" }),
            )
          : null,
      );
    } catch (error) {
      fill(found, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {Move[]} change @param {string[]} told */
  async function move(change, told) {
    const places = change.map((each) => `${each.topic}/${each.partition}: ${each.now ?? "no offset"} → ${each.then}`);
    const text = `It is stopped for that, if it runs, and resumed. ${told.length ? `At most ${told.join(", and ")}.` : ""}`;
    if (!(await confirm("Move this sink?", places, { verb: "Move", text, danger: true }))) return;
    const offsets = change.map((each) => ({ partition: { kafka_topic: each.topic, kafka_partition: each.partition }, offset: { kafka_offset: each.then } }));
    const before = row()?.target_state;
    if (before === undefined) return notice("What it is to be after the move is not known yet. Try again in a moment.", "error");
    try {
      if (before !== "STOPPED") {
        fill(found, "Stopping it …");
        await api.setState(name, "stop");
        await stopped();
      }
      fill(found, "Moving it …");
      notice(await api.alterOffsets(name, offsets));
    } catch (error) {
      notice(error instanceof Error ? error.message : String(error), "error");
    }
    try {
      if (before === "STARTED") await api.setState(name, "resume");
      else if (before === "PAUSED") await api.setState(name, "pause");
    } catch (error) {
      notice(`It was stopped, and is not resumed: ${error instanceof Error ? error.message : error}`, "error");
    }
    moved();
  }

  async function stopped() {
    for (const end = Date.now() + PATIENCE_MS; Date.now() < end; await new Promise((done) => setTimeout(done, LOOK_MS))) {
      const status = await api.status(name);
      if (status.connector.state === "STOPPED" && status.tasks.length === 0) return;
    }
    throw new Error("Its tasks do not end. It was not moved.");
  }

  return h(
    "details",
    { class: "rewind" },
    h("summary", null, "Move it"),
    h("div", { class: "tools" }, where, time, count, button("What it means", look)),
    found,
  );
}

/** @param {number} count */
function exact(count) {
  return count.toLocaleString("en");
}

/** @param {Move[]} moves @param {"again" | "skipped"} what */
function sum(moves, what) {
  return moves.reduce((total, each) => total + each[what], 0);
}

/**
 * As a field for a time has it, in the browser's zone.
 *
 * @param {number} ms since 1970
 */
function local(ms) {
  return new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 19);
}
