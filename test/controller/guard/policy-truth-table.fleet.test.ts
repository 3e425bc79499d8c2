// Servers of its own: an older minor of Kubernetes beside the current one.
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { keyOf } from "../../../api/kubernetes.ts";
import { guardPolicyOf } from "../../../controller/guard/policy.ts";
import { anchorAnnotations } from "../../../installation/anchor.ts";
import type { GuardOwner } from "../../../installation/guard/guard-view.ts";
import type { Cluster, KubernetesMinor } from "../../fleet/cluster.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { type GuardStage, openGuardStage } from "./guard-stage.ts";
import { startGuardWebhook } from "./guard-webhook.ts";
import { anchorRows } from "./truth-anchor-rows.ts";
import { crdRows } from "./truth-crd-rows.ts";
import { deleteRows } from "./truth-delete-rows.ts";
import { deletingRows } from "./truth-deleting-rows.ts";
import { hubRows } from "./truth-hub-rows.ts";
import { namespaceRows } from "./truth-namespace-rows.ts";
import { annotate, collection, type TruthRow } from "./truth-row.ts";

const sections = [anchorRows, deleteRows, deletingRows, namespaceRows, hubRows, crdRows];
const rows = sections.flat();
const hubId = "11111111-2222-3333-4444-555555555555";
const guards = ["anchor-guard", "namespace-guard", "crd-guard"] as const;
const versions = {
  "1.36": "v1.36.3",
  "1.35": "v1.35.4",
} as const satisfies Readonly<Record<KubernetesMinor, string>>;
const appLabels = { app: "web" };
const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "web", namespace: "default" },
  spec: {
    selector: { matchLabels: appLabels },
    template: {
      metadata: { labels: appLabels },
      spec: { containers: [{ name: "web", image: "example.invalid/web" }] },
    },
  },
};

function ownersOf(stage: GuardStage): readonly GuardOwner[] {
  return [
    { hubId, hubUsers: stage.hubUsers },
    { hubId: stage.otherHubId, hubUsers: stage.otherHubUsers },
  ];
}

test("the truth table has all rows of anchor-guard.md 4", () => {
  const ids = rows.flatMap(({ id }) => id.split(", "));
  expect(new Set(ids).size).toBe(ids.length);
  // All but H12, which is about the policies themselves.
  expect(ids.length).toBe(138);
});

