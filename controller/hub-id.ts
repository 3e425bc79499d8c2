import type { KubeClient } from "../access/kube/kube-client.ts";
import { logFailure } from "../access/log.ts";
import { type Clock, delay } from "../access/time/clock.ts";
import { knownResource } from "../api/resources.ts";
import type { Log } from "./log.ts";

const namespaces = knownResource("v1", "Namespace");
const retryMs = 2_000;

/** Reads the UID of the hub's kube-system namespace, which identifies the hub. Repeats the request until the hub answers; rejects only when the signal is aborted. */
export async function readHubId(
  client: Pick<KubeClient, "get">,
  { clock, log }: { readonly clock: Clock; readonly log: Log },
  signal: AbortSignal,
): Promise<string> {
  const ref = { resource: namespaces, name: "kube-system" };
  for (;;) {
    try {
      const namespace = await client.get(ref, { metadataOnly: true }, signal);
      if (namespace !== undefined) return namespace.metadata.uid;
      log.warn({}, "The hub has no namespace kube-system");
    } catch (err) {
      signal.throwIfAborted();
      logFailure(log, "warn", { err }, "Cannot read the namespace kube-system of the hub");
    }
    await delay(clock, retryMs, signal);
  }
}
