import { ApiError } from "../../../../access/kube/api-error.ts";
import { deniedRightIn } from "../../../../access/kube/missing-right.ts";
import { codeOfRefusal } from "../../../../access/kube/obstacle.ts";
import { withTimeout } from "../../../../access/time/deadline.ts";
import { systemClock } from "../../../../access/time/system-clock.ts";
import { type FleetSet, fleetSetApiVersion } from "../../../../api/fleet-set.ts";
import { knownResource } from "../../../../api/resources.ts";
import type { ClusterAccess } from "../../spokes/cluster-access.ts";
import type { FileSet } from "./set-file.ts";
import { fieldManager } from "./steer.ts";

/** The answer of the hub to a set of a file that was not written: it takes the set, it refuses the set, or it was not asked and why. */
export type DryRun =
  | { readonly kind: "taken" }
  | { readonly kind: "refused"; readonly message: string }
  | { readonly kind: "unasked"; readonly why: string };

/** A set of a file, and the one of the same name on the hub. */
interface Proposal {
  readonly file: FileSet;
  readonly stored: FleetSet | undefined;
}

/** Lets the hub check a set of a file, with schema, webhooks and policies, and write nothing. Throws as KubeClient does when the hub cannot be reached. */
export async function dryRun(
  { file, stored }: Proposal,
  { hub, hubTimeoutMs }: Pick<ClusterAccess, "hub" | "hubTimeoutMs">,
  signal: AbortSignal,
): Promise<DryRun> {
  const { kind, metadata, spec } = file;
  const { namespace, name } = metadata;
  const resource = knownResource(fleetSetApiVersion, kind);
  const options = { fieldManager, dryRun: true };
  const deadline = withTimeout(systemClock, hubTimeoutMs, signal);
  try {
    if (stored === undefined) {
      const object = { apiVersion: fleetSetApiVersion, kind, metadata, spec };
      await hub.create({ resource, namespace }, object, options, deadline);
    } else {
      await hub.patch({ resource, namespace, name }, patchOf(file, stored), options, deadline);
    }
    return { kind: "taken" };
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return answerOf(error);
  }
}

function answerOf({ status, message, isStatus }: ApiError): DryRun {
  // A webhook or policy chooses its status.
  const isDenied = codeOfRefusal({ status, message }) === "AdmissionRefused";
  const isAnswer = isDenied || (isStatus && [400, 403, 404, 409, 413, 422].includes(status));
  // Without the right the hub says nothing about the set.
  if (!isAnswer || (status === 403 && deniedRightIn(message) !== undefined)) {
    return { kind: "unasked", why: message };
  }
  return { kind: "refused", message };
}

/** What `kubectl apply` changes: the whole spec, and the labels and annotations of the file. */
function patchOf({ spec, metadata }: FileSet, { metadata: stored }: FleetSet): readonly object[] {
  const merged = (["labels", "annotations"] as const).flatMap((field) => {
    const own = metadata[field];
    const value = { ...stored[field], ...own };
    return own === undefined ? [] : [{ op: "add", path: `/metadata/${field}`, value }];
  });
  return [
    { op: "test", path: "/metadata/uid", value: stored.uid },
    ...merged,
    { op: "replace", path: "/spec", value: spec },
  ];
}
