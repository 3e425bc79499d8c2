import { join, resolve } from "node:path";

import { afterAll, beforeAll } from "vitest";

import { clusterProfileApiVersion } from "../../api/cluster-profile.ts";
import { agentWorkName } from "../../api/delivery.ts";
import { keyOf, type NamespacedName } from "../../api/kubernetes.ts";
import { agentNamespace } from "../../controller/pull/agent.ts";
import type { Cluster, Fleet } from "../fleet/fleet.ts";
import { isRecord, valueAt } from "../fleet/json-record.ts";
import { readManifests } from "../fleet/manifest-files.ts";
import type { Agent } from "../fleet/ocm/agent.ts";
import { type Ocm, startOcm } from "../fleet/ocm/ocm.ts";
import { letExecute, writeWorkKubeconfig } from "../fleet/ocm/work-rights.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import {
  type ControllerProcess,
  type ControllerProcessOptions,
  startControllerProcess,
} from "../support/controller-process.ts";
import { componentOf } from "./installation.ts";

/** A hub and a spoke that Open Cluster Management has registered, whose ClusterProfile has no way in. */
export interface PullScene {
  readonly fleet: Fleet;
  readonly hub: Cluster;
  readonly spoke: Cluster;
  readonly ocm: Ocm;
  /** The agent of Open Cluster Management on the spoke. Disposing ends it. */
  readonly agent: Agent;
  /** For its part that carries out works: the rights that Open Cluster Management gives it. */
  readonly workKubeconfig: string;
}

/** Flags of a controller whose components may pull in the namespace of `docs/examples/ocm/hub.yaml`. */
export const pullFlags = [
  "--agent-image=registry.example/knfleet:v0.1.0",
  "--pull-namespace=fleet",
] as const;

const examples = resolve(import.meta.dirname, "../../docs/examples/ocm");
const patience = { timeoutMs: 180_000 };

/** Sets the scene for all tests of a file; the agent carries out works, with `mayExecute: false` only after `letExecute`. */
export function usePullScene({ mayExecute = true } = {}): () => PullScene {
  const fleet = useFleet({ spokes: 1 });
  const stack = new AsyncDisposableStack();
  let scene: PullScene | undefined;
  beforeAll(async () => {
    const { hub } = fleet();
    const spoke = fleet().spoke(0);
    const ocm = stack.use(await startOcm(fleet(), { profileCrd: "inventory", log: printLine }));
    for (const manifest of await readManifests(join(examples, "hub.yaml"))) {
      await waitFor("the manifest to be taken", () => hub.admin.apply(manifest));
    }
    const agent = await ocm.startAgent(spoke);
    await ocm.accept(spoke);
    const workKubeconfig = await writeWorkKubeconfig(spoke);
    if (mayExecute) await letExecute(spoke);
    await agent.startWork(workKubeconfig);
    scene = { fleet: fleet(), hub, spoke, ocm, agent, workKubeconfig };
  }, 1_800_000);
  afterAll(() => stack.disposeAsync());
  return () => {
    if (scene === undefined) throw new Error("The scene exists only in tests and hooks");
    return scene;
  };
}

function printLine(line: string): void {
  console.error(line);
}

/** Gives the profile that Open Cluster Management wrote for a spoke a way in, as its cluster-proxy does. Returns its name. */
export async function giveWayIn(
  fleet: Fleet,
  spoke: Cluster,
  namespace: string,
): Promise<NamespacedName> {
  const { admin } = fleet.hub;
  const type = { apiVersion: clusterProfileApiVersion, kind: "ClusterProfile" };
  const other = await fleet.addProfile(spoke, { plugin: "secretreader", name: `to-${spoke.name}` });
  const found = await admin.get({ ...type, namespace: other.namespace, name: other.name });
  const status = { accessProviders: valueAt(found, "status", "accessProviders") };
  const metadata = { namespace, name: spoke.name };
  const profile = { ...type, ...metadata };
  await waitFor("the profile", () => admin.get(profile));
  await admin.apply({ ...type, metadata, status }, { subresource: "status" });
  return metadata;
}

/** The spoke, to Open Cluster Management. */
export const clusterKey = {
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
  name: "spoke-1",
};

/** Uses Serving on the spoke. */
export const user = {
  apiVersion: "serving.knative.dev/v1",
  kind: "Service",
  metadata: { namespace: "default", name: "in-use" },
  spec: { template: { spec: { containers: [{ image: "registry.example/app" }] } } },
};

/** Writes the annotation of a component; null takes it off. */
export async function keepWhileUsed({ admin }: Cluster, value: string | null): Promise<void> {
  const metadata = { annotations: { "knfleet.dev/keep-while-used": value } };
  await admin.patch(keyOf(componentOf({ kind: "KnativeServing" })), { metadata });
}

/** What docs/removal.md grants for `knfleet.dev/keep-while-used`, here to the controller on the spoke. */
export async function letLookForUsers({ admin }: Cluster): Promise<void> {
  const rbac = "rbac.authorization.k8s.io";
  const metadata = { name: "knfleet-users" };
  const rules = [{ apiGroups: ["serving.knative.dev"], resources: ["*"], verbs: ["list"] }];
  const roleRef = { apiGroup: rbac, kind: "ClusterRole", ...metadata };
  const subjects = [{ kind: "ServiceAccount", namespace: agentNamespace, name: agentWorkName }];
  await admin.apply({ apiVersion: `${rbac}/v1`, kind: "ClusterRole", metadata, rules });
  await admin.apply({
    apiVersion: `${rbac}/v1`,
    kind: "ClusterRoleBinding",
    metadata,
    roleRef,
    subjects,
  });
}

/**
 * Plays the pod of a Deployment that a work brings: as soon as the Deployment is there, starts the controller of this project with its arguments and
 * variables, and with a token of its ServiceAccount. So its rights are those of the work. The process lasts until it is disposed.
 */
export async function playAgent(
  spoke: Cluster,
  {
    namespace,
    name,
    ...options
  }: NamespacedName & Pick<ControllerProcessOptions, "releaseDir" | "clockFactor">,
): Promise<ControllerProcess> {
  const key = { apiVersion: "apps/v1", kind: "Deployment", namespace, name };
  const found = async () => spoke.admin.get(key);
  const deployment = await waitFor(`Deployment ${namespace}/${name}`, found, patience);
  const pod = valueAt(deployment, "spec", "template", "spec");
  const container = valueAt(pod, "containers", 0);
  const account = String(valueAt(pod, "serviceAccountName"));
  const kubeconfig = await spoke.writeKubeconfig(`${name}.kubeconfig`, {
    identity: { token: await tokenOf(spoke, { namespace, name: account }) },
  });
  return startControllerProcess({
    ...options,
    kubeconfig,
    leaderElection: true,
    flags: listOf(valueAt(container, "args")).map(String),
    environment: variablesOf(container, namespace),
  });
}

/** What a kubelet gets for a pod; the rights of the account may come later. */
async function tokenOf({ admin }: Cluster, { namespace, name }: NamespacedName): Promise<string> {
  const path = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
  const request = { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: {} };
  const asked = () => admin.request("POST", path, request);
  const answer = await waitFor(`ServiceAccount ${namespace}/${name}`, asked, patience);
  return String(valueAt(answer, "status", "token"));
}

/** A variable without a value is the namespace of the pod. */
function variablesOf(container: unknown, namespace: string): Readonly<Record<string, string>> {
  const variables = listOf(valueAt(container, "env")).filter(isRecord);
  return Object.fromEntries(
    variables.map(({ name, value }) => [
      String(name),
      typeof value === "string" ? value : namespace,
    ]),
  );
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
