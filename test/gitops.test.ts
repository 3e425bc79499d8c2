import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { FleetError } from "../api/errors.ts";
import { steering } from "../api/fleet-set.ts";
import { statusOf } from "../controller/status/component-status.ts";
import type { Outcome } from "../controller/status/outcome.ts";
import { everyProtection } from "./controller/guard/every-protection.ts";
import { isRecord, valueAt } from "./fleet/json-record.ts";
import { completeWorld, next } from "./sets/two-rings.ts";
import { celHealth, type HealthExpressions } from "./support/cel-health.ts";
import { serving } from "./support/component.ts";
import { luaHealth } from "./support/lua-health.ts";

const root = resolve(import.meta.dirname, "..");
const page = readFileSync(resolve(root, "docs/gitops.md"), "utf8");
const now = new Date("2026-02-03T04:05:06Z");

/** The health scripts of the page, by group and kind. */
function scripts(): Readonly<Record<string, string>> {
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = ""]) => text);
  const found = blocks.find((text) => text.includes("resource.customizations.health")) ?? "";
  const data: unknown = valueAt(parse(found), "data");
  if (!isRecord(data)) throw new Error("The page has no health scripts");
  const prefix = "resource.customizations.health.";
  return Object.fromEntries(
    Object.entries(data).map(([name, text]) => [name.slice(prefix.length), String(text)]),
  );
}

/** The expressions of the page, by kind. */
function expressions(): Readonly<Record<string, HealthExpressions>> {
  const blocks = [...page.matchAll(/```yaml\n(.*?)```/gs)].map(([, text = ""]) => text);
  const found = blocks.find((text) => text.includes("healthCheckExprs")) ?? "";
  const list: unknown = valueAt(parse(found), "spec", "healthCheckExprs");
  if (!Array.isArray(list)) throw new Error("The page has no health expressions");
  const entries = list.map((one: unknown): [string, HealthExpressions] => {
    const text = (field: string) => String(valueAt(one, field));
    const apiVersion = text("apiVersion");
    const texts = { inProgress: text("inProgress"), failed: text("failed") };
    return [text("kind"), { apiVersion, kind: text("kind"), ...texts, current: text("current") }];
  });
  return Object.fromEntries(entries);
}

const component = scripts()["operator.knative.dev_KnativeServing"] ?? "";
const set = scripts()["knfleet.dev_KnativeServingSet"] ?? "";
const both = { eligible: true, resolved: true };
const installed: Outcome = {
  kind: "applied",
  version: "1.23.0",
  paths: [],
  changes: { applied: [], unchanged: 150, parked: [], failed: [] },
  readiness: { available: true, message: "" },
};
const progress = { done: 81, total: 150, waiting: [], failed: 0 };
const installing: Outcome = { kind: "working", version: "1.23.0", steps: both, progress };

function failed(
  reason: "SpokeUnreachable" | "VersionNotEligible" | "ClusterProfileNotFound",
): Outcome {
  const steps = { eligible: true, resolved: reason === "VersionNotEligible" };
  return { kind: "failed", steps, error: new FleetError(reason, `Because of ${reason}`) };
}

function after(...outcomes: readonly Outcome[]) {
  return outcomes.reduce(
    (before, outcome) => serving({ status: statusOf(before, outcome, now) }),
    serving(),
  );
}

const recorded = [
  ["that is being installed", after(installing), "Progressing"],
  ["that is installed", after(installing, installed), "Healthy"],
  ["that is upgraded", after(installed, installing), "Progressing"],
  ["whose cluster is lost", after(installed, failed("SpokeUnreachable")), "Degraded"],
  ["whose ClusterProfile is missing", after(failed("ClusterProfileNotFound")), "Progressing"],
  ["that cannot be installed", after(failed("VersionNotEligible")), "Degraded"],
] as const;

