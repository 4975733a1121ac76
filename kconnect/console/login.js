/**
 * Logging in and out: the worker keeps what was typed in a cookie that no script can read.
 */

import { button, fill, h } from "./dom.js";
import { forget, onForgotten } from "./drafts.js";

/**
 * @param {import("./api.js").Api} api
 * @param {import("./api.js").Login} known
 * @param {() => unknown} done
 */
export function login(api, known, done) {
  const user = h("input", { name: "user", autocomplete: "username", required: true });
  const password = h("input", { name: "password", type: "password", autocomplete: "current-password", required: true });
  const token = h("input", { name: "token", type: "password", autocomplete: "off" });
  const said = h("p", { class: "error", role: "alert" });
  const basic = known.methods.includes("basic");
  const other = known.methods.includes("token");
  const form = h(
    "form",
    { class: "login" },
    h("h1", null, "Log in"),
    basic ? [h("label", null, "User", user), h("label", null, "Password", password)] : null,
    other ? h("label", null, basic ? "Or a token" : "Token", token) : null,
    h("button", { type: "submit", class: "main" }, "Log in"),
    said,
  );
  const need = () => {
    user.required = password.required = basic && token.value === "";
    token.required = !basic;
  };
  token.addEventListener("input", need);
  need();
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    try {
      await api.logIn(token.value ? { token: token.value } : { user: user.value, password: password.value });
      done();
    } catch (error) {
      fill(said, error instanceof Error ? error.message : String(error));
      password.value = "";
      (token.value ? token : password).focus();
    }
  });
  return form;
}

/**
 * Who is logged in, with the way out.
 *
 * @param {HTMLElement} place
 * @param {import("./api.js").Api} api
 * @param {import("./api.js").Login | null} known
 */
export function user(place, api, known) {
  const leave = async () => {
    await api.logOut().finally(forget);
    begin(api);
  };
  fill(place, known?.user ? [h("span", null, `${known.user} (${known.role})`), button("Log out", leave)] : null);
}

/**
 * Leave nothing of a user's who has logged out in another window, or who comes back by the browser's history.
 *
 * @param {HTMLElement} shown where the views are
 * @param {import("./api.js").Api} api
 */
export function guard(shown, api) {
  onForgotten(() => begin(api));
  // A browser keeps pages as they were, and shows them again without asking the worker.
  addEventListener("pagehide", () => fill(shown));
  addEventListener("pageshow", (event) => {
    if (event.persisted) location.reload();
  });
}

/**
 * Load the page anew, without what was typed into it and without the view that was open.
 *
 * @param {import("./api.js").Api} api
 */
function begin(api) {
  location.replace(`${api.base}console`);
}
