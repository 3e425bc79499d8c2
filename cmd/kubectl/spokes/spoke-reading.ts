import {
  ApiError,
  ConnectionError,
  type ConnectionFailure,
} from "../../../access/kube/api-error.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Code } from "../../../api/reasons.ts";
import { UsageError } from "../errors.ts";
import { type LiveReason, ownReasons } from "../output/own-reasons.ts";
import type { ClusterAccess, SpokeWays } from "./cluster-access.ts";

/**
 * A spoke that could not be read, and why. `NoAccess`: profile and provider file give no access. `Denied`: the spoke refused the credential or a right.
 * `Unknown`: not read, without a provider file or after an interruption.
 */
export interface UnreadSpoke {
  readonly kind: "unread";
  readonly state: "Unreachable" | "Denied" | "NoAccess" | "Unknown";
  readonly reason: LiveReason;
  readonly message: string;
}

/** The state of a spoke without a provider file. */
export function noProviderFile(missing: string | undefined): Omit<UnreadSpoke, "kind"> {
  const why = missing === undefined ? "" : `: ${missing}`;
  const message = `${ownReasons.NoProviderFile}${why}`;
  return { state: "Unknown", reason: "NoProviderFile", message };
}

/** The state of a spoke that pulls its components and that the hub has no way to. */
export const pullOnly = {
  state: "NoAccess",
  reason: "PullOnly",
  message: ownReasons.PullOnly,
} as const satisfies Omit<UnreadSpoke, "kind">;

/** The next step for a command that cannot dial a cluster. */
export const pullOnlyHint =
  "Run the command where the cluster can be dialled, or let its ClusterProfile offer an access provider.";

/** The result of reading one cluster. */
export type Reading<Facts> = { readonly kind: "read"; readonly facts: Facts } | UnreadSpoke;

/** The error for a spoke that cannot be read for a known reason. */
export class UnreadError extends Error {
  override readonly name = "UnreadError";
  readonly reading: Omit<UnreadSpoke, "kind">;

  constructor(reading: Omit<UnreadSpoke, "kind">) {
    super(reading.message);
    this.reading = reading;
  }
}

/** The state of a spoke whose read failed. Throws the error again when it is a bug. */
export function unreadBecause(error: unknown, timeoutMs: number): UnreadSpoke {
  if (error instanceof UnreadError) return { kind: "unread", ...error.reading };
  if (error instanceof FleetError) {
    const state = stateOfCode[error.code ?? ""] ?? "NoAccess";
    // The sentence without its code, because the code is the reason already.
    return { kind: "unread", state, reason: error.code ?? error.reason, message: error.sentence };
  }
  if (error instanceof ConnectionError) {
    const reason = codeOfFailure[error.failure] ?? "Unreachable";
    return { kind: "unread", state: "Unreachable", reason, message: error.message };
  }
  if (error instanceof ApiError) return unreadByAnswer(error);
  if (error instanceof DOMException && error.name === "TimeoutError") {
    const message = `No answer within ${timeoutMs / 1000} s`;
    return { kind: "unread", state: "Unreachable", reason: "Timeout", message };
  }
  throw error;
}

const codeOfFailure: Readonly<Partial<Record<ConnectionFailure, Code>>> = {
  untrusted: "TLSUntrusted",
  standIn: "NotKubernetes",
  tooLarge: "TooLarge",
};

const stateOfCode: Readonly<Record<string, UnreadSpoke["state"]>> = {
  Unreachable: "Unreachable",
  NotKubernetes: "Unreachable",
  TLSUntrusted: "Unreachable",
  TooLarge: "Unreachable",
  CredentialRejected: "Denied",
  Forbidden: "Denied",
  WorkForbidden: "Denied",
} satisfies Partial<Record<Code, UnreadSpoke["state"]>>;

function unreadByAnswer(error: ApiError): UnreadSpoke {
  const { status, request, message, isStatus } = error;
  if (status === 401) {
    const text = `The spoke rejected the credential at ${request}`;
    return { kind: "unread", state: "Denied", reason: "CredentialRejected", message: text };
  }
  if (status === 403) return { kind: "unread", state: "Denied", reason: "Forbidden", message };
  // An answer that is no Status may be a whole page of a proxy.
  const detail = isStatus && message !== "" ? `: ${message}` : "";
  const text = `The spoke answered ${status} at ${request}${detail}`;
  return { kind: "unread", state: "Unreachable", reason: "ServerError", message: text };
}

/** For `catch`: returns undefined when a right is missing. Throws every other error again. */
export function ifDenied(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 403) return;
  throw error;
}

/** The server's message about a right that is missing. Throws every other error again. */
export function deniedMessage(error: unknown): string {
  if (error instanceof ApiError && error.status === 403) return error.message;
  throw error;
}

/** The next step for a command without a provider file. */
export const providerFileHint =
  "Name the provider file with --clusterprofile-provider-file or KNFLEET_PROVIDER_FILE.";

/** Access and credentials of spokes, for a command that needs them. Throws UsageError without a provider file. */
export async function waysOf({ spokes }: Pick<ClusterAccess, "spokes">): Promise<SpokeWays> {
  const { ways, missing } = await spokes();
  if (ways !== undefined) return ways;
  const why = missing === undefined ? "" : `: ${missing}`;
  throw new UsageError(`No provider file was named, so no cluster can be reached${why}`, [
    providerFileHint,
  ]);
}
