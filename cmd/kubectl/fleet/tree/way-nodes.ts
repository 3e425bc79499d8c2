import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { getProfile } from "../../../../access/kube/profile-versions.ts";
import type { ProviderFile } from "../../../../access/providers/provider-config.ts";
import { selectProvider } from "../../../../access/providers/select-provider.ts";
import { accessOf, type ResolvedAccess } from "../../../../access/spokes/resolved-access.ts";
import {
  type ClusterProfile,
  isClusterProfile,
  isHealthy,
  leavingMessage,
} from "../../../../api/cluster-profile.ts";
import type { ClusterProfileRef } from "../../../../api/component.ts";
import { conditionOf } from "../../../../api/conditions.ts";
import { FleetError } from "../../../../api/errors.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { findWantedSecret } from "../../findings/hops/plugin-secret.ts";
import { knfOf } from "../../output/knf-of.ts";
import { codedReason } from "../../output/names.ts";
import type { TreeNode } from "./tree-node.ts";

/** Objects on the hub between a component and its cluster. */
export interface Way {
  readonly profile: TreeNode;
  /** Whether the ClusterProfile exists; false also when it may not be read. */
  readonly exists: boolean;
  /** Null without a provider file. */
  readonly provider: TreeNode | null;
  /** Null when the plugin reads no known Secret. */
  readonly secret: TreeNode | null;
  /** Address of the cluster; null when it cannot be resolved. */
  readonly server: string | null;
}

export interface WayDeps {
  readonly hub: KubeClient;
  /** Undefined: no provider file was named. */
  readonly providers: ProviderFile | undefined;
  /** Environment of the exec plugins. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Namespace in which plugins look for Secrets, unless a kubeconfig of the provider file names one. */
  readonly pluginNamespace: string | undefined;
}

/** Follows a reference on the hub as the controller does. A failed step is a node with the reason. Throws only when aborted. */
export async function readWay(
  ref: ClusterProfileRef,
  { providers, ...surroundings }: WayDeps,
  signal: AbortSignal,
): Promise<Way> {
  const none = { exists: false, provider: null, secret: null, server: null };
  const node = { kind: "ClusterProfile", ...ref, cluster: null, children: [] };
  let found: KubeObject | undefined;
  try {
    found = await getProfile(surroundings.hub, ref, signal);
  } catch (error) {
    signal.throwIfAborted();
    const message = error instanceof Error ? error.message : String(error);
    return { ...none, profile: { ...node, state: "UNKNOWN", message } };
  }
  if (found === undefined || !isClusterProfile(found)) {
    return { ...none, profile: { ...node, state: "FAIL", message: "does not exist" } };
  }
  const profile = { ...node, ...healthOf(found) };
  if (providers === undefined) return { ...none, profile, exists: true };
  const access = resolved(found, providers);
  if (access instanceof FleetError) {
    const reason = access.code ?? access.reason;
    const code = knfOf(reason, { message: access.sentence });
    const message = `${codedReason({ reason, code })}: ${access.sentence}`;
    const provider = { ...providerNode("<none>"), state: "FAIL", message } as const;
    return { ...none, profile, exists: true, provider };
  }
  const { plan, provider, endpoint } = access;
  return {
    profile,
    exists: true,
    provider: { ...providerNode(provider), message: plan.command },
    secret: await readSecretNode(access, surroundings, signal),
    server: endpoint.server,
  };
}

function healthOf(profile: ClusterProfile): Pick<TreeNode, "state" | "message"> {
  const leaving = leavingMessage(profile);
  if (leaving !== undefined) return { state: "FAIL", message: leaving };
  const said = conditionOf(profile.status?.conditions, "ControlPlaneHealthy");
  if (isHealthy(profile)) return { state: "OK", message: said?.type ?? "Joined" };
  const message =
    said === undefined
      ? "has no condition ControlPlaneHealthy"
      : `ControlPlaneHealthy=${said.status} ${said.reason ?? ""}: ${said.message ?? ""}`;
  return { state: "FAIL", message };
}

function resolved(profile: ClusterProfile, providers: ProviderFile): ResolvedAccess | FleetError {
  try {
    return accessOf(profile, selectProvider(profile, providers), Date.now());
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
}

function providerNode(name: string): TreeNode {
  const state = "OK";
  return {
    kind: "Provider",
    namespace: null,
    name,
    cluster: null,
    state,
    message: null,
    children: [],
  };
}

/** Reads the metadata of the Secret, and not its data. */
async function readSecretNode(
  { plan }: ResolvedAccess,
  { hub, environment, pluginNamespace }: Omit<WayDeps, "providers">,
  signal: AbortSignal,
): Promise<TreeNode | null> {
  const wanted = await findWantedSecret(plan, environment);
  if (wanted === undefined) return null;
  const { name } = wanted;
  // A kubeconfig in the provider file has precedence over ours.
  const isOwn = !plan.env.some((variable) => variable.name === "KUBECONFIG");
  const namespace = (isOwn ? pluginNamespace : undefined) ?? wanted.namespace;
  const node = { kind: "Secret", namespace, name, cluster: null, children: [] };
  const resource = knownResource("v1", "Secret");
  try {
    const found = await hub.get({ resource, namespace, name }, { metadataOnly: true }, signal);
    return found === undefined
      ? { ...node, state: "FAIL", message: "does not exist" }
      : { ...node, state: "OK", message: null };
  } catch (error) {
    signal.throwIfAborted();
    if (!(error instanceof ApiError)) throw error;
    const message = error.status === 403 ? "you may not look" : error.message;
    return { ...node, state: "UNKNOWN", message };
  }
}
