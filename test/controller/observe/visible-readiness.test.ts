import { afterEach, beforeEach, expect, test } from "vitest";

import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Observation } from "../../../controller/observe/observation.ts";
import {
  readVisibleReadiness,
  WorkloadCauses,
} from "../../../controller/observe/visible-readiness.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { silentLog } from "../../support/silent-log.ts";
import { apiError, observeScripted, ScriptedWatches } from "./scripted-watches.ts";

const { signal } = new AbortController();
const deployments = knownResource("apps/v1", "Deployment");
const statefulSets = knownResource("apps/v1", "StatefulSet");
const desired = [workload("Deployment", 1), workload("StatefulSet", 1)].map(keyOf);
let watches: ScriptedWatches;
let observation: Observation;

beforeEach(() => {
  watches = new ScriptedWatches();
  observation = observeScripted(watches);
  observation.watchKinds([deployments, statefulSets]);
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

/** One with so many available pods. */
function workload(kind: string, available: number): KubeObject {
  const place = { namespace: "eventing", name: kind.toLowerCase(), uid: kind };
  const conditions = [{ type: "Available", status: available > 0 ? "True" : "False" }];
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { ...place, resourceVersion: "90", generation: 1 },
    status: { observedGeneration: 1, availableReplicas: available, conditions },
  };
}

function readiness() {
  const view = { observation, causes: new WorkloadCauses(signal) };
  const deps = { client: watches, clock: new FakeClock(), log: silentLog };
  return readVisibleReadiness(desired, { ...view, ...deps }, signal);
}

test("workloads that may not be watched are not missing: nothing is known of them", async () => {
  watches.send("Deployment", apiError(403, "deployments.apps is forbidden: User x cannot list"));
  watches.listed("StatefulSet", [workload("StatefulSet", 1)]);
  await observation.waitForSync(signal);
  expect(await readiness()).toMatchObject({
    available: true,
    missing: [],
    unseen: "Watching deployments is not allowed",
  });
});

test("what is known of the others is said", async () => {
  watches.send("Deployment", apiError(403, "deployments.apps is forbidden: User x cannot list"));
  watches.listed("StatefulSet", [workload("StatefulSet", 0)]);
  await observation.waitForSync(signal);
  expect(await readiness()).toMatchObject({
    available: false,
    message: "1 of 1 not available: StatefulSet statefulset (0 of 1 pods available)",
  });
});

test("nothing is left unsaid where all may be watched", async () => {
  watches.listed("Deployment", []);
  watches.listed("StatefulSet", [workload("StatefulSet", 1)]);
  await observation.waitForSync(signal);
  expect(await readiness()).toMatchObject({ missing: ["deployment"], unseen: undefined });
});
