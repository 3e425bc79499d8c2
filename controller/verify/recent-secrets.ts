import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { Clock } from "../../access/time/clock.ts";
import { nameId } from "../../api/keys.ts";
import type { KubeObject } from "../../api/kubernetes.ts";

/** As long as the shortest interval of a check. */
const recentMs = 10_000;

/**
 * Reads the Secrets of checks from the hub, each at most once in ten seconds as far as nobody waits for it already: a thousand clusters are asked with one Secret. What is not there, and what
 * may not be read, is asked for again. Throws as the client does.
 */
export function recentSecrets(
  hub: Pick<KubeClient, "get">,
  clock: Pick<Clock, "now">,
): Pick<KubeClient, "get"> {
  const recent = new Map<string, { readonly secret: KubeObject; readonly readAt: number }>();
  return {
    get: async (ref, options, signal) => {
      const now = clock.now();
      for (const [id, { readAt }] of recent) if (now >= readAt + recentMs) recent.delete(id);
      const id = nameId(ref);
      const known = recent.get(id);
      if (known !== undefined) return known.secret;
      const secret = await hub.get(ref, options, signal);
      if (secret !== undefined) recent.set(id, { secret, readAt: now });
      return secret;
    },
  };
}
