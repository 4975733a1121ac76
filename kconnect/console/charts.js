/**
 * Charts of a connector's last hour, drawn by uPlot. Each says in words what it shows, too.
 *
 * Used by `connector.js`.
 */

import { fill, h } from "./dom.js";
import { number } from "./format.js";
import uPlot from "./uplot.js";

const HOUR_S = 3600;
const HEIGHT = 130;
const EVERY_MS = 10_000;

/** @typedef {import("./api.js").History} History */
/** @typedef {Exclude<keyof History, "name" | "at">} Series */

/** @type {{title: string, series: [Series, string][]}[]} */
const CHARTS = [
  {
    title: "Records a second",
    series: [
      ["in_per_s", "in"],
      ["out_per_s", "out"],
    ],
  },
  { title: "Lag, records", series: [["lag", "lag"]] },
  {
    title: "Errors since the start",
    series: [
      ["errors", "errors"],
      ["dead_letters", "dead letters"],
    ],
  },
  { title: "Milliseconds a poll or put", series: [["call_ms", "ms"]] },
];

/**
 * @param {import("./api.js").Api} api
 * @param {string} name
 * @returns {{element: HTMLElement, closed: () => void}}
 */
export function charts(api, name) {
  const element = h("div", { class: "charts" });
  /** @type {uPlot[]} */
  let drawn = [];
  let closed = false;
  const dark = matchMedia("(prefers-color-scheme: dark)");

  async function draw() {
    /** @type {History} */
    let history;
    try {
      history = await api.history(name);
    } catch {
      // The rest of the page says that the worker does not answer.
      return;
    }
    if (closed) return;
    for (const each of drawn) each.destroy();
    drawn = [];
    fill(
      element,
      CHARTS.filter(({ series }) => series.some(([key]) => history[key].some((value) => value !== null))).map(({ title, series }) => {
        const place = h("div", { role: "img", "aria-label": `${title}: ${series.map((each) => words(history, ...each)).join("; ")}` });
        const legend = series.map(([key, text], index) => h("span", { class: `series s${index}` }, `${text} ${number(last(history[key]))}`));
        queueMicrotask(() => drawn.push(chart(place, history, series)));
        return h("figure", null, h("figcaption", null, title, ...legend), place);
      }),
    );
  }

  const timer = setInterval(() => document.visibilityState === "visible" && draw(), EVERY_MS);
  dark.addEventListener("change", draw);
  draw();
  return {
    element,
    closed: () => {
      closed = true;
      clearInterval(timer);
      dark.removeEventListener("change", draw);
      for (const each of drawn) each.destroy();
    },
  };
}

/**
 * @param {HTMLElement} place
 * @param {History} history
 * @param {[Series, string][]} series
 */
function chart(place, history, series) {
  const now = Date.now() / 1000;
  // What was so at the last point is so still.
  const at = [...history.at.map((ms) => ms / 1000), now];
  const axis = { stroke: resolved("--faint"), grid: { stroke: resolved("--line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
  const drawn = new uPlot(
    {
      width: Math.max(place.clientWidth, 200),
      height: HEIGHT,
      legend: { show: false },
      cursor: { show: false },
      scales: { x: { range: [now - HOUR_S, now] }, y: { range: (_, least, most) => [Math.min(0, least ?? 0), (most ?? 0) > 0 ? (most ?? 0) * 1.05 : 1] } },
      axes: [
        { ...axis, size: 28, space: 90, values: [[60, "{HH}:{mm}", null, null, null, null, null, null, 0]] },
        { ...axis, size: 56, values: (_, splits) => splits.map((value) => number(value)) },
      ],
      series: [
        {},
        ...series.map((_, index) => ({
          stroke: resolved(index === 0 ? "--main" : "--warn"),
          width: 1.5,
          points: { show: false },
          paths: /** @type {any} */ (uPlot.paths.stepped)({ align: 1 }),
        })),
      ],
    },
    /** @type {any} */ ([at, ...series.map(([key]) => [...history[key], last(history[key])])]),
    place,
  );
  return drawn;

  /** Canvas does not know `light-dark()`. @param {string} name */
  function resolved(name) {
    const probe = h("span", { class: `probe ${name.slice(2)}` });
    place.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }
}

/** @param {(number | null)[]} values */
function last(values) {
  return values.length ? (values[values.length - 1] ?? null) : null;
}

/**
 * @param {History} history
 * @param {Series} key
 * @param {string} text
 */
function words(history, key, text) {
  const known = history[key].filter((value) => value !== null);
  return known.length ? `${text} now ${number(last(history[key]))}, at most ${number(Math.max(...known))} in the last hour` : `${text} not known`;
}
