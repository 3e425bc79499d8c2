import { foreignText } from "../../../../access/foreign-text.ts";
import { ApiError } from "../../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import { componentKinds, operatorApiVersion, type Component } from "../../../../api/component.ts";
import { isRecord } from "../../../../api/fields.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { asComponent, refOf } from "../../../../controller/component-identity.ts";
import { fieldChanges, type FieldChange } from "../../compare/field-changes.ts";

/** What the hub says to a component of a file. */
export interface HubAnswer {
  readonly action: "create" | "change" | "none" | "refused";
  /** Fields of the spec, its labels and annotations that would change. */
  readonly fields: readonly FieldChange[];
  /** What the API server or a webhook says; null when it has nothing against it. */
  readonly message: string | null;
  /** As it would be stored, or as the file has it where the hub could not be asked. */
  readonly component: Component;
}

/**
 * Asks the hub by a dry run what would be stored: the spec of the file in place of the one that is there. Nothing is stored. Throws what KubeClient throws,
 * but for a refusal.
 */
export async function askHub(
  component: Component,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<HubAnswer> {
  const before = await hub.get(refOf(component), {}, signal);
  try {
    const answer = await hub.request(...requestFor(component, before), signal);
    const after = asComponent(stored(answer, component.kind)) ?? component;
    if (before === undefined)
      return { action: "create", fields: [], message: null, component: after };
    const fields = fieldChanges(intentOf(before), intentOf(after));
    return {
      action: fields.length === 0 ? "none" : "change",
      fields,
      message: null,
      component: after,
    };
  } catch (error) {
    if (!(error instanceof ApiError) || error.status === 401) throw error;
    const message = foreignText(error.message);
    if (isNamespaceMissing(error, before)) {
      const note = `${message}: it has to be made first, and what webhooks say is not known`;
      return { action: "create", fields: [], message: note, component };
    }
    return { action: "refused", fields: [], message, component };
  }
}

function isNamespaceMissing(
  { status, message }: ApiError,
  before: KubeObject | undefined,
): boolean {
  return before === undefined && status === 404 && /^namespaces? /i.test(message);
}

function requestFor(
  { kind, metadata, spec }: Component,
  before: KubeObject | undefined,
): readonly ["POST" | "PUT", string, object] {
  const { namespace, name, labels, annotations } = metadata;
  const { plural } = componentKinds[kind];
  const collection = `/apis/${operatorApiVersion}/namespaces/${encodeURIComponent(namespace)}/${plural}`;
  const query = "dryRun=All&fieldManager=kubectl-knfleet-plan";
  const wanted = { apiVersion: operatorApiVersion, kind, spec: spec ?? {} };
  if (before === undefined) {
    const body = { ...wanted, metadata: { namespace, name, labels, annotations } };
    return ["POST", `${collection}?${query}`, body];
  }
  // What the file does not say of labels stays; what it does not say of the spec goes.
  const kept = {
    labels: { ...before.metadata.labels, ...labels },
    annotations: { ...before.metadata.annotations, ...annotations },
  };
  const body = { ...before, ...wanted, metadata: { ...before.metadata, ...kept } };
  return ["PUT", `${collection}/${encodeURIComponent(name)}?${query}`, body];
}

function stored(answer: unknown, kind: Component["kind"]): KubeObject | undefined {
  return isStored(answer) ? { ...answer, apiVersion: operatorApiVersion, kind } : undefined;
}

function isStored(answer: unknown): answer is KubeObject {
  return isRecord(answer) && isRecord(answer["metadata"]) && isRecord(answer["spec"]);
}

/** What somebody wants of a component. */
function intentOf({ metadata, ...object }: KubeObject): object {
  const { "kubectl.kubernetes.io/last-applied-configuration": _, ...annotations } =
    metadata.annotations ?? {};
  return { spec: object["spec"] ?? {}, labels: metadata.labels ?? {}, annotations };
}
