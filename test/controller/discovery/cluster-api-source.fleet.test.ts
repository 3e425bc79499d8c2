import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { ensureModuleFiles } from "../../fleet/binaries.ts";
import { applyFile } from "../../fleet/hub-access.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { kubeconfigOf } from "../../fleet/kubeconfig.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import type { ControllerProcess } from "../../support/controller-process.ts";
import {
  account,
  applyNamespaces,
  credentials,
  kubeconfigSecret,
  profileWith,
  startDiscovery,
} from "./fleet-parts.ts";

const fleet = useFleet({ spokes: 1 });

let token: string;
let controller: ControllerProcess;

beforeAll(async () => {
  token = (await fleet().spoke(0).serviceAccountToken(account)).token;
  await applyNamespaces(fleet());
  const crds = await ensureModuleFiles("cluster-api-crds");
  await applyFile(fleet().hub, join(crds, "cluster.x-k8s.io_clusters.yaml"));
  controller = await startDiscovery(fleet(), ["cluster-api"]);
}, 600_000);
afterAll(() => controller[Symbol.asyncDispose]());

function health(name: string, wanted: string): Promise<KubeObject> {
  return profileWith(fleet(), name, wanted);
}

/** A condition by which Cluster API tells whether it reaches a cluster. */
function probe(status: string, reason: string): object {
  const lastTransitionTime = "2026-11-01T00:00:00Z";
  return { type: "RemoteConnectionProbe", status, reason, message: "", lastTransitionTime };
}

/** The Secret that Cluster API writes for a Cluster. */
function kubeconfigOfCluster(name: string): Manifest {
  const labels = { "cluster.x-k8s.io/cluster-name": name };
  const { server, caPem } = fleet().spoke(0);
  const text = kubeconfigOf({ name: "spoke", server, caPem, identity: { token } });
  return kubeconfigSecret(`${name}-kubeconfig`, text, { labels, key: "value" });
}

test("Clusters of Cluster API become profiles with the health that they tell", async () => {
  const { hub } = fleet();
  const key = { apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster" };
  const metadata = { namespace: credentials, name: "capi", labels: { env: "prod" } };
  const infrastructureRef = { apiGroup: "infrastructure.cluster.x-k8s.io", kind: "DockerCluster" };
  await hub.admin.apply({
    ...key,
    metadata: { ...metadata, finalizers: ["example.com/wait"] },
    spec: { infrastructureRef: { ...infrastructureRef, name: "capi" } },
  });
  await health("capi", "False NotInitialized");
  await hub.admin.apply(kubeconfigOfCluster("capi"));
  const name = { ...key, namespace: credentials, name: "capi" };
  const setProbe = (status: string, reason: string): Promise<KubeObject> =>
    hub.admin.patch(
      name,
      {
        status: {
          initialization: { controlPlaneInitialized: true },
          conditions: [probe(status, reason)],
        },
      },
      { subresource: "status" },
    );
  await setProbe("True", "ProbeSucceeded");
  expect(await health("capi", "True Ready")).toMatchObject({
    metadata: {
      labels: {
        env: "prod",
        "cluster.x-k8s.io/cluster-name": "capi",
        "x-k8s.io/cluster-manager": "knfleet-cluster-api",
      },
    },
    status: {
      properties: [{ name: "cluster.x-k8s.io/infrastructure-kind", value: "DockerCluster" }],
      version: { kubernetes: expect.stringMatching(/^v1\./) },
    },
  });
  await setProbe("False", "ProbeFailed");
  await health("capi", "False ProbeFailed");
  await hub.admin.remove(name);
  await health("capi", "False ClusterDeleting");
  await hub.admin.patch(name, { metadata: { finalizers: null } });
  await health("capi", "False SourceGone");
});

test("Clusters are read as v1beta1 where Cluster API serves nothing newer", async () => {
  const { hub } = fleet();
  await controller[Symbol.asyncDispose]();
  await serveOnly("v1beta1");
  controller = await startDiscovery(fleet(), ["cluster-api"]);
  const key = { apiVersion: "cluster.x-k8s.io/v1beta1", kind: "Cluster" };
  const metadata = { namespace: credentials, name: "older" };
  const infrastructureRef = { kind: "DockerCluster", name: "older", namespace: credentials };
  await waitFor("Cluster API of before", () =>
    hub.admin.apply({ ...key, metadata, spec: { infrastructureRef } }).then(
      () => true,
      () => false,
    ),
  );
  await health("older", "False NotInitialized");
  await hub.admin.apply(kubeconfigOfCluster("older"));
  const setStatus = (status: object): Promise<KubeObject> =>
    hub.admin.patch({ ...key, ...metadata }, { status }, { subresource: "status" });
  await setStatus({ controlPlaneReady: true });
  expect(await health("older", "True Ready")).toMatchObject({
    status: {
      properties: [{ name: "cluster.x-k8s.io/infrastructure-kind", value: "DockerCluster" }],
    },
  });
  await setStatus({ v1beta2: { conditions: [probe("False", "ProbeFailed")] } });
  await health("older", "False ProbeFailed");
});

/** Lets the API server serve Clusters of Cluster API in one version alone, as older releases of it do. */
async function serveOnly(version: string): Promise<void> {
  const crd = {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    name: "clusters.cluster.x-k8s.io",
  };
  const versions = [valueAt(await fleet().hub.admin.get(crd), "spec", "versions")].flat();
  const changed = versions.map((one) => {
    const isWanted = valueAt(one, "name") === version;
    return { ...Object(one), served: isWanted, storage: isWanted };
  });
  await fleet().hub.admin.patch(crd, { spec: { versions: changed } });
}
