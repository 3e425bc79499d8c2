import { describe, expect, test } from "vitest";

import { keysOf } from "../../../../../cmd/kubectl/commands/top/run-screen.ts";
import {
  firstView,
  keyOf,
  placeOf,
  rowsOf,
  viewAfter,
  type Key,
  type View,
} from "../../../../../cmd/kubectl/commands/top/top-view.ts";
import { statusItemOf } from "../../../../../cmd/kubectl/fleet/status-item.ts";
import { component } from "../../fleet-facts.ts";

const rows = ["a", "b", "c", "d", "e"];
const front = { rows, height: 3, lines: 10 };

/** The view and all wishes after keys, as they are typed; `<up>` is a key. */
function after(typed: string, view: View = firstView, surroundings = front) {
  const keys = Array.from(typed.matchAll(/<(\w+)>|(.)/gu), ([, name, letter = ""]): Key => {
    return names.find((one) => one === name) ?? { letter };
  });
  const wishes: string[] = [];
  const last = keys.reduce((now, key) => {
    const { view: next, wish } = viewAfter(now, key, surroundings);
    if (wish !== undefined) wishes.push(wish);
    return next;
  }, view);
  return { view: last, wishes };
}

const names = [
  "up",
  "down",
  "pageUp",
  "pageDown",
  "home",
  "end",
  "enter",
  "escape",
  "backspace",
  "interrupt",
  "suspend",
  "redraw",
] as const;

describe("keys in the table", () => {
  test.each([
    { typed: "j", selected: "b" },
    { typed: "jjk", selected: "b" },
    { typed: "<down><down><up>", selected: "b" },
    { typed: "k", selected: "a" },
    { typed: "jjjjjjjj", selected: "e" },
    { typed: "G", selected: "e" },
    { typed: "Gg", selected: "a" },
    { typed: "<pageDown>", selected: "c" },
    { typed: "<end><pageUp>", selected: "c" },
  ])("$typed selects $selected", ({ typed, selected }) => {
    expect(after(typed).view.selected).toBe(selected);
  });

  test.each([
    { typed: "q", wishes: ["quit"] },
    { typed: "<interrupt>", wishes: ["interrupt"] },
    { typed: "/<interrupt>", wishes: ["interrupt"] },
    { typed: "<suspend>", wishes: ["suspend"] },
    { typed: "r", wishes: ["refresh"] },
    { typed: "<enter>", wishes: ["open"] },
    { typed: "d", wishes: ["open"] },
    { typed: "?q", wishes: ["quit"] },
    { typed: "xy%", wishes: [] },
  ])("$typed asks for $wishes", ({ typed, wishes }) => {
    expect(after(typed).wishes).toEqual(wishes);
  });

  test("a page scrolls as far as it has lines, and Escape leads back", () => {
    expect(after("d").view).toMatchObject({ page: "diagnose", scroll: 0 });
    expect(after("djjj").view.scroll).toBe(3);
    expect(after("dG").view.scroll).toBe(7);
    expect(after("dGe").view).toMatchObject({ page: "events", scroll: 0 });
    expect(after("?<escape>").view.page).toBe("list");
    expect(after("jd<escape>").view.selected).toBe("b");
  });

  test("without rows no page of one opens", () => {
    const { view, wishes } = after("<enter>djk", firstView, { ...front, rows: [] });
    expect({ page: view.page, wishes }).toEqual({ page: "list", wishes: [] });
  });

  test("s goes through all orders and begins again", () => {
    const orders = [0, 1, 2, 3, 4].map((count) => after("s".repeat(count)).view.order);
    expect(orders).toEqual(["worst", "name", "cluster", "newest", "worst"]);
  });
});

function at(name: string, lastTransitionTime: string | undefined) {
  return statusItemOf(component({ name, ready: { lastTransitionTime } }), undefined);
}

