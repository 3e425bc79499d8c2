import type { ComponentKind } from "../../../../api/component.ts";
import type { NamespacedName } from "../../../../api/kubernetes.ts";
import type { Report } from "../status/report.ts";
import type { Hop, HopState } from "./hops/hop.ts";
import type { RootCause } from "./root-cause.ts";

/** From where a way is walked: this machine, this machine as the controller's identity on the hub, or a Job on the hub. */
export const vantages = ["local", "controller-identity", "controller"] as const;
export type Vantage = (typeof vantages)[number];

/** What a walk is about. */
export interface Target extends NamespacedName {
  readonly kind: ComponentKind | "ClusterProfile";
}

/** A step that went differently from somewhere else. */
export interface Difference {
  readonly hop: Hop["id"];
  readonly here: HopState;
  readonly there: HopState;
  /** What it means, as a sentence. */
  readonly meaning: string;
}

/** One walk to one target. */
export interface Diagnosis {
  readonly target: Target;
  readonly vantage: Vantage;
  readonly severity: "ok" | "warning" | "error";
  readonly rootCause: RootCause | null;
  readonly hops: readonly Hop[];
  /** Where a walk from this machine went otherwise; empty for vantage `local`. */
  readonly differences: readonly Difference[];
  /** False when the time of the command was over, or it was interrupted, before the last step. */
  readonly finished: boolean;
}

export interface DiagnosisSummary {
  readonly total: number;
  readonly healthy: number;
  readonly warnings: number;
  readonly errors: number;
  /** How often each root cause occurs, most frequent first. */
  readonly causes: readonly {
    readonly code: string;
    readonly name: string;
    readonly count: number;
  }[];
}

export type DiagnosisReport = Report<"Diagnosis", DiagnosisSummary, Diagnosis>;
