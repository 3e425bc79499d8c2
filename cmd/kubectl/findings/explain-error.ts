import {
  ApiError,
  codeOf,
  ConnectionError,
  type ConnectionFailure,
} from "../../../access/kube/api-error.ts";
import { missingRightIn } from "../../../access/kube/missing-right.ts";
import { FleetError } from "../../../api/errors.ts";
import { redactSecrets } from "../../../api/foreign-text.ts";
import type { KnfCode } from "../../../api/knf/knf-codes.ts";
import { finerKnf, knfOfCode, knfOfReason, knfOfSocket } from "../output/knf-of.ts";
import { finding, type Finding } from "./hops/hop.ts";

/** Finding of a failed step on the network to a spoke; `stalled` is the code for no answer at this step. */
export function networkFinding(error: unknown, stalled: KnfCode, what: string): Finding {
  if (error instanceof ConnectionError && error.failure === "notAllowed") {
    return finding("error", "KNF4005", { message: `${what}: ${error.message}` });
  }
  const socketCode = codeOf(error);
  const code = isLate(error) ? stalled : (knfOfSocket[socketCode] ?? "KNF4008");
  const known = socketCode === "" ? [] : [`error ${socketCode}`];
  return finding("error", code, {
    message: `${what}: ${sentences[code] ?? sentenceOf(error)}`,
    evidence: known,
  });
}

const sentences: Partial<Record<KnfCode, string>> = {
  KNF4001: "the name does not resolve",
  KNF4002: "the connection was refused",
  KNF4003: "no connection in time",
  KNF4004: "there is no route",
  KNF4008: "the connection was cut",
  KNF4009: "no answer in time",
};

/** Whether an error means that the server did not answer in time. */
function isLate(error: unknown): boolean {
  if (error instanceof ConnectionError) return error.failure === "timeout";
  if (error instanceof DOMException) return error.name === "TimeoutError";
  return ["ETIMEDOUT", "UND_ERR_CONNECT_TIMEOUT"].includes(codeOf(error));
}

/** Codes for failures of one API server. */
interface ServerCodes {
  readonly unreachable: KnfCode;
  readonly unauthorized: KnfCode;
  readonly forbidden: KnfCode;
  readonly other: KnfCode;
}

export const hubServer: ServerCodes = {
  unreachable: "KNF1001",
  unauthorized: "KNF1002",
  forbidden: "KNF1003",
  other: "KNF1001",
};

export const spokeServer: ServerCodes = {
  unreachable: "KNF4009",
  unauthorized: "KNF5001",
  forbidden: "KNF5002",
  other: "KNF4016",
};

/** Finding of a failed request to an API server. */
export function requestFinding(error: unknown, server: ServerCodes): Finding {
  if (error instanceof FleetError && error.code === "CredentialRejected") {
    return finding("error", server.unauthorized, { message: error.sentence });
  }
  if (error instanceof FleetError) return fleetFinding(error);
  if (error instanceof ApiError) return answerFinding(error, server);
  if (isLate(error)) return finding("error", server.unreachable, { message: "No answer in time" });
  if (error instanceof ConnectionError) {
    const code = codeOfFailure[error.failure] ?? server.unreachable;
    const own = server.unreachable === "KNF1001" ? "KNF1001" : code;
    return finding("error", own, { message: error.message });
  }
  return finding("error", server.other, { message: sentenceOf(error) });
}

const codeOfFailure: Readonly<Partial<Record<ConnectionFailure, KnfCode>>> = {
  untrusted: "KNF4010",
  standIn: "KNF4015",
  tooLarge: "KNF4017",
};

function answerFinding(error: ApiError, server: ServerCodes): Finding {
  const { status, message, request } = error;
  const evidence = [`${request} was answered ${status}`];
  if (status === 401) {
    return finding("error", server.unauthorized, {
      message: "The credential is refused",
      evidence,
    });
  }
  if (status !== 403) {
    const said = redactSecrets(message).slice(0, 300);
    return finding("error", server.other, {
      message: `${request} was answered ${status}`,
      evidence: [said],
    });
  }
  const right = missingRightIn(message);
  return finding("error", server.forbidden, {
    message: right === undefined ? `${request} is forbidden` : `Missing is ${right}`,
    evidence: [redactSecrets(message).slice(0, 300)],
  });
}

/** Finding of an error on the credential path. */
export function fleetFinding(error: FleetError): Finding {
  const code = error.code === undefined ? undefined : knfOfCode[error.code];
  const cause = causeOf(error);
  const known = code ?? knfOfReason[error.reason] ?? "KNF1018";
  return finding("error", finerKnf(known, error.sentence), {
    message: error.sentence,
    evidence: cause === undefined ? [] : [cause],
  });
}

function causeOf(error: FleetError): string | undefined {
  const { cause } = error;
  if (!(cause instanceof Error) || cause.message === "") return undefined;
  return redactSecrets(cause.message).slice(-600);
}

function sentenceOf(error: unknown): string {
  return redactSecrets(error instanceof Error ? error.message : String(error)).slice(0, 300);
}
