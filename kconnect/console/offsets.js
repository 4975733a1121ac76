/**
 * A connector's offsets: seen, altered and reset. Connectors must be stopped for that, which the worker says, too.
 */

import { confirm, notice } from "./dialogs.js";
import { button, fill, h, load, table } from "./dom.js";
import { rewind } from "./rewind.js";

/**
 * @param {import("./connector.js").About} about
 * @returns {{element: HTMLElement}}
 */
export function offsets({ api, name, row }) {
  const element = h("div", null, h("p", null, "Asking the worker …"));

  /** @param {() => Promise<string>} action */
  async function change(action) {
    try {
      notice(await action());
      show();
    } catch (error) {
      notice(error instanceof Error ? error.message : String(error), "error");
    }
  }

  const reset = async () => {
    const text = "It begins again from where a new connector would: what it has moved already it may move again.";
    if (await confirm("Reset all offsets of this connector?", [name], { verb: "Reset", text, danger: true })) await change(() => api.resetOffsets(name));
  };

  /** @param {import("./api.js").Offset[]} found */
  function editor(found) {
    const field = h("textarea", { class: "json", rows: 14, spellcheck: "false", "aria-label": "Offsets as JSON" });
    field.value = JSON.stringify(found, null, 2);
    const alter = () =>
      change(async () => {
        const wanted = JSON.parse(field.value);
        return api.alterOffsets(name, wanted);
      });
    const text = "What is not listed stays as it is; null as an offset resets its partition.";
    return h("div", null, h("p", null, text), field, h("div", { class: "actions" }, button("Alter", alter, { class: "main" }), button("Give up", show)));
  }

  function show() {
    return load(element, async () => {
      const found = await api.offsets(name);
      const rows = found.map((each) => [h("code", null, JSON.stringify(each.partition)), h("code", null, JSON.stringify(each.offset))]);
      return [
        api.may("admin") ? h("p", null, "To alter or reset offsets, stop the connector first.") : null,
        h(
          "div",
          { class: "actions" },
          api.may("admin") ? [button("Alter", () => fill(element, editor(found))), button("Reset all", reset, { class: "danger" })] : null,
          button("Read again", show),
        ),
        api.may("admin") && found.some((each) => each.partition !== null && "kafka_topic" in each.partition) ? rewind(api, name, row, show) : null,
        rows.length ? table(["Partition", "Offset"], rows, { caption: "Offsets" }) : h("p", null, "No offsets are committed."),
      ];
    });
  }

  show();
  return { element };
}
