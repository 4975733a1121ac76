/**
 * Numbers and times as people read them.
 */

const SMALL = new Intl.NumberFormat("en", { maximumFractionDigits: 2 });
const WHOLE = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const SHORT = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

/**
 * @param {number | null | undefined} value
 * @returns {string} "" for what is not known
 */
export function number(value) {
  if (value === null || value === undefined) return "";
  return (Math.abs(value) < 10 ? SMALL : Math.abs(value) < 10_000 ? WHOLE : SHORT).format(value);
}

/** @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/**
 * How long ago that was, coarsely.
 *
 * @param {number | null | undefined} ms since 1970
 * @param {number} [now]
 */
export function ago(ms, now = Date.now()) {
  if (ms === null || ms === undefined) return "";
  const seconds = Math.max(0, (now - ms) / 1000);
  const units = /** @type {[string, number][]} */ ([
    ["d", 86400],
    ["h", 3600],
    ["min", 60],
    ["s", 1],
  ]);
  const [unit, length] = units.find((each) => seconds >= each[1]) ?? ["s", 1];
  return seconds < 1 ? "now" : `${Math.floor(seconds / length)} ${unit} ago`;
}

/** @param {number | null | undefined} ms since 1970 */
export function moment(ms) {
  return ms === null || ms === undefined ? "" : new Date(ms).toLocaleString();
}

/**
 * `3 RUNNING`, what has failed first.
 *
 * @param {Record<string, number>} states
 */
export function states(states) {
  const names = Object.keys(states).sort((a, b) => Number(b === "FAILED") - Number(a === "FAILED") || a.localeCompare(b));
  return names.map((name) => `${states[name]} ${name}`).join(", ");
}

/**
 * What happened, without the exception's class.
 *
 * @param {string | null | undefined} text
 */
export function said(text) {
  return (text ?? "").replace(/^(?:[\w$]+\.)+[\w$]+: /, "");
}
