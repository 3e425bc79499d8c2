import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../../../access/kube/kube-client.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { isSameJson } from "../../../../api/fields.ts";
import type { KubeObject, Manifest } from "../../../../api/kubernetes.ts";
import { knownResource } from "../../../../api/resources.ts";
import { UsageError } from "../../errors.ts";
import { registrar } from "../../rights/spoke-objects.ts";

/** A cluster to write to, with a time limit for each request. */
export interface Target {
  readonly client: KubeClient;
  /** Time for one request. */
  readonly timeoutMs: number;
  /** Undefined: the work goes on when the command is over. */
  readonly signal: AbortSignal | undefined;
}

/** The time limit of one request. */
export function limitOf({ timeoutMs, signal }: Target): AbortSignal {
  return withTimeout(systemClock, timeoutMs, signal);
}

/** A merge patch. */
interface Patch {
  readonly metadata: object;
  readonly [field: string]: unknown;
}

interface Before {
  readonly present: KubeObject | undefined;
  /** Gets the objects that are created, as they are stored, or as they were sent where the answer was lost. */
  readonly made: Manifest[];
  /** The merge patch for an object that is there. Default: the whole manifest. */
  readonly patch?: Patch;
}

/**
 * Creates an object that was not there, and changes one that was there only when it still is as it was read; its status may be another one. Throws UsageError when
 * somebody else was faster, and the errors of KubeClient.
 */
export async function write(
  manifest: Manifest,
  { present, made, patch = manifest }: Before,
  target: Target,
): Promise<KubeObject> {
  if (present !== undefined) {
    return unlessChanged(manifest, change(refOf(manifest), { present, patch }, target));
  }
  const { name: _name, ...collection } = refOf(manifest);
  made.push(manifest);
  const options = { fieldManager: registrar };
  const creating = target.client.create(collection, manifest, options, limitOf(target));
  try {
    const stored = await unlessChanged(manifest, creating);
    const { uid, resourceVersion } = stored.metadata;
    made[made.length - 1] = {
      ...manifest,
      metadata: { ...manifest.metadata, uid, resourceVersion },
    };
    return stored;
  } catch (error) {
    // The server has answered that it made nothing. An answer 5xx may be that of a gateway, or come after the write.
    const isRefused = error instanceof ApiError && error.status < 500;
    if (isRefused || error instanceof UsageError) made.pop();
    throw error;
  }
}

/** How often a write may meet another status before it fails. */
const tries = 5;

/** Changes an object that was read. The controller writes the status of a ClusterProfile at any time: after such a write the change is sent again. */
async function change(
  ref: ObjectRef,
  { present, patch }: { readonly present: KubeObject; readonly patch: Patch },
  target: Target,
): Promise<KubeObject> {
  const options = { fieldManager: registrar, metadataOnly: true };
  let { uid, resourceVersion } = present.metadata;
  for (let left = tries; ; left -= 1) {
    const body = { ...patch, metadata: { ...patch.metadata, uid, resourceVersion } };
    // oxlint-disable no-await-in-loop -- each try follows from the one before
    try {
      return await target.client.patch(ref, body, options, limitOf(target));
    } catch (error) {
      const isConflict = error instanceof ApiError && error.status === 409;
      if (!isConflict || left === 0) throw error;
      const now = await target.client.get(ref, {}, limitOf(target));
      if (now === undefined || !isSameBesideStatus(now, present)) throw error;
      ({ resourceVersion } = now.metadata);
    }
    // oxlint-enable no-await-in-loop
  }
}

/** Whether two readings differ by their status alone. A reading of the metadata alone equals no object. */
function isSameBesideStatus(one: KubeObject, other: KubeObject): boolean {
  const [a, b] = [one, other].map(({ status: _status, metadata, ...rest }) => {
    const { resourceVersion: _version, managedFields: _fields, ...stays } = metadata;
    return { ...rest, metadata: stays };
  });
  return isSameJson(a, b);
}

/**
 * Deletes objects that were read, one after the other, and calls `onGone` after each. An object of the same name that somebody made since stays, and is a UsageError. Returns those
 * that finalizers of others hold. Throws the errors of KubeClient.
 */
export async function removeRead(
  objects: readonly KubeObject[],
  target: Target,
  onGone: (object: KubeObject) => void = () => undefined,
): Promise<readonly KubeObject[]> {
  const held: KubeObject[] = [];
  for (const object of objects) {
    const { uid } = object.metadata;
    const removing = target.client.remove(refOf(object), { uid }, limitOf(target));
    // oxlint-disable-next-line no-await-in-loop -- in the order of the plan
    const rest = await unlessChanged(object, removing);
    if (typeof rest === "object") held.push(rest);
    onGone(object);
  }
  return held;
}

async function unlessChanged<Result>(
  { kind, metadata: { namespace, name = "" } }: Manifest,
  answer: Promise<Result>,
): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof ApiError) || ![404, 409].includes(error.status)) throw error;
    const id = namespace === undefined ? name : `${namespace}/${name}`;
    throw new UsageError(`${kind} ${id} was changed by somebody else meanwhile`, [
      "Another register or unregister may be at work. Run the command again when it is done.",
    ]);
  }
}

/** Names an object for a request. */
export function refOf({ apiVersion, kind, metadata }: Manifest): ObjectRef {
  const { namespace, name = "" } = metadata;
  const resource = knownResource(apiVersion, kind);
  return namespace === undefined ? { resource, name } : { resource, namespace, name };
}
