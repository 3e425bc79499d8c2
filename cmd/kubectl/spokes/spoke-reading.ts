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
 * A spoke that could not be read, and why. `NoAccess`: no way in could be built from profile and provider file.
 * `Denied`: the spoke refused the credential or a right. `Unknown`: not looked at, for want of a provider file or of time.
 */
export interface UnreadSpoke {
  readonly kind: "unread";
  readonly state: "Unreachable" | "Denied" | "NoAccess" | "Unknown";
  readonly reason: LiveReason;
  readonly message: string;
}

/** What it means for a spoke that there is no provider file. */
export function noProviderFile(missing: string | undefined): Omit<UnreadSpoke, "kind"> {
  const why = missing === undefined ? "" : `: ${missing}`;
  const message = `${ownReasons.NoProviderFile}${why}`;
  return { state: "Unknown", reason: "NoProviderFile", message };
}

/** The outcome of reading something from one cluster. */
export type Reading<Facts> = { readonly kind: "read"; readonly facts: Facts } | UnreadSpoke;

/** A spoke could not be read when it was recorded. */
export class UnreadError extends Error {
  override readonly name = "UnreadError";
  readonly reading: Omit<UnreadSpoke, "kind">;

  constructor(reading: Omit<UnreadSpoke, "kind">) {
    super(reading.message);
    this.reading = reading;
  }
}

/** What a failed attempt to read a spoke means. Throws the error again when it is a bug and not the spoke's state. */
export function unreadBecause(error: unknown, timeoutMs: number): UnreadSpoke {
  if (error instanceof UnreadError) return { kind: "unread", ...error.reading };
  if (error instanceof FleetError) {
    const state = stateOfCode[error.code ?? ""] ?? "NoAccess";
    // The code is told as the reason; in front of the message it would be told twice.
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
};

const stateOfCode: Readonly<Record<string, UnreadSpoke["state"]>> = {
  Unreachable: "Unreachable",
  NotKubernetes: "Unreachable",
  TLSUntrusted: "Unreachable",
  CredentialRejected: "Denied",
  Forbidden: "Denied",
} satisfies Partial<Record<Code, UnreadSpoke["state"]>>;

function unreadByAnswer(error: ApiError): UnreadSpoke {
  const { status, request, message, isStatus } = error;
  if (status === 401) {
    const text = `The spoke rejected the credential at ${request}`;
    return { kind: "unread", state: "Denied", reason: "CredentialRejected", message: text };
  }
  if (status === 403) return { kind: "unread", state: "Denied", reason: "Forbidden", message };
  // What is no Status may be a proxy's whole page.
  const said = isStatus && message !== "" ? `: ${message}` : "";
  const text = `The spoke answered ${status} at ${request}${said}`;
  return { kind: "unread", state: "Unreachable", reason: "ServerError", message: text };
}

/** For `catch`: undefined when a right is missing; throws everything else again. */
export function ifDenied(error: unknown): undefined {
  if (error instanceof ApiError && error.status === 403) return;
  throw error;
}

/** What to do where nothing says how clusters are reached. */
export const providerFileHint =
  "Name the provider file with --clusterprofile-provider-file or KNFLEET_PROVIDER_FILE.";

/** The ways to spokes of a command that can do nothing without them. Throws UsageError when there is no provider file. */
export async function waysOf({ spokes }: Pick<ClusterAccess, "spokes">): Promise<SpokeWays> {
  const { ways, missing } = await spokes();
  if (ways !== undefined) return ways;
  const why = missing === undefined ? "" : `: ${missing}`;
  throw new UsageError(`No provider file was named, so no cluster can be reached${why}`, [
    providerFileHint,
  ]);
}
