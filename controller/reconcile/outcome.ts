import { ApiError, ConnectionError, missingRightIn } from "../../access/kube/api-error.ts";
import type { ComponentStatus } from "../../api/component.ts";
import { conditionOf } from "../../api/conditions.ts";
import { FleetError } from "../../api/errors.ts";
import type { ChangeSet, Progress } from "../apply/change-set.ts";
import {
  askedMsOf,
  codeOfRefusal,
  isForNow as isAnswerForNow,
  obstacleIn,
} from "../apply/refusals.ts";
import type { Protection } from "../guard/protection.ts";
import type { VisibleReadiness } from "../observe/visible-readiness.ts";
import type { Doubt } from "./doubt.ts";
import type { Removing } from "./progress.ts";

/** Which steps before the one in question are known to have gone well. */
export interface Steps {
  /** The version may be installed and its manifests are rendered. */
  readonly eligible: boolean;
  /** There is a connection to the target cluster. */
  readonly resolved: boolean;
  /** Why there is none, where that is known and not what the outcome is about; its condition is `TargetClusterResolved`. */
  readonly obstacle?: FleetError;
}

/** How a reconcile ended, or how far it has come, and what is known of the protection of the anchor then. */
export type Outcome = Progression & {
  /** `off`: it is not to be protected. Absent: nothing is known. */
  readonly protection?: Protection | "off" | undefined;
};

type Progression =
  | {
      readonly kind: "working";
      readonly steps: Steps;
      /** The one that is being installed; absent while that is not known. */
      readonly version?: string;
      readonly progress?: Progress;
    }
  /** Nothing ended: the watches show what the status must not claim any more; see doubt.ts. */
  | { readonly kind: "seen"; readonly doubt: Doubt }
  | { readonly kind: "removing"; readonly steps: Steps; readonly remaining?: Removing }
  | {
      readonly kind: "applied";
      readonly version: string;
      readonly paths: readonly string[];
      readonly changes: Pick<ChangeSet, "applied" | "unchanged" | "parked" | "failed"> &
        Partial<Pick<ChangeSet, "conflicts" | "lingering">>;
      readonly readiness: Pick<VisibleReadiness, "available" | "message"> &
        Partial<Pick<VisibleReadiness, "stuck" | "unseen">>;
      /** A sentence for each Job that failed, sorted. */
      readonly failedJobs?: readonly string[];
      /** Of some Jobs it could not be found out whether they failed; nothing but another look tells. */
      readonly hasUnsureJobs?: boolean;
      /** Milliseconds until it can be said whether conflicts that the status tells of are over; default 0. */
      readonly unsureMs?: number;
    }
  | {
      readonly kind: "failed";
      readonly steps: Steps;
      readonly error: FleetError;
      /** What failed is the removal of the installation. */
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
 * Anything that was caught on the way, as the error that is shown: messages of ours only, what a server said becomes the
 * `cause`. `cluster` names the target, for example `ClusterProfile fleet/a` or `The hub`.
 */
export function fleetErrorOf(error: unknown, cluster: string): FleetError {
  if (error instanceof FleetError) return error;
  if (error instanceof ConnectionError) return unreachable(error, cluster);
  if (error instanceof ApiError) return refused(error, cluster);
  return new FleetError("ApplyFailed", "Internal error, see the log of the controller", {
    cause: error,
  });
}

/** Whether nothing failed for good: the cluster answered, and says nothing but that it has no time, or fails, for now. */
export function isForNow({ reason, cause }: FleetError): boolean {
  return reason === "ClusterBusy" && cause instanceof ApiError && isAnswerForNow(cause);
}

/** Whether an error of an attempt is a failure of the hub, and not a bug. */
export function isHubFailure(error: unknown): boolean {
  return (
    error instanceof ApiError || error instanceof ConnectionError || error instanceof FleetError
  );
}

/** Milliseconds for which a server that has no time, or fails, asks to be left alone, a minute at most; 0 when none does. */
export function askedWaitMs(error: unknown): number {
  const answer = error instanceof FleetError ? error.cause : error;
  return answer instanceof ApiError ? askedMsOf(answer) : 0;
}

/** What tells a cluster that was lost from one that was never reached. */
export interface ConnectionHistory {
  /** The way to the cluster that works no more is the one that the ClusterProfile still describes. */
  readonly isLost: boolean;
  /** This process has been connected to the cluster. */
  readonly wasReached: boolean;
  /** Of the component, which remembers over restarts of ours. */
  readonly status: ComponentStatus | undefined;
}

/** The same failure, but `SpokeUnreachable` for a cluster that was reached before and nothing says that it is somewhere else now. */
export function asLoss(error: FleetError, known: ConnectionHistory): FleetError {
  const { reason, code, message, cause } = error;
  if (reason !== "RemoteClientCreationFailed" || code !== "Unreachable") return error;
  const { isLost, wasReached, status } = known;
  if (!isLost && (wasReached || !remembersCluster(status))) return error;
  return new FleetError("SpokeUnreachable", message.replace(`[${code}] `, ""), { code, cause });
}

function remembersCluster(status: ComponentStatus | undefined): boolean {
  const resolved = conditionOf(status?.conditions, "TargetClusterResolved");
  return resolved?.status === "True" || resolved?.reason === "SpokeUnreachable";
}

function unreachable(error: ConnectionError, cluster: string): FleetError {
  const message = `${cluster}: ${error.message}`;
  if (error.failure === "untrusted") {
    const code = "TLSUntrusted";
    return new FleetError("RemoteClientCreationFailed", message, { code, cause: error });
  }
  // It happened in the middle of the work, so the cluster was reached.
  const code = error.failure === "standIn" ? "NotKubernetes" : "Unreachable";
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
  const obstacle = obstacleIn(error.message);
  if (error.status === 403) {
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
  const reason = isAnswerForNow(error) ? "ClusterBusy" : "ApplyFailed";
  const isDenied = codeOfRefusal(error) === "AdmissionRefused";
  return new FleetError(reason, `${cluster}: ${request} was answered ${answer}${why}`, {
    ...options,
    ...(isDenied ? { code: "AdmissionRefused" } : {}),
  });
}
