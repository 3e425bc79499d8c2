import { join, resolve } from "node:path";

import { expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { valueAt } from "../fleet/json-record.ts";
import { readManifests } from "../fleet/manifest-files.ts";
import { create, gone, inventoryOf, leftovers, ready, remove } from "./installation.ts";
import { playAgent, usePullScene } from "./pull-scene.ts";

const scene = usePullScene();
const docs = resolve(import.meta.dirname, "../../docs");
const namespace = "knfleet-system";
const name = "knfleet-controller";

/** The documented rights of a controller that serves its own cluster, and the controller. */
async function controllerManifests(): Promise<readonly Manifest[]> {
  const roles = ["hub-role.yaml", "spoke-role.yaml"].map((file) => readManifests(join(docs, file)));
  const labels = { app: name };
  return [
    ...(await Promise.all(roles)).flat(),
    {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRoleBinding",
      metadata: { name: "knfleet-spoke" },
      roleRef: {
        apiGroup: "rbac.authorization.k8s.io",
        kind: "ClusterRole",
        name: "knfleet-spoke",
      },
      subjects: [{ kind: "ServiceAccount", namespace, name }],
    },
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace, name },
      spec: {
        selector: { matchLabels: labels },
        template: {
          metadata: { labels },
          spec: {
            serviceAccountName: name,
            containers: [
              { name: "controller", image: "example.invalid/knfleet", args: ["--install-crds"] },
            ],
          },
        },
      },
    },
  ];
}

test("the controller that a work brings installs a component of its spoke with the rights of the work", async () => {
  const { hub, spoke } = scene();
  await hub.admin.create({
    apiVersion: "work.open-cluster-management.io/v1",
    kind: "ManifestWork",
    metadata: { namespace: spoke.name, name: "knfleet" },
    spec: { workload: { manifests: await controllerManifests() } },
  });
  await using controller = await playAgent(spoke, { namespace, name, releaseDir: sampleDirOf() });
  const before = await inventoryOf(spoke);
  await create(spoke, { kind: "KnativeEventing" });
  const component = await ready(spoke, "KnativeEventing");
  expect(valueAt(component, "status", "version")).toMatch(/^1\.23\./);
  await remove(spoke, "KnativeEventing");
  await gone(spoke, "KnativeEventing");
  expect(await leftovers(spoke, before)).toEqual([]);
  expect(await controller.stop()).toMatchObject({ code: 0 });
});
