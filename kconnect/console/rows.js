/**
 * A table of thousands: only the rows that can be seen are in the page, all of one height.
 *
 * Used by `connectors.js`.
 */

import { fill, h } from "./dom.js";

const HEIGHT = 36;
const BEYOND = 12;

/** @template T */
export class Rows {
  /**
   * @param {string} label
   * @param {HTMLTableRowElement} head
   * @param {(item: T) => HTMLTableRowElement} row
   */
  constructor(label, head, row) {
    this._row = row;
    /** @type {T[]} */
    this._items = [];
    this._before = h("tr", { class: "space", "aria-hidden": "true" });
    this._after = h("tr", { class: "space", "aria-hidden": "true" });
    this._body = h("tbody", null);
    this._table = h("table", { class: "rows", "aria-label": label }, h("thead", null, head), this._body);
    this._first = -1;
    this._last = -1;
    this.element = h("div", { class: "window", tabindex: "0", role: "group", "aria-label": label, onscroll: () => this._draw(false) }, this._table);
    new ResizeObserver(() => this._draw(false)).observe(this.element);
  }

  /** @param {T[]} items */
  show(items) {
    this._items = items;
    this._table.setAttribute("aria-rowcount", String(items.length + 1));
    this._draw(true);
  }

  /** @param {boolean} anew */
  _draw(anew) {
    const first = Math.max(0, Math.floor(this.element.scrollTop / HEIGHT) - BEYOND);
    const last = Math.min(this._items.length, Math.ceil((this.element.scrollTop + this.element.clientHeight) / HEIGHT) + BEYOND);
    if (!anew && first === this._first && last === this._last) return;
    this._first = first;
    this._last = last;
    // Whoever is at one of the row's boxes or links stays there.
    const at = document.activeElement instanceof HTMLElement && this._body.contains(document.activeElement) ? document.activeElement.dataset["key"] : undefined;
    const shown = this._items.slice(first, last).map((item, number) => {
      const row = this._row(item);
      row.setAttribute("aria-rowindex", String(first + number + 2));
      return row;
    });
    this._before.style.height = `${first * HEIGHT}px`;
    this._after.style.height = `${(this._items.length - last) * HEIGHT}px`;
    fill(this._body, this._before, shown, this._after);
    if (at !== undefined) /** @type {HTMLElement | null} */ (this._body.querySelector(`[data-key="${CSS.escape(at)}"]`))?.focus({ preventScroll: true });
  }
}
