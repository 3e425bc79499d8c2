import type { KubeClient } from "../../access/kube/kube-client.ts";
import { isRecord } from "../../api/fields.ts";

/** Unix time in milliseconds as the API server has it, as far as it was asked. */
export interface ServerClock {
  now(): number;
  /** Asks the API server; keeps what is known when it does not say. */
  set(signal: AbortSignal): Promise<void>;
}

// The answer has whole seconds and is on its way for a while; certificates begin to hold an hour before they are made.
const negligibleMs = 30_000;

/**
 * The local clock, put right by the times that the API server gives to new objects: a Secret that is sent for a dry run and never
 * stored. A machine whose clock is days off makes certificates that hold all the same.
 */
export function serverClock(
  client: Pick<KubeClient, "request">,
  { namespace, now }: { readonly namespace: string; readonly now: () => number },
): ServerClock {
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
