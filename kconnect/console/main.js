/**
 * The console's beginning: what the address names is shown, and told of what changes.
 *
 * Read next: `connectors.js`, `connector.js`, `cluster.js`.
 */

import { Api } from "./api.js";
import { audit } from "./audit.js";
import { cluster, loggers } from "./cluster.js";
import { connector } from "./connector.js";
import { connectors } from "./connectors.js";
import { create } from "./create.js";
import { fill, h } from "./dom.js";
import { ownedBy } from "./drafts.js";
import { Feed } from "./feed.js";
import { guard, login, user } from "./login.js";
import { plugins } from "./plugins.js";

/**
 * @typedef {object} View
 * @property {string} title
 * @property {HTMLElement} element
 * @property {() => void} [changed] called when the feed has news
 * @property {() => void} [closed]
 */

/**
 * @typedef {object} Place where a view is
 * @property {Api} api
 * @property {Feed} feed
 * @property {string[]} path what stands behind the view's name
 * @property {URLSearchParams} query
 * @property {(path: string, query?: URLSearchParams) => void} go says where we are, without a new view
 */

/** @type {Record<string, (place: Place) => View>} */
const VIEWS = { connectors: (place) => (place.path.length ? connector(place) : connectors(place)), create, cluster, plugins, loggers, audit };

const api = new Api(new URL("./", location.href.replace(/[?#].*/, "")).href);
const feed = new Feed(api);
const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const where = /** @type {HTMLElement} */ (document.getElementById("where"));

/** @type {View | null} */
let view = null;
let shown = "";

function show() {
  const address = location.hash || "#/connectors";
  if (address === shown) return;
  shown = address;
  const [path = "", query = ""] = address.replace(/^#\//, "").split("?", 2);
  const [name = "", ...rest] = path.split("/").map(decoded);
  const make = Object.hasOwn(VIEWS, name) ? VIEWS[name] : undefined;
  view?.closed?.();
  /** @param {string} path @param {URLSearchParams} [query] */
  const go = (path, query) => {
    const text = query?.toString() ?? "";
    shown = `#/${path}${text ? `?${text}` : ""}`;
    history.replaceState(null, "", shown);
  };
  view = make
    ? make({ api, feed, path: rest, query: new URLSearchParams(query), go })
    : {
        title: "Not found",
        element: h("section", null, h("h1", null, "There is no such page"), h("p", null, h("a", { href: "#/connectors" }, "All connectors"))),
      };
  document.title = `${view.title} · kconnect`;
  fill(main, view.element);
  main.scrollTop = 0;
  for (const link of document.querySelectorAll("header nav a")) {
    if (link.getAttribute("href") === `#/${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  view.changed?.();
}

/** @param {string} text */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

async function introduce() {
  try {
    const worker = await api.get("");
    fill(where, `${location.host} · Kafka cluster ${worker.kafka_cluster_id}`);
  } catch {
    fill(where, location.host);
  }
}

/** Until somebody has logged in, nothing else is shown. */
async function begin() {
  const known = await api.login().catch(() => null);
  if (known !== null) {
    api.role = known.role ?? "read";
    if (known.user !== null || !known.needed) ownedBy(known.user);
  }
  user(/** @type {HTMLElement} */ (document.getElementById("user")), api, known);
  /** @type {HTMLElement} */ (document.getElementById("audit")).hidden = !api.may("admin");
  if (known?.needed && known.user === null) {
    view?.closed?.();
    view = null;
    shown = "";
    document.title = "Log in · kconnect";
    fill(main, login(api, known, begin));
    return;
  }
  show();
  introduce();
  feed.resume();
}

feed.addEventListener("login", begin);
feed.addEventListener("change", () => view?.changed?.());
feed.addEventListener("trouble", () => {
  document.getElementById("trouble")?.remove();
  if (feed.trouble) {
    const text = `${feed.trouble} What is shown may be old. Trying again …`;
    /** @type {HTMLElement} */ (document.getElementById("notices")).prepend(h("div", { id: "trouble", class: "notice error" }, h("p", null, text)));
  } else introduce();
});
addEventListener("hashchange", () => view && show());
guard(main, api);
begin();
feed.follow();
