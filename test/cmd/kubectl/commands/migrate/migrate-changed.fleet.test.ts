import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { keyOf, type Manifest } from "../../../../../api/kubernetes.ts";
import { type FaultProxy, startFaultProxy } from "../../../../faults/fault-proxy.ts";
import { WriteLog } from "../../../../faults/write-log.ts";
import { valueAt } from "../../../../fleet/json-record.ts";
import { writeKubeconfig } from "../../../../fleet/kubeconfig.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { controllerBinding } from "../../controller-binding.ts";
import { type Ran, runKnfleet } from "../../run-knfleet.ts";
import {
  deploymentOf,
  helmRecordOf,
  leaseOf,
  operatorBindings,
  operatorNamespace,
} from "./upstream-chart-objects.ts";

const fleet = useFleet({ spokes: 0 });
const release = { name: "knative-operator", namespace: operatorNamespace };
const operator = deploymentOf("knative-operator");
/** Of the Helm release of the operator. */
const settings: Manifest = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { ...operator.metadata, name: "settings" },
};
let proxy: FaultProxy;
let kubeconfig: string;

beforeAll(async () => {
  const { hub, folder } = fleet();
  const { name: cluster, server, caPem } = hub;
  for (const name of [operatorNamespace, "knfleet-system"])
    await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const objects = [operator, settings, helmRecordOf(release, "knative-operator")];
  const bindings = operatorBindings({ namespace: operatorNamespace, release });
  for (const one of [...objects, ...bindings, controllerBinding("knfleet", "knfleet-system")])
    await hub.admin.apply(one);
  proxy = await startFaultProxy({ cluster, server, caPem, log: new WriteLog() });
  const { token } = await hub.serviceAccountToken({
    namespace: "default",
    name: "admin",
    clusterRoles: ["cluster-admin"],
  });
  kubeconfig = await writeKubeconfig(join(folder, "through-proxy.kubeconfig"), {
    name: "hub",
    server: proxy.url,
    caPem: proxy.caPem,
    identity: { token },
  });
}, 600_000);
afterAll(() => proxy[Symbol.asyncDispose]());

/** Runs a migration during which somebody else changes an object just before its first write arrives. */
async function migrate(
  [method, path]: readonly [method: string, path: string],
  change: () => Promise<unknown>,
  timeout: string,
): Promise<Ran> {
  let changed: Promise<unknown> | undefined;
  using _rule = proxy.inject((request) => {
    if (changed !== undefined || request.method !== method) return undefined;
    if (!request.path.includes(path)) return undefined;
    changed = change();
    return { kind: "pass", delayMs: 1_000 };
  });
  const args = ["migrate", "from-upstream", "--apply", "--yes", "--timeout", timeout];
  const ran = await runKnfleet(args, { env: { KUBECONFIG: kubeconfig } });
  await changed;
  expect(changed).toBeDefined();
  return ran;
}

test("a Deployment that somebody changed since it was read keeps that, and is read again", async () => {
  const { admin } = fleet().hub;
  const theirs = { metadata: { annotations: { theirs: "yes" } }, spec: { replicas: 3 } };
  const { stdout, exitCode } = await migrate(
    ["PATCH", "/deployments/knative-operator"],
    () => admin.patch(keyOf(operator), theirs),
    "10s",
  );
  expect(stdout).toContain("again: 2 stop-upstream: changed by somebody else since it was read");
  expect(stdout).toContain("done: 2 stop-upstream");
  expect(exitCode).toBe(124);
  const found = await admin.get(keyOf(operator));
  expect(found?.metadata.annotations).toMatchObject(theirs.metadata.annotations);
  expect(valueAt(found, "spec", "replicas")).toBe(0);
});

test("an object that somebody made anew since it was read stays", async () => {
  const { admin } = fleet().hub;
  await admin.apply(leaseOf("knfleet-system", "knfleet-controller"));
  const { namespace, name } = settings.metadata;
  const theirs = { ...settings, metadata: { namespace, name }, data: { theirs: "yes" } };
  const { stdout, exitCode } = await migrate(
    ["DELETE", "/configmaps/settings"],
    async () => {
      await admin.remove(keyOf(settings));
      await admin.create(theirs);
    },
    "60s",
  );
  expect(stdout).toContain("again: 7 remove-upstream: changed by somebody else since it was read");
  expect(exitCode).toBe(0);
  expect(await admin.get(keyOf(settings))).toMatchObject({ data: theirs.data });
  expect(await admin.get(keyOf(operator))).toBeUndefined();
});
