import { componentKinds, type ComponentKind } from "../../api/component.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { read } from "./installation.ts";

const pollMs = 20;

/** Everything that a component said while it was looked at, each version once, oldest first. */
export interface History extends AsyncDisposable {
  readonly versions: readonly KubeObject[];
  /** `Status Reason: message` of one condition, what follows each other once. */
  said(type: string): readonly string[];
}

/** Looks at a component on the hub every 20 ms until disposed. */
export function historyOf(hub: Cluster, kind: ComponentKind): History {
  const stop = new AbortController();
  const versions: KubeObject[] = [];
  const look = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      const now = await read(hub, kind);
      const isNew = now?.metadata.resourceVersion !== versions.at(-1)?.metadata.resourceVersion;
      if (now !== undefined && isNew) versions.push(now);
      await new Promise((wake) => setTimeout(wake, pollMs));
    }
  };
  const looking = look();
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
      await looking;
    },
  };
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
