import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import { isShared, referenceModes } from "../../../access/providers/reference-policy.ts";
import { withTimeout } from "../../../access/time/deadline.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { type AllowedSource, allowedSourceOf } from "../../../access/urls/allowed-source.ts";
import {
  defaultSpokeNamespace,
  type SpokeNamespaceMode,
  spokeNamespaceModes,
} from "../../../installation/installation-namespace.ts";
import { minVersionVariable } from "../../../render/release/version.ts";
import { UsageError } from "../errors.ts";
import {
  type ControllerDeployment,
  listControllerDeployments,
  flagOf,
  flagValuesOf,
  onlyController,
  severalText,
  soleController,
  variableOf,
} from "../hub/find-controller.ts";
import type { ClusterAccess } from "../spokes/cluster-access.ts";

type Hub = Pick<ClusterAccess, "hub" | "hubTimeoutMs">;

type ListControllers = () => Promise<readonly ControllerDeployment[]>;

/** The flags of the controller on the hub that a rendering depends on. */
export interface ControllerRules {
  readonly manifests: ManifestRules;
  readonly spokeNamespace: SpokeNamespaceMode;
}

/** The manifests that a controller may fetch. */
export interface ManifestRules {
  readonly sources: readonly AllowedSource[];
  /** Whether a URL needs the digest of its content. */
  readonly isPinned: boolean;
}

/**
 * Reads the flags of the controller on the hub, from its Deployment. Returns half a sentence why they are not known otherwise. Throws only bugs, and the reason
 * of an abort.
 */
async function readControllerRules(
  controllers: ListControllers,
  signal: AbortSignal,
): Promise<ControllerRules | string> {
  try {
    const controller = onlyController(await controllers(), "knfleet");
    if (controller === undefined) return "the hub has no controller of knfleet that says so";
    const referenceMode = flagOf(controller, "--reference-mode") ?? "Any";
    const manifests = {
      sources: flagValuesOf(controller, "--manifest-source").flatMap(
        (text) => allowedSourceOf(text) ?? [],
      ),
      isPinned: referenceModes.some((mode) => mode === referenceMode && isShared({ mode })),
    };
    const mode = flagOf(controller, "--spoke-namespace");
    const spokeNamespace = spokeNamespaceModes.find((one) => one === mode) ?? defaultSpokeNamespace;
    return { manifests, spokeNamespace };
  } catch (error) {
    signal.throwIfAborted();
    return whyNot(error);
  }
}

/** What a rendering takes of the environment of the controller on the hub. */
export interface ControllerEnvironment {
  /** Empty when the controller is not found, or cannot be read. */
  readonly environment: Readonly<Record<string, string>>;
  /** Names the Deployments of which each may be the controller. Undefined: they are not several. */
  readonly several: string | undefined;
}

/** Reads the environment of the controller on the hub, as far as a rendering depends on it. Of several controllers none is believed. */
export async function controllerEnvironment(
  controllers: ListControllers,
): Promise<ControllerEnvironment> {
  try {
    const all = await controllers();
    const ours = soleController(all, "knfleet");
    const least = ours && variableOf(ours, minVersionVariable);
    return {
      environment: least === undefined ? {} : { [minVersionVariable]: least },
      several: severalText(all, "knfleet"),
    };
  } catch (error) {
    if (error instanceof ApiError) return { environment: {}, several: undefined };
    throw error;
  }
}

function whyNot(error: unknown): string {
  if (error instanceof ApiError && error.status === 403) {
    return "the right to list Deployments or ClusterRoleBindings of the hub is missing";
  }
  if (error instanceof ApiError) return `the hub answered ${error.status} when asked for it`;
  if (error instanceof UsageError || error instanceof ConnectionError) return error.message;
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return "the hub did not say so in time";
  }
  throw error;
}

/** Returns a function that lists the controllers on the hub at its first call. */
export function controllersOfHub({ hub, hubTimeoutMs }: Hub, signal: AbortSignal): ListControllers {
  let listed: ReturnType<ListControllers> | undefined;
  return () =>
    (listed ??= listControllerDeployments(hub, withTimeout(systemClock, hubTimeoutMs, signal)));
}

/**
 * Returns a function that reads the rules of the controller on the hub at its first call, or half a sentence why they are not known. `controllers`: of a
 * command that asks for them anyway.
 */
export function rulesOfHub(
  access: Hub,
  signal: AbortSignal,
  controllers = controllersOfHub(access, signal),
): () => Promise<ControllerRules | string> {
  let rules: Promise<ControllerRules | string> | undefined;
  return () => (rules ??= readControllerRules(controllers, signal));
}
