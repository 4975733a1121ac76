/**
 * What the worker has to tell of connectors, followed: all rows at first, then what changes, by requests that wait.
 *
 * Started by `main.js`; views listen. It stops while nobody looks at the page.
 */

import { ApiError } from "./api.js";

const WAIT_MS = 25_000;
const SOON_MS = 1000;
const AGAIN_MS = [500, 1000, 2000, 5000];

export class Feed extends EventTarget {
  /** @param {import("./api.js").Api} api */
  constructor(api) {
    super();
    this.api = api;
    /** @type {Map<string, import("./api.js").Row>} */
    this.rows = new Map();
    /** Whether all rows were read once. */
    this.ready = false;
    /** Why nothing is heard at the moment, in one sentence. */
    this.trouble = "";
    /** @type {string | null} */
    this._at = null;
    /** @type {AbortController | null} */
    this._asking = null;
    this._soon = false;
    /** Go on, once somebody has logged in. @type {(value?: any) => void} */
    this.resume = () => {};
    /** @type {Promise<void>} */
    this._ready = new Promise((resolve) => (this.resume = resolve));
  }

  /** Never ends. */
  async follow() {
    let failures = 0;
    for (;;) {
      await visible();
      await this._ready;
      try {
        this._asking = new AbortController();
        const began = Date.now();
        const news = await this.api.overview(this._at, this._soon ? 0 : WAIT_MS, this._asking.signal);
        this._soon = false;
        this._take(news);
        failures = 0;
        if (this.trouble) this._say("");
        // A worker that is about to end makes nobody wait.
        if (!news.whole && !news.connectors.length && !news.deleted.length && Date.now() - began < SOON_MS) await pause(SOON_MS);
      } catch (error) {
        if (error instanceof DOMException) continue;
        if (error instanceof ApiError && error.status === 401) {
          this._ready = new Promise((resolve) => (this.resume = resolve));
          this.dispatchEvent(new Event("login"));
          continue;
        }
        this._say(error instanceof ApiError ? error.message : String(error));
        await pause(AGAIN_MS[Math.min(failures, AGAIN_MS.length - 1)] ?? SOON_MS);
        failures += 1;
      }
    }
  }

  /** Ask again at once: somebody has just changed something. */
  hurry() {
    this._soon = true;
    this._asking?.abort();
  }

  /** @param {import("./api.js").Overview} news */
  _take(news) {
    if (news.whole) this.rows.clear();
    for (const row of news.connectors) this.rows.set(row.name, row);
    for (const name of news.deleted) this.rows.delete(name);
    this._at = news.at;
    if (!this.ready || news.whole || news.connectors.length || news.deleted.length) {
      this.ready = true;
      this.dispatchEvent(new Event("change"));
    }
  }

  /** @param {string} trouble */
  _say(trouble) {
    this.trouble = trouble;
    this.dispatchEvent(new Event("trouble"));
  }
}

/** @returns {Promise<void>} */
function visible() {
  if (document.visibilityState === "visible") return Promise.resolve();
  return new Promise((resolve) => document.addEventListener("visibilitychange", () => resolve(), { once: true }));
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
