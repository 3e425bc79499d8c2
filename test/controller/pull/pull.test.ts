import { describe, expect, test } from "vitest";

import { conditionOf } from "../../../api/conditions.ts";
import { componentWorkName } from "../../../api/delivery.ts";
import { hubThatPulls, pulled } from "./pull-hub.ts";

const annotations = { "knfleet.dev/delivery": "Pull" };
const fresh = pulled({ annotations });
const rival = pulled({ namespace: "other", uid: "other" });

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
        "[NotManagedByOCM] ClusterProfile knative-serving/spoke-1 stands for ManagedCluster spoke-2 now, and the works are for spoke-1",
    });
  });

  test("writes nothing for a second component of the kind whose cluster is the same", async () => {
    const { requests, storeWork, attempt } = hubThatPulls();
    storeWork(componentWorkName(rival));
    const stored = await attempt(fresh, [rival]);
    expect(requests).toEqual([]);
    expect(conditionOf(stored?.status?.conditions, "InstallSucceeded")?.reason).toBe(
      "DuplicateComponent",
    );
  });

  test("does not believe the record of another component that has no work", async () => {
    const { requests, attempt } = hubThatPulls();
    await attempt(fresh, [rival]);
    expect(requests).toEqual(["apply knfleet-agent"]);
  });
});
