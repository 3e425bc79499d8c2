import { forceOrphanAnnotation } from "../../api/component.ts";
import { isRecord } from "../../api/fields.ts";
import { mergePatch } from "../../sets/desired-spec.ts";
import { valueAt } from "../fleet/json-record.ts";
import { isComponent } from "./checks.ts";
import type { Alteration } from "./transport.ts";

/** A fault of the controller that the simulation has to find. */
export interface KnownFault {
  /** What the controller does wrong. */
  readonly name: string;
  /** Makes it so from outside: it hears what a controller with this fault would believe. */
  readonly alteration: Alteration;
}

export const knownFaults: readonly KnownFault[] = [
  {
    name: "stamps all clusters of a stage at once",
    alteration: {
      event: (event) => {
        const stages = valueAt(event["object"], "spec", "rollout", "stages");
        if (!Array.isArray(stages)) return event;
        const all = stages.map((stage: unknown) => ({ ...Object(stage), maxConcurrency: "100%" }));
        return merged(event, { spec: { rollout: { stages: all } } });
      },
    },
  },
  {
    name: "lets a component go before its objects are deleted",
    alteration: {
      event: (event) => {
        const { object } = event;
        if (!isRecord(object) || !isComponent({ kind: String(valueAt(object, "kind")) })) {
          return event;
        }
        const annotations = { [forceOrphanAnnotation]: valueAt(object, "metadata", "uid") };
        return merged(event, { metadata: { annotations } });
      },
    },
  },
  {
    name: "does not notice that an object of a spoke was deleted",
    alteration: {
      event: (event) => {
        const isOfSpoke = valueAt(event["object"], "kind") === "PartialObjectMetadata";
        return event["type"] === "DELETED" && isOfSpoke ? undefined : event;
      },
    },
  },
];

function merged(event: Readonly<Record<string, unknown>>, patch: object): object {
  return { ...event, object: mergePatch(event["object"], patch) };
}
