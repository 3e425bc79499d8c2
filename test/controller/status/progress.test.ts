import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import type { Waiting } from "../../../controller/apply/change-set.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import {
  progressMessage,
  removalMessage,
  workingReasons,
} from "../../../controller/status/progress.ts";
import { serving } from "../../support/component.ts";

const webhook = { message: "Waiting for webhook a.b", count: 2 };
const unserved = { message: "The cluster does not serve a/v1 Thing", count: 1 };
const cases: readonly { waiting: readonly Waiting[]; failed: number; text: string }[] = [
  { waiting: [], failed: 0, text: "" },
  { waiting: [webhook], failed: 0, text: ", 2 waiting for webhook a.b" },
  {
    waiting: [webhook, unserved],
    failed: 3,
    text: ", 2 waiting for webhook a.b, 1 waiting: the cluster does not serve a/v1 Thing, 3 refused",
  },
  {
    waiting: [webhook, unserved, { message: "CRD a", count: 3 }, { message: "b", count: 4 }],
    failed: 0,
    text: ", 2 waiting for webhook a.b, 1 waiting: the cluster does not serve a/v1 Thing, 7 waiting for something else",
  },
];

test.each(cases)("progress is told in numbers and causes: $text", ({ waiting, failed, text }) => {
  const message = progressMessage({ done: 81, total: 150, waiting, failed });
  expect(message).toBe(`81 of 150 objects applied${text}`);
});

test.each([
  { remaining: undefined, text: "Removing from ClusterProfile fleet/a" },
  { remaining: { left: 3 }, text: "Removing from ClusterProfile fleet/a: 3 objects left" },
  {
    remaining: { left: 1, total: 150 },
    text: "Removing from ClusterProfile fleet/a: 1 of 150 objects left",
  },
])("a removal is told: $text", ({ remaining, text }) => {
  expect(removalMessage("ClusterProfile fleet/a", remaining)).toBe(text);
});

test("docs/reasons.md explains the reasons of work that goes on", () => {
  const page = readFileSync(resolve(import.meta.dirname, "../../../docs/reasons.md"), "utf8");
  const [, section = ""] = page.split("\n## While work goes on\n");
  const [table = ""] = section.split("\n## ");
  const documented = [...table.matchAll(/^\| `(\w+)`/gm)].map(([, name]) => name);
  expect(documented).toEqual([...workingReasons]);
});

test("a new component tells that its cluster answers before anything is sent, an installed one keeps its status", () => {
  const now = new Date("2026-02-03T04:05:06Z");
  const resolved = { eligible: false, resolved: true };
  const beginning = { kind: "working", steps: { ...resolved, resolved: false } } as const;
  const answering = { kind: "working", steps: resolved } as const;
  const first = serving({ status: statusOf(serving(), beginning, now) });
  const told = ({ conditions = [] }: typeof first.status & object): string | undefined =>
    conditions.find(({ type }) => type === "TargetClusterResolved")?.status;
  expect(told(first.status ?? {})).toBe("Unknown");
  expect(told(statusOf(first, answering, now))).toBe("True");
  const installed = serving({ status: { ...first.status, version: "1.23.0" } });
  expect(statusOf(installed, answering, now)).toBe(installed.status);
});
