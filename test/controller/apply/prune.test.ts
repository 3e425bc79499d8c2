import { describe, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import { objectId } from "../../../api/keys.ts";
import { type KubeObject, type ObjectKey } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { prune, type PruneDeps } from "../../../controller/apply/prune.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import type { ObservedObject } from "../../../installation/observed-object.ts";

const belonging = {
  componentUid: "component",
  ownerUid: "uid-of-root",
  componentLabel: "knative-eventing",
  fieldManager: "knfleet-test",
  namespace: "ns",
};
const { signal } = new AbortController();
const configMap = keyOf("v1", "ConfigMap", "one");
const webhook = keyOf("admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration", "hook");
const mutating = keyOf("admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration", "hook");
const role = keyOf("rbac.authorization.k8s.io/v1", "ClusterRole", "role");

function keyOf(apiVersion: string, kind: string, name: string): ObjectKey {
  return { apiVersion, kind, name, ...(kind === "ConfigMap" ? { namespace: "ns" } : {}) };
}

function seen(key: ObjectKey, deleting = false): ObservedObject {
  const uid = `uid-${key.name}`;
  return { key, uid, resourceVersion: "1", fingerprint: "print", deleting };
}

function deps(
  observed: readonly ObservedObject[],
  remove: PruneDeps["client"]["remove"],
  get: PruneDeps["client"]["get"] = () => Promise.resolve(undefined),
): PruneDeps {
  return {
    client: { get, remove },
    belonging,
    strays: new Set(),
    resourceOf: ({ apiVersion, kind }) => knownResource(apiVersion, kind),
    observed: new Map(observed.map((record) => [objectId(record.key), record])),
  };
}

function obsolete(keys: readonly ObjectKey[]) {
  return keys.map((key) => ({ ...key, hash: "hash" }));
}

describe("obsolete objects", () => {
  test("go by uid, webhook configurations before anything else is asked for", async () => {
    const log: string[] = [];
    const keys = [configMap, webhook, role, mutating];
    const records = keys.map((key) => seen(key));
    const { pruned, failed } = await prune(
      obsolete(keys),
      deps(records, async (ref, { uid }) => {
        log.push(`${ref.resource.kind} ${uid}`);
        await Promise.resolve();
        log.push("answered");
        return "gone" as const;
      }),
      signal,
    );
    expect(log).toEqual([
      "ValidatingWebhookConfiguration uid-hook",
      "MutatingWebhookConfiguration uid-hook",
      "answered",
      "answered",
      "ConfigMap uid-one",
      "ClusterRole uid-role",
      "answered",
      "answered",
    ]);
    expect(pruned).toEqual([webhook, mutating, configMap, role]);
    expect(failed).toEqual([]);
  });

  test("that are another's, or that go already, are not deleted; what goes is named with what holds it", async () => {
    const going = { ...seen(role, true), finalizers: ["b.example/x", "a.example/x"] };
    const refused = deps([going], () => Promise.reject(new Error("asked")));
    const message = "Obsolete and being deleted, held by finalizer a.example/x, b.example/x";
    expect(await prune(obsolete([configMap, role]), refused, signal)).toEqual({
      pruned: [],
      failed: [],
      lingering: [{ key: role, message }],
    });
  });

  test("that a finalizer holds are named from the answer to their deletion", async () => {
    const metadata = { name: "role", uid: "uid-role", resourceVersion: "2" };
    const held = { ...role, metadata: { ...metadata, finalizers: ["a.example/x"] } };
    const result = await prune(
      obsolete([role]),
      deps([seen(role)], () => Promise.resolve(held)),
      signal,
    );
    const message = "Obsolete and being deleted, held by finalizer a.example/x";
    expect(result).toEqual({ pruned: [], failed: [], lingering: [{ key: role, message }] });
  });

  test("that lost our label, so that no watch shows them, are found by name and deleted when our anchor owns them", async () => {
    const removed: string[] = [];
    const there = [ownedBy("one", belonging.ownerUid), ownedBy("other", "another-root")];
    const result = await prune(
      obsolete(there.map(({ metadata: { name } }) => keyOf("v1", "ConfigMap", name))),
      deps(
        [],
        ({ name }, { uid }) => {
          removed.push(`${name} ${uid}`);
          return Promise.resolve("gone");
        },
        ({ name }) => Promise.resolve(there.find(({ metadata }) => metadata.name === name)),
      ),
      signal,
    );
    expect(removed).toEqual(["one uid-one"]);
    expect(result).toEqual({ pruned: [configMap], failed: [], lingering: [] });
  });

  test("of a kind that is not served are gone, and of one that nobody can tell of stay obsolete", async () => {
    const [gone, unclear] = ["Gone", "Unclear"].map((kind) => keyOf("test.dev/v1", kind, "one"));
    const message = "Obsolete, but the API server does not say where its kind is served";
    const asked = deps([], refusal(500), refusal(500));
    const result = await prune(
      obsolete([gone, unclear].filter((key) => key !== undefined)),
      { ...asked, resourceOf: ({ kind }) => (kind === "Gone" ? "absent" : "unknown") },
      signal,
    );
    expect(result).toEqual({ pruned: [], failed: [{ key: unclear, message }], lingering: [] });
  });

  test.each([
    { status: 429, text: "", told: "429" },
    { status: 500, text: "etcdserver: leader changed", told: "500" },
    { status: 503, text: "", told: "503" },
    { status: 504, text: "", told: "504" },
    {
      status: 500,
      text: 'Internal error occurred: failed calling webhook "a.b": timeout',
      told: "500: the webhook a.b does not answer",
    },
  ])("that cannot go for now are waited for: $told", async ({ status, text, told }) => {
    const refusing = deps([seen(role)], refusal(status, text));
    const message = `Obsolete, but its deletion is refused for now with status ${told}`;
    expect(await prune(obsolete([role]), refusing, signal)).toEqual({
      pruned: [],
      failed: [],
      lingering: [{ key: role, message }],
    });
  });

  test("that a server has no time for are left to it for as long as it asks, a minute at most", async () => {
    const refusing = deps([seen(role)], () => Promise.reject(apiError(429, "", 120_000)));
    expect((await prune(obsolete([role]), refusing, signal)).lingering).toMatchObject([
      { key: role, askedMs: 60_000 },
    ]);
  });

  test("that may not go are named and stay obsolete", async () => {
    const refusing = deps([seen(role)], refusal(403, "is forbidden"));
    const message = "Obsolete, but its deletion is refused with status 403";
    expect(await prune(obsolete([role]), refusing, signal)).toEqual({
      pruned: [],
      lingering: [],
      failed: [{ key: role, message }],
    });
  });

  test("that were made anew with our label go as well, as they were read", async () => {
    const removed: object[] = [];
    const result = await prune(
      obsolete([role]),
      deps(
        [seen(role)],
        (_ref, { uid, resourceVersion }) => {
          removed.push({ uid, resourceVersion });
          return uid === "anew" ? Promise.resolve("gone") : refusal(409)();
        },
        () => Promise.resolve(madeAnew()),
      ),
      signal,
    );
    expect(removed).toEqual([
      { uid: "uid-role", resourceVersion: undefined },
      { uid: "anew", resourceVersion: "2" },
    ]);
    expect(result).toEqual({ pruned: [role], failed: [], lingering: [] });
  });

  test.each([
    { what: "are gone", now: undefined },
    { what: "were made anew by somebody else", now: madeAnew({ labels: {} }) },
    {
      what: "were made anew with our label by something that controls them",
      now: madeAnew({
        ownerReferences: [{ apiVersion: "v1", kind: "Any", name: "a", uid: "a", controller: true }],
      }),
    },
  ])("that $what when they are to go are nothing to do with us", async ({ now }) => {
    const asked = deps([seen(role)], refusal(409), () => Promise.resolve(now));
    const nothing = { pruned: [], failed: [], lingering: [] };
    expect(await prune(obsolete([role]), asked, signal)).toEqual(nothing);
  });

  test("that are made anew again and again are waited for", async () => {
    const asked = deps([seen(role)], refusal(409), () => Promise.resolve(madeAnew()));
    const message = "Obsolete, but its deletion is refused for now with status 409";
    expect(await prune(obsolete([role]), asked, signal)).toEqual({
      pruned: [],
      failed: [],
      lingering: [{ key: role, message }],
    });
  });

  test("that a webhook does not let go stay obsolete, whatever status it refuses with", async () => {
    const denied = refusal(409, 'admission webhook "a.b" denied the request: no');
    expect(await prune(obsolete([role]), deps([seen(role)], denied), signal)).toMatchObject({
      pruned: [],
      failed: [{ key: role, message: expect.stringContaining("the admission webhook a.b denies") }],
    });
  });

  test("that were found by name and may not be deleted are named, though nothing tells that they were ever accepted", async () => {
    const forbidden = refusal(403, "is forbidden");
    const there = ownedBy("one", belonging.ownerUid);
    const found = deps([], forbidden, () => Promise.resolve(there));
    const message = "Obsolete, but its deletion is refused with status 403";
    expect(await prune(obsolete([configMap]), found, signal)).toMatchObject({
      failed: [{ key: configMap, message }],
    });
    const unseen = deps([], refusal(500), forbidden);
    expect(await prune(obsolete([configMap]), unseen, signal)).toMatchObject({ failed: [] });
  });
});

function ownedBy(name: string, uid: string) {
  const anchor = { apiVersion: "v1", kind: "ConfigMap", name: "root", uid };
  const metadata = { namespace: "ns", name, uid: `uid-${name}`, resourceVersion: "2" };
  return {
    ...keyOf("v1", "ConfigMap", name),
    metadata: { ...metadata, ownerReferences: [anchor] },
  };
}

/** The role, with the label of the component. */
function madeAnew(fields: Partial<KubeObject["metadata"]> = {}): KubeObject {
  const labels = { [componentUidLabel]: belonging.componentUid };
  const identity = { name: role.name, uid: "anew", resourceVersion: "2" };
  return { ...role, metadata: { ...identity, labels, ...fields } };
}

function refusal(status: number, message = ""): () => Promise<never> {
  return () => Promise.reject(apiError(status, message));
}

function apiError(status: number, message: string, retryAfterMs?: number): ApiError {
  return new ApiError({
    status,
    reason: "",
    message,
    request: "DELETE /x",
    causes: [],
    isStatus: true,
    retryAfterMs,
  });
}
