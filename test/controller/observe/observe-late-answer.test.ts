import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { apiError, beginWith, type ScriptedWatches } from "./scripted-watches.ts";

let watches: ScriptedWatches;
let changes: ObservedChange[];
let observation: Observation;

beforeEach(async () => {
  const scene = await beginWith(knownResource("v1", "ConfigMap"), [configMap(90)]);
  ({ watches, changes, observation } = scene);
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

function configMap(version: number, uid = "first"): KubeObject {
  const fieldsV1 = { "f:data": {} };
  const managedFields = [{ manager: "knfleet-hub", operation: "Apply", fieldsV1 }];
  const place = { namespace: "eventing", name: "a", uid };
  const metadata = { ...place, resourceVersion: String(version), managedFields };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

/** Uids of what is known to be there. */
function known(): readonly string[] {
  return [...observation.objects().values()].map(({ uid }) => uid);
}

function answered(object: KubeObject): void {
  observation.note([observedObject(object, "knfleet-hub")]);
}

async function reported(): Promise<void> {
  await watches.waitFor(() => expect(changes.length).toBeGreaterThan(0));
}

describe("an answer that comes when its object is gone", () => {
  test("brings nothing back after the news of its deletion", async () => {
    watches.send("ConfigMap", { type: "DELETED", object: configMap(120) });
    await reported();
    answered(configMap(110));
    expect(known()).toEqual([]);
  });

  test("brings nothing back that a later list does not have", async () => {
    watches.send("ConfigMap", apiError(410, "too old resource version"));
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    watches.listed("ConfigMap", [], "120");
    await reported();
    answered(configMap(110));
    expect(known()).toEqual([]);
  });

  test("brings back what had only lost our label", async () => {
    watches.send("ConfigMap", { type: "DELETED", object: configMap(120) });
    await reported();
    answered(configMap(125));
    expect(known()).toEqual(["first"]);
  });

  test("does not hide the one that was made since", async () => {
    watches.send("ConfigMap", { type: "DELETED", object: configMap(120) });
    await reported();
    answered(configMap(125, "second"));
    expect(known()).toEqual(["second"]);
    answered(configMap(110));
    expect(known()).toEqual(["second"]);
  });
});

test("what a list lacks is there all the same when we have written it since that list", async () => {
  answered(configMap(130));
  watches.send("ConfigMap", apiError(410, "too old resource version"));
  await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
  watches.listed("ConfigMap", [], "120");
  watches.send("ConfigMap", { type: "ADDED", object: configMap(130) });
  watches.send("ConfigMap", { type: "DELETED", object: configMap(140) });
  await reported();
  expect(changes).toHaveLength(1);
});

test("an object that came back from an older state of the cluster is taken in again", async () => {
  watches.send("ConfigMap", { type: "DELETED", object: configMap(120) });
  await reported();
  watches.send("ConfigMap", apiError(410, "too old resource version"));
  await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
  watches.listed("ConfigMap", [configMap(50)], "60");
  await watches.waitFor(() => expect(known()).toEqual(["first"]));
  answered(configMap(61));
  expect([...observation.objects().values()]).toMatchObject([{ resourceVersion: "61" }]);
});
