import { expect, test } from "vitest";

import type { KubeObject } from "../../api/kubernetes.ts";
import { differencesOf } from "../support/spoke-dump.ts";
import { componentDumpOf } from "./component-dump.ts";

const ready = { type: "Ready", status: "True", lastTransitionTime: "2026-01-01T00:00:00Z" };
const status = { version: "1.23.0", manifests: ["a/1.23.0"], conditions: [ready] };
const finalizers = ["knativeeventings.operator.knative.dev"];

function component(more: object = {}, metadata: object = {}): KubeObject {
  return {
    apiVersion: "operator.knative.dev/v1beta1",
    kind: "KnativeEventing",
    metadata: { name: "a", uid: "u", resourceVersion: "1", finalizers, ...metadata },
    status: { ...status, ...more },
  };
}

function difference(other: KubeObject | undefined): readonly string[] {
  return differencesOf(componentDumpOf(component()), componentDumpOf(other));
}

const later = { ...ready, lastTransitionTime: "2026-01-01T00:00:01Z" };
const contested = { type: "Contested", status: "True", reason: "Contested", message: "…" };

test("two components that say the same at other times do not differ", () => {
  expect(difference(component({ conditions: [later] }, { resourceVersion: "2" }))).toEqual([]);
});

test.each([
  [
    "a reason",
    component({ conditions: [{ ...ready, reason: "New" }] }),
    "› conditions › Ready › reason: ",
  ],
  [
    "a status",
    component({ conditions: [{ ...ready, status: "False" }] }),
    "› conditions › Ready › status: ",
  ],
  ["a condition more", component({ conditions: [ready, contested] }), "› conditions › Contested: "],
  ["the version", component({ version: "1.22.0" }), "› status › version: "],
  ["a manifest", component({ manifests: ["a/1.22.0"] }), "› status › manifests › 0: "],
  ["a finalizer more", component({}, { finalizers: [...finalizers, "b"] }), "› finalizers › 1: "],
  [
    "a deletion",
    component({}, { deletionTimestamp: "2026-01-01T00:00:00Z" }),
    "› isBeingDeleted: ",
  ],
  ["that it is gone", undefined, ": {"],
])("%s is a difference that is named", (_what, other, where) => {
  expect(difference(other)).toEqual([expect.stringContaining(where)]);
});
