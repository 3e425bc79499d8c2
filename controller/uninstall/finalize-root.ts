import { ApiError } from "../../access/kube/api-error.ts";
import type { Component } from "../../api/component.ts";
import { FleetError } from "../../api/errors.ts";
import { describe, type ObjectKey } from "../../api/kubernetes.ts";
import { anchorAnnotations } from "../../installation/anchor.ts";
import { readAnchor, type Anchor, anchorRef } from "../apply/anchor/anchor.ts";
import { codeOfRefusal, obstacleIn, withObstacle } from "../apply/refusals.ts";
import type { Target } from "../apply/target.ts";
import type { Patience } from "./finalize-patience.ts";
import { leftMessage } from "./finalize-plan.ts";

interface Removal {
  readonly component: Component;
  readonly target: Target;
  readonly patience: Patience;
}

/** Writes on the root that its installation is being removed, once. A root that went meanwhile is no error. */
export async function markFinalizing(
  root: Anchor,
  owner: Pick<Removal, "component" | "target">,
  signal: AbortSignal,
): Promise<void> {
  const { component, target } = owner;
  const { uid } = component.metadata;
  if (root.object.metadata.annotations?.[anchorAnnotations.finalizing] === uid) return;
  const annotations = { [anchorAnnotations.finalizing]: uid };
  // With its uid the patch can only meet the root that was judged to be ours.
  const patch = { metadata: { uid: root.uid, annotations } };
  const options = { fieldManager: target.fieldManager, metadataOnly: true };
  try {
    await target.client.patch(anchorRef(owner), patch, options, signal);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.status === 404) return;
    throw refused("Changing", root.key, error);
  }
}

/**
 * Deletes the root and returns when it is gone. A root that was made anew is looked at again: `AnchorConflict` when it is
 * another's. `ClusterBusy` when it is held by a finalizer until patience ends.
 */
export async function removeRoot(
  root: Anchor,
  removal: Removal,
  signal: AbortSignal,
): Promise<void> {
  const { component, target, patience } = removal;
  let current = root;
  while (!(await removeOnce(current, removal, signal))) {
    const left = await readAnchor(component, target, signal);
    if (left === undefined) return;
    current = left;
    const { finalizers = [] } = left.object.metadata;
    const complaint = (): FleetError =>
      new FleetError("ClusterBusy", leftMessage([{ key: root.key, finalizers }]));
    await patience.pause(complaint, signal);
  }
}

/** Asks for the deletion, once; true when the answer says that nothing is left. */
async function removeOnce(
  root: Anchor,
  owner: Pick<Removal, "component" | "target">,
  signal: AbortSignal,
): Promise<boolean> {
  if (root.object.metadata.deletionTimestamp !== undefined) return false;
  const options = { propagationPolicy: "Background", uid: root.uid } as const;
  try {
    const removal = await owner.target.client.remove(anchorRef(owner), options, signal);
    return removal === "gone" || removal === "absent";
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // Another uid by now: what stands there is looked at next. Webhooks and policies refuse with a status of their own choice, also with this one.
    if (error.status === 409 && obstacleIn(error.message) === undefined) return false;
    throw refused("Deleting", root.key, error);
  }
}

function refused(verb: string, key: ObjectKey, cause: ApiError): FleetError {
  if (cause.status !== 403) {
    const message = withObstacle(`${verb} ${describe(key)} was not possible`, cause);
    return new FleetError("ClusterBusy", message, { cause });
  }
  const sentence = `${verb} ${describe(key)} is not allowed on the target cluster`;
  const message = withObstacle(sentence, cause);
  return new FleetError("ApplyFailed", message, { code: codeOfRefusal(cause), cause });
}
