import { expect, test } from "vitest";

import type { KubeObject } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { silentLog } from "../../support/silent-log.ts";
import { observeScripted, ScriptedWatches } from "./scripted-watches.ts";

const { signal } = new AbortController();
const configMaps = knownResource("v1", "ConfigMap");
const secrets = knownResource("v1", "Secret");

function object(kind: string, resourceVersion: string): KubeObject {
  const metadata = { namespace: "eventing", name: "a", uid: kind, resourceVersion };
  return { apiVersion: "v1", kind, metadata };
}

test("a bug of who is told of changes is logged as one, and not as a failure of the cluster", async () => {
  const lines: unknown[] = [];
  const line = (fields: object, message: string): void => void lines.push({ message, ...fields });
  const log = { ...silentLog, debug: line, error: line };
  const bug = new TypeError("undefined is not a function");
  const onChange = (): void => {
    throw bug;
  };
  const watches = new ScriptedWatches();
  await using observation = observeScripted(watches, onChange, { log });
  observation.watchKinds([configMaps]);
  watches.listed("ConfigMap", []);
  await observation.waitForSync(signal);
  observation.note([observedObject(object("ConfigMap", "1"), "knfleet-hub")]);
  watches.send("ConfigMap", { type: "ADDED", object: object("ConfigMap", "1") });
  watches.send("ConfigMap", { type: "DELETED", object: object("ConfigMap", "2") });
  const ofKind = { message: "A watch has a bug", kind: "ConfigMap", err: bug };
  await watches.waitFor(() => expect(lines).toEqual([ofKind]));
  observation.noteSingle(object("Secret", "1"));
  observation.watchSingles([{ resource: secrets, namespace: "eventing", name: "a" }]);
  watches.listed("Secret", []);
  const ofSingle = { ...ofKind, kind: "Secret" };
  await watches.waitFor(() => expect(lines).toEqual([ofKind, ofSingle]));
});
