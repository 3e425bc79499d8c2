import { unlessDenied } from "../../access/kube/api-error.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { type Clock, delay } from "../../access/time/clock.ts";
import { foreignText } from "../../api/foreign-text.ts";
import { knownResource } from "../../api/resources.ts";
import type { Log } from "../log.ts";

/** Kubernetes versions of the targets, requested once for each connection. */
export class ClusterVersions {
  /** By client. */
  readonly #versions = new WeakMap<object, string>();

  /** `gitVersion` of the cluster behind a client; undefined when the cluster does not tell it. Rejects when the request fails, unless it is denied, and with the reason of the signal. */
  async of(client: Pick<KubeClient, "request">, signal: AbortSignal): Promise<string | undefined> {
    const cached = this.#versions.get(client);
    if (cached !== undefined) return cached;
    const version = await readVersion(client, signal);
    if (version !== undefined) this.#versions.set(client, version);
    return version;
  }

  /** Requests the version again next time: a cluster that is too old may be upgraded by then. */
  forget(client: Pick<KubeClient, "request">): void {
    this.#versions.delete(client);
  }
}

async function readVersion(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Without the right to read the version, a cluster that is too old fails at the first request that it does not support.
  const answer = await unlessDenied(client.request("GET", "/version", undefined, signal));
  if (typeof answer !== "object" || answer === null || !("gitVersion" in answer)) return undefined;
  // The text appears in messages, and a cluster can send any text.
  return typeof answer.gitVersion === "string" ? foreignText(answer.gitVersion, 64) : undefined;
}

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
      log.warn({ err }, "Cannot read the namespace kube-system of the hub");
    }
    await delay(clock, retryMs, signal);
  }
}
