import { expect, test } from "vitest";

import type { FleetSetStatus } from "../../../../api/fleet-set.ts";
import { rolloutItemOf } from "../../../../cmd/kubectl/hub/rollout-item.ts";
import { setItemOf } from "../../../../cmd/kubectl/hub/set-view.ts";
import { setRows, setView } from "../../../../cmd/kubectl/page/set-view.ts";
import { fleetSet, phased, rolloutDefaults } from "../set-facts.ts";
import { itemOf } from "./sample-items.ts";

const beginning = { knfleet: "kubectl knfleet --context hub", isRecorded: false };
const viewOf = (status?: FleetSetStatus, isRecorded = false) =>
  setView(rolloutItemOf(fleetSet(status === undefined ? {} : { status })), [], {
    ...beginning,
    isRecorded,
  });

test("a stage is a bar of the clusters in each state", () => {
  const { stages, tone, counts } = viewOf();
  expect(tone).toBe("progress");
  expect(counts).toBe("12 clusters: 5 done, 1 failed, 5 pending, 1 updating");
  expect(stages.map(({ tone: own, parts }) => [own, parts])).toEqual([
    ["healthy", [{ title: "done", count: 2, tone: "healthy", share: 1 }]],
    [
      "progress",
      [
        { title: "done", count: 3, tone: "healthy", share: 0.3 },
        { title: "updating", count: 1, tone: "progress", share: 0.1 },
        { title: "failed", count: 1, tone: "bad", share: 0.1 },
        { title: "waiting", count: 5, tone: null, share: 0.5 },
      ],
    ],
  ]);
});

test("a stage without clusters has no bar", () => {
  const [empty] = viewOf({
    ...phased("Rolling"),
    stages: [
      { name: "a", state: "Empty", clusters: 0, done: 0, failed: 0, updating: 0, unreachable: 0 },
    ],
  }).stages;
  expect(empty?.parts).toEqual([]);
});

const end = "kss/prod -n team-a";
const failedBy = (reason: string) => ({
  cluster: `fleet/${reason}`,
  state: "Failed",
  reason,
  message: "Bad",
});
test.each<[what: string, status: FleetSetStatus, verbs: readonly string[]]>([
  ["rolls", phased("Rolling"), ["pause"]],
  ["waits for an approval", phased("AwaitingApproval", { stage: "canary" }), ["approve", "pause"]],
  ["was halted", phased("Halted"), ["retry", "undo"]],
  [
    "was halted by a check alone",
    { ...phased("Halted"), notable: [failedBy("CheckFailed"), failedBy("WorkloadsBroken")] },
    ["verify", "undo"],
  ],
  [
    "was halted also by something else",
    { ...phased("Halted"), notable: [failedBy("CheckFailed"), failedBy("ApplyFailed")] },
    ["retry", "undo"],
  ],
  ["is paused", phased("Paused"), ["resume"]],
  ["is complete", phased("Complete"), []],
  ["has no status", {}, ["pause"]],
])("of a set that %s the commands are offered that get it going", (_, given, verbs) => {
  const status = { observedGeneration: 1, ...given };
  const commands = viewOf(status).next.map(({ command }) => command);
  expect(commands).toEqual([
    ...verbs.map((verb) => `kubectl knfleet --context hub rollout ${verb} ${end}`),
    `kubectl knfleet --context hub rollout status ${end}`,
    "kubectl knfleet --context hub status --set kss/prod -n team-a",
  ]);
  // Nobody can steer what was recorded.
  expect(viewOf(status, true).next.map(({ command }) => command)).toEqual(commands.slice(-2));
});

test("clusters that are not well lead to their pages, where there are any", () => {
  const bad = { state: "Failed", reason: "ApplyFailed", message: "Refused" };
  const status = {
    ...phased("Halted"),
    notable: [
      { cluster: "fleet/eu-1", ...bad },
      { cluster: "fleet/gone", ...bad },
    ],
  };
  const item = rolloutItemOf(fleetSet({ status }));
  const { notable } = setView(item, [itemOf({ cluster: "eu-1" })], beginning);
  expect(notable.map(({ key }) => key)).toEqual(["fleet/eu-1", null]);
});

test("a stage says how many clusters its checks have passed, and a cluster that is asked is not broken", () => {
  const notable = ["Failed", "Verifying"].map((state) => ({
    cluster: `fleet/${state}`,
    state,
    reason: "CheckFailed",
    message: "Check rate: 0.2 is above 0.01",
  }));
  const set = fleetSet({ status: { ...phased("Rolling"), notable } });
  const verify = { workloads: { maxNewlyBroken: 0, within: "3m" } };
  const stages = [{ name: "early", selector: {}, verify }];
  const asked = { ...set, spec: { ...set.spec, rollout: { ...rolloutDefaults, stages } } };
  const view = setView(rolloutItemOf(asked), [], beginning);
  expect(view.stages.map(({ verified }) => verified)).toEqual([null, "verified 3 of 10"]);
  expect(view.notable.map(({ tone }) => tone)).toEqual(["bad", "progress"]);
});

test("sets that need a person stand first", () => {
  const rows = setRows(
    [
      fleetSet({ name: "a", status: phased("Complete") }),
      fleetSet({ name: "b" }),
      fleetSet({ name: "c", status: phased("Halted") }),
    ].map(setItemOf),
  );
  expect(rows.map(({ set, tone }) => [set.name, tone])).toEqual([
    ["c", "bad"],
    ["b", "progress"],
    ["a", "healthy"],
  ]);
  expect(rows[0]?.parts.map(({ title, count }) => [title, count])).toEqual([
    ["done", 5],
    ["failed", 1],
    ["waiting", 6],
  ]);
});
