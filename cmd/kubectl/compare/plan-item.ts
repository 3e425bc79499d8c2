import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import {
  type ClusterProfileRef,
  type Component,
  type ComponentKind,
  componentKinds,
  operatorApiVersion,
} from "../../../api/component.ts";
import { isRecord } from "../../../api/fields.ts";
import { foreignText } from "../../../api/foreign-text.ts";
import { componentId, targetId } from "../../../api/keys.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import { describe, type KubeObject } from "../../../api/kubernetes.ts";
import { asComponent, componentRef } from "../../../controller/component-identity.ts";
import { listComponents } from "../findings/hops/component-hops.ts";
import { knfOf } from "../output/knf-of.ts";
import type { ReportError } from "../output/report.ts";
import { type FieldChange, fieldChanges } from "./comparable.ts";
import type { ChangeKind, ObjectChange } from "./compare.ts";
import { diffItem, type DiffItem } from "./diff-list.ts";
import type { Upgrade } from "./upgrade.ts";

/** One object on a cluster and its planned change. */
export type PlannedChange = Pick<DiffItem, "object" | "fields" | "message"> & {
  readonly action: "create" | "change" | "prune" | "recreate" | "wait" | "refused";
  /** Number of pods that would be restarted or stopped. */
  readonly pods: number;
};

/** The plan of one component of a file, or of the hub. */
export interface PlanItem {
  readonly installation: {
    readonly kind: ComponentKind;
    readonly namespace: string;
    readonly name: string;
  };
  readonly cluster: ClusterProfileRef | null;
  readonly hub: {
    readonly action: HubAnswer["action"];
    readonly fields: readonly FieldChange[];
    readonly message: string | null;
  };
  readonly version: { readonly installed: string | null; readonly wanted: string | null };
  /** Why nothing would be installed; null when something can be installed. */
  readonly blocked: (Block & { readonly code: KnfCode | null }) | null;
  /** What is worth knowing besides: fields of the spec that change nothing. */
  readonly warnings: readonly string[];
  /** Null when the cluster or a manifest of the component could not be read. */
  readonly changes: readonly PlannedChange[] | null;
  /** The way to `--version`; null for a component of a file. */
  readonly upgrade: Upgrade | null;
}

/** Why nothing would be installed. */
interface Block {
  readonly reason: string;
  readonly message: string;
}

/** What was read of the cluster of one component. */
export interface Look {
  readonly version: string | null;
  readonly blocked: Block | null;
  readonly warnings: readonly string[];
  /** Null when the desired objects are not known. */
  readonly changes: readonly ObjectChange[] | null;
  readonly errors: readonly ReportError[];
}

/** The plan of one component, from the hub's answer and from its cluster. */
export function planItem(
  { answer, duplicate }: { readonly answer: HubAnswer; readonly duplicate: Component | undefined },
  look: Look | undefined,
): PlanItem {
  const { component, action, fields, message } = answer;
  const { kind, metadata, spec } = component;
  return {
    installation: { kind, namespace: metadata.namespace, name: metadata.name },
    cluster: spec?.clusterProfileRef ?? null,
    hub: { action, fields, message },
    version: versionsOf(component, look),
    blocked: codedBlock(blockOf(answer, duplicate) ?? look?.blocked ?? null),
    warnings: look?.warnings ?? [],
    changes: look?.changes?.map((one) => plannedChange(component, one)) ?? null,
    upgrade: null,
  };
}

function versionsOf({ spec, status }: Component, look: Look | undefined): PlanItem["version"] {
  return {
    installed: status?.version ?? null,
    wanted: look?.version ?? spec?.version ?? null,
  };
}

function codedBlock(block: Block | null): PlanItem["blocked"] {
  if (block === null) return null;
  const { reason, message } = block;
  return { reason, code: knfOf(reason, { message }), message };
}

function blockOf({ action, message }: HubAnswer, duplicate: Component | undefined): Block | null {
  if (action === "refused") return { reason: "Refused", message: message ?? "" };
  if (duplicate === undefined) return null;
  const { kind, metadata } = duplicate;
  const other = describe({ kind, namespace: metadata.namespace, name: metadata.name });
  return { reason: "DuplicateComponent", message: `${other} is for the same cluster` };
}

const actions: Readonly<Record<ChangeKind, PlannedChange["action"]>> = {
  missing: "create",
  changed: "change",
  extra: "prune",
  replaced: "recreate",
  leaving: "wait",
  refused: "refused",
};

function plannedChange(component: Component, change: ObjectChange): PlannedChange {
  const { object, fields, message } = diffItem(component, change);
  const isNew = fields.some(({ path }) => path.startsWith(".spec.template"));
  const pods = change.change === "extra" || isNew ? (change.pods ?? 0) : 0;
  return { object, fields, message, action: actions[change.change], pods };
}

/** The hub's answer to a component that would be applied. */
export interface HubAnswer {
  readonly action: "create" | "change" | "none" | "refused";
  /** Fields of the spec, its labels and annotations that would change. */
  readonly fields: readonly FieldChange[];
  /** Refusal of the API server or of a webhook; null when both accept. */
  readonly message: string | null;
  /** The component as it would be stored; when the hub could not be asked, as in the file. */
  readonly component: Component;
}

/**
 * Asks the hub in a dry run what it would store: the spec of the file in place of the present spec. Stores nothing. Throws what KubeClient throws, except
 * for a refusal.
 */
export async function askHub(
  component: Component,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<HubAnswer> {
  const before = await hub.get(componentRef(component), {}, signal);
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
  // Labels that are not in the file stay; fields of the spec that are not in the file are removed.
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

/** Finds another component of the kind for the same cluster; undefined without one, and when components may not be listed. */
export async function findDuplicate(
  component: Component,
  hub: KubeClient,
  signal: AbortSignal,
): Promise<Component | undefined> {
  const all = (await listComponents(component.kind, hub, signal)) ?? [];
  const id = componentId(component);
  return all.find((other) => componentId(other) !== id && targetId(other) === targetId(component));
}

/** The part of a component that its author decides. */
function intentOf({ metadata, ...object }: KubeObject): object {
  const { "kubectl.kubernetes.io/last-applied-configuration": _, ...annotations } =
    metadata.annotations ?? {};
  return { spec: object["spec"] ?? {}, labels: metadata.labels ?? {}, annotations };
}
