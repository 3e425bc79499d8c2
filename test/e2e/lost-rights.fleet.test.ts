import { beforeAll, expect, test } from "vitest";

import type { ObjectKey } from "../../api/kubernetes.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { condition, create, ready } from "./installation.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: 1 });
const namespace = "knative-eventing";
const apps = { apiVersion: "apps/v1", kind: "Deployment" };
const deployment: ObjectKey = { ...apps, namespace, name: "eventing-controller" };
const binding: ObjectKey = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRoleBinding",
  name: "test:knfleet:knfleet-hub:knfleet-spoke",
};

beforeAll(async () => {
  const { hub, profiles } = scene();
  await create(hub, { kind: "KnativeEventing", on: profiles[0] });
  await ready(hub, "KnativeEventing");
}, 600_000);

/** Ends all watches, as the server does with each of them after some minutes. */
async function endWatches(): Promise<void> {
  const { proxy } = scene().fleet.spoke(0);
  await proxy.setMode("reset");
  await proxy.setMode("open");
}

test("a component whose rights on the spoke are taken away says so, and is put right when they are back", async () => {
  const { hub, fleet } = scene();
  const { admin } = fleet.spoke(0);
  const before = await admin.get(binding);
  if (before === undefined) throw new Error("The controller has no rights");
  await admin.remove(binding);
  await endWatches();
  await condition(hub, "KnativeEventing", [
    "Ready",
    { status: "False", message: /not allowed|forbidden/ },
    40_000,
  ]);
  await admin.remove(deployment);
  const { apiVersion, kind, name } = binding;
  await admin.create({
    apiVersion,
    kind,
    metadata: { name },
    roleRef: before["roleRef"],
    subjects: before["subjects"],
  });
  await waitFor("the Deployment to be back", async () => await admin.get(deployment), {
    timeoutMs: 60_000,
  });
  const component = await ready(hub, "KnativeEventing", 60_000);
  expect(component["status"]).toMatchObject({ version: "1.23.1" });
});
