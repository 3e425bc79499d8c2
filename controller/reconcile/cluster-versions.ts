import { foreignText } from "../../access/foreign-text.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { unlessDenied } from "../uninstall/unless-denied.ts";

/** Kubernetes versions of the targets, asked for once a connection. */
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

  /** Asks again the next time: a version that is too old may be a newer one by then. */
  forget(client: Pick<KubeClient, "request">): void {
    this.#known.delete(client);
  }
}

async function versionOf(
  client: Pick<KubeClient, "request">,
  signal: AbortSignal,
): Promise<string | undefined> {
  // Not everybody may ask; what is too old says so itself then.
  const answer = await unlessDenied(client.request("GET", "/version", undefined, signal));
  if (typeof answer !== "object" || answer === null || !("gitVersion" in answer)) return undefined;
  // It gets into messages, and a cluster may say anything.
  return typeof answer.gitVersion === "string" ? foreignText(answer.gitVersion, 64) : undefined;
}