describe.each(["1.36", "1.35"] satisfies KubernetesMinor[])("policies, Kubernetes %s", (minor) => {
  const fleet = useSpokes([{ kubernetes: minor }]);
  let stage: GuardStage;

  beforeAll(async () => {
    const cluster = fleet().spoke(0);
    stage = await openGuardStage(cluster, hubId);
    for (const owner of ownersOf(stage)) await install(cluster, owner);
    await enforced(stage);
  }, 600_000);

  test("are on a cluster of that version, which makes a Deployment available", async () => {
    const { admin } = fleet().spoke(0);
    expect(valueAt(await admin.request("GET", "/version"), "gitVersion")).toBe(versions[minor]);
    await admin.create(deployment);
    await waitFor("the Deployment", async () => {
      const found = await admin.get(keyOf(deployment));
      return valueAt(found, "status", "availableReplicas") === 1;
    });
  });

  test("are accepted without a warning of the type checker", async () => {
    for (const guard of guards) {
      const { policy } = guardPolicyOf(guard, { hubId, hubUsers: stage.hubUsers });
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
    expect(await plainWrites(stage)).toEqual([201, 200, 200]);
  });

  test("let each user of a hub in, and no other hub's", async () => {
    expect(await writesInTurn(stage)).toEqual([201, 200, 403, 200]);
  });

  test.each(rows)("$id $title", async (row) => {
    const { status, message, text } = await answerTo(row, stage);
    expect(status).toBe(row.expected);
    expect(message).toMatch(text);
  });

  test("H12 hub A may delete the policy of hub B: nothing protects policies", async () => {
    const { policy } = guardPolicyOf("crd-guard", {
      hubId: stage.otherHubId,
      hubUsers: stage.otherHubUsers,
    });
    const all = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
    const path = `${all}/${policy.metadata.name}`;
    expect((await stage.send("controller", "DELETE", path)).status).toBe(200);
  });
});

describe("the webhook at /validate/anchor", () => {
  const fleet = useSpokes([{ kwok: false, admissionWebhooks: true }]);
  let stage: GuardStage;
  let webhook: AsyncDisposable;

  beforeAll(async () => {
    const cluster = fleet().spoke(0);
    stage = await openGuardStage(cluster, hubId);
    webhook = await startGuardWebhook(cluster, ownersOf(stage));
    await enforced(stage);
  }, 600_000);
  afterAll(() => webhook[Symbol.asyncDispose]());

  test("leaves objects alone that have no annotations, labels or finalizers", async () => {
    expect(await plainWrites(stage)).toEqual([201, 200, 200]);
  });

  test("lets each user of a hub in, and no other hub's", async () => {
    expect(await writesInTurn(stage)).toEqual([201, 200, 403, 200]);
  });

  test.each(rows)("$id $title", async (row) => {
    const { status, message, text } = await answerTo(row, stage);
    expect(status).toBe(row.expected);
    expect(message).toMatch(text);
  });
});

/** What a row was answered, and what its message has to end with. */
async function answerTo(
  { run, message }: TruthRow,
  stage: GuardStage,
): Promise<{ readonly status: number; readonly message: string; readonly text: RegExp }> {
  const { reply, place } = await run(stage);
  const text = message === undefined ? "" : message(stage, place);
  return { ...reply, text: new RegExp(`${RegExp.escape(text)}$`, "m") };
}

/** Answers to writes of a ConfigMap that has nothing but a name. */
async function plainWrites(stage: GuardStage): Promise<readonly number[]> {
  const path = `/api/v1/namespaces/${stage.namespace}/configmaps`;
  const metadata = { name: stage.newName() };
  const object = `${path}/${metadata.name}`;
  const created = await stage.send("tenant", "POST", path, { metadata });
  const replaced = await stage.send("tenant", "PUT", object, { metadata });
  const removed = await stage.send("tenant", "DELETE", object);
  return [created, replaced, removed].map(({ status }) => status);
}

/** Answers to writes of one anchor by the users of its hub, the third by that of the other hub. */
async function writesInTurn(stage: GuardStage): Promise<readonly number[]> {
  const path = collection(stage.namespace);
  const metadata = { name: stage.newName(), annotations: stage.markers() };
  const object = `${path}/${metadata.name}`;
  const componentUid = annotate({ [anchorAnnotations.componentUid]: "cr-2" });
  const created = await stage.send("secondController", "POST", path, { metadata });
  const changed = await stage.patch("controller", "merge", object, componentUid);
  const kept = await stage.send("otherController", "DELETE", object);
  const removed = await stage.send("secondController", "DELETE", object);
  return [created, changed, kept, removed].map(({ status }) => status);
}

async function install(cluster: Cluster, owner: GuardOwner): Promise<void> {
  for (const guard of guards) {
    const { policy, binding } = guardPolicyOf(guard, owner);
    await cluster.admin.apply(policy);
    await cluster.admin.apply(binding);
  }
}

/** With one API server the first refusal of a probe is proof enough. */
async function enforced(stage: GuardStage): Promise<void> {
  const users = { controller: stage.hubId, otherController: stage.otherHubId } as const;
  const path = `/api/v1/namespaces/${stage.namespace}/configmaps?dryRun=All`;
  for (const user of ["controller", "otherController"] as const) {
    const hub = users[user];
    const annotations = { ...stage.markers(hub), "operator.knative.dev/enforcement-probe": "1" };
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
}
