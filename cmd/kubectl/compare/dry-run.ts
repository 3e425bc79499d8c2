import { ApiError } from "../../../access/kube/api-error.ts";
import { collectionPath } from "../../../access/kube/kube-path.ts";
import { codeOfRefusal } from "../../../access/kube/obstacle.ts";
import { isRecord } from "../../../api/fields.ts";
import { foreignText } from "../../../api/foreign-text.ts";
import { describe, type KubeObject, type Manifest } from "../../../api/kubernetes.ts";
import { isReplaceable } from "../../../controller/apply/refusals.ts";
import { guardLabels } from "../../../installation/anchor.ts";
import {
  bodyOf,
  type Installation,
  outlives,
  type DesiredObject,
} from "../../../installation/desired.ts";
import {
  isHandedOver,
  pathsToRelease,
  withoutHandedOver,
} from "../../../installation/hand-over.ts";
import { changeField } from "../../../render/fields.ts";
import { withLiveFields } from "./render-component.ts";
import type { TargetInstallation } from "./target-installation.ts";

/** The answer of a server if the controller sent an object now. Nothing is stored. */
export type DryRun =
  | { readonly kind: "stored"; readonly object: Manifest }
  /** The object cannot be changed in place: the controller would delete and create it. */
  | { readonly kind: "replaced"; readonly message?: undefined }
  /** The server refuses the object, with this message. */
  | { readonly kind: "refused"; readonly message: string };

export interface DryRunDeps {
  readonly place: TargetInstallation;
  /** Whether an autoscaler of the release sets the replicas of a workload. */
  readonly isScaled: (manifest: Manifest) => boolean;
}

/**
 * Asks the server by a dry run of the controller's own request: a server-side apply by the same manager, without the fields that others have taken over.
 * Only fields that we send can differ, in the form in which the server stores them.
 */
export async function dryRun(
  object: DesiredObject,
  live: KubeObject | undefined,
  {
    deps: { place, isScaled },
    signal,
  }: { readonly deps: DryRunDeps; readonly signal: AbortSignal },
): Promise<DryRun> {
  const { client, fieldManager } = place.target;
  const scaled = isScaled(object.manifest);
  const body = sentBody(object, live, { place, scaled });
  const ref = { ...object.key, resource: object.resource };
  try {
    if (live === undefined) {
      // By `request`: the result of a dry run has no resourceVersion, so that `create` would refuse it.
      const path = collectionPath(ref, { dryRun: "All", fieldManager });
      await client.request("POST", path, body, signal);
      return { kind: "stored", object: body };
    }
    const options = { fieldManager, force: true, dryRun: true };
    const answer = await client.apply(ref, body, options, signal);
    const { apiVersion, kind } = object.key;
    const stored: Manifest = { ...answer, apiVersion, kind };
    const isTaken = pathsToRelease(live, { manager: fieldManager, isScaled: scaled }).length > 0;
    return { kind: "stored", object: isTaken ? keepTakenFields(stored, live, scaled) : stored };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 401) throw error;
    if (isReplaceable(object.key, error.causes)) return { kind: "replaced" };
    // A webhook or policy chooses its status.
    const isDenied = codeOfRefusal(error) === "AdmissionRefused";
    // Its namespace or its kind does not exist yet.
    if (live === undefined && error.status === 404 && !isDenied) {
      return { kind: "stored", object: object.manifest };
    }
    return { kind: "refused", message: refusalText(object, error) };
  }
}

/** The message about a Secret may hold its values. */
function refusalText({ key }: DesiredObject, { status, message }: ApiError): string {
  const why = key.kind === "Secret" ? `status ${status}` : foreignText(message);
  return `${describe(key)}: ${why}`;
}

function sentBody(
  object: DesiredObject,
  live: KubeObject | undefined,
  { place, scaled }: { readonly place: TargetInstallation; readonly scaled: boolean },
): Manifest {
  const { fieldManager, hubId } = place.target;
  const guard = live?.metadata.labels?.[guardLabels.crd];
  const installation = installationOf(place, guard === hubId && outlives(object.key));
  const body = installation === undefined ? object.manifest : bodyOf(object, installation);
  if (live === undefined || !(scaled || isHandedOver(body))) return body;
  return withoutHandedOver(body, live, fieldManager);
}

/** Undefined without an anchor, which owns the objects. */
function installationOf(
  { component, target, anchor, secondOwner }: TargetInstallation,
  guardsCrd: boolean,
): Installation | undefined {
  if (anchor === undefined) return undefined;
  return {
    owner: anchor.owner,
    namespace: target.namespace,
    componentUid: component.metadata.uid,
    ...(secondOwner === undefined ? {} : { secondOwner }),
    ...(guardsCrd ? { crdGuard: target.hubId } : {}),
  };
}

/** The live values of fields that others have taken over: the controller releases these fields, so that they stay. */
function keepTakenFields(stored: Manifest, live: Manifest, scaled: boolean): Manifest {
  if (!scaled) return withLiveFields([live])(stored);
  const spec = live["spec"];
  const replicas = isRecord(spec) ? spec["replicas"] : undefined;
  return changeField(stored, ["spec"], (own) => (isRecord(own) ? { ...own, replicas } : own));
}
