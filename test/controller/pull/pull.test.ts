import { describe, expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { componentWorkName } from "../../../api/delivery.ts";
import { hubThatPulls, pulled, runAgent, tell } from "./pull-hub.ts";

const annotations = { "knfleet.dev/delivery": "Pull" };
const fresh = pulled({ annotations });
const rival = pulled({ namespace: "other", uid: "other" });

const installedFeedback = [
  { name: "hubGeneration", fieldValue: { string: "3" } },
  { name: "generation", fieldValue: { integer: 5 } },
  { name: "observed", fieldValue: { integer: 5 } },
  { name: "InstallSucceeded.status", fieldValue: { string: "True" } },
];

describe("an attempt for a component that pulls", () => {
  test("records the cluster and writes the work of the agent, before which there is no CRD", async () => {
    const { requests, attempt } = hubThatPulls();
    const stored = await attempt(fresh);
    expect(requests).toEqual(["apply knfleet-agent"]);
    expect(stored?.metadata).toMatchObject({
      annotations: { "knfleet.dev/managed-cluster": "spoke-1" },
      finalizers: ["knativeservings.operator.knative.dev"],
    });
  });

  test("writes nothing that is stored already", async () => {
    const { requests, attempt } = hubThatPulls();
    await attempt(fresh);
    await attempt(pulled());
    expect(requests).toEqual(["apply knfleet-agent"]);
  });

  test("writes to no other cluster than the recorded one", async () => {
    const { requests, attempt } = hubThatPulls({ label: "spoke-2" });
    const stored = await attempt(pulled());
    expect(requests).toEqual([]);
    expect(conditionOf(stored?.status?.conditions, "TargetClusterResolved")).toMatchObject({
      status: "False",
      message:
        "ClusterProfile knative-serving/spoke-1 stands for ManagedCluster spoke-2 now, and the works are for spoke-1",
    });
  });

  test("writes nothing without an image of the agent, as after --delivery went back to Push", async () => {
    const { requests, attempt } = hubThatPulls({ pulls: false });
    const stored = await attempt(pulled());
    expect(requests).toEqual([]);
    expect(conditionOf(stored?.status?.conditions, "TargetClusterResolved")).toMatchObject({
      status: "False",
      reason: "ReferenceNotPermitted",
      message: expect.stringContaining("has no --agent-image"),
    });
  });

  test("writes nothing for a second component of the kind whose cluster is the same", async () => {
    const { requests, storeWork, attempt } = hubThatPulls();
    storeWork(componentWorkName(rival), {}, "other");
    const stored = await attempt(fresh, [rival]);
    expect(requests).toEqual([]);
    expect(conditionOf(stored?.status?.conditions, "InstallSucceeded")?.reason).toBe(
      "DuplicateComponent",
    );
  });

  test("takes its first work back when an older one of another component came at the same moment", async () => {
    const own = componentWorkName(fresh);
    const { requests, memory, storeWork, attempt } = hubThatPulls({
      onApplied: (name) => {
        if (name !== own) return;
        storeWork(own, { creationTimestamp: "2026-01-01T00:00:02Z" });
        const creationTimestamp = "2026-01-01T00:00:01Z";
        storeWork(componentWorkName(rival), { creationTimestamp }, "other");
      },
    });
    runAgent(memory);
    const stored = await attempt(fresh, [rival]);
    expect(requests).toEqual(["apply knfleet-agent", `apply ${own}`, `delete ${own}`]);
    expect(conditionOf(stored?.status?.conditions, "InstallSucceeded")).toMatchObject({
      reason: "DuplicateComponent",
      message: "KnativeServing other/knative-serving is installed on the same cluster already",
    });
  });

  test("takes its work back also when an earlier attempt ended after it had written it", async () => {
    const own = componentWorkName(fresh);
    const { requests, memory, storeWork, attempt } = hubThatPulls();
    runAgent(memory);
    storeWork(own, { creationTimestamp: "2026-01-01T00:00:02Z" });
    const creationTimestamp = "2026-01-01T00:00:01Z";
    storeWork(componentWorkName(rival), { creationTimestamp }, "other");
    await attempt(fresh, [rival]);
    expect(requests.at(-1)).toBe(`delete ${own}`);
  });

  test("waits for a work of another component that is going", async () => {
    const { requests, storeWork, attempt } = hubThatPulls();
    const deletionTimestamp = "2026-01-01T00:00:00Z";
    storeWork(componentWorkName(rival), { deletionTimestamp }, "other");
    const stored = await attempt(fresh, [rival]);
    expect(requests).toEqual([]);
    expect(JSON.stringify(stored?.status?.conditions)).toContain(
      "of another component has yet to go",
    );
  });

  test("names the work of a component that the hub does not know", async () => {
    const { requests, storeWork, attempt } = hubThatPulls();
    storeWork("knfleet-knativeserving-1234abcd", {}, "1234abcd-5");
    const stored = await attempt(fresh);
    expect(requests).toEqual([]);
    expect(conditionOf(stored?.status?.conditions, "InstallSucceeded")?.message).toBe(
      "ManifestWork spoke-1/knfleet-knativeserving-1234abcd brings a component to the same cluster that this hub does not have; docs/ocm.md says how such a work goes",
    );
  });

  test("writes nothing while its ManagedCluster is being deleted", async () => {
    const { requests, attempt } = hubThatPulls({ goingSince: "2026-01-01T00:00:00Z" });
    const stored = await attempt(fresh);
    expect(requests).toEqual([]);
    expect(JSON.stringify(stored?.status?.conditions)).toContain(
      "ManagedCluster spoke-1 has been going since 2026-01-01T00:00:00Z, and gets no works",
    );
  });

  test("remembers that it was pushed before, until the spoke tells that it has installed it", async () => {
    const finalizers = ["knativeservings.operator.knative.dev"];
    const { memory, storeWork, attempt } = hubThatPulls();
    const begun = await attempt(pulled({ annotations, finalizers, generation: 3 }));
    expect(begun?.metadata.annotations).toMatchObject({ "knfleet.dev/pushed-before": "true" });
    runAgent(memory);
    storeWork(componentWorkName(fresh));
    tell(memory, componentWorkName(fresh), installedFeedback);
    const { metadata } = begun ?? fresh;
    const done = await attempt(pulled({ ...metadata, generation: 3 }));
    expect(done?.metadata.annotations?.["knfleet.dev/pushed-before"]).toBeUndefined();
  });

  test("writes the works of a cluster that is silent for now", async () => {
    const { requests, attempt } = hubThatPulls({ available: "Unknown" });
    await attempt(fresh);
    expect(requests).toEqual(["apply knfleet-agent"]);
  });

  test("does not believe the record of another component that has no work", async () => {
    const { requests, attempt } = hubThatPulls();
    await attempt(fresh, [rival]);
    expect(requests).toEqual(["apply knfleet-agent"]);
  });
});
