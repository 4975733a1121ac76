/**
 * A connector's dead letters: read, with headers and traces; tried on the chain as it is now; and those that are chosen replayed.
 *
 * Used by `connector.js`. What is searched for is in the address. Read next: `preview.js`, which shows a record's way.
 */

import { confirm, notice } from "./dialogs.js";
import { badge, button, fill, h, table } from "./dom.js";
import { ago, said } from "./format.js";
import { outcome } from "./preview.js";

const STAGES = ["KEY_CONVERTER", "VALUE_CONVERTER", "HEADER_CONVERTER", "TRANSFORMATION", "TASK_PUT", "TASK_POLL", "KAFKA_PRODUCE", "KAFKA_CONSUME"];
const SHOWN = 50;

/** @typedef {import("./api.js").Letter} Letter */
/** @typedef {import("./api.js").Decided} Decided */

/**
 * @param {import("./connector.js").About} about
 * @returns {{element: HTMLElement}}
 */
export function letters({ api, name, query, go }) {
  const contains = h("input", {
    type: "search",
    "aria-label": "Letters with this text",
    placeholder: "Text in key, value or message",
    value: query.get("q") ?? "",
  });
  const stage = h("select", { "aria-label": "Stage" }, h("option", { value: "" }, "any stage"), ...STAGES.map((each) => h("option", { value: each }, each)));
  stage.value = STAGES.includes(query.get("stage") ?? "") ? /** @type {string} */ (query.get("stage")) : "";
  const order = h("select", { "aria-label": "Order" }, h("option", { value: "" }, "newest first"), h("option", { value: "oldest" }, "oldest first"));
  order.value = query.get("oldest") === null ? "" : "oldest";
  const passing = h("input", { type: "checkbox", id: "letters-passing", checked: true });
  const found = h("div", { role: "status" });
  const rows = h("tbody", null);
  const all = h("input", { type: "checkbox", "aria-label": "Choose all letters that are listed" });
  const tools = [button("Through the chain", () => replay(true)), button("Replay", () => replay(false), { class: "main" })];
  /** @type {Map<string, {letter: Letter, box: HTMLInputElement, open: (wanted: boolean) => void, told: HTMLElement}>} */
  const listed = new Map();
  let limit = SHOWN;

  all.addEventListener("change", () => {
    for (const { box } of listed.values()) box.checked = all.checked;
    choose();
  });
  for (const each of [stage, order]) each.addEventListener("change", search);
  contains.addEventListener("change", search);

  function search() {
    limit = SHOWN;
    const kept = new URLSearchParams();
    if (contains.value) kept.set("q", contains.value);
    if (stage.value) kept.set("stage", stage.value);
    if (order.value) kept.set("oldest", "");
    go(`connectors/${encodeURIComponent(name)}/letters`, kept);
    read();
  }

  function choose() {
    const count = chosen().length;
    for (const each of tools) each.disabled = count === 0;
    all.checked = listed.size > 0 && count === listed.size;
  }

  function chosen() {
    return [...listed.values()].filter(({ box }) => box.checked).map(({ letter }) => letter);
  }

  async function read() {
    fill(found, "Reading …");
    try {
      const answer = await api.deadLetters(name, { contains: contains.value, stage: stage.value, oldest: order.value === "oldest", limit });
      const before = new Set(chosen().map(place));
      const shown = order.value === "oldest" ? answer.letters : answer.letters.reverse();
      listed.clear();
      fill(
        rows,
        shown.flatMap((letter) => line(letter, before.has(place(letter)))),
      );
      const parts = [
        `${shown.length}${answer.more ? " of more" : ""} letters in ${answer.queue}`,
        answer.replays_unknown ? `Which have been replayed is not known: ${answer.replays_unknown}` : "",
      ];
      fill(
        found,
        shown.length ? parts.filter(Boolean).join(". ") : `No letters${contains.value || stage.value ? " match" : ` in ${answer.queue}`}.`,
        answer.more && limit < 500 ? [" ", button("Read more", more)] : null,
      );
    } catch (error) {
      listed.clear();
      fill(rows);
      fill(found, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
    choose();
  }

  function more() {
    limit = 500;
    return read();
  }

  /** @param {Letter} letter @param {boolean} checked */
  function line(letter, checked) {
    const at = place(letter);
    const box = h("input", { type: "checkbox", "aria-label": `Choose letter ${at}` });
    box.checked = checked;
    box.addEventListener("change", choose);
    const told = h("div", { class: "told" });
    const inside = h("td", { colspan: 6 }, told);
    const below = h("tr", { hidden: true }, inside);
    const toggle = button("Show", () => open(below.hidden), { "aria-expanded": "false", "aria-label": `Show letter ${at}` });
    /** @type {HTMLElement | null} */
    let details = null;
    /** @param {boolean} wanted */
    function open(wanted) {
      below.hidden = !wanted;
      toggle.setAttribute("aria-expanded", String(wanted));
      fill(toggle, wanted ? "Hide" : "Show");
      // Traces of hundreds of letters are made when somebody looks.
      if (details === null) {
        details = whole(letter);
        inside.append(details);
      }
    }
    const reasons = [
      said(letter.message ?? letter.exception)
        .trim()
        .replace(/:$/, ""),
      said(letter.cause),
    ];
    const why = h("span", { class: "why" }, [letter.stage, ...reasons].filter(Boolean).join(": ") || "not told");
    const state = letter.replayed ? badge("RUNNING", "replayed") : letter.replays ? badge("RETRYING", `came back ${letter.replays} ×`) : "";
    const from =
      letter.topic === null ? "" : letter.original_partition === null ? letter.topic : `${letter.topic}-${letter.original_partition}@${letter.original_offset}`;
    const proof = from && letter.origin !== "proven" ? ` (${letter.origin === "false" ? "not true: another record is there" : "claimed"})` : "";
    const made = h(
      "tr",
      null,
      h("td", { class: "box" }, api.may("admin") ? box : null),
      h("td", null, at),
      h("td", null, h("span", { title: letter.time }, ago(letter.timestamp))),
      h("td", null, from, proof),
      h("td", null, why, " ", state),
      h("td", null, toggle),
    );
    listed.set(at, { letter, box, open, told });
    return [made, below];
  }

  /** @param {import("./api.js").Decided} decided */
  function planned(decided) {
    const at = `${decided.partition}@${decided.offset}`;
    if (decided.to === null) return `${at} stays: ${decided.left}`;
    const to = decided.to_partition === null ? decided.to : `${decided.to}-${decided.to_partition}`;
    return `${at} → ${to}${decided.origin === "claimed" ? " (claimed)" : ""}`;
  }

  /** @param {boolean} dry */
  async function replay(dry) {
    const some = chosen();
    const question = `Replay ${some.length === 1 ? "this letter" : `these ${some.length} letters`}?`;
    const text = "Each is written once. Whoever reads its topic sees it again. A claimed origin is what the record's headers say; nothing proves it.";
    for (const each of tools) each.disabled = true;
    try {
      if (!dry) {
        fill(found, "Planning …");
        const plan = await api.replay(name, some, { dry_run: true, through_chain: passing.checked });
        fill(found);
        if (!(await confirm(question, plan.letters.map(planned), { verb: "Replay", text }))) return choose();
      }
      fill(found, dry ? "Trying …" : "Replaying …");
      const answer = await api.replay(name, some, { dry_run: dry, through_chain: dry || passing.checked });
      if (!dry) await read();
      for (const each of answer.letters) tell(each, dry);
      const left = answer.letters.filter((each) => each.left !== null).length;
      const done = dry
        ? `${answer.letters.length - left} of ${answer.letters.length} would pass.`
        : `${answer.replayed} replayed${left ? `, ${left} left` : ""}.`;
      if (dry) fill(found, done);
      else notice(done, left ? "error" : "done");
    } catch (error) {
      fill(found, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
    }
    choose();
  }

  /** @param {Decided} each @param {boolean} dry */
  function tell(each, dry) {
    const line = listed.get(place(each));
    if (line === undefined) return;
    const to = each.to === null ? null : `${each.to}${each.to_partition === null ? "" : `-${each.to_partition}`}`;
    fill(
      line.told,
      each.left
        ? h("p", { class: "error" }, `It stays: ${each.left}`)
        : h("p", { class: "fine" }, dry ? `It passes, and would go to ${to}.` : `It went to ${to}.`),
      each.outcome ? outcome(each.outcome, "Its way through the chain") : null,
    );
    line.open(true);
  }

  choose();
  read();
  const offered = api.may("admin")
    ? [
        h("div", { class: "actions", role: "group", "aria-label": "What to do with chosen letters" }, tools),
        h("label", { for: "letters-passing" }, passing, " only what passes the chain"),
      ]
    : [];
  return {
    element: h(
      "div",
      { class: "letters" },
      h("p", { class: "help" }, "Records that it could not process. A letter stays in its queue when it is replayed."),
      h("div", { class: "tools" }, contains, stage, order, button("Read again", read)),
      h("div", { class: "tools" }, ...offered),
      found,
      h(
        "div",
        { class: "scroll", tabindex: "0", role: "group", "aria-label": "Dead letters" },
        h(
          "table",
          null,
          h(
            "thead",
            null,
            h(
              "tr",
              null,
              h("td", { class: "box" }, api.may("admin") ? all : null),
              ...["Letter", "When", "From", "Why"].map((title) => h("th", { scope: "col" }, title)),
              h("td", null),
            ),
          ),
          rows,
        ),
      ),
    ),
  };
}

/** @param {{partition: number, offset: number}} letter */
function place(letter) {
  return `${letter.partition}@${letter.offset}`;
}

/** @param {Letter} letter */
function whole(letter) {
  /** @type {[string, string | null | undefined][]} */
  const facts = [
    ["When", letter.time],
    ["From the source", letter.source_offset === null ? null : `${letter.source_partition} ${letter.source_offset}`],
    ["By", letter.connector === null ? null : `${letter.connector}, task ${letter.task ?? "?"}`],
    ["At", [letter.stage, letter.class].filter(Boolean).join(" ")],
    ["Failed", [letter.exception, letter.message].filter(Boolean).join(": ")],
    ["First cause", letter.cause],
    ["Key", data(letter.key, letter.key_bytes)],
    ["Value", data(letter.value, letter.value_bytes)],
    ...letter.headers.map((each) => /** @type {[string, string]} */ ([`Header ${each.name}`, data(each.value, each.value_bytes)])),
  ];
  const shown = facts.filter(([, text]) => text).map(([title, text]) => [title, h("code", null, text)]);
  return h(
    "div",
    null,
    table(["Part", "What"], shown, { caption: `Letter ${place(letter)}` }),
    letter.stacktrace ? h("details", { class: "trace" }, h("summary", null, "Stack trace"), h("pre", { tabindex: "0" }, letter.stacktrace)) : null,
  );
}

/** @param {string | null} text @param {string | undefined} bytes */
function data(text, bytes) {
  return text ?? (bytes === undefined ? "null" : `no text; in base64: ${bytes}`);
}
