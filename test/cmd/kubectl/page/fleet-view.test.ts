import { describe, expect, test } from "vitest";

import type { StatusItem } from "../../../../cmd/kubectl/fleet/status-item.ts";
import type { ClusterItem } from "../../../../cmd/kubectl/page/clusters.ts";
import {
  fleetView,
  inShownOrder,
  keyOf,
  needsTraits,
  outdated,
  pageStateOf,
  type PageStateName,
  type Traits,
  verdictOf,
} from "../../../../cmd/kubectl/page/fleet-view.ts";
import { clusterOf, itemOf } from "./sample-items.ts";

const all = { text: "", state: null };

test.each<[state: PageStateName, item: StatusItem]>([
  ["healthy", itemOf({})],
  ["progress", itemOf({ severity: "progress" })],
  ["warning", itemOf({ severity: "warning" })],
  ["bad", itemOf({ severity: "error" })],
  ["bad", itemOf({ severity: "error", live: { state: "NotAvailable" } })],
  ["unreachable", itemOf({ severity: "error", live: { state: "Unreachable" } })],
  ["unreachable", itemOf({ severity: "error", live: { state: "Denied" } })],
  ["unreachable", itemOf({ severity: "error", live: { state: "NoAccess" } })],
  ["healthy", itemOf({ live: { state: "Skipped" } })],
  ["deleting", itemOf({ severity: "progress", hub: { state: "Deleting" } })],
  ["deleting", itemOf({ hub: { state: "Deleting" }, live: { state: "Unreachable" } })],
])("the page counts as %s", (state, item) => {
  expect(pageStateOf(item)).toBe(state);
});

test("an empty fleet is a page, too", () => {
  expect(fleetView({ items: [] }, all)).toEqual({
    counts: { bad: 0, unreachable: 0, warning: 0, deleting: 0, progress: 0, healthy: 0 },
    total: 0,
    causes: [],
    versions: [],
    rows: [],
  });
});

const lost = { severity: "error", reason: "Unreachable", code: "KNF4002" } as const;
const items = [
  itemOf({ name: "a", cluster: "eu-1", version: "1.22.0", ...lost, message: "Nobody answers" }),
  itemOf({ name: "b", cluster: "eu-2", version: "1.9.0", ...lost }),
  itemOf({ name: "c", cluster: "eu-2", kind: "KnativeEventing", version: null, ...lost }),
  itemOf({ name: "d", cluster: "us-1", severity: "error", reason: "ApplyFailed" }),
  itemOf({ name: "e", namespace: "team-b" }),
];

test("causes are grouped, most frequent first, whatever the filter is", () => {
  const { causes, counts } = fleetView({ items }, { text: "nothing has this", state: null });
  expect(causes).toEqual([
    {
      reason: "Unreachable",
      code: "KNF4002",
      provider: null,
      count: 3,
      clusters: 2,
      message: "Nobody answers",
      isShared: false,
      filter: "reason:Unreachable reason:KNF4002",
    },
    {
      reason: "ApplyFailed",
      code: null,
      provider: null,
      count: 1,
      clusters: 1,
      message: null,
      isShared: true,
      filter: "reason:ApplyFailed",
    },
  ]);
  expect(counts).toMatchObject({ bad: 4, healthy: 1 });
});

test("each cause selects its own installations, also of one reason with two providers", () => {
  const both = ["gcp", "aws"].map((provider) =>
    itemOf({ name: provider, ...lost, live: { provider } }),
  );
  const { causes } = fleetView({ items: both }, all);
  const selected = causes.map(
    ({ filter }) => fleetView({ items: both }, { text: filter, state: null }).rows,
  );
  expect(selected.map((rows) => rows.map(({ title }) => title))).toEqual([["ks/gcp"], ["ks/aws"]]);
});

test.each([
  [
    (name: string) => `ClusterProfile fleet/${name}: https://${name}.example:6443 refused it`,
    "The server refused it",
    true,
  ],
  [
    (name: string) => `ClusterProfile fleet/${name} has no condition`,
    "The ClusterProfile has no condition",
    true,
  ],
  [() => "Nobody answers on https://proxy:3128", "Nobody answers on https://proxy:3128", true],
  [(name: string) => `Deployment ${name} is missing`, "Deployment eu-0 is missing", false],
])("seven equal causes are one sentence with their number", (say, message, isShared) => {
  const seven = Array.from({ length: 7 }, (_, at) =>
    itemOf({ name: `n-${at}`, cluster: `eu-${at}`, ...lost, message: say(`eu-${at}`) }),
  );
  const { causes } = fleetView({ items: seven }, all);
  expect(causes).toMatchObject([{ count: 7, clusters: 7, message, isShared }]);
  const [one] = fleetView({ items: seven.slice(0, 1) }, all).causes;
  expect(one?.message).toBe(say("eu-0"));
});

test("two ClusterProfiles of one name are two clusters", () => {
  const edge = { namespace: "edge", name: "eu-1" };
  const both = [
    itemOf({ name: "a", cluster: "eu-1", ...lost }),
    { ...itemOf({ name: "b", ...lost }), cluster: edge },
    itemOf({ name: "c", cluster: "eu-2" }),
  ];
  const { causes, rows } = fleetView({ items: both }, all);
  expect(causes).toMatchObject([{ count: 2, clusters: 2 }]);
  expect(rows.map(({ cluster }) => cluster)).toEqual(["fleet/eu-1", "edge/eu-1", "eu-2"]);
  const found = fleetView({ items: both }, { text: "cluster:fleet/eu-2", state: null });
  expect(found.rows.map(({ title }) => title)).toEqual(["ks/c"]);
});

