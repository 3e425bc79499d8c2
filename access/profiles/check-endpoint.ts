import type { AccessCluster } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { jsonOf, recordAt, textAt } from "../../api/fields.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { addressGuard } from "../http/address-guard.ts";
import { endpointOf } from "../http/endpoint.ts";
import { cannotWork, probeRequest } from "../http/liveness.ts";
import { refuserOf } from "../http/refusal.ts";
import { RequestCounters } from "../http/request-counters.ts";
import type { TransportAnswer } from "../http/request.ts";
import { Transport } from "../http/transport.ts";
import { ConnectionError } from "../kube/api-error.ts";
import type { Clock } from "../time/clock.ts";
import { withTimeout } from "../time/deadline.ts";
import { anyEndpoint } from "./kubeconfig-clusters.ts";

/** Whether an API server answers, and which version it has. */
export type EndpointCheck =
  /** `kubernetes` is undefined when the server tells its version only to users that it knows. */
  | { readonly kind: "answers"; readonly kubernetes: string | undefined }
  /** `reason` and `message` are for a condition, in words of ours. `cause` is for the log. */
  | {
      readonly kind: "fails";
      readonly reason: "Unreachable" | "EndpointInvalid";
      readonly message: string;
      readonly cause?: Error;
    };

/** Checks one API server. Rejects only with the reason of the signal. */
export type CheckEndpoint = (cluster: AccessCluster, signal: AbortSignal) => Promise<EndpointCheck>;

interface CheckOptions {
  readonly clock: Clock;
  readonly userAgent: string;
  /** `KUBERNETES_SERVICE_HOST` is read: in a pod, loopback addresses are refused. */
  readonly environment: Readonly<Record<string, string | undefined>>;
}

const limitMs = 10_000;
const longestVersion = 64;

/**
 * Makes the check that tells whether the cluster of a ClusterProfile answers. It asks for `/readyz` and `/version` on a connection of its own and sends no credential, so
 * 401 and 403 are answers, too. It takes 10 s at most.
 */
export function endpointChecker({ clock, userAgent, environment }: CheckOptions): CheckEndpoint {
  const guard = addressGuard({ loopback: (environment["KUBERNETES_SERVICE_HOST"] ?? "") === "" });
  // Not those of the metrics: a series for each discovered server says nothing.
  const counters = new RequestCounters(clock);
  return async (cluster, signal) => {
    const limit = withTimeout(clock, limitMs, signal);
    try {
      const endpoint = endpointOf(cluster, { ...anyEndpoint, nowMs: clock.date().getTime() });
      await using transport = new Transport({ clock, endpoint, userAgent, counters, guard });
      return await checkOver(transport, limit);
    } catch (error) {
      signal.throwIfAborted();
      return failureOf(error);
    }
  };
}

async function checkOver(transport: Transport, signal: AbortSignal): Promise<EndpointCheck> {
  const ready = await transport
    .send(probeRequest("/readyz", limitMs), signal)
    .catch(unlessRedirect);
  if (ready !== undefined && (cannotWork(ready) || isUnreached(ready))) {
    return unreachable;
  }
  const version = await transport.send(probeRequest("/version", limitMs), signal);
  const { status, text } = version;
  if (![200, 401, 403, 429].includes(status) || isUnreached(version)) {
    return unreachable;
  }
  const kubernetes = status === 200 ? textAt(recordAt(jsonOf(text)), "gitVersion") : undefined;
  return {
    kind: "answers",
    kubernetes: kubernetes === undefined ? undefined : foreignText(kubernetes, longestVersion),
  };
}

/** A gateway that knows only the paths of resources may redirect to a login. */
function unlessRedirect(error: unknown): undefined {
  if (error instanceof ConnectionError && error.failure === "other") return undefined;
  throw error;
}

/** A proxy answered in place of the API server, because it could not ask it. */
function isUnreached(answer: TransportAnswer): boolean {
  return answer.status === 401 && refuserOf(answer) === "unreached";
}

// One text for all: whoever writes a ClusterProfile or a kubeconfig could learn from another which ports of the hub's network are open, and what listens there.
const unreachable = {
  kind: "fails",
  reason: "Unreachable",
  message: `No API server that is ready and trusted answered within ${limitMs / 1_000} s`,
} as const satisfies EndpointCheck;

function failureOf(error: unknown): EndpointCheck {
  if (error instanceof FleetError) {
    return { kind: "fails", reason: "EndpointInvalid", message: error.sentence };
  }
  if (!(error instanceof ConnectionError)) {
    // The time is over: every other error of a transport is a ConnectionError.
    return error instanceof Error ? { ...unreachable, cause: error } : unreachable;
  }
  const { failure, message } = error;
  if (failure === "notAllowed") return { kind: "fails", reason: "EndpointInvalid", message };
  return { ...unreachable, cause: error };
}
