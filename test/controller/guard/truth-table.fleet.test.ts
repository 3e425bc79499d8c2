import { beforeAll, describe, expect, test } from "vitest";

import { guardPolicyOf } from "../../../controller/guard/policy.ts";
import type { Cluster, KubernetesMinor } from "../../fleet/cluster.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { type GuardStage, openGuardStage } from "./guard-stage.ts";
import { anchorRows } from "./truth-anchor-rows.ts";
import { crdRows } from "./truth-crd-rows.ts";
import { deleteRows } from "./truth-delete-rows.ts";
import { deletingRows } from "./truth-deleting-rows.ts";
import { hubRows } from "./truth-hub-rows.ts";
import { namespaceRows } from "./truth-namespace-rows.ts";

const rows = [
  ...anchorRows,
  ...deleteRows,
  ...deletingRows,
  ...namespaceRows,
  ...hubRows,
  ...crdRows,
];
const hubId = "11111111-2222-3333-4444-555555555555";
const guards = ["anchor-guard", "namespace-guard", "crd-guard"] as const;

describe.each(["1.36", "1.35"] satisfies KubernetesMinor[])(
  "policies on Kubernetes %s",
  (kubernetes) => {
    const fleet = useFleet({ spokes: [{ kubernetes, kwok: false }] });
    let stage: GuardStage;

    beforeAll(async () => {
      const cluster = fleet().spoke(0);
      stage = await openGuardStage(cluster, hubId);
      await install(cluster, { hubId, hubUser: stage.hubUser });
      await install(cluster, { hubId: stage.otherHubId, hubUser: stage.otherHubUser });
      await Promise.all([hubId, stage.otherHubId].map((hub) => enforced(stage, hub)));
    }, 120_000);

    test("are accepted without a warning of the type checker", async () => {
      for (const guard of guards) {
        const { policy } = guardPolicyOf(guard, { hubId, hubUser: stage.hubUser });
        const { name = "" } = policy.metadata;
        const status = await waitFor(`the type check of ${name}`, async () => {
          const found = await fleet()
            .spoke(0)
            .admin.get({ ...policy, name });
          return valueAt(found, "status", "typeChecking");
        });
        expect(status).toEqual({});
      }
    });

    test("leave objects alone that have no annotations, labels or finalizers", async () => {
      const path = `/api/v1/namespaces/${stage.namespace}/configmaps`;
      const metadata = { name: stage.newName() };
      expect((await stage.send("tenant", "POST", path, { metadata })).status).toBe(201);
      const object = `${path}/${metadata.name}`;
      expect((await stage.send("tenant", "PUT", object, { metadata })).status).toBe(200);
      expect((await stage.send("tenant", "DELETE", object)).status).toBe(200);
    });

    test.each(rows)("$id $title", async ({ run, expected, message }) => {
      const { reply, place } = await run(stage);
      const text = message === undefined ? "" : message(stage, place);
      expect(reply).toMatchObject({
        status: expected,
        message: expect.stringMatching(new RegExp(`${RegExp.escape(text)}$`, "m")),
      });
    });
  },
);

async function install(
  cluster: Cluster,
  owner: { readonly hubId: string; readonly hubUser: string },
): Promise<void> {
  for (const guard of guards) {
    const { policy, binding } = guardPolicyOf(guard, owner);
    await cluster.admin.apply(policy);
    await cluster.admin.apply(binding);
  }
}

/** One API server: the first refusal of a probe is the proof. */
async function enforced(stage: GuardStage, hub: string): Promise<void> {
  const user = hub === stage.hubId ? "controller" : "otherController";
  const annotations = { ...stage.markers(hub), "operator.knative.dev/enforcement-probe": "1" };
  const path = `/api/v1/namespaces/${stage.namespace}/configmaps?dryRun=All`;
  const labels = { "operator.knative.dev/anchor-namespace": hub };
  await waitFor(`the guards of ${hub}`, async () => {
    const [anchor, namespace] = await Promise.all([
      stage.send(user, "POST", path, { metadata: { name: "probe", annotations } }),
      stage.send(user, "POST", "/api/v1/namespaces?dryRun=All", {
        metadata: { name: "probe", labels, annotations },
      }),
    ]);
    return anchor.status === 403 && namespace.status === 403;
  });
}