describe("the filter", () => {
  test("takes every letter until Enter, and q is one", () => {
    const { view, wishes } = after("/sqx<backspace>");
    expect({ filter: view.filter, isTyping: view.isTyping, wishes }).toEqual({
      filter: "sq",
      isTyping: true,
      wishes: [],
    });
    expect(after("/eu<enter>").view).toMatchObject({ filter: "eu", isTyping: false });
    expect(after("/eu<escape>").view).toMatchObject({ filter: "", isTyping: false });
    expect(after("/eu<enter><escape>").view.filter).toBe("");
    expect(after("/a\u{1f600}<backspace>").view.filter).toBe("a");
  });

  const items = [
    component({ name: "one", cluster: "eu-1" }),
    component({ kind: "KnativeEventing", name: "two", namespace: "team-b", cluster: null }),
    component({ name: "three", ready: { status: "False", reason: "ApplyFailed", message: "No!" } }),
  ].map((one) => statusItemOf(one, undefined));

  test.each([
    { filter: "", found: ["one", "two", "three"] },
    { filter: "EU-", found: ["one"] },
    { filter: "team-b", found: ["two"] },
    { filter: "ke/", found: ["two"] },
    { filter: "<hub>", found: ["two"] },
    { filter: "applyf", found: ["three"] },
    { filter: "no!", found: ["three"] },
    { filter: "nothing", found: [] },
  ])("$filter leaves $found", ({ filter, found }) => {
    expect(rowsOf(items, { ...firstView, filter }).map(({ name }) => name)).toEqual(found);
  });

  test.each([
    { order: "worst", found: ["one", "two", "three"] },
    { order: "name", found: ["one", "three", "two"] },
    { order: "cluster", found: ["two", "one", "three"] },
  ] as const)("in the order $order the rows are $found", ({ order, found }) => {
    expect(rowsOf(items, { ...firstView, order }).map(({ name }) => name)).toEqual(found);
  });

  test("in the order newest the latest change is first, and what has no time last", () => {
    const some = [
      at("old", "2026-11-01T00:00:00Z"),
      at("none", undefined),
      at("new", "2026-11-20T00:00:00Z"),
    ];
    const found = rowsOf(some, { ...firstView, order: "newest" }).map(({ name }) => name);
    expect(found).toEqual(["new", "old", "none"]);
  });

  test("two kinds of one name are two rows", () => {
    const both = [component({}), component({ kind: "KnativeEventing", name: "knative-serving" })];
    expect(new Set(both.map((one) => keyOf(statusItemOf(one, undefined)))).size).toBe(2);
  });
});

describe("the selected row", () => {
  test("stays selected where others come and go, and gives way to the one in its place", () => {
    const { view } = after("jj");
    expect(placeOf(view, ["c", "a", "b"])).toBe(0);
    expect(placeOf(view, ["a", "b", "d"])).toBe(2);
    expect(placeOf(view, ["a"])).toBe(0);
    expect(placeOf(view, [])).toBe(-1);
  });
});

describe("what a terminal sends", () => {
  test.each([
    { input: "j", key: {}, keys: [{ letter: "j" }] },
    { input: "jj\r", key: {}, keys: [{ letter: "j" }, { letter: "j" }, "enter"] },
    { input: "c", key: { ctrl: true }, keys: ["interrupt"] },
    { input: "z", key: { ctrl: true }, keys: ["suspend"] },
    { input: "l", key: { ctrl: true }, keys: ["redraw"] },
    { input: "x", key: { ctrl: true }, keys: [] },
    { input: "", key: { upArrow: true }, keys: ["up"] },
    { input: "", key: { delete: true }, keys: ["backspace"] },
    { input: "\r", key: { return: true }, keys: ["enter"] },
    { input: "q", key: { meta: true }, keys: [] },
    { input: "a\u0007\u001bb", key: {}, keys: [{ letter: "a" }, { letter: "b" }] },
    { input: "a\u0003", key: {}, keys: [{ letter: "a" }, "interrupt"] },
  ])("$input with $key is $keys", ({ input, key, keys }) => {
    expect(keysOf(input, key)).toEqual(keys);
  });
});
