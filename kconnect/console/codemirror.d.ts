/** What `code.js` uses of CodeMirror. Its own declarations fill ten thousand lines. */
export type Extension = object;
export interface Line { readonly from: number; readonly to: number; readonly text: string; readonly number: number }
export interface Text { readonly length: number; readonly lines: number; toString(): string; line(n: number): Line; lineAt(at: number): Line }
export interface EditorState { readonly doc: Text }
export const EditorState: { create(config: { doc: string; extensions: Extension[] }): EditorState; tabSize: { of(size: number): Extension } };
export class Compartment { of(extension: Extension): Extension; reconfigure(extension: Extension): object }
export interface ViewUpdate { readonly docChanged: boolean; readonly state: EditorState; readonly transactions: readonly { isUserEvent(event: string): boolean }[] }
export class EditorView {
  constructor(config: { state: EditorState; parent: Element | DocumentFragment; root: Document | ShadowRoot });
  readonly state: EditorState;
  readonly contentDOM: HTMLElement;
  dispatch(what: object): void;
  focus(): void;
  destroy(): void;
  static readonly lineWrapping: Extension;
  static readonly updateListener: { of(listener: (update: ViewUpdate) => void): Extension };
  static readonly contentAttributes: { of(attributes: Record<string, string>): Extension };
  static theme(rules: Record<string, Record<string, string>>): Extension;
}
export interface KeyBinding { key: string }
export const keymap: { of(bindings: readonly KeyBinding[]): Extension };
export function lineNumbers(): Extension;
export function drawSelection(): Extension;
export function highlightActiveLine(): Extension;
export const defaultKeymap: readonly KeyBinding[];
export function history(): Extension;
export const historyKeymap: readonly KeyBinding[];
export function syntaxHighlighting(style: HighlightStyle): Extension;
export class HighlightStyle { static define(rules: { tag: object | object[]; color?: string; fontStyle?: string }[]): HighlightStyle }
export function bracketMatching(): Extension;
export function indentOnInput(): Extension;
export interface Diagnostic { from: number; to: number; severity: "error" | "warning"; message: string }
export function setDiagnostics(state: EditorState, diagnostics: readonly Diagnostic[]): object;
export function lintGutter(): Extension;
export interface CompletionContext { readonly state: EditorState; readonly pos: number; readonly explicit: boolean }
export interface Completion { label: string; detail?: string; info?: string; apply?: string }
export interface CompletionResult { from: number; options: readonly Completion[]; validFor?: RegExp }
export function autocompletion(config: { override: ((context: CompletionContext) => CompletionResult | null)[]; icons?: boolean }): Extension;
export const completionKeymap: readonly KeyBinding[];
export function closeBrackets(): Extension;
export const closeBracketsKeymap: readonly KeyBinding[];
export function json(): Extension;
export function yaml(): Extension;
export const tags: { readonly propertyName: object; readonly string: object; readonly number: object; readonly bool: object; readonly null: object; readonly comment: object; readonly keyword: object; readonly content: object; definition(tag: object): object };
