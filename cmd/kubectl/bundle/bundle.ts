import type { ReportDocument, ReportError } from "../output/report.ts";
import type { ServedKind, Column, ObjectRow } from "../spokes/object-table.ts";
import type { UnreadSpoke } from "../spokes/spoke-reading.ts";

/** Index file of a bundle. */
export const indexFile = "bundle.json";

/** File of a bundle with the walks to every installation, as `diagnose -o json` prints them. */
export const diagnosisFile = "diagnosis.json";

/** File of a bundle with the last log lines, as `logs -o json` prints them. */
export const logsFile = "logs.json";

/** File of a bundle of a whole fleet with the output of `check -o json`. */
export const checkFile = "check.json";

/** File of a bundle with the differences between live and desired objects, and both sides of each. */
export const diffFile = "diff.json";

/** The beginning of the error that says why a bundle has no `diff.json`. */
export const notCompared = "The clusters were not compared: ";

/** One cluster of a bundle. */
export interface BundledCluster {
  /** `namespace/name` of the ClusterProfile. Null for the hub. */
  readonly cluster: string | null;
  /** Folder of the bundle with its files. */
  readonly folder: string;
  readonly server: string | null;
  readonly provider: string | null;
  readonly kubernetesVersion: string | null;
  readonly objects: number;
  /** Why the cluster could not be read. Null: it was read. */
  readonly unread: Omit<UnreadSpoke, "kind"> | null;
}

export interface BundleSummary {
  /** Path of the bundle. Null inside of the bundle, and with `--dry-run`. */
  readonly file: string | null;
  readonly bytes: number;
  /** Namespace of the kubeconfig context. */
  readonly namespace: string;
  /** Whether the bundle has all installations, and every cluster with a ClusterProfile. */
  readonly whole?: boolean;
  readonly clusters: number;
  readonly unread: number;
  readonly objects: number;
  /** Files without this index. */
  readonly files: readonly { readonly path: string; readonly bytes: number }[];
}

/** The output of `gather`, and the index of a bundle. */
export type Bundle = ReportDocument<"Bundle", BundleSummary, BundledCluster>;

/** The objects of one kind on a cluster, with the columns and cells of the server. */
export interface RecordedTable {
  readonly kind: ServedKind;
  readonly columns: readonly Column[];
  readonly rows: readonly ObjectRow[];
  /** Namespaces in which the kind could not be listed, with the answer of the server. Namespace null: all. */
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

/** A fleet as a bundle recorded it. Commands run on it instead of a live fleet. */
export interface RecordedFleet {
  /** Path of the bundle, as the user named it. */
  readonly path: string;
  readonly recordedAt: Date;
  readonly namespace: string;
  /** See `whole` of BundleSummary. False in bundles of earlier versions. */
  readonly isWhole: boolean;
  readonly hub: RecordedCluster;
  readonly spokes: readonly RecordedCluster[];
  /** Why the bundle has not everything. Foreign texts. Empty in bundles of earlier versions. */
  readonly errors: readonly Pick<ReportError, "reason" | "message">[];
  /** Documents of other commands by file name, not checked yet. */
  readonly documents: ReadonlyMap<string, unknown>;
}
