import type { KubeObject } from "../../api/kubernetes.ts";
import { isRecord } from "../fleet/json-record.ts";
import type { SpokeDump } from "../support/spoke-dump.ts";

/**
 * What a component says on the hub, as one more object of a dump: its conditions by their types, without times, everything else of its status, and what
 * holds it. Empty for one that is gone. Its Events are left out: each follows on the write of a status, and who dies between the two never tells it.
 */
export function componentDumpOf(component: KubeObject | undefined): SpokeDump {
  if (component === undefined) return {};
  const { labels, annotations, finalizers, deletionTimestamp } = component.metadata;
  const { conditions, ...status } = recordOf(component["status"]);
  const said = Array.isArray(conditions) ? conditions.map(recordOf) : [];
  return {
    [`${component.kind} on the hub`]: {
      labels,
      annotations,
      finalizers,
      isBeingDeleted: deletionTimestamp !== undefined,
      status,
      conditions: Object.fromEntries(
        said.map(({ type, ...words }) => [type, { ...words, lastTransitionTime: undefined }]),
      ),
    },
  };
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}
