import type { AccessProvider, ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { providerForbids } from "../../api/sentences.ts";
import { type Endpoint, endpointOf } from "../http/endpoint.ts";
import { type ExecPlan, execPlan } from "../plugins/exec-plan.ts";
import type { Provider } from "./provider-config.ts";
import { allowsProxy, allowsServer } from "./provider-rules.ts";

/** An entry of a profile, and the provider of the file that has its name. */
export interface OfferedWay {
  readonly profile: ClusterProfile;
  readonly provider: Provider;
  readonly entry: AccessProvider;
}

/**
 * Where an entry leads and which plugin gets the credential for it. `nowMs` is the wall clock, for certificates that have expired.
 *
 * Throws `FleetError` `AccessProviderFailed` or `RemoteClientCreationFailed`.
 */
export function wayOf(
  { profile, provider, entry }: OfferedWay,
  nowMs: number,
): { readonly endpoint: Endpoint; readonly plan: ExecPlan } {
  const { systemRoots, allowInsecure, rules } = provider;
  const endpoint = endpointOf(entry.cluster, { systemRoots, allowInsecure, nowMs });
  if (!allowsServer(rules, endpoint.server)) {
    throw notAllowed(provider, providerForbids.server, `server ${new URL(endpoint.server).host}`);
  }
  if (!allowsProxy(rules, endpoint.proxy)) {
    const { host = "", port = 0 } = endpoint.proxy ?? {};
    throw notAllowed(provider, providerForbids.proxy, `proxy ${host}:${port}`);
  }
  return { endpoint, plan: execPlan(provider, { profile, cluster: entry.cluster ?? {} }) };
}

/** Why an entry can never be used as it is; undefined when it can. Time does not count: no certificate is too old. */
export function deadEnd(way: OfferedWay): string | undefined {
  try {
    wayOf(way, 0);
    return undefined;
  } catch (error) {
    if (error instanceof FleetError) return error.sentence;
    throw error;
  }
}

const longestHost = 128;

function notAllowed(
  { name }: Provider,
  rule: typeof providerForbids.server,
  what: string,
): FleetError {
  return new FleetError(
    "RemoteClientCreationFailed",
    `${rule.of(JSON.stringify(name))} does not hold the ${what.slice(0, longestHost)} of the profile`,
    { code: "EndpointInvalid" },
  );
}
