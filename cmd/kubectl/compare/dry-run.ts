import { ApiError } from "../../../access/kube/api-error.ts";
import { collectionPath } from "../../../access/kube/kube-path.ts";
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
import type { Place } from "./place.ts";
import { withLiveFields } from "./render-component.ts";

/** What a server would make of an object if the controller sent it now; nothing is stored. */
export type DryRun =
  | { readonly kind: "stored"; readonly object: Manifest }
  /** It cannot be changed in place, and the controller would make it anew. */
  | { readonly kind: "replaced"; readonly message?: undefined }
  /** The server refuses it, with this message. */
  | { readonly kind: "refused"; readonly message: string };

export interface DryRunDeps {
  readonly place: Place;
  /** Whether an autoscaler of the set says how many pods a workload has. */
  readonly isScaled: (manifest: Manifest) => boolean;
}

/**
 * Asks the server by a dry run of the engine's own request: a server-side apply by the same manager, without the fields that others have taken over.
 * Only fields that we send can come out different, and in the words of the server.
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
      // What a dry run creates has no resourceVersion, so that it cannot be taken for a stored object.
      const path = collectionPath(ref, { dryRun: "All", fieldManager });
      await client.request("POST", path, body, signal);
      return { kind: "stored", object: body };
    }
    const options = { fieldManager, force: true, dryRun: true };
    const answer = await client.apply(ref, body, options, signal);
    const { apiVersion, kind } = object.key;
    const stored: Manifest = { ...answer, apiVersion, kind };
    const isTaken = pathsToRelease(live, { manager: fieldManager, isScaled: scaled }).length > 0;
    return { kind: "stored", object: isTaken ? keptFields(stored, live, scaled) : stored };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 401) throw error;
    if (isReplaceable(object.key, error.causes)) return { kind: "replaced" };
    // Its namespace or its kind is yet to be made.
    if (live === undefined && error.status === 404) {
      return { kind: "stored", object: object.manifest };
    }
    return { kind: "refused", message: refusalText(object, error) };
  }
}

/** What a server says of a Secret may have its values in it. */
function refusalText({ key }: DesiredObject, { status, message }: ApiError): string {
  const why = key.kind === "Secret" ? `status ${status}` : foreignText(message);
  return `${describe(key)}: ${why}`;
}

function sentBody(
  object: DesiredObject,
  live: KubeObject | undefined,
  { place, scaled }: { readonly place: Place; readonly scaled: boolean },
): Manifest {
  const { fieldManager, hubId } = place.target;
  const guard = live?.metadata.labels?.[guardLabels.crd];
  const installation = installationOf(place, guard === hubId && outlives(object.key));
  const body = installation === undefined ? object.manifest : bodyOf(object, installation);
  if (live === undefined || !(scaled || isHandedOver(body))) return body;
  return withoutHandedOver(body, live, fieldManager);
}

/** Undefined while there is no anchor that could own anything. */
function installationOf(
  { component, target, anchor, secondOwner }: Place,
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

/** The engine lets go of these fields before it leaves them out, so that they stay as they are. */
function keptFields(stored: Manifest, live: Manifest, scaled: boolean): Manifest {
  if (!scaled) return withLiveFields([live])(stored);
  const spec = live["spec"];
  const replicas = isRecord(spec) ? spec["replicas"] : undefined;
  return changeField(stored, ["spec"], (own) => (isRecord(own) ? { ...own, replicas } : own));
}
