import type { ServedKind, Column, ObjectRow } from "../commands/get/object-table.ts";
import type { Report } from "../output/report.ts";
import type { UnreadSpoke } from "../spokes/spoke-reading.ts";

/** File of a bundle that says what is in it. */
export const indexFile = "bundle.json";

/** File of a bundle with the walks to every installation, as `diagnose -o json` prints them. */
export const diagnosisFile = "diagnosis.json";

/** File of a bundle with the last log lines, as `logs -o json` prints them. */
export const logsFile = "logs.json";

/** File of a bundle of a whole fleet with what `check -o json` printed. */
export const checkFile = "check.json";

/** File of a bundle with how clusters differed from what would be installed, and both sides of every object. */
export const diffFile = "diff.json";

/** One cluster of a bundle. */
export interface BundledCluster {
  /** `namespace/name` of the ClusterProfile; null for the hub. */
  readonly cluster: string | null;
  /** Folder of the bundle with its files. */
  readonly folder: string;
  readonly server: string | null;
  readonly provider: string | null;
  readonly kubernetesVersion: string | null;
  readonly objects: number;
  /** Why nothing was read; null when something was. */
  readonly unread: Omit<UnreadSpoke, "kind"> | null;
}

export interface BundleSummary {
  /** Where the bundle was written; null inside of it and with `--dry-run`. */
  readonly file: string | null;
  readonly bytes: number;
  /** Namespace of the kubeconfig context. */
  readonly namespace: string;
  /** Whether it is of the whole fleet: of all installations, and of every cluster with a ClusterProfile. */
  readonly whole?: boolean;
  readonly clusters: number;
  readonly unread: number;
  readonly objects: number;
  /** Files without this index. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
}

/** What `gather` prints, and the index of a bundle. */
export type Bundle = Report<"Bundle", BundleSummary, BundledCluster>;

/** What a cluster said of one kind: the server's own columns and cells, and the objects. */
export interface RecordedTable {
  readonly kind: ServedKind;
  readonly columns: readonly Column[];
  readonly rows: readonly ObjectRow[];
  /** Where the kind could not be listed, and what the server answered; namespace null: everywhere. */
  readonly unread: readonly {
    readonly namespace: string | null;
    readonly status: number;
    readonly message: string;
  }[];
}

/** One cluster as a bundle recorded it. */
export interface RecordedCluster extends BundledCluster {
  readonly tables: readonly RecordedTable[];
}

/** A fleet as a bundle recorded it: what commands are replayed on. */
export interface RecordedFleet {
  /** Path of the bundle, as the user named it. */
  readonly path: string;
  readonly recordedAt: Date;
  readonly namespace: string;
  /** Whether it is of the whole fleet, as `BundleSummary` says; false in bundles of earlier versions. */
  readonly isWhole: boolean;
  readonly hub: RecordedCluster;
  readonly spokes: readonly RecordedCluster[];
  /** Documents of other commands by file name, not looked at yet. */
  readonly documents: ReadonlyMap<string, unknown>;
}
