import { afterEach, beforeEach, expect, test, vi } from "vitest";

import type { StatusItem } from "../../../../cmd/kubectl/fleet/status-item.ts";
import { fleetStatusOf } from "../../../../cmd/kubectl/fleet/status.ts";
import { PageFleet, type PageState } from "../../../../cmd/kubectl/page/fleet-state.ts";
import { now } from "../fleet-facts.ts";
import { fleetSet, phased } from "../set-facts.ts";
import { itemOf } from "./sample-items.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };

/** A fleet that holds what the test says, and what its listeners were told. */
function started(first: readonly StatusItem[]) {
  let state = stateOf(first);
  const fleet = new PageFleet({
    recordedAt: undefined,
    kubectl: "kubectl",
    knfleet: "kubectl knfleet",
  });
  fleet.follow({
    state: () => state,
    installations: () => [],
    refresh: () => undefined,
    readOnce: Promise.resolve(),
  });
  const told: PageState[] = [];
  fleet.listen((one) => told.push(one));
  return {
    fleet,
    told,
    revisions: () => told.map(({ revision }) => revision),
    become: (items: readonly StatusItem[], sets?: Parameters<typeof stateOf>[1]) => {
      state = stateOf(items, sets);
      fleet.changed();
    },
  };
}

function stateOf(items: readonly StatusItem[], sets: readonly ReturnType<typeof fleetSet>[] = []) {
  const report = fleetStatusOf(items, [], stamp);
  return { report, sets, hubReadAt: now, spokesReadAt: now, round: null, trouble: null };
}

test("the first change is told at once, and further ones twice a second", async () => {
  const { become, told } = started([itemOf({})]);
  await vi.advanceTimersByTimeAsync(1_000);
  become([itemOf({ name: "a" })]);
  await vi.advanceTimersByTimeAsync(1);
  expect(told).toHaveLength(1);
  become([itemOf({ name: "b" })]);
  become([itemOf({ name: "c" })]);
  await vi.advanceTimersByTimeAsync(400);
  expect(told).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(200);
  expect(told).toHaveLength(2);
});

test("the revision grows when a row or a set has changed, and only then", async () => {
  const { become, revisions } = started([]);
  const step = async (...given: Parameters<typeof become>) => {
    become(...given);
    await vi.advanceTimersByTimeAsync(600);
  };
  await step([itemOf({ name: "a" })]);
  // Read anew, and the same.
  await step([itemOf({ name: "a" })]);
  await step([itemOf({ name: "a" })], [fleetSet()]);
  await step([itemOf({ name: "a" })], [fleetSet({ status: phased("Complete") })]);
  await step([]);
  expect(revisions()).toEqual([2, 2, 3, 4, 5]);
});

test("the document is that of the command, row by row", async () => {
  const { fleet, become } = started([
    itemOf({ name: "b" }),
    itemOf({ name: "a", message: "token=hunter2" }),
  ]);
  const first = JSON.parse(fleet.documentText());
  expect(first).toMatchObject({ kind: "FleetStatus", summary: { total: 2 }, errors: [] });
  expect(first.items.map(({ name }: StatusItem) => name)).toEqual(["a", "b"]);
  expect(fleet.documentText()).not.toContain("hunter2");
  become([]);
  await vi.advanceTimersByTimeAsync(600);
  expect(JSON.parse(fleet.documentText()).items).toEqual([]);
});
