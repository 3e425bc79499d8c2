import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { applyRequests } from "../../../controller/apply/apply-requests.ts";
import { manifestOf, preparedOf } from "./prepared.ts";

const { signal } = new AbortController();
const manifest = manifestOf("v1 ConfigMap ns/a", { data: { a: "1" } });
const desired = preparedOf([manifest])[0] ?? expect.unreachable();
const fieldsV1 = { "f:data": { "f:a": {} } };
const upstreams = { manager: "manifestival", operation: "Update", apiVersion: "v1", fieldsV1 };
const ours = { ...upstreams, manager: "knfleet-hub", operation: "Apply" };

function live(resourceVersion: string, manager = upstreams): KubeObject {
  const metadata = { ...manifest.metadata, name: "a", uid: "u", resourceVersion };
  return { ...manifest, metadata: { ...metadata, managedFields: [manager] } };
}

/** The object has changed since it was read. */
const outdated = refusal(422, "the server rejected our request due to an error in our request");

function refusal(status: number, message: string): ApiError {
  const facts = { status, message, reason: "", causes: [], isStatus: true };
  return new ApiError({ ...facts, request: "PATCH /memory" });
}

/** Requests over a server on which a patch meets these answers, and a read these objects; the last ones stay. */
function over(
  patches: readonly (ApiError | "taken")[],
  reads: readonly (KubeObject | undefined)[],
) {
  const sent: string[] = [];
  const at = <Item>(list: readonly Item[], verb: string): Item | undefined =>
    list[Math.min(list.length, sent.filter((one) => one === verb).length) - 1];
  const client = {
    get: () => {
      sent.push("get");
      return Promise.resolve(at(reads, "get"));
    },
    patch: () => {
      sent.push("patch");
      const answer = at(patches, "patch");
      return answer instanceof ApiError ? Promise.reject(answer) : Promise.resolve(live("9", ours));
    },
    apply: () => {
      sent.push("apply");
      return Promise.resolve(sent.length === 1 ? live("1") : live("10", ours));
    },
    remove: () => Promise.reject(new Error("Nothing is to be removed")),
  };
  const owner = { apiVersion: "v1", kind: "ConfigMap", name: "anchor", uid: "anchor" };
  const requests = applyRequests({
    client,
    fieldManager: "knfleet-hub",
    installation: { owner, namespace: "ns", componentUid: "c" },
    mayExist: false,
    isScaled: () => false,
  });
  return { requests, sent };
}

test("an object of upstream's that changes with each look is not called adopted", async () => {
  const { requests, sent } = over([outdated], [live("2"), live("3"), live("4"), live("5")]);
  await expect(requests.adopt(desired, live("1"), signal)).rejects.toBe(outdated);
  expect(sent.filter((verb) => verb === "patch")).toHaveLength(5);
  const { requests: again, sent: all } = over([outdated], [live("2")]);
  await expect(again.send(desired, signal)).rejects.toBe(outdated);
  // It is not sent once more as if it were ours.
  expect(all.filter((verb) => verb === "apply")).toHaveLength(1);
});

test.each([
  { how: "at once", patches: ["taken"] as const, reads: [], sent: ["patch"] },
  {
    how: "after it changed once",
    patches: [outdated, "taken"] as const,
    reads: [live("2")],
    sent: ["patch", "get", "patch"],
  },
  {
    how: "by another process",
    patches: [outdated] as const,
    reads: [live("2", ours)],
    sent: ["patch", "get"],
  },
  {
    how: "by being gone, because the next apply creates it",
    patches: [outdated] as const,
    reads: [undefined],
    sent: ["patch", "get"],
  },
])("an object of upstream's is adopted $how", async ({ patches, reads, sent: expected }) => {
  const { requests, sent } = over(patches, reads);
  expect(await requests.adopt(desired, live("1"), signal)).toBe(true);
  expect(sent).toEqual(expected);
});

test("what upstream wrote nothing of is not adopted, and an error of the server is one", async () => {
  const { requests, sent } = over([], []);
  expect(await requests.adopt(desired, live("1", ours), signal)).toBe(false);
  expect(sent).toEqual([]);
  const refused = refusal(403, "forbidden");
  const { requests: denied } = over([refused], []);
  await expect(denied.adopt(desired, live("1"), signal)).rejects.toBe(refused);
});
