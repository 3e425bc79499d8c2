import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { type AllowedSource, allowedSourceOf } from "../../../access/manifests/manifest-url.ts";
import { isShared, referenceModes } from "../../../access/providers/reference-policy.ts";
import {
  defaultSpokeNamespace,
  type SpokeNamespaceMode,
  spokeNamespaceModes,
} from "../../../installation/installation-namespace.ts";
import { controllerDeployments, flagOf, flagValuesOf } from "../hub/find-controller.ts";
import { installedNamespaces } from "../hub/installed-namespaces.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";

/** What the controller on the hub was started with, as far as a rendering depends on it. */
export interface ControllerRules {
  readonly manifests: ManifestRules;
  readonly spokeNamespace: SpokeNamespaceMode;
}

/** Which manifests a controller fetches. */
export interface ManifestRules {
  readonly sources: readonly AllowedSource[];
  /** Whether a URL has to say the digest of its content. */
  readonly isPinned: boolean;
}

/**
 * The flags that the controller on the hub was started with, by its Deployment in a namespace in which knfleet is installed, or why they are not known,
 * as half a sentence. Throws only when aborted, and what is a bug.
 */
export async function controllerRules(
  hub: Pick<KubeClient, "list">,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ControllerRules | string> {
  try {
    const late = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
    const [all, homes] = await Promise.all([
      controllerDeployments(hub, late),
      installedNamespaces(hub, late),
    ]);
    const [controller, ...more] = all.filter(
      ({ flavour, namespace }) => flavour === "knfleet" && homes.has(namespace),
    );
    if (controller === undefined) return "the hub has no controller of knfleet that says so";
    if (more.length > 0) return "the hub has several controllers of knfleet";
    const wanted = flagOf(controller, "--reference-mode") ?? "Any";
    const manifests = {
      sources: flagValuesOf(controller, "--manifest-source").flatMap(
        (text) => allowedSourceOf(text) ?? [],
      ),
      isPinned: referenceModes.some((mode) => mode === wanted && isShared({ mode })),
    };
    const mode = flagOf(controller, "--spoke-namespace");
    const spokeNamespace = spokeNamespaceModes.find((one) => one === mode) ?? defaultSpokeNamespace;
    return { manifests, spokeNamespace };
  } catch (error) {
    signal.throwIfAborted();
    return whyNot(error);
  }
}

function whyNot(error: unknown): string {
  if (error instanceof ApiError && error.status === 403) {
    return "the right to list Deployments or ClusterRoleBindings of the hub is missing";
  }
  if (error instanceof ApiError) return `the hub answered ${error.status} when asked for it`;
  if (error instanceof ConnectionError) return error.message;
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return "the hub did not say so in time";
  }
  throw error;
}

/** What the controller on the hub was started with, asked for when somebody wants to know it, and once. */
export function rulesOfHub(
  { hub, hubTimeoutMs }: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  signal: AbortSignal,
): () => ReturnType<typeof controllerRules> {
  let found: ReturnType<typeof controllerRules> | undefined;
  return () => (found ??= controllerRules(hub, hubTimeoutMs, signal));
}
