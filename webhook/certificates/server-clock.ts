import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { isRecord } from "../../api/fields.ts";

/** Unix time of the API server in milliseconds; the local time until it was asked. */
export interface ServerClock {
  now(): number;
  /** Asks the API server; keeps the known time when that fails. */
  set(signal: AbortSignal): Promise<void>;
}

// The answer has whole seconds and takes a while. Certificates are valid from an hour before they are made, so this is no harm.
const negligibleMs = 30_000;

/**
 * The local clock, corrected by the time that the API server gives to a new object: a Secret that is created as a dry run and never
 * stored. So a machine whose clock is days off makes valid certificates.
 */
export function serverClock(
  client: Pick<KubeClient, "request">,
  { namespace, clock }: { readonly namespace: string; readonly clock: Pick<Clock, "date"> },
): ServerClock {
  const now = (): number => clock.date().getTime();
  let offsetMs = 0;
  return {
    now: () => now() + offsetMs,
    async set(signal) {
      const timeMs = await askTime(client, namespace, signal).catch(() => {
        signal.throwIfAborted();
        return undefined;
      });
      if (timeMs === undefined) return;
      const differenceMs = timeMs - now();
      offsetMs = Math.abs(differenceMs) < negligibleMs ? 0 : differenceMs;
    },
  };
}

async function askTime(
  client: Pick<KubeClient, "request">,
  namespace: string,
  signal: AbortSignal,
): Promise<number | undefined> {
  const path = `/api/v1/namespaces/${namespace}/secrets?dryRun=All`;
  const metadata = { generateName: "knfleet-clock-", namespace };
  const body = { apiVersion: "v1", kind: "Secret", metadata };
  const answer = await client.request("POST", path, body, signal);
  const stored = isRecord(answer) && isRecord(answer["metadata"]) ? answer["metadata"] : {};
  const time = Date.parse(String(stored["creationTimestamp"]));
  return Number.isNaN(time) ? undefined : time;
}