describe("the health script of docs/gitops.md", () => {
  test("is there for components and sets of both kinds, with the same text", () => {
    expect(Object.keys(scripts()).toSorted()).toEqual([
      "knfleet.dev_KnativeEventingSet",
      "knfleet.dev_KnativeServingSet",
      "operator.knative.dev_KnativeEventing",
      "operator.knative.dev_KnativeServing",
    ]);
    expect(new Set(Object.values(scripts())).size).toBe(1);
  });

  test("says how a component is without a status", () => {
    expect(luaHealth(component, serving())[0]).toBe("Progressing");
  });

  test.each(recorded)("says how a component is %s", (_name, object, health) => {
    expect(luaHealth(component, object)[0]).toBe(health);
  });

  test("names the cause of a failure", () => {
    const [, message] = luaHealth(component, after(failed("VersionNotEligible")));
    expect(message).toBe("Because of VersionNotEligible");
  });

  test("does not take the status of an older spec, or one that is being deleted, for healthy", () => {
    const { status } = after(installed);
    const newer = serving({ metadata: { generation: 2 }, status });
    expect(luaHealth(component, newer)[0]).toBe("Progressing");
    const deleted = serving({ metadata: { deletionTimestamp: now.toISOString() }, status });
    expect(luaHealth(component, deleted)).toEqual(["Progressing", "Being deleted"]);
  });

  test("says how a set is that is complete, rolls, and is paused", () => {
    const world = completeWorld();
    expect(luaHealth(set, world.set)[0]).toBe("Healthy");
    world.edit(next);
    expect(luaHealth(set, world.set)[0]).toBe("Progressing");
    world.run(["Rolling"]);
    expect(luaHealth(set, world.set)[0]).toBe("Progressing");
    world.annotate(steering.pause, "now");
    world.run(["Paused"]);
    expect(luaHealth(set, world.set)[0]).toBe("Suspended");
  });

  test("says that a halted set is degraded, and why", () => {
    const world = completeWorld({}, ["canary-0", "canary-1"]);
    world.edit(next);
    world.run(["Halted"]);
    const [health, message] = luaHealth(set, world.set);
    expect(health).toBe("Degraded");
    expect(message).toContain("canary");
  });
});

function healthOf(of: HealthExpressions | undefined, object: unknown): string | undefined {
  return of === undefined ? undefined : celHealth(of, object);
}

describe("the health expressions of docs/gitops.md", () => {
  const inFlux = { Progressing: "InProgress", Healthy: "Current", Degraded: "Failed" } as const;
  const all = expressions();
  const ofComponent = all["KnativeServing"];
  const ofSet = all["KnativeServingSet"];

  test("are there for components and sets of both kinds, and equal", () => {
    const kinds = Object.values(all).map(({ apiVersion, kind }) => `${apiVersion}/${kind}`);
    expect(kinds).toEqual([
      "operator.knative.dev/v1beta1/KnativeServing",
      "operator.knative.dev/v1beta1/KnativeEventing",
      "knfleet.dev/v1alpha1/KnativeServingSet",
      "knfleet.dev/v1alpha1/KnativeEventingSet",
    ]);
    const texts = Object.values(all).map((one) => [one.inProgress, one.failed, one.current].join());
    expect(new Set(texts).size).toBe(1);
  });

  test.each(recorded)("say how a component is %s", (_name, object, health) => {
    expect(healthOf(ofComponent, object)).toBe(inFlux[health]);
  });

  test("do not take the status of an older spec, or one that is being deleted, for current", () => {
    const { status } = after(installed);
    const newer = serving({ metadata: { generation: 2 }, status });
    expect(healthOf(ofComponent, newer)).toBe("InProgress");
    const deleted = serving({ metadata: { deletionTimestamp: now.toISOString() }, status });
    expect(healthOf(ofComponent, deleted)).toBe("InProgress");
  });

  test("say how a set is that is complete, rolls, is paused, and halts", () => {
    const world = completeWorld({}, ["canary-0", "canary-1"]);
    const calm = completeWorld();
    expect(healthOf(ofSet, calm.set)).toBe("Current");
    calm.edit(next);
    calm.run(["Rolling"]);
    expect(healthOf(ofSet, calm.set)).toBe("InProgress");
    calm.annotate(steering.pause, "now");
    calm.run(["Paused"]);
    expect(healthOf(ofSet, calm.set)).toBe("InProgress");
    world.edit(next);
    world.run(["Halted"]);
    expect(healthOf(ofSet, world.set)).toBe("Failed");
  });
});

test.each(everyProtection)(
  "a component that is Ready has no Unknown condition, also with %s: Argo CD's own script waits for each",
  (reason) => {
    const { status } = after({ ...installed, protection: { reason, message: "" } });
    const statuses = new Map(status?.conditions?.map((one) => [one.type, one.status]));
    expect(statuses.get("Ready")).toBe("True");
    expect([...statuses.values()]).not.toContain("Unknown");
  },
);
