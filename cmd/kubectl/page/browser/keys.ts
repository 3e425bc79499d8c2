import { html, type Markup } from "./html.ts";

const keys = [
  ["/", "goes to the filter, and Escape leaves it"],
  ["j", "goes down the installations"],
  ["k", "goes up the installations"],
  ["Enter", "opens the installation"],
  ["Escape", "goes back to the fleet"],
  ["?", "shows this"],
] as const;

/** The keys of the page, which `?` shows and Escape closes. */
export function Keys(): Markup {
  return html`<dialog class="keys" aria-label="Keys">
    <dl>
      ${keys.map(
        ([key, what]) =>
          html`<div>
            <dt><kbd>${key}</kbd></dt>
            <dd>${what}</dd>
          </div>`,
      )}
    </dl>
    <button type="button" onClick=${close}>Close</button>
  </dialog>`;
}

function close(): void {
  dialog()?.close();
}

function dialog(): HTMLDialogElement | null {
  return document.querySelector<HTMLDialogElement>("dialog.keys");
}

/** Does what a key stands for. */
export function onKey(event: KeyboardEvent): void {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target instanceof HTMLInputElement) {
    if (key === "Escape") target.blur();
    return;
  }
  // The dialog takes its Escape itself.
  if (dialog()?.open !== true) actions.get(key)?.(event);
}

const actions: ReadonlyMap<string, (event: KeyboardEvent) => void> = new Map([
  ["/", goToFilter],
  ["j", () => moveTo(1)],
  ["k", () => moveTo(-1)],
  ["Escape", () => document.querySelector<HTMLAnchorElement>("a.back")?.click()],
  ["?", () => dialog()?.showModal()],
]);

function goToFilter(event: KeyboardEvent): void {
  event.preventDefault();
  document.querySelector<HTMLInputElement>("#filter")?.focus();
}

function moveTo(step: number): void {
  const links = [...document.querySelectorAll<HTMLAnchorElement>("table.fleet th a")];
  const at = links.findIndex((link) => link === document.activeElement);
  links[at < 0 ? 0 : Math.max(0, at + step)]?.focus();
}
