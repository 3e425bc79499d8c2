import { ApiError, ConnectionError, type ConnectionFailure } from "../../access/kube/api-error.ts";
import { missingRightIn } from "../../access/kube/missing-right.ts";
import { codeOfRefusal, obstacleIn } from "../../access/kube/obstacle.ts";
import type { ComponentStatus } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { FleetError } from "../../api/errors.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { contestedCondition, type Code, protectedCondition } from "../../api/reasons.ts";
import { wasAnswered } from "../../api/sentences.ts";
import type { ChangeSet, Progress } from "../apply/change-set.ts";
import { askedMsOf, isOverloaded } from "../apply/refusals.ts";
import type { Protection } from "../guard/protection.ts";
import type { VisibleReadiness } from "../observe/visible-readiness.ts";
import type { Doubt } from "./doubt.ts";
import type { Removing } from "./progress.ts";

/** The first steps of an attempt, and whether they succeeded. */
export interface Steps {
  /** The version may be installed and its manifests are rendered. */
  readonly eligible: boolean;
  /** There is a connection to the target cluster. */
  readonly resolved: boolean;
  /** Why there is no connection, when the outcome reports another error. Its condition is `TargetClusterResolved`. */
  readonly obstacle?: FleetError;
}

/** The result or the progress of an attempt, and the protection of the anchor at that time. */
export type Outcome = Progression & {
  /** `off`: the anchor is not to be protected. Absent: not known. */
  readonly protection?: Protection | "off" | undefined;
};

type Progression =
  | {
      readonly kind: "working";
      readonly steps: Steps;
      /** The version that is being installed; absent before it is known. */
      readonly version?: string;
      readonly progress?: Progress;
    }
  /** No attempt: the watches contradict a claim of the status; see doubt.ts. */
  | { readonly kind: "seen"; readonly doubt: Doubt }
  /** The report of the controller on the spoke about a pulled component; see controller/pull. */
  | ({ readonly kind: "reported" } & ReportedStatus)
  | { readonly kind: "removing"; readonly steps: Steps; readonly remaining?: Removing }
  | {
      readonly kind: "applied";
      readonly version: string;
      readonly paths: readonly string[];
      readonly changes: Pick<ChangeSet, "applied" | "unchanged" | "parked" | "failed"> &
        Partial<Pick<ChangeSet, "conflicts" | "lingering">>;
      readonly readiness: Pick<VisibleReadiness, "available" | "message"> &
        Partial<Pick<VisibleReadiness, "stuck" | "unseen" | "isRollingOut" | "scaledToZero">>;
      /** A sentence for each Job that failed, sorted. */
      readonly failedJobs?: readonly string[];
      /** The content of a set that is applied; see set-content.ts. */
      readonly content?: string;
      /** The installation keeps its objects until its set stamps it, in this stage. */
      readonly waitsForStage?: string;
      /** Entries of `spec.config` that change nothing; see Rendered. */
      readonly unusedConfig?: readonly string[];
      /** For some Jobs it is not known whether they failed. Only another attempt can find out. */
      readonly hasUnsureJobs?: boolean;
      /** Milliseconds until it is known whether the conflicts of the status are over; default 0. */
      readonly unsureMs?: number;
      /** Milliseconds until a webhook without pods is to lose its rules; default 0: none is. See unblock.ts. */
      readonly unblockMs?: number;
    }
  | {
      readonly kind: "failed";
      readonly steps: Steps;
      readonly error: FleetError;
      /** The removal of the installation failed. */
      readonly isRemoval?: boolean | undefined;
    };

/** Whether everything is applied and available. */
export function isComplete({
  changes,
  readiness,
}: Pick<Extract<Outcome, { kind: "applied" }>, "changes" | "readiness">): boolean {
  const { failed, parked, lingering = [] } = changes;
  const isReady = readiness.available && readiness.unseen === undefined;
  return failed.length + parked.length + lingering.length === 0 && isReady;
}

/**
 * Any caught error as the error to report. Its message has only words of ours; the answer of a server becomes the `cause`. `cluster` names the target, for example
 * `ClusterProfile fleet/a` or `The hub`.
 */
export function fleetErrorOf(error: unknown, cluster: string): FleetError {
  if (error instanceof FleetError) return error;
  if (error instanceof ConnectionError) return unreachable(error, cluster);
  if (error instanceof ApiError) return refused(error, cluster);
  return new FleetError("ApplyFailed", "Internal error, see the log of the controller", {
    cause: error,
  });
}

