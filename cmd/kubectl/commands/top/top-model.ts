import type { FleetFeed } from "../../fleet/fleet-feed.ts";
import type { StatusItem } from "../../fleet/status-item.ts";
import type { Line } from "./screen-text.ts";
import {
  argsOf,
  frame,
  pageOf,
  tableHeight,
  type Pane,
  type Shown,
  type Size,
} from "./top-frame.ts";
import {
  firstView,
  keyOf,
  placeOf,
  rowsOf,
  viewAfter,
  type Key,
  type PaneName,
  type Surroundings,
  type View,
  type Wish,
} from "./top-view.ts";

/** Reads the text of a page about one installation. Never rejects: after a failure the text is the error. */
export type ReadPane = (page: PaneName, item: StatusItem, signal: AbortSignal) => Promise<string>;

/** Settings that stay the same while the screen is open. */
type Setting = Pick<
  Shown,
  "scope" | "namespace" | "commands" | "recordedAt" | "absoluteTime" | "ascii"
>;

interface ModelOptions extends Setting {
  readonly feed: FleetFeed;
  readonly readPane: ReadPane;
  readonly now: () => Date;
}

/** State of the screen of `top` and the effect of keys, without a terminal. */
export class TopModel implements Disposable {
  readonly #options: ModelOptions;
  readonly #listeners = new Set<() => void>();
  #view: View = firstView;
  #pane: Pane | undefined;
  /** What the page was read for. */
  #paneOf: string | undefined;
  #paneRead = new AbortController();

  constructor(options: ModelOptions) {
    this.#options = options;
  }

  /** Calls the listener whenever the screen changes; returns a function that ends this. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  };

  /** Must be called after a change of the fleet. */
  changed(): void {
    const item = this.#selected();
    const isStale = item !== undefined && JSON.stringify(item) !== this.#paneOf;
    if (this.#view.page === "detail" && isStale && this.#pane?.isReading === false) {
      this.#open("detail", item);
    }
    this.#tell();
  }

  /** The lines of the screen. */
  frame(size: Size): readonly Line[] {
    return frame(this.#shown(), size);
  }

  /** Applies a key to the view; returns what the terminal has to do. */
  press(key: Key, size: Size): Wish | undefined {
    const { view, wish } = viewAfter(this.#view, key, this.#surroundings(size));
    this.#view = view;
    const item = this.#selected();
    // The selected row stays selected when other rows appear or disappear.
    if (item !== undefined) this.#view = { ...view, selected: keyOf(item) };
    if (!isPane(view.page)) this.#paneRead.abort();
    const isOwn = wish === "open" || wish === "refresh";
    if (isOwn) this.#read(wish, item);
    this.#tell();
    return isOwn ? undefined : wish;
  }

  #surroundings(size: Size): Surroundings {
    const rows = this.#rows().map(keyOf);
    if (this.#view.page === "list") {
      return { rows, height: tableHeight(this.#options.feed.state(), size), lines: 0 };
    }
    const { lines, height } = pageOf(this.#shown(), size);
    return { rows, height, lines: lines.length };
  }

  [Symbol.dispose](): void {
    this.#paneRead.abort();
    this.#listeners.clear();
  }

  #read(wish: "open" | "refresh", item: StatusItem | undefined): void {
    const { page } = this.#view;
    if (wish === "refresh") this.#options.feed.refresh();
    if (item === undefined || !isPane(page)) return;
    if (wish === "open") this.#pane = undefined;
    this.#open(page, item);
  }

  #open(page: PaneName, item: StatusItem): void {
    const { readPane, commands } = this.#options;
    this.#paneRead.abort();
    const read = new AbortController();
    this.#paneRead = read;
    this.#paneOf = JSON.stringify(item);
    const verb = page === "detail" ? "status" : page;
    const title = [commands.knfleet, verb, ...argsOf(item)].join(" ");
    const text = this.#pane?.title === title ? this.#pane.text : "Reading …";
    this.#pane = { title, text, isReading: true };
    const show = (found: string): void => {
      if (read.signal.aborted) return;
      this.#pane = { title, text: found, isReading: false };
      this.#tell();
    };
    void readPane(page, item, read.signal).then(show);
  }

  #rows(): readonly StatusItem[] {
    return rowsOf(this.#options.feed.state().report.items, this.#view);
  }

  #selected(): StatusItem | undefined {
    const rows = this.#rows();
    return rows[placeOf(this.#view, rows.map(keyOf))];
  }

  #shown(): Shown {
    const { feed, now, readPane: _, ...setting } = this.#options;
    return { ...setting, fleet: feed.state(), view: this.#view, pane: this.#pane, now: now() };
  }

  #tell(): void {
    for (const listener of this.#listeners) listener();
  }
}

function isPane(page: View["page"]): page is PaneName {
  return page !== "list" && page !== "help";
}
