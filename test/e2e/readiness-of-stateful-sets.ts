import { expect, test } from "vitest";

import type { ObjectKey } from "../../api/kubernetes.ts";
import { workloadFactOf } from "../../cmd/kubectl/spokes/workload-fact.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { change, condition, ready } from "./installation.ts";
import type { Scene } from "./scene.ts";

const namespace = "knative-eventing";
const statefulSet: ObjectKey = {
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  namespace,
  name: "request-reply",
};

/** Tests on the StatefulSet of an Eventing that is ready. */
export function testStatefulSets(scene: () => Scene): void {
  const admin = () => scene().fleet.spoke(0).admin;

  test("a StatefulSet whose rollout cannot go on is named with its kind and the cause", async () => {
    const { hub } = scene();
    const pod: ObjectKey = { apiVersion: "v1", kind: "Pod", namespace, name: "request-reply-0" };
    const nodeSelector = { "example.com/never": "true" };
    await change(hub, "KnativeEventing", { workloads: [{ name: statefulSet.name, nodeSelector }] });
    try {
      const why = "no node takes its pods (Unschedulable)";
      const message = new RegExp(
        `^1 of \\d+ not available: StatefulSet request-reply \\(${RegExp.escape(why)}\\)$`,
      );
      const wanted = { status: "False", reason: "NotReady", message } as const;
      expect(await condition(hub, "KnativeEventing", ["Ready", wanted])).toBeDefined();
      // Without a look at the pods, a StatefulSet is late when its status stays as it is.
      const live = await admin().get(statefulSet);
      const after = (minutes: number) =>
        live && workloadFactOf(live, new Date(Date.now() + minutes * 60_000));
      expect(after(0)).toMatchObject({ state: "rollingOut", progress: "0 of 1 pods available" });
      expect(after(11)).toMatchObject({
        state: "notAvailable",
        progress: "0 of 1 pods available, no progress for 10 minutes",
      });
    } finally {
      await change(hub, "KnativeEventing", { workloads: null });
      // A StatefulSet waits for its pod before it replaces it, also for one that never starts.
      await waitFor("a pod that has a node", async () => {
        const live = await admin().get(pod);
        if (conditionOf(live, "PodScheduled")?.status === "False") await admin().remove(pod);
        return conditionOf(live, "Ready")?.status === "True";
      });
    }
  });

  test("a StatefulSet whose replicas the release sets is scaled up again", async () => {
    const { hub } = scene();
    await admin().patch(statefulSet, { spec: { replicas: 0 } }, { subresource: "scale" });
    const replicas = async () => valueAt(await admin().get(statefulSet), "spec", "replicas");
    await waitFor("its replicas to be back", async () => (await replicas()) === 1);
    // The hub may have told the zero before it was put right.
    await waitFor("the hub to tell nothing of it", async () => {
      const component = await ready(hub, "KnativeEventing");
      return conditionOf(component, "DeploymentsAvailable")?.reason === undefined;
    });
    expect(await replicas()).toBe(1);
  });
}