/** Whether the cluster only answered that it is busy, or fails for now. The work goes on later. */
export function isForNow({ reason, cause }: FleetError): boolean {
  return reason === "ClusterBusy" && cause instanceof ApiError && isOverloaded(cause);
}

/** Milliseconds for which a busy or failing server asks not to be called, a minute at most; 0 without such an answer. */
export function askedWaitMs(error: unknown): number {
  const answer = error instanceof FleetError ? error.cause : error;
  return answer instanceof ApiError ? askedMsOf(answer) : 0;
}

/** Distinguishes a cluster that was lost from one that was never reached. */
export interface ConnectionHistory {
  /** The connection that failed is the one that the ClusterProfile still describes. */
  readonly isLost: boolean;
  /** This process has been connected to the cluster. */
  readonly wasReached: boolean;
  /** The status of the component, which survives a restart of this process. */
  readonly status: ComponentStatus | undefined;
}

/** The failure with the reason `SpokeUnreachable`, for a cluster that was reached before, unless its ClusterProfile describes another connection now. */
export function asLoss(error: FleetError, history: ConnectionHistory): FleetError {
  const { reason, code, message, cause } = error;
  if (reason !== "RemoteClientCreationFailed" || code !== "Unreachable") return error;
  const { isLost, wasReached, status } = history;
  if (!isLost && (wasReached || !remembersCluster(status))) return error;
  return new FleetError("SpokeUnreachable", message.replace(`[${code}] `, ""), { code, cause });
}

function remembersCluster(status: ComponentStatus | undefined): boolean {
  const resolved = conditionOf(status?.conditions, "TargetClusterResolved");
  return resolved?.status === "True" || resolved?.reason === "SpokeUnreachable";
}

const codesOfLoss: Partial<Record<ConnectionFailure, Code>> = {
  standIn: "NotKubernetes",
  tooLarge: "TooLarge",
};

function unreachable(error: ConnectionError, cluster: string): FleetError {
  const message = `${cluster}: ${error.message}`;
  if (error.told === "untrusted") {
    const code = "TLSUntrusted";
    return new FleetError("RemoteClientCreationFailed", message, { code, cause: error });
  }
  // The error came after the connection, so the cluster was reached.
  const code = codesOfLoss[error.told] ?? "Unreachable";
  return new FleetError("SpokeUnreachable", message, { code, cause: error });
}

function refused(error: ApiError, cluster: string): FleetError {
  const options = { cause: error };
  if (error.status === 401) {
    return new FleetError("AccessProviderFailed", `${cluster}: the credential is not accepted`, {
      code: "CredentialRejected",
      ...options,
    });
  }
  const request = error.request.replace(/\?.*$/, "");
  const obstacle = obstacleIn(error);
  if (error.status === 403 && !isOverloaded(error)) {
    const right = missingRightIn(error.message);
    const lack = right === undefined ? obstacle : `the controller lacks ${right}`;
    const why = lack === undefined ? "" : `: ${lack}`;
    return new FleetError("ApplyFailed", `${cluster}: ${request} is not allowed${why}`, {
      code: codeOfRefusal(error),
      ...options,
    });
  }
  const answer = error.reason === "" ? `${error.status}` : `${error.status} ${error.reason}`;
  const why = obstacle === undefined ? "" : `: ${obstacle}`;
  const reason = isOverloaded(error) ? "ClusterBusy" : "ApplyFailed";
  const code = codeOfRefusal(error);
  return new FleetError(reason, `${cluster}: ${request} ${wasAnswered.of(answer)}${why}`, {
    ...options,
    ...(code === undefined ? {} : { code }),
  });
}

/** The report of the controller on the spoke about a component that a ManifestWork brought there. */
export interface ReportedStatus {
  readonly conditions: readonly Omit<Condition, "lastTransitionTime">[];
  /** The version that is installed; absent before it is known. */
  readonly version?: string;
  /** The content of a set that is applied; see set-content.ts. */
  readonly content?: string;
  /** What the cluster answers to the checks of its set; see pulled-checks.ts. */
  readonly answer?: string;
}

/** The conditions without the optional ones that the spoke does not report any more. */
export function withoutUnreported(
  conditions: readonly Condition[],
  { conditions: reported }: ReportedStatus,
): readonly Condition[] {
  const comeAndGo: readonly string[] = [contestedCondition, protectedCondition];
  return conditions.filter(
    ({ type }) => !comeAndGo.includes(type) || reported.some((one) => one.type === type),
  );
}
