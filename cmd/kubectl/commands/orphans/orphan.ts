import type { ClusterProfileRef, ComponentKind } from "../../../../api/component.ts";
import type { ObjectKey } from "../../../../api/kubernetes.ts";
import { words } from "../../commands.ts";
import type { Report } from "../status/report.ts";

/** What can be left over, and what each means; docs/cli.md is held to this list by a test. */
export const orphanFindings = {
  Orphan: "The anchor of a component that the hub does not have, or has on another cluster",
  AnotherHub: "The anchor of another hub, which cannot be asked from here",
  OldNamespace: "A second anchor of a component, in the namespace that it was installed in before",
  Unanchored:
    "Objects with the mark of a component, but neither its anchor nor the component is there",
  GuardedNamespace:
    "A namespace that is guarded for a component that is gone, so that it cannot be deleted",
  Collision: "Two components of one kind on one cluster: the older one has it",
  StuckDeletion: "A deletion that has been waiting for finalizers for over a minute",
} as const;

type OrphanFinding = keyof typeof orphanFindings;

/** One thing that is left over, or in the way. */
export interface OrphanItem {
  readonly finding: OrphanFinding;
  /** Where the object is; null for the hub itself. */
  readonly cluster: ClusterProfileRef | null;
  readonly object: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string | null;
    readonly name: string;
  };
  /** The component that it is about, as far as that is known. */
  readonly component: {
    readonly kind: ComponentKind | null;
    readonly name: string | null;
    readonly uid: string | null;
  } | null;
  /** Objects that go with it. */
  readonly objects: number;
  readonly message: string;
  /** What to do, in order: commands to paste, or sentences. Nothing is done by itself. */
  readonly next: readonly string[];
}

interface OrphanSummary {
  readonly findings: number;
  readonly components: number;
  readonly clusters: number;
  readonly unread: number;
}

export type OrphanList = Report<"OrphanList", OrphanSummary, OrphanItem>;

/** A key as the document has it. */
export function objectOf({
  apiVersion,
  kind,
  namespace = "",
  name,
}: ObjectKey): OrphanItem["object"] {
  return { apiVersion, kind, namespace: namespace === "" ? null : namespace, name };
}

/** An object as kubectl's arguments name it. */
export function argumentsOf({ kind, namespace, name }: OrphanItem["object"]): string {
  return words(kind.toLowerCase(), name, ...(namespace === null ? [] : ["-n", namespace]));
}

const patienceMs = 60_000;

/** Whether a deletion has been going on for so long that something seems to hold it. */
export function isStuck(
  {
    deletionTimestamp,
    finalizers = [],
  }: {
    readonly deletionTimestamp?: string;
    readonly finalizers?: readonly string[];
  },
  nowMs: number,
): boolean {
  if (deletionTimestamp === undefined || finalizers.length === 0) return false;
  return nowMs - Date.parse(deletionTimestamp) > patienceMs;
}
