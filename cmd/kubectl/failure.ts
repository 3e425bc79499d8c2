import { CommanderError } from "commander";

import { ApiError, ConnectionError } from "../../access/kube/api-error.ts";
import { codeOfRefusal } from "../../access/kube/obstacle.ts";
import { FleetError } from "../../api/errors.ts";
import { reasons } from "../../api/reasons.ts";
import { messageOf, UsageError } from "./errors.ts";
import { NotServedError } from "./hub/installations.ts";
import type { LiveReason } from "./output/own-reasons.ts";
import { type Failure, installCrds, installInventory, installSets } from "./output/steps.ts";

/** Explains why a command failed. The texts have no stack and no credential. `help`: the command line for the help of the command. */
export function failureOf(error: unknown, help = "kubectl knfleet --help"): Failure {
  if (error instanceof UsageError) {
    return { error: error.message, next: error.next.length > 0 ? error.next : [help] };
  }
  if (error instanceof CommanderError) return usageFailure(error, help);
  if (error instanceof FleetError) {
    // Here the name of the ClusterProfile was typed, and stands in no component.
    const isTyped = error.reason === "ClusterProfileNotFound";
    const next = isTyped ? listProfiles : reasons[error.reason].next;
    return { error: error.message, causes: causesOf(error), next: [next] };
  }
  if (error instanceof NotServedError) {
    return { error: error.message, next: [error.next] };
  }
  if (error instanceof ApiError) return answerFailure(error);
  if (error instanceof ConnectionError) {
    return {
      error: `The hub cannot be reached: ${error.message}`,
      causes: causesOf(error),
      next: ["kubectl cluster-info"],
    };
  }
  if (error instanceof DOMException && error.name === "TimeoutError") {
    return {
      error: "The hub did not answer in time",
      next: ["kubectl cluster-info", "Give it more time with --request-timeout or --timeout."],
    };
  }
  return { error: `Internal error: ${messageOf(error)}`, causes: causesOf(error), next: [] };
}

/** The reason of a failure in a document. */
export function failureReason(error: unknown): LiveReason {
  if (error instanceof UsageError || error instanceof CommanderError) return "Usage";
  if (error instanceof FleetError) return error.code ?? error.reason;
  if (error instanceof NotServedError) return "NotServed";
  if (error instanceof ApiError) {
    return unservedResource(error) === undefined ? answerReason(error) : "NotServed";
  }
  if (error instanceof ConnectionError) {
    return error.failure === "untrusted" ? "TLSUntrusted" : "HubUnavailable";
  }
  return error instanceof DOMException && error.name === "TimeoutError"
    ? "HubUnavailable"
    : "InternalError";
}

function answerReason(error: ApiError): LiveReason {
  if (error.status === 401) return "CredentialRejected";
  return codeOfRefusal(error) ?? (error.status === 403 ? "Forbidden" : "ServerError");
}

function usageFailure({ message }: CommanderError, help: string): Failure {
  const [first = "", ...rest] = message.replace(/^error: /, "").split("\n");
  const error = first.charAt(0).toUpperCase() + first.slice(1);
  // Most programs have `--version`: suggest our command for it.
  if (/unknown option '--version'/.test(first)) {
    return { error, next: ["kubectl knfleet version --client"] };
  }
  const suggestion = /^\(Did you mean (.*)\?\)$/.exec(rest.join(" "))?.[1];
  return {
    error,
    next: [suggestion === undefined ? help : `Did you mean ${suggestion}?`],
  };
}

const listProfiles = "kubectl get clusterprofiles.multicluster.x-k8s.io -A";
/** The resource that the hub does not serve: its 404 is no Status. */
function unservedResource({ status, isStatus, request }: ApiError): string | undefined {
  if (status !== 404 || isStatus) return undefined;
  return /^\w+ \/apis\/[^/]+\/[^/]+(?:\/namespaces\/[^/]+)?\/([a-z]+)(?:\/|$)/.exec(request)?.[1];
}

function answerFailure(error: ApiError): Failure {
  const { status, message, request } = error;
  if (status === 401) {
    return {
      error: "You must be logged in to the server (Unauthorized)",
      next: ["kubectl auth whoami"],
    };
  }
  if (status === 403) {
    return {
      error: `Forbidden: ${message}`,
      next: [
        "One namespace (-n) may need fewer rights than all of them (-A). This shows what you may do:",
        "kubectl auth can-i --list",
      ],
    };
  }
  const resource = unservedResource(error);
  if (resource !== undefined) {
    return {
      error: `The server doesn't have a resource type "${resource}"`,
      next: [installStep(resource)],
    };
  }
  return { error: `The hub answered ${status} at ${request}: ${message}`, next: [] };
}

function installStep(resource: string): string {
  if (resource === "clusterprofiles") return installInventory;
  return resource.endsWith("sets") ? installSets : installCrds;
}

const maxCauses = 4;
const maxCauseLength = 300;

function causesOf(error: unknown): readonly string[] {
  const causes: string[] = [];
  let cause = error instanceof Error ? error.cause : undefined;
  while (cause !== undefined && cause !== null && causes.length < maxCauses) {
    causes.push(messageOf(cause).slice(0, maxCauseLength));
    cause = cause instanceof Error ? cause.cause : undefined;
  }
  return causes.filter((text) => text !== "");
}
