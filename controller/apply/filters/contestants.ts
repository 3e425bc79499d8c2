import { ApiError, type StatusCause } from "../../../access/kube/api-error.ts";
import type { KubeClient, ObjectRef } from "../../../access/kube/kube-client.ts";
import type { Manifest } from "../../../api/kubernetes.ts";

/** Somebody else who holds fields that we want to have otherwise. Both texts come from the cluster but are checked and bounded. */
export interface Contestant {
  /** Its field manager, with the subresource that it writes through: `hpa`, `kube-controller-manager (scale)`. */
  readonly manager: string;
  /** Paths as the server names them, without the leading dot, sorted: `spec.replicas`. */
  readonly fields: readonly string[];
}

/** What is needed to ask who contests an object. */
export interface ContestDeps {
  readonly client: Pick<KubeClient, "apply">;
  readonly fieldManager: string;
}

/**
 * Who holds other values in fields of `body`, by one dry run that forces nothing: empty when nobody does, also when somebody just removed
 * a field or took it over with the value that we want. To be asked before the repair, which takes every field back.
 *
 * Throws what `KubeClient.apply` throws but for the conflict itself. Spec: engine-facts.md 10.
 */
export async function contestantsOf(
  { ref, body }: { readonly ref: ObjectRef; readonly body: Manifest },
  { client, fieldManager }: ContestDeps,
  signal: AbortSignal,
): Promise<readonly Contestant[]> {
  const options = { fieldManager, force: false, dryRun: true, metadataOnly: true };
  try {
    await client.apply(ref, body, options, signal);
    return [];
  } catch (error) {
    if (error instanceof ApiError && error.status === 409) return contestantsIn(error.causes);
    throw error;
  }
}

const conflict =
  /^conflict with "(?<manager>[^"]{1,128})"(?: with subresource "(?<subresource>[\w-]{1,60})")?/;
const mostFields = 20;

/** The managers that a refused apply names, sorted, each with its fields; empty for a conflict of another sort. */
export function contestantsIn(causes: readonly StatusCause[]): readonly Contestant[] {
  const byManager = new Map<string, Set<string>>();
  for (const { reason, field = "", message = "" } of causes) {
    const found = conflict.exec(message)?.groups;
    if (reason !== "FieldManagerConflict" || found === undefined) continue;
    const { manager = "", subresource } = found;
    const name = printable(manager) + (subresource === undefined ? "" : ` (${subresource})`);
    const fields = byManager.get(name) ?? new Set();
    byManager.set(name, fields.add(printable(field.replace(/^\./, "").slice(0, 160))));
  }
  return [...byManager]
    .map(([manager, fields]) => ({ manager, fields: [...fields].toSorted().slice(0, mostFields) }))
    .toSorted((a, b) => (a.manager < b.manager ? -1 : 1));
}

const shownFields = 3;

/** `Contested by hpa (scale): spec.replicas`: short and equal for equal contestants. */
export function describeContest(contestants: readonly Contestant[]): string {
  const texts = contestants.map(({ manager, fields }) => {
    const more = fields.length - shownFields;
    const shown = fields.slice(0, shownFields).join(", ");
    return `${manager}: ${shown}${more > 0 ? ` and ${more} more` : ""}`;
  });
  return `Contested by ${texts.join("; ")}`;
}

// Foreign text ends in a condition that people read in terminals.
function printable(text: string): string {
  return text.replaceAll(/[^\x20-\x7e]/g, "?");
}
