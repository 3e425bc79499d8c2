import { byText } from "../../../../api/fields.ts";
import type { StatusItem } from "../../fleet/status-item.ts";
import { nameKey, shortNameOf } from "../../output/names.ts";

/** Pages about one installation. */
export type PaneName = "detail" | "diagnose" | "events" | "logs";

const orders = ["worst", "name", "cluster", "newest"] as const;

/** Where the user is. */
export interface View {
  /** `keyOf` of the selected row; null without rows. */
  readonly selected: string | null;
  /** Position of the selected row, for the time when the row is gone. */
  readonly at: number;
  readonly filter: string;
  /** Keys are letters of the filter. */
  readonly isTyping: boolean;
  readonly order: (typeof orders)[number];
  readonly page: "list" | "help" | PaneName;
  /** First line shown of a page that is longer than the screen. */
  readonly scroll: number;
}

export const firstView: View = {
  selected: null,
  at: 0,
  filter: "",
  isTyping: false,
  order: "worst",
  page: "list",
  scroll: 0,
};

/** A key with a meaning; every other key is a letter. */
export type Key =
  | "up"
  | "down"
  | "pageUp"
  | "pageDown"
  | "home"
  | "end"
  | "enter"
  | "escape"
  | "backspace"
  | "interrupt"
  | "suspend"
  | "redraw"
  | { readonly letter: string };

/** What to do besides showing the new view. */
export type Wish = "quit" | "interrupt" | "suspend" | "redraw" | "refresh" | "open";

/** The screen at the moment of a key press. */
export interface Surroundings {
  /** Keys of the rows, in the order in which they are shown. */
  readonly rows: readonly string[];
  /** Lines that a page can show, and that it has. */
  readonly height: number;
  readonly lines: number;
}

/** The view after a key, and the other work that the key asks for. */
interface After {
  readonly view: View;
  readonly wish?: Wish;
}

/** Effect of a key. */
export function viewAfter(view: View, key: Key, surroundings: Surroundings): After {
  if (key === "interrupt" || key === "suspend" || key === "redraw") return { view, wish: key };
  if (view.isTyping) return { view: typed(view, key, surroundings) };
  const moved = movedBy(view, key, surroundings);
  if (moved !== undefined) return { view: moved };
  if (key === "escape" || key === "backspace") return { view: back(view) };
  const letter = key === "enter" ? "enter" : letterOf(key);
  const page = pages[letter];
  if (page !== undefined) return opened(view, page, surroundings);
  const wish = wishes[letter];
  if (wish !== undefined) return { view, wish };
  return { view: view.page === "list" ? listAfter(view, letter) : view };
}

function opened(view: View, page: View["page"], { rows }: Surroundings): After {
  const next = { ...view, page, scroll: 0 };
  if (page === "help") return { view: next };
  return rows.length === 0 ? { view } : { view: next, wish: "open" };
}

const wishes: Readonly<Record<string, Wish>> = { q: "quit", r: "refresh" };

const pages: Readonly<Record<string, View["page"]>> = {
  "?": "help",
  enter: "detail",
  d: "diagnose",
  e: "events",
  l: "logs",
};

function listAfter(view: View, letter: string): View {
  if (letter === "/") return { ...view, isTyping: true };
  if (letter !== "s") return view;
  const next = orders[(orders.indexOf(view.order) + 1) % orders.length];
  return { ...view, order: next ?? "worst" };
}

function typed(view: View, key: Key, { rows }: Surroundings): View {
  if (key === "enter") return { ...view, isTyping: false };
  if (key === "escape") return { ...view, isTyping: false, filter: "" };
  if (key === "up" || key === "down")
    return movedBy(view, key, { rows, height: 1, lines: 0 }) ?? view;
  if (key === "backspace")
    return { ...view, filter: Array.from(view.filter).slice(0, -1).join("") };
  return { ...view, filter: view.filter + letterOf(key) };
}

function letterOf(key: Key): string {
  return typeof key === "string" ? "" : key.letter;
}

/** Leaves the page, else the filter. */
function back(view: View): View {
  if (view.page !== "list") return { ...view, page: "list", scroll: 0 };
  return { ...view, filter: "" };
}

/** The position after a key that moves in a list, of which the screen shows `height` lines. */
function stepOf(key: Key, height: number): number {
  const letter = letterOf(key);
  if (key === "up" || letter === "k") return -1;
  if (key === "down" || letter === "j") return 1;
  if (key === "pageUp") return -Math.max(1, height - 1);
  if (key === "pageDown" || letter === " ") return Math.max(1, height - 1);
  if (key === "home" || letter === "g") return Number.NEGATIVE_INFINITY;
  return key === "end" || letter === "G" ? Number.POSITIVE_INFINITY : 0;
}

function movedBy(view: View, key: Key, { rows, height, lines }: Surroundings): View | undefined {
  const step = stepOf(key, height);
  if (step === 0) return undefined;
  if (view.page !== "list") {
    return { ...view, scroll: within(view.scroll + step, Math.max(0, lines - height)) };
  }
  const at = within(placeOf(view, rows) + step, rows.length - 1);
  return { ...view, at, selected: rows[at] ?? null };
}

function within(value: number, last: number): number {
  return Math.max(0, Math.min(value, last));
}

/** Position of the selected row; of the row in its place when it is gone, -1 without rows. */
export function placeOf({ selected, at }: View, rows: readonly string[]): number {
  const place = selected === null ? 0 : rows.indexOf(selected);
  return Math.min(place < 0 ? at : place, rows.length - 1);
}

/** Identity of a row. */
export function keyOf({ kind, namespace, name }: StatusItem): string {
  return `${kind}/${namespace}/${name}`;
}

/** The rows that the filter leaves, in the chosen order; `worst` is the order in which they come. */
export function rowsOf(
  items: readonly StatusItem[],
  { filter, order }: View,
): readonly StatusItem[] {
  const wanted = filter.toLowerCase();
  const kept = items.filter((item) => textOf(item).includes(wanted));
  if (order === "worst") return kept;
  return kept.toSorted(byText(sortKeys[order]));
}

const sortKeys = {
  name: nameKey,
  cluster: (item: StatusItem) =>
    `${item.cluster?.namespace ?? ""}/${item.cluster?.name ?? ""}\u0000${nameKey(item)}`,
  newest: (item: StatusItem) => `${agoOf(item)}\u0000${nameKey(item)}`,
};

/** Sort key: smaller for a later change. */
function agoOf({ since }: StatusItem): string {
  const time = Date.parse(since ?? "");
  return String(Number.isNaN(time) ? 1e15 : 1e15 - time).padStart(20, "0");
}

function textOf(item: StatusItem): string {
  const { namespace, kind, cluster, version, hub, live, reason, message } = item;
  return [
    shortNameOf(item),
    namespace,
    kind,
    cluster === null ? "<hub>" : `${cluster.namespace}/${cluster.name}`,
    version,
    hub.state,
    live.state,
    live.provider,
    reason,
    message,
  ]
    .join(" ")
    .toLowerCase();
}
