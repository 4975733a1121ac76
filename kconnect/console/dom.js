/**
 * Elements: the only place that makes any. Whatever is put into one is a text, and never markup.
 *
 * Used by all views.
 */

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * An element. Attributes that are null or false are left out; those that begin with `on` are listeners.
 *
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag
 * @param {Record<string, unknown> | null} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...nodes(children));
  return made;
}

/**
 * What an element has from now on.
 *
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren(...nodes(children));
}

/**
 * @param {(Child | Child[])[]} children
 * @returns {(Node | string)[]}
 */
function nodes(children) {
  return children
    .flat()
    .filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : String(child)));
}

/**
 * A state, with a sign beside its colour.
 *
 * @param {string} state
 * @param {string} [text]
 */
export function badge(state, text) {
  return h("span", { class: `state ${state.toLowerCase()}` }, text ?? state);
}

/**
 * @param {string} text
 * @param {() => unknown} action
 * @param {Record<string, unknown>} [attributes]
 */
export function button(text, action, attributes) {
  return h("button", { type: "button", onclick: action, ...attributes }, text);
}

/**
 * @param {string[]} titles
 * @param {(Child | Child[])[][]} rows
 * @param {{class?: string, caption?: string}} [more]
 */
export function table(titles, rows, more) {
  return h(
    "div",
    { class: "scroll", tabindex: "0", role: "group", "aria-label": more?.caption ?? titles.join(", ") },
    h(
      "table",
      { class: more?.class },
      h("thead", null, h("tr", null, ...titles.map((title) => h("th", { scope: "col" }, title)))),
      h("tbody", null, ...rows.map((row) => h("tr", null, ...row.map((cell) => h("td", null, cell))))),
    ),
  );
}

/**
 * A text with what is to be typed marked.
 *
 * @param {string} text with such parts between backquotes
 * @returns {Child[]}
 */
export function commands(text) {
  return text.split("`").map((part, index) => (index % 2 ? h("code", null, part) : part));
}

/**
 * Fill an element with what is read, or with the reason why that can't be read.
 *
 * @param {HTMLElement} element
 * @param {() => Promise<(Child)[]>} read
 */
export async function load(element, read) {
  try {
    fill(element, ...(await read()));
  } catch (error) {
    fill(element, h("p", { class: "error" }, error instanceof Error ? error.message : String(error)));
  }
}
