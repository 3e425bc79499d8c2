import { unlessDenied } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { knownResource } from "../../api/resources.ts";
import type { Log } from "../log.ts";
import { type Clock, delay } from "../queue/clock.ts";

/** Kubernetes versions of the targets, requested once for each connection. */
export class ClusterVersions {
  readonly #known = new WeakMap<object, string>();

  /**
   * `gitVersion` of the cluster behind a client; undefined when the cluster does not say. Rejects when it cannot be reached or
   * answers something that says nothing for now, and with the reason of the signal.
   */
  async of(client: Pick<KubeClient, "request">, signal: AbortSignal): Promise<string | undefined> {
    const known = this.#known.get(client);
    if (known !== undefined) return known;
    const version = await versionOf(client, signal);
    if (version !== undefined) this.#known.set(client, version);
    return version;
  }

  /** Requests the version again next time: a cluster that is too old may be upgraded by then. */
  forget(client: Pick<KubeClient, "request">): void {
    this.#known.delete(client);
  }
}

async function versionOf(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Without the right to read the version, an old cluster fails at the first request that it does not know.
  const answer = await unlessDenied(client.request("GET", "/version", undefined, signal));
  if (typeof answer !== "object" || answer === null || !("gitVersion" in answer)) return undefined;
  // It appears in messages, and the cluster can send any text.
  return typeof answer.gitVersion === "string" ? foreignText(answer.gitVersion, 64) : undefined;
}

const namespaces = knownResource("v1", "Namespace");
const retryMs = 2_000;

/**
 * UID of the hub's kube-system namespace, which tells this hub from every other. Asks until the hub answers; rejects only when the
 * signal is aborted.
 */
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
      log.warn({ err }, "Cannot read the namespace kube-system of the hub");
    }
    await delay(clock, retryMs, signal);
  }
}
