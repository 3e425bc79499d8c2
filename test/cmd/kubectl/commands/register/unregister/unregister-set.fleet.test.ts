import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { operatorApiVersion } from "../../../../../../api/component.ts";
import { fleetSetApiVersion } from "../../../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../../../api/kubernetes.ts";
import {
  builtInProviderFile,
  letControllerReadSecrets,
} from "../../../../../e2e/built-in-access.ts";
import { writeThinRelease } from "../../../../../e2e/thin-release.ts";
import { applyFile } from "../../../../../fleet/hub-access.ts";
import { conditionOf, valueAt } from "../../../../../fleet/json-record.ts";
import { useFleet } from "../../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../../fleet/wait-for.ts";
import {
  type ControllerProcess,
  startControllerProcess,
} from "../../../../../support/controller-process.ts";
import { type Ran, runOnFleet } from "../../../run-knfleet.ts";

const fleet = useFleet({ spokes: 1 });
const setsRoleFile = join(import.meta.dirname, "../../../../../../docs/sets-role.yaml");
const patience = { timeoutMs: 120_000 };
const kind = "KnativeEventing";
const set = {
  apiVersion: fleetSetApiVersion,
  kind: "KnativeEventingSet",
  namespace: "fleet",
  name: "prod",
};

let providerFile: string;
let controller: ControllerProcess;
beforeAll(async () => {
  const { hub, folder } = fleet();
  providerFile = await builtInProviderFile(fleet(), { name: "unregister-set" });
  for (const name of ["fleet", "fleet-credentials"]) {
    await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  await letControllerReadSecrets(hub);
  const kubeconfig = await fleet().controllerKubeconfig();
  await applyFile(hub, setsRoleFile);
  controller = await startControllerProcess({
    kubeconfig,
    providerFile,
    releaseDir: await writeThinRelease(folder, 2),
    flags: ["--sets"],
  });
}, 600_000);
afterAll(async () => controller[Symbol.asyncDispose]());

function knfleet(...args: readonly string[]): Promise<Ran> {
  return runOnFleet(fleet(), providerFile, args);
}

async function components(): Promise<readonly KubeObject[]> {
  const { admin } = fleet().hub;
  return admin.list({ apiVersion: operatorApiVersion, kind, namespace: "fleet" });
}

test("a cluster that a set selects is taken out of the set before its component is deleted", async () => {
  const { hub } = fleet();
  const labels = ["--labels", "env=prod"];
  await knfleet("register", "eu-1", "--from-context", "spoke-1", ...labels, "--yes");
  await hub.admin.create({
    apiVersion: set.apiVersion,
    kind: set.kind,
    metadata: { namespace: set.namespace, name: set.name },
    spec: {
      clusters: { from: "Selector", selector: { matchLabels: { env: "prod" } } },
      template: { spec: { version: "1.23" } },
    },
  });
  const stamped = await waitFor(
    "the component of the set to be ready",
    async () => {
      const [found] = await components();
      return conditionOf(found, "Ready")?.status === "True" && found;
    },
    patience,
  );
  const { name } = stamped.metadata;

  const refused = await knfleet("unregister", "fleet/eu-1", "--yes");
  expect(refused.exitCode).toBe(2);
  const steps = refused.stderr.split("\n").filter((line) => /^(?:next|hint): /.test(line));
  const hold = "kubectl label clusterprofiles.multicluster.x-k8s.io eu-1 -n fleet";
  expect(steps).toEqual([
    "hint: The cluster is selected by KnativeEventingSet fleet/prod, which would make a deleted component again. Keep the cluster from all sets first:",
    `next: ${hold} knfleet.dev/hold=true`,
    "hint: Delete the components then; that removes Knative from the cluster:",
    `next: kubectl delete knativeeventing ${name} -n fleet`,
  ]);

  const profile = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile" };
  const metadata = { labels: { "knfleet.dev/hold": "true" } };
  await hub.admin.patch({ ...profile, namespace: "fleet", name: "eu-1" }, { metadata });
  const held = await knfleet("unregister", "fleet/eu-1", "--yes");
  expect(held.stderr).not.toContain("knfleet.dev/hold");
  await hub.admin.remove({ apiVersion: operatorApiVersion, kind, namespace: "fleet", name });
  const isExcluded = async (): Promise<boolean> =>
    valueAt(await hub.admin.get(set), "status", "clusters", "excluded") === 1 &&
    (await components()).length === 0;
  await waitFor("the component to be gone for good", isExcluded, patience);

  const { exitCode } = await knfleet("unregister", "fleet/eu-1", "--yes");
  expect(exitCode).toBe(0);
  expect(await components()).toEqual([]);
}, 400_000);
