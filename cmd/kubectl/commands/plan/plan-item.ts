import type { ClusterProfileRef, Component, ComponentKind } from "../../../../api/component.ts";
import type { KnfCode } from "../../../../api/knf/knf-codes.ts";
import { describe } from "../../../../api/kubernetes.ts";
import type { ChangeKind, ObjectChange } from "../../compare/compare.ts";
import type { FieldChange } from "../../compare/field-changes.ts";
import { knfOf } from "../../explaining/knf-of.ts";
import { diffItem, type DiffItem } from "../diff/diff-list.ts";
import type { ReportError } from "../status/report.ts";
import type { HubAnswer } from "./hub-dry-run.ts";

/** One object on a cluster, and what would become of it. */
export type PlannedChange = Pick<DiffItem, "object" | "fields" | "message"> & {
  readonly action: "create" | "change" | "prune" | "recreate" | "wait" | "refused";
  /** Pods that would be started anew, or stopped; 0 when none would. */
  readonly pods: number;
};

/** What a component of a file would do. */
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
  /** Why nothing would be installed; null when nothing is in the way. */
  readonly blocked: (Block & { readonly code: KnfCode | null }) | null;
  /** Null when the cluster or a manifest of the component could not be read. */
  readonly changes: readonly PlannedChange[] | null;
}

/** Why nothing would be installed. */
interface Block {
  readonly reason: string;
  readonly message: string;
}

/** What a look at a cluster tells of one component. */
export interface Look {
  readonly version: string | null;
  readonly blocked: Block | null;
  /** Null when it is not known what would be installed. */
  readonly changes: readonly ObjectChange[] | null;
  readonly errors: readonly ReportError[];
}

/** What is known of one component. */
export function planItem(
  { answer, twin }: { readonly answer: HubAnswer; readonly twin: Component | undefined },
  look: Look | undefined,
): PlanItem {
  const { component, action, fields, message } = answer;
  const { kind, metadata, spec } = component;
  return {
    installation: { kind, namespace: metadata.namespace, name: metadata.name },
    cluster: spec?.clusterProfileRef ?? null,
    hub: { action, fields, message },
    version: versionsOf(component, look),
    blocked: codedBlock(blockOf(answer, twin) ?? look?.blocked ?? null),
    changes: look?.changes?.map((one) => plannedChange(component, one)) ?? null,
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

function blockOf({ action, message }: HubAnswer, twin: Component | undefined): Block | null {
  if (action === "refused") return { reason: "Refused", message: message ?? "" };
  if (twin === undefined) return null;
  const { kind, metadata } = twin;
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