test("versions are sorted as numbers, newest first, with their share of the largest", () => {
  const more = [...items, itemOf({ name: "f", version: "1.9.0" })];
  expect(fleetView({ items: more }, all).versions).toEqual([
    { version: "1.23.0", count: 2, share: 1 },
    { version: "1.22.0", count: 1, share: 0.5 },
    { version: "1.9.0", count: 2, share: 1 },
    { version: "none", count: 1, share: 0.5 },
  ]);
});

describe("the filter", () => {
  test.each<[text: string, state: PageStateName | null, names: string]>([
    ["", null, "abcde"],
    ["  ", null, "abcde"],
    ["", "healthy", "e"],
    ["", "deleting", ""],
    ["eu-2", null, "bc"],
    ["EU-2", "bad", "bc"],
    ["eu-2 eventing", null, "c"],
    ["ks/a", null, "a"],
    ["answers", null, "a"],
    ["knf4002", null, "abc"],
    ["reason:apply", null, "d"],
    ["reason:knf4002", null, "abc"],
    ["reason:eu-2", null, ""],
    ["version:1.2", null, "ade"],
    ["cluster:us", null, "d"],
    ["namespace:team-b", null, "e"],
    ["namespace:", null, "abcde"],
    ["unknown:eu", null, ""],
    ["constructor:", null, ""],
    ["__proto__:x", null, ""],
    ["<script>", null, ""],
    ["(", null, ""],
  ])("%j of state %s shows %j", (text, state, names) => {
    const { rows } = fleetView({ items }, { text, state });
    expect(rows.map(({ item }) => item.name).join("")).toBe(names);
  });
});

test("rows that are shown keep their places, and new ones come last", () => {
  const { rows } = fleetView({ items }, all);
  const [a, b, c, d, e] = rows.map(({ key }) => key);
  const namesIn = (shown: readonly (string | undefined)[]) =>
    inShownOrder(rows, shown.map(String))
      .map(({ item }) => item.name)
      .join("");
  expect(namesIn([])).toBe("abcde");
  expect(namesIn([e, d, c, b, a])).toBe("edcba");
  expect(namesIn([d, "gone", b])).toBe("dbace");
});

test("a key names one installation, whatever its name is", () => {
  expect(keyOf(itemOf({ name: "a/b#c<d>" }))).toBe("KnativeServing/team-a/a%2Fb%23c%3Cd%3E");
});

test("the state of a cluster says how many Deployments are not available", () => {
  const live = {
    state: "NotAvailable",
    deployments: 3,
    notAvailable: ["x"],
    missing: ["y"],
  } as const;
  const { rows } = fleetView({ items: [itemOf({ live })] }, all);
  expect(rows[0]?.live).toBe("2 of 4 not available");
});

test.each([
  ["Ready", "Ready (feedback)"],
  ["NotInstalled", "NotInstalled (feedback)"],
  ["Unknown", "Unknown"],
  ["Skipped", "Not read"],
] as const)("the state %s with feedback reads %s", (state, text) => {
  const feedback = { cluster: "eu-1", heardAt: null };
  const { rows } = fleetView({ items: [itemOf({ live: { state, feedback } })] }, all);
  expect(rows[0]?.live).toBe(text);
});

test.each([
  ["label:env=prod", ["a"]],
  ["label:env", ["a", "b", "c"]],
  ["LABEL:ENV=PROD", ["a"]],
  ["property:tier=gold", ["b", "c"]],
  ["property:env", []],
  ["label:env property:tier", ["b", "c"]],
  ["label:env cluster:eu-1", ["a"]],
])("%j filters by what ClusterProfiles say", (text, names) => {
  const traits: Traits = new Map<string, ClusterItem>([
    ["fleet/eu-1", clusterOf({ labels: { env: "prod" } })],
    ["fleet/eu-2", clusterOf({ labels: { env: "test" }, properties: { tier: "gold" } })],
  ]);
  const { rows } = fleetView({ items }, { text, state: null }, traits);
  expect(rows.map(({ item }) => item.name)).toEqual(names);
});

test.each([
  ["label:env=prod", true],
  ["eu property:x", true],
  ["reason:label", false],
  ["", false],
])("%j needs the ClusterProfiles: %j", (text, needs) => {
  expect(needsTraits({ text, state: null })).toBe(needs);
});

const none = { bad: 0, unreachable: 0, warning: 0, deleting: 0, progress: 0, healthy: 0 };
test.each([
  [{ ...none }, "There are no installations"],
  [{ ...none, healthy: 1 }, "Nothing is wrong with 1 installation"],
  [{ ...none, healthy: 3, deleting: 1, progress: 1 }, "Nothing is wrong with 5 installations"],
  [{ ...none, healthy: 3, bad: 1 }, "1 of 4 installations needs attention"],
  [{ ...none, healthy: 1, warning: 1 }, "1 of 2 installations needs attention"],
  [{ ...none, unreachable: 2, bad: 1 }, "3 of 3 installations need attention"],
])("%j is in one sentence", (counts, text) => {
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0);
  const verdict = verdictOf({ counts, total });
  expect(verdict).toEqual({ text, tone: text.endsWith("attention") ? "bad" : "healthy" });
});

test("no fleet is well while no controller works, and none is known to be while the hub is away", () => {
  const well = { counts: { ...none, healthy: 3 }, total: 3 };
  const message = "No controller works since 2026-11-21T11:58:22Z";
  const controller = { works: false, message, since: null, next: [] } as const;
  const idle = { ...controller, reason: "NoController", code: "KNF1005" } as const;
  expect(verdictOf(well, idle)).toEqual({ tone: "bad", text: message });
  expect(outdated(verdictOf(well, null), "18s")).toEqual({
    tone: "unknown",
    text: "Nothing is wrong with 3 installations, as of 18s ago",
  });
});
