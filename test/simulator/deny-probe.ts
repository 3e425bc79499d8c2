import type { Clock } from "../../access/time/clock.ts";
import { anchorKindOf, guardAnnotations } from "../../installation/anchor.ts";
import { valueAt } from "../fleet/json-record.ts";
import { StatusError } from "./answers.ts";
import type { Draft, ObjectStore, StoredObject } from "./object-store.ts";

const policyKind = "admissionregistration.k8s.io/ValidatingAdmissionPolicy";
/** An API server reads its policies once a second. */
const reloadMs = 1_000;

/**
 * Refuses the probes of the guards as an API server does, once it has read policy and binding: with the text of the rule that the probe is made for. Nothing else is refused,
 * because only the controller writes to a virtual spoke. Throws `StatusError` 403.
 */
export function denyProbe(store: ObjectStore, draft: Draft, clock: Clock): void {
  const { annotations = {} } = draft.metadata;
  if (annotations[guardAnnotations.probe] !== undefined)
    deny(store, draft, { operation: "CREATE", clock });
}

/** The same for the probe that deletes a live anchor, which is a dry run. */
export function denyProbeOfDeletion(store: ObjectStore, live: StoredObject, clock: Clock): void {
  if (live.kind === "ConfigMap" && anchorKindOf(live.metadata.name) !== undefined) {
    deny(store, live, { operation: "DELETE", clock });
  }
}

function deny(
  store: ObjectStore,
  draft: Draft,
  { operation, clock }: { readonly operation: "CREATE" | "DELETE"; readonly clock: Clock },
): void {
  const nowMs = clock.date().getTime();
  const guard = draft.kind === "Namespace" ? "namespace-guard." : "anchor-guard.";
  for (const policy of store.all(policyKind)) {
    const { name } = policy.metadata;
    const binding = store.get(`${policyKind}Binding`, `/${name}`);
    if (!name.startsWith(guard) || !isRead(policy, nowMs) || !isRead(binding, nowMs)) continue;
    const text = probeTextOf(policy, operation);
    if (text === undefined) continue;
    const message = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${text}`;
    const what = `${draft.kind.toLowerCase()}s "${draft.metadata.name}" is forbidden: ${message}`;
    throw new StatusError({ status: 403, reason: "Forbidden" }, what, [{ message }]);
  }
}

function isRead(object: StoredObject | undefined, nowMs: number): boolean {
  const born = Date.parse(object?.metadata.creationTimestamp ?? "");
  return nowMs - born >= reloadMs;
}

/** The text of the rule that refuses probes of an operation. */
function probeTextOf(policy: StoredObject, operation: string): string | undefined {
  const rules = valueAt(policy, "spec", "validations");
  return (Array.isArray(rules) ? rules : [])
    .map((rule) => String(valueAt(rule, "message")))
    .find((text) => text.endsWith(`(${operation})`));
}
