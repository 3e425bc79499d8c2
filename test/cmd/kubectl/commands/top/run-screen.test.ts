import { afterEach, describe, expect, test, vi } from "vitest";

import { runScreen } from "../../../../../cmd/kubectl/commands/top/run-screen.ts";
import { TopModel, type ReadPane } from "../../../../../cmd/kubectl/commands/top/top-model.ts";
import type { FleetState } from "../../../../../cmd/kubectl/fleet/fleet-feed.ts";
import { statusItemOf } from "../../../../../cmd/kubectl/fleet/status-item.ts";
import { fleetStatusOf } from "../../../../../cmd/kubectl/fleet/status.ts";
import { component, now } from "../../fleet-facts.ts";
import { fakeTerminal } from "./fake-terminal.ts";

const open: (() => void)[] = [];
afterEach(() => {
  for (const end of open.splice(0)) end();
});

const enter = "\u001b[?1049h";
const leave = "\u001b[?1049l";
const showCursor = "\u001b[?25h";

function stateOf(names: readonly string[], more: Partial<FleetState> = {}): FleetState {
  const items = names.map((name) => statusItemOf(component({ name }), undefined));
  const stamp = { generatedAt: now.toISOString(), cliVersion: "0" };
  return {
    report: fleetStatusOf(items, [], stamp),
    sets: null,
    hubReadAt: now,
    spokesReadAt: now,
    round: null,
    trouble: null,
    ...more,
  };
}

/** A screen in a terminal that only keeps what is written. */
function started(options: { readonly colour?: boolean; readonly readPane?: ReadPane } = {}) {
  const terminal = fakeTerminal();
  const { colour = false, readPane = () => Promise.resolve("the page") } = options;
  let state = stateOf(["one", "two"]);
  const refreshed = vi.fn<() => void>();
  const feed = {
    state: () => state,
    installations: () => [],
    refresh: refreshed,
    readOnce: Promise.resolve(),
  };
  const model = new TopModel({
    feed,
    readPane,
    now: () => now,
    scope: "all namespaces",
    namespace: undefined,
    commands: { kubectl: "kubectl", knfleet: "kubectl knfleet" },
    recordedAt: undefined,
    absoluteTime: false,
    ascii: false,
  });
  const stop = new AbortController();
  const ended = runScreen(model, { ...terminal, colour }, stop.signal);
  open.push(() => {
    stop.abort();
    model[Symbol.dispose]();
  });
  return {
    ...terminal,
    ended,
    stop,
    refreshed,
    becomes(next: FleetState) {
      state = next;
      model.changed();
    },
    /** What is drawn next, after a second at most, is drawn of this. */
    breaks(next: FleetState) {
      state = next;
    },
    /** Types when the terminal is read, which is a moment after the first screen. */
    async types(text: string) {
      await vi.waitFor(() => expect(terminal.stdin.isRaw).toBe(true), { timeout: 60_000 });
      terminal.stdin.write(text);
    },
    shows: (text: string | RegExp) =>
      vi.waitFor(() => expect(terminal.text()).toMatch(text), { timeout: 60_000 }),
  };
}

describe("the screen", () => {
  test.each([
    { typed: "q", wish: "quit" },
    { typed: "\u0003", wish: "interrupt" },
    { typed: "jj\u0003", wish: "interrupt" },
    { typed: "dq", wish: "quit" },
  ])("$typed ends it with $wish, and gives the terminal back", async ({ typed, wish }) => {
    const screen = started();
    await screen.types(typed);
    expect(await screen.ended).toBe(wish);
    expect(screen.written().startsWith(enter)).toBe(true);
    expect(screen.written().lastIndexOf(leave)).toBeGreaterThan(0);
    expect(screen.written().slice(screen.written().lastIndexOf(leave))).toContain(showCursor);
    expect(screen.stdin.isRaw).toBe(false);
  });

  test("is given back when the command is ended", async () => {
    const screen = started();
    await screen.shows("2 installations");
    screen.stop.abort();
    await screen.ended;
    expect(screen.written()).toContain(leave + showCursor);
    expect(screen.stdin.isRaw).toBe(false);
  });

  test("is given back when it cannot be drawn, and the error is told", async () => {
    const screen = started();
    await screen.shows("2 installations");
    const broken = stateOf([]);
    screen.breaks({
      ...broken,
      get report(): FleetState["report"] {
        throw new Error("a bug");
      },
    });
    await expect(screen.ended).rejects.toThrow("a bug");
    expect(screen.written()).toContain(leave + showCursor);
    expect(screen.stdin.isRaw).toBe(false);
  });

  test("shows what changes in the fleet, and keeps the selected row", async () => {
    const screen = started();
    await screen.types("j");
    await screen.shows(/> team-a +two/);
    screen.becomes(stateOf(["two", "three"]));
    await screen.shows(/three/);
    screen.becomes(stateOf(["a-first", "two"], { trouble: "The hub cannot be reached" }));
    await screen.shows(/HUB NOT READ: The hub cannot be reached/);
    await screen.types("d");
    await screen.shows("diagnose ks/two -n team-a");
    expect(screen.text()).not.toContain("diagnose ks/one");
  });

  test("is drawn anew when the terminal gets another size", async () => {
    const screen = started();
    await screen.shows(/q quit .* r refresh/);
    screen.resize(60, 12);
    await screen.shows(/[^ ]…/);
    expect(screen.stdout.listenerCount("resize")).toBeGreaterThan(0);
    screen.stop.abort();
    await screen.ended;
    expect(screen.stdout.listenerCount("resize")).toBe(0);
  });

  test("has its meaning in words: colours come only where they are wanted", async () => {
    const plain = started();
    await plain.shows("> team-a");
    // oxlint-disable-next-line no-control-regex -- what paints
    expect(plain.written()).not.toMatch(/\u001b\[[\d;]*m/);
    const coloured = started({ colour: true });
    await coloured.shows("> team-a");
    expect(coloured.written()).toContain("\u001b[7m");
  });

  test("r reads everything anew, and ? says what keys do", async () => {
    const screen = started();
    await screen.types("r?");
    await screen.shows("page up, page down");
    expect(screen.refreshed).toHaveBeenCalledOnce();
  });

  test("a page that was left is not read any longer, and shows nothing later", async () => {
    const signals: AbortSignal[] = [];
    const late = Promise.withResolvers<string>();
    const screen = started({
      readPane: (page, _item, signal) => {
        signals.push(signal);
        return page === "diagnose" ? late.promise : Promise.resolve("events of it");
      },
    });
    await screen.types("d");
    await screen.shows("Reading");
    await screen.types("e");
    await screen.shows("events of it");
    late.resolve("too late");
    await screen.types("?");
    await screen.shows("Keys");
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    expect(screen.text()).not.toContain("too late");
  });

  test("text of others moves no cursor", async () => {
    const screen = started({
      readPane: () => Promise.resolve("evil \u001b[2J\u009b2J text\n  deep"),
    });
    await screen.types("l");
    await screen.shows("evil");
    expect(screen.written()).not.toContain("\u001b[2J\u009b");
    expect(screen.text()).toContain("evil  [2J 2J text");
  });

  test("names of others move and hide nothing, also above a page", async () => {
    const screen = started();
    screen.becomes(stateOf(["a\u009b8mb"]));
    await screen.types("d");
    await screen.shows("the page");
    expect(screen.text()).toContain("diagnose");
    for (const hides of ["\u009b", "\u001b[8m"]) expect(screen.written()).not.toContain(hides);
  });
});
