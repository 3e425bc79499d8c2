import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { apiError, beginWith, type ScriptedWatches } from "./scripted-watches.ts";

const running = ["f:active", "f:startTime"];
const id = objectId(keyOf(job(1, running)));

let watches: ScriptedWatches;
let changes: ObservedChange[];
let observation: Observation;

beforeEach(async () => {
  const scene = await beginWith(knownResource("batch/v1", "Job"), [job(1, running)]);
  ({ watches, changes, observation } = scene);
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

/** A Job of which these fields of its status were written. */
function job(version: number, status: readonly string[], uid = "migrate"): KubeObject {
  const fieldsV1 = { "f:status": Object.fromEntries(status.map((field) => [field, {}])) };
  const managedFields = [
    { manager: "knfleet-hub", operation: "Apply", fieldsV1: { "f:spec": {} } },
    { manager: "kcm", operation: "Update", subresource: "status", fieldsV1 },
  ];
  const metadata = { namespace: "eventing", name: "migrate", uid, managedFields };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { ...metadata, resourceVersion: String(version) },
  };
}

/** The server says something on the watch. */
function sends(type: "ADDED" | "MODIFIED" | "DELETED", object: KubeObject): void {
  watches.send(object.kind, { type, object });
}

async function reported(count: number): Promise<void> {
  await watches.waitFor(() => expect(changes.length).toBeGreaterThanOrEqual(count));
}

describe("a Job is cut short", () => {
  test.each([
    { when: "it is deleted while it runs", status: running, isCut: true },
    { when: "it is deleted before it was started", status: [], isCut: true },
    {
      when: "not when it has succeeded",
      status: ["f:succeeded", "f:completionTime", "f:conditions"],
      isCut: false,
    },
    { when: "not when it has failed", status: ["f:failed", "f:conditions"], isCut: false },
  ])("$when", async ({ status, isCut }) => {
    sends("DELETED", job(101, status));
    await reported(1);
    expect(observation.cutShort().has(id)).toBe(isCut);
  });

  test("until it is there again", async () => {
    sends("DELETED", job(101, running));
    await reported(1);
    observation.note([observedObject(job(102, [], "again"), "knfleet-hub")]);
    expect(observation.cutShort().size).toBe(0);
    sends("ADDED", job(102, [], "again"));
    sends("DELETED", job(103, running, "again"));
    await reported(2);
    sends("ADDED", job(104, [], "by somebody else"));
    await watches.waitFor(() => expect(observation.cutShort().size).toBe(0));
  });

  test("not when nobody saw it go: it may have finished first", async () => {
    watches.send("Job", apiError(410, "too old resource version"));
    await watches.waitFor(() => expect(watches.opened("Job")).toHaveLength(2));
    watches.listed("Job", [], "200");
    await reported(1);
    expect(observation.cutShort().size).toBe(0);
  });
});
