import { afterEach, beforeEach, expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { withReadAnchor } from "../../../controller/apply/install-state.ts";
import { InstallationMemory } from "../../../controller/apply/installation-memory.ts";
import type { Observation } from "../../../controller/observe/observation.ts";
import { statusOf } from "../../../controller/status/component-status.ts";
import { doubtOf } from "../../../controller/status/doubt.ts";
import type { Outcome } from "../../../controller/status/outcome.ts";
import { prepare } from "../../../installation/desired.ts";
import { serving } from "../../support/component.ts";
import { manifestOf } from "../apply/prepared.ts";
import { anchorWith } from "../apply/stored-anchor.ts";
import { beginWith, type ScriptedWatches } from "../observe/scripted-watches.ts";

const deployments = knownResource("apps/v1", "Deployment");
const names = ["activator", "webhook"];
const manifests = names.map((name) => manifestOf(`apps/v1 Deployment ns/${name}`));
const desired = prepare({ version: "1.23.0", manifests });
const now = new Date("2026-02-03T04:05:06Z");
const later = new Date("2026-02-03T05:00:00Z");
let watches: ScriptedWatches;
let observation: Observation;
let memory: InstallationMemory;

/** A Deployment that is available, as we applied it unless `owns` says otherwise. */
function deployment(name: string, version = 10, owns = "f:spec"): KubeObject {
  const fieldsV1 = { [owns]: {} };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      namespace: "ns",
      name,
      uid: name,
      resourceVersion: `${version}`,
      generation: 1,
      managedFields: [{ manager: "knfleet-hub", operation: "Apply", fieldsV1 }],
    },
    spec: { replicas: 1 },
    status: {
      observedGeneration: 1,
      replicas: 1,
      updatedReplicas: 1,
      availableReplicas: 1,
      conditions: [{ type: "Available", status: "True" }],
    },
  };
}

beforeEach(async () => {
  const scene = await beginWith(
    deployments,
    names.map((name) => deployment(name)),
  );
  ({ watches, observation } = scene);
  memory = new InstallationMemory();
  memory.become((state) => ({ ...state, desired }));
  const records = observation.objects();
  const entries = desired.objects.map(({ key, id, hash }) => {
    const { fingerprint = "" } = records.get(id) ?? {};
    return { ...key, hash, fingerprint };
  });
  const anchor = anchorWith({ version: "1.23.0", complete: true, entries });
  memory.become((state) => withReadAnchor(state, anchor));
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

function doubt() {
  return doubtOf({ observation, memory });
}

/** The first doubt that there is. */
async function doubted() {
  await watches.waitFor(() => expect(doubt()).toBeDefined());
  return doubt();
}

test("there is no doubt in what is available as it was applied, nor in what nobody wants", () => {
  expect(doubt()).toBeUndefined();
  memory.become((state) => ({ ...state, desired: undefined }));
  expect(doubt()).toBeUndefined();
});

test("a Deployment that is gone is missing", async () => {
  watches.send("Deployment", { type: "DELETED", object: deployment("webhook", 11) });
  const message = "1 of 2 not available: webhook (missing)";
  expect(await doubted()).toMatchObject({ status: "False", reason: "NotReady", message });
});

test("a Deployment that is available and not as it was applied is no Deployment of ours", async () => {
  const changed = deployment("webhook", 11, "f:other");
  watches.send("Deployment", { type: "MODIFIED", object: changed });
  const message = "1 of 2 not as they were applied: webhook";
  expect(await doubted()).toMatchObject({ status: "False", reason: "NotReady", message });
});

test("nothing is known of Deployments whose list has not come for some seconds", async () => {
  watches.send("Deployment", "end");
  expect(await doubted()).toMatchObject({ status: "Unknown", reason: "NotSynced" });
  watches.listed(
    "Deployment",
    names.map((name) => deployment(name)),
  );
  await watches.waitFor(() => expect(doubt()).toBeUndefined());
});

test("what was left to others is theirs to look after", async () => {
  const webhook = objectId(keyOf(deployment("webhook")));
  memory.become((state) => ({ ...state, left: new Map([[webhook, "KnativeServing a/b"]]) }));
  watches.send("Deployment", { type: "DELETED", object: deployment("webhook", 11) });
  await watches.waitFor(() => expect(observation.objects().size).toBe(1));
  expect(doubt()).toBeUndefined();
});

const applied: Outcome = {
  kind: "applied",
  version: "1.23.0",
  paths: [],
  changes: { applied: [], unchanged: 2, parked: [], failed: [] },
  readiness: { available: true, message: "" },
};

test("a doubt takes back what was claimed, and says nothing else", () => {
  const status = statusOf(serving(), applied, now);
  const changed = serving({ metadata: { generation: 2 }, status });
  const gone = { status: "False", reason: "NotReady", message: "1 of 2 not available" } as const;
  const after = statusOf(changed, { kind: "seen", doubt: gone }, later);
  const types = ["DeploymentsAvailable", "Ready", "Reconciling"];
  const others = ({ conditions = [] }: typeof status) =>
    conditions.filter(({ type }) => !types.includes(type));
  expect(after).toEqual({ ...status, conditions: after.conditions });
  expect(others(after)).toEqual(others(status));
  const turned = { ...gone, lastTransitionTime: "2026-02-03T05:00:00Z" };
  expect(after.conditions?.filter(({ type }) => types.includes(type))).toMatchObject(
    types.map((type) => ({
      ...turned,
      type,
      status: type === "Reconciling" ? "True" : "False",
    })),
  );
  // A failure that was told already keeps its words.
  const lost = { status: "Unknown", reason: "NotSynced", message: "Read anew" } as const;
  expect(statusOf(serving({ status: after }), { kind: "seen", doubt: lost }, later)).toEqual(after);
});

test("nothing is doubted before the first list, such as after a start with many clusters", async () => {
  observation.watchKinds([]);
  expect(doubt()).toMatchObject({ status: "False", reason: "NotReady" });
  observation.watchKinds([deployments]);
  expect(observation.pending()).toEqual([deployments]);
  expect(doubt()).toBeUndefined();
});
