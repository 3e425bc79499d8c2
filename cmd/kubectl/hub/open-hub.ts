import type { HubOptions } from "../../../access/hub/hub.ts";
import type { KubeconfigSource } from "../../../access/hub/kubeconfig.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { userAgent } from "../client-version.ts";
import type { Flags } from "../flags.ts";

export type Environment = Readonly<Record<string, string | undefined>>;

interface HubIdentity extends Pick<HubOptions, "onCredential"> {
  readonly env: Environment;
  /** A user of the hub to impersonate. The user of the kubeconfig needs the right to do that. */
  readonly actAs?: string;
}

export interface OpenHub extends AsyncDisposable {
  readonly client: KubeClient;
  /** Namespace of the kubeconfig context. */
  readonly namespace: string;
  readonly source: KubeconfigSource;
  /** Observers of credentials and requests, for the connections to spokes as well. */
  readonly observers: Pick<HubOptions, "onCredential" | "onRequest">;
}

/** Opens the hub of the flags. Reads files, and sends no request yet. Throws FleetError `ConfigInvalid`. */
export async function openHub(
  flags: Pick<Flags, "hub" | "onRequest">,
  { env, actAs, onCredential }: HubIdentity,
): Promise<OpenHub> {
  const { connectHub } = await import("../../../access/hub/hub.ts");
  const source = hubSource(flags, env, actAs);
  const observers = {
    ...(onCredential === undefined ? {} : { onCredential }),
    ...(flags.onRequest === undefined ? {} : { onRequest: flags.onRequest }),
  };
  const hub = await connectHub({ ...source, clock: systemClock, userAgent, ...observers });
  return {
    client: hub.client,
    namespace: hub.namespace,
    source,
    observers,
    [Symbol.asyncDispose]() {
      // Not awaited: closing a connection to a silent server takes seconds, and the process ends anyway.
      void hub[Symbol.asyncDispose]().then(undefined, () => undefined);
      return Promise.resolve();
    },
  };
}

/** The kubeconfig and the overrides of the flags and the environment. */
export function hubSource(
  { hub: { kubeconfig, context, overrides } }: Pick<Flags, "hub">,
  environment: Environment,
  actAs?: string,
): KubeconfigSource {
  const all =
    actAs === undefined
      ? overrides
      : { ...overrides, userFields: { ...overrides?.userFields, as: actAs } };
  return {
    environment,
    ...(kubeconfig === undefined ? {} : { kubeconfig }),
    ...(context === undefined ? {} : { context }),
    ...(all === undefined ? {} : { overrides: all }),
  };
}
