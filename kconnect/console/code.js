/**
 * An editor for a config as text: CodeMirror, with what is wrong at its line, and settings offered while one types.
 *
 * Used by `editor.js`, and loaded when somebody edits. It stands in a tree of its own (a shadow root), because there it brings
 * its style as a sheet: elements with styles are what the page's policy forbids.
 */

import * as cm from "./codemirror.js";
import { h } from "./dom.js";

/** @typedef {{name: string, documentation: string, values: string[]}} Offer a setting, and values for it */
/** @typedef {{message: string, at?: number, name?: string}} Problem where: an offset in the text, or a setting */

const LANGUAGES = { JSON: cm.json(), YAML: cm.yaml() };
const COLOURS = cm.HighlightStyle.define([
  { tag: [cm.tags.propertyName, cm.tags.definition(cm.tags.propertyName)], color: "var(--main)" },
  { tag: [cm.tags.string, cm.tags.content], color: "var(--text)" },
  { tag: [cm.tags.number, cm.tags.bool, cm.tags.null, cm.tags.keyword], color: "var(--warn)" },
  { tag: cm.tags.comment, color: "var(--faint)", fontStyle: "italic" },
]);
const THEME = cm.EditorView.theme({
  "&": { color: "var(--text)", background: "var(--ground)", border: "1px solid var(--line)", borderRadius: "0.4rem", fontSize: "0.87rem" },
  "&.cm-focused": { outline: "2px solid var(--main)" },
  ".cm-scroller": { fontFamily: "ui-monospace, monospace", minHeight: "20rem", maxHeight: "70vh", overflow: "auto" },
  ".cm-content": { caretColor: "var(--text)" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { color: "var(--faint)", background: "var(--panel)", border: "none" },
  ".cm-activeLine": { background: "none" },
  ".cm-selectionBackground": { background: "var(--line) !important" },
  ".cm-tooltip": { color: "var(--text)", background: "var(--panel)", border: "1px solid var(--line)", maxWidth: "30rem" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { color: "var(--on-main)", background: "var(--main)" },
  ".cm-diagnostic": { whiteSpace: "pre-wrap" },
});

export class Code {
  /**
   * @param {string} label
   * @param {(text: string) => void} changed somebody has typed
   */
  constructor(label, changed) {
    /** @type {Offer[]} */
    this._offers = [];
    this._language = new cm.Compartment();
    this.element = h("div", { class: "code" });
    const root = this.element.attachShadow({ mode: "open" });
    const told = cm.EditorView.updateListener.of((update) => update.docChanged && !this._setting && changed(this.text));
    const state = cm.EditorState.create({
      doc: "",
      extensions: [
        cm.lineNumbers(),
        cm.history(),
        cm.drawSelection(),
        cm.indentOnInput(),
        cm.bracketMatching(),
        cm.closeBrackets(),
        cm.lintGutter(),
        cm.autocompletion({ override: [(context) => this._offered(context)], icons: false }),
        cm.EditorView.lineWrapping,
        cm.syntaxHighlighting(COLOURS),
        // Not Tab, which leaves the editor: whoever has only a keyboard must get on.
        cm.keymap.of([...cm.closeBracketsKeymap, ...cm.defaultKeymap, ...cm.historyKeymap, ...cm.completionKeymap]),
        cm.EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", autocapitalize: "off" }),
        this._language.of(LANGUAGES.JSON),
        THEME,
        told,
      ],
    });
    this._setting = false;
    this._view = new cm.EditorView({ state, parent: root, root });
  }

  get text() {
    return this._view.state.doc.toString();
  }

  /**
   * Another text, which nobody has typed.
   *
   * @param {string} text
   * @param {"JSON" | "YAML"} language
   */
  show(text, language) {
    this._setting = true;
    this._view.dispatch({ changes: { from: 0, to: this._view.state.doc.length, insert: text }, effects: this._language.reconfigure(LANGUAGES[language]) });
    this._setting = false;
    this._view.contentDOM.setAttribute("aria-label", `Config as ${language}`);
  }

  /** @param {Problem[]} problems */
  mark(problems) {
    const doc = this._view.state.doc;
    const marks = problems.map(({ message, at, name }) => {
      const line = at === undefined ? this._line(name ?? "") : doc.lineAt(Math.min(at, doc.length));
      return { from: line.from, to: line.to, severity: /** @type {const} */ ("error"), message };
    });
    marks.sort((a, b) => a.from - b.from);
    this._view.dispatch(cm.setDiagnostics(this._view.state, marks));
  }

  /** @param {Offer[]} offers */
  offer(offers) {
    this._offers = offers;
  }

  /**
   * Where a setting stands; the first line if it is missing.
   *
   * @param {string} name
   */
  _line(name) {
    const doc = this._view.state.doc;
    for (let number = 1; number <= doc.lines; number += 1) {
      const line = doc.line(number);
      if (/^\s*(?:["']([^"']*)["']|([^\s:"']+))\s*:/.exec(line.text)?.slice(1).includes(name)) return line;
    }
    return doc.line(1);
  }

  /**
   * Names where a line begins, and values behind a name.
   *
   * @param {import("./codemirror.js").CompletionContext} context
   */
  _offered(context) {
    const line = context.state.doc.lineAt(context.pos);
    const before = line.text.slice(0, context.pos - line.from);
    const name = /^\s*"?([\w.-]*)$/.exec(before)?.[1];
    if (name !== undefined) {
      if (name === "" && !context.explicit && !/"$/.test(before)) return null;
      return { from: context.pos - name.length, options: this._offers.map((each) => ({ label: each.name, info: each.documentation })), validFor: /^[\w.-]*$/ };
    }
    const [, key = "", value = ""] = /^\s*"?([\w.-]+)"?\s*:\s*"?([\w.$-]*)$/.exec(before) ?? [];
    const values = this._offers.find((each) => each.name === key)?.values ?? [];
    return values.length ? { from: context.pos - value.length, options: values.map((label) => ({ label })), validFor: /^[\w.$-]*$/ } : null;
  }
}
