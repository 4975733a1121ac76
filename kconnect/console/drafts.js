/**
 * What is kept in this window for a reload: configs that are being written, with the passwords in them, and how they are edited.
 *
 * A draft belongs to the user who typed it. It ends when the user logs out, in this window or in another one of the same browser,
 * and nobody else gets to see it. Used by `editor.js`, `config.js` and `create.js`; `main.js` says who is logged in.
 */

const PREFIX = "kconnect.";
/** When somebody last logged out in a window of this browser: a window that shows another page then hears of it later. */
const LOGGED_OUT = `${PREFIX}logged-out`;

/** @type {string | null} */
let owner = null;

/** @param {string | null} user who is logged in; null where no login is needed */
export function ownedBy(user) {
  owner = user;
}

/** @param {string} name */
export function kept(name) {
  const text = sessionStorage.getItem(PREFIX + name);
  if (text === null) return null;
  try {
    const { user, at, value } = /** @type {{user: string | null, at: number, value: string}} */ (JSON.parse(text));
    if (user === owner && at > Number(localStorage.getItem(LOGGED_OUT)) && typeof value === "string") return value;
  } catch {
    // Of another release.
  }
  drop(name);
  return null;
}

/**
 * @param {string} name
 * @param {string} value
 */
export function keep(name, value) {
  sessionStorage.setItem(PREFIX + name, JSON.stringify({ user: owner, at: Date.now(), value }));
}

/** @param {string} name */
export function drop(name) {
  sessionStorage.removeItem(PREFIX + name);
}

/** Forget everything that has been typed, in all windows of this browser: the user logs out. */
export function forget() {
  localStorage.setItem(LOGGED_OUT, String(Date.now()));
  clear();
}

/** @param {() => void} then called when the user has logged out in another window, and nothing is kept in this one any more */
export function onForgotten(then) {
  addEventListener("storage", (event) => {
    if (event.key !== LOGGED_OUT || event.newValue === null) return;
    clear();
    then();
  });
}

function clear() {
  for (const name of Object.keys(sessionStorage)) if (name.startsWith(PREFIX)) sessionStorage.removeItem(name);
}
