import { connectHub } from "../../access/hub/hub.ts";
import type { KubeClient } from "../../access/kube/kube-client.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { componentKinds, type ComponentKind } from "../../api/component.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { knownResource } from "../../api/resources.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";

/** Everything that a component said since a version of it, each version once, oldest first. */
export interface History extends AsyncDisposable {
  readonly versions: readonly KubeObject[];
  /** `Status Reason: message` of one condition, what follows each other once. */
  said(type: string): readonly string[];
}

/** Watches a component on the hub from this version on, until disposed; nothing is missed, but it may come a moment late. */
export async function historyOf(hub: Cluster, from: KubeObject): Promise<History> {
  const stop = new AbortController();
  const connection = await connectHub({
    clock: systemClock,
    kubeconfig: hub.adminKubeconfigPath,
    environment: {},
    userAgent: "knfleet-test-history/0",
  });
  const versions = [from];
  const watching = follow(connection.client, versions, stop.signal);
  return {
    versions,
    said: (type) => {
      const lines = versions.flatMap((version) => {
        const found = conditionOf(version, type);
        if (found === undefined) return [];
        const { status, reason = "", message = "" } = found;
        return [`${String(status)} ${String(reason)}: ${String(message)}`];
      });
      return lines.filter((line, index) => line !== lines[index - 1]);
    },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await watching;
      await connection[Symbol.asyncDispose]();
    },
  };
}

/** Adds each later version of an object to its versions, until the signal; watches again when a watch ends. */
async function follow(client: KubeClient, versions: KubeObject[], signal: AbortSignal) {
  let last = versions.at(-1);
  while (last !== undefined && !signal.aborted) {
    const { apiVersion, kind, metadata }: KubeObject = last;
    const { namespace = "", uid, resourceVersion } = metadata;
    const ref = { resource: knownResource(apiVersion, kind), namespace };
    try {
      for await (const event of client.watch(ref, { resourceVersion }, signal)) {
        if (event.type !== "BOOKMARK" && event.object.metadata.uid === uid) {
          versions.push(event.object);
        }
      }
    } catch {
      await new Promise((wake) => setTimeout(wake, 100));
    }
    last = versions.at(-1);
  }
}

/** `Reason: message ×count` of every Event on a component with this uid. */
export async function eventsOf(
  hub: Cluster,
  kind: ComponentKind,
  uid: string,
): Promise<readonly string[]> {
  const namespace = componentKinds[kind].label;
  const events = await hub.admin.list({ apiVersion: "v1", kind: "Event", namespace });
  return events
    .filter((event) => valueAt(event, "involvedObject", "uid") === uid)
    .map((event) => {
      const [reason, message, count] = ["reason", "message", "count"].map((field) =>
        String(valueAt(event, field)),
      );
      return `${reason}: ${message} ×${count}`;
    });
}
