import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { PathMetrics } from "../access/spokes/path-metrics.ts";
import { systemClock } from "../access/time/system-clock.ts";
import { isRecord, valueAt } from "./fleet/json-record.ts";
import { metricsOf } from "./support/metrics.ts";

const root = resolve(import.meta.dirname, "..");
const page = read("docs/operations.md");

function read(path: string): string {
  return readFileSync(resolve(root, path), "utf8");
}

function listAt(value: unknown, ...path: readonly string[]): readonly unknown[] {
  const found = valueAt(value, ...path);
  return Array.isArray(found) ? found : [];
}

/** Rows of the table below a heading, without its head. */
function tableBelow(heading: string): readonly (readonly string[])[] {
  const [, below = ""] = page.split(`\n## ${heading}\n`);
  const [section = ""] = below.split("\n## ");
  const lines = section.split("\n").filter((line) => line.startsWith("| `"));
  // A bar that is part of a cell is written \|.
  return lines.map((line) =>
    line
      .split(/(?<!\\)\|/)
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

interface Described {
  readonly type: string;
  readonly help: string;
}

/** Type and help of every metric that the controller serves. */
async function servedMetrics(): Promise<ReadonlyMap<string, Described>> {
  const text = await metricsOf({ path: new PathMetrics(systemClock) }).render();
  const types = new Map(
    [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, a = "", b]) => [a, b]),
  );
  const helps = [...text.matchAll(/^# HELP (\S+) (.*)$/gm)];
  return new Map(
    helps.map(([, name = "", help = ""]) => [name, { type: types.get(name) ?? "", help }]),
  );
}

/** Names that a PromQL expression reads, with the labels that it selects by. */
function selectorsOf(
  expr: string,
): readonly { readonly name: string; readonly labels: readonly string[] }[] {
  const bare = expr
    .replaceAll(/"[^"]*"/g, '""')
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/\b(?:by|without|on|ignoring)\s*\([^)]*\)/g, "");
  return [...bare.matchAll(/\b([a-z_]\w*)\b(?!\s*\()(?:\{([^}]*)\})?/g)]
    .filter(([, name = ""]) => !["and", "or", "unless"].includes(name))
    .map(([, name = "", matchers = ""]) => ({
      name,
      labels: [...matchers.matchAll(/(\w+)\s*[=!]/g)].map(([, label = ""]) => label),
    }));
}

const rules = listAt(parse(read("charts/knfleet/files/alerts.yaml")), "spec", "groups").flatMap(
  (group) => listAt(group, "rules"),
);
const dashboard: unknown = JSON.parse(read("charts/knfleet/files/dashboards/knfleet.json"));
const panels = listAt(dashboard, "panels").filter((panel) => valueAt(panel, "type") !== "row");
const expressions = [
  ...rules.map((rule) => ({
    place: `alert ${String(valueAt(rule, "alert"))}`,
    expr: String(valueAt(rule, "expr")),
  })),
  ...panels.flatMap((panel) =>
    listAt(panel, "targets").map((target) => ({
      place: `panel ${String(valueAt(panel, "title"))}`,
      expr: String(valueAt(target, "expr")),
    })),
  ),
];

describe("docs/operations.md", () => {
  test("explains every metric of the controller as it is, and no other", async () => {
    const served = [...(await servedMetrics())].filter(
      ([name]) => !/^(?:process|nodejs)_/.test(name),
    );
    const documented = tableBelow("Metrics").map(([name = "", type, , help = ""]) => [
      name.replaceAll("`", ""),
      { type, help: help.replaceAll("`", "") },
    ]);
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(served));
  });

  test("lists the reasons of all Events that are written in so many words", () => {
    const [, below = ""] = page.split("\n## Events\n");
    const [table = ""] = below.split("\n## ");
    const documented = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, reason]) => reason);
    const files = [
      "reconcile/reconcile",
      "status/component-events",
      "uninstall/uninstall",
      "uninstall/force-orphan",
      "guard/guards",
    ];
    const written = files.flatMap((file) =>
      [...read(`controller/${file}.ts`).matchAll(/reason: "(\w+)"/g)].map(([, reason]) => reason),
    );
    expect(documented).toEqual(expect.arrayContaining(written));
    expect(documented).toEqual(
      expect.arrayContaining([
        "Installing",
        "Finalizing",
        "NotReady",
        "Contested",
        "SharedCredential",
      ]),
    );
  });

  test("says what to do for every alert, and no other", () => {
    const documented = tableBelow("Alerts").map(([name = "", , advice]) => {
      expect(advice).toMatch(/^.{20,}/);
      return name.replaceAll("`", "");
    });
    expect(documented).toEqual(rules.map((rule) => valueAt(rule, "alert")));
  });
});

describe("the alerts and the dashboard", () => {
  test.each(expressions)("$place reads only what the controller serves", async ({ expr }) => {
    const served = await servedMetrics();
    const labels = new Map(
      tableBelow("Metrics").map(([name = "", , list = ""]) => [
        name.replaceAll("`", ""),
        list.split(", "),
      ]),
    );
    const selectors = selectorsOf(expr);
    expect(selectors.length).toBeGreaterThan(0);
    for (const selector of selectors) {
      const base = selector.name.replace(/_(?:bucket|count|sum)$/, "");
      const name = served.get(base)?.type === "histogram" ? base : selector.name;
      expect([...served.keys()]).toContain(name);
      for (const label of selector.labels) expect(labels.get(name)).toContain(label);
    }
  });

  test.each(expressions)(
    "$place is not misled by another program with the same metrics",
    ({ expr }) => {
      const others = selectorsOf(expr).filter(({ name }) => !name.startsWith("knfleet_"));
      const isOurs = /\{(?:[^}]*,)?(?:name|controller)="knfleet"/;
      const joined = ' and on (job, instance) leader_election_master_status{name="knfleet"}';
      const misled = others.filter(({ name }) => {
        const rest = expr.slice(expr.indexOf(name) + name.length).replaceAll(/\s+/g, " ");
        const selector = rest.match(/^\{[^}]*\}/)?.[0] ?? "";
        return !isOurs.test(selector) && !rest.includes(joined);
      });
      expect(misled).toEqual([]);
    },
  );

  test("no component or spoke is told of twice, by the leader and by who stands by", () => {
    const single = /^(?:max|min|sum)(?: by \([a-z, ]+\))? ?\(|^absent\(/;
    for (const rule of rules) expect(String(valueAt(rule, "expr"))).toMatch(single);
  });

  test("every alert waits a while, has a severity and says in a sentence what is wrong", () => {
    for (const rule of rules) {
      expect(rule).toMatchObject({
        for: expect.stringMatching(/^\d+m$/),
        labels: { severity: expect.stringMatching(/^(?:critical|warning)$/) },
        annotations: { summary: expect.stringMatching(/^.{20,}\.$/) },
      });
    }
  });

  test("the dashboard is one that Grafana can load", () => {
    expect(dashboard).toMatchObject({ title: "knfleet", schemaVersion: 39, uid: "knfleet" });
    const all = listAt(dashboard, "panels");
    expect(new Set(all.map((panel) => valueAt(panel, "id"))).size).toBe(all.length);
    for (const panel of all) {
      const place = valueAt(panel, "gridPos");
      if (!isRecord(place)) throw new Error("A panel has no place");
      expect(Number(place["x"]) + Number(place["w"])).toBeLessThanOrEqual(24);
    }
    for (const panel of panels) {
      expect(valueAt(panel, "datasource", "uid")).toBe("${datasource}");
      expect(listAt(panel, "targets").length).toBeGreaterThan(0);
    }
  });
});
