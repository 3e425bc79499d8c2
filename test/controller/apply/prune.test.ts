import { describe, expect, test } from "vitest";

import { ApiError } from "../../../access/api-error.ts";
import { identityOf, type ObjectKey } from "../../../api/kubernetes.ts";
import { knownResource } from "../../../api/resources.ts";
import { prune, type PruneDeps } from "../../../controller/apply/prune.ts";
import type { ObservedObject } from "../../../controller/observe/observation.ts";

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
): PruneDeps {
  return {
    client: { remove },
    resourceOf: ({ apiVersion, kind }) => knownResource(apiVersion, kind),
    observed: new Map(observed.map((record) => [identityOf(record.key), record])),
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
        return true;
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
    expect(pruned).toEqual(keys);
    expect(failed).toEqual([]);
  });

  test("that nobody sees with our label, or that go already, cost nothing", async () => {
    const refused = deps([seen(role, true)], () => Promise.reject(new Error("asked")));
    expect(await prune(obsolete([configMap, role]), refused, signal)).toEqual({
      pruned: [role],
      failed: [],
    });
  });

  test("that cannot go are named and stay obsolete; one that is another's by now does not", async () => {
    const all = obsolete([role]);
    expect(await prune(all, deps([seen(role)], refusal(500)), signal)).toEqual({
      pruned: [],
      failed: [{ key: role, message: "Obsolete, but its deletion is refused with status 500" }],
    });
    expect(await prune(all, deps([seen(role)], refusal(409)), signal)).toMatchObject({
      failed: [],
    });
  });
});

function refusal(status: number): () => Promise<never> {
  return () => Promise.reject(apiError(status));
}

function apiError(status: number): ApiError {
  return new ApiError({
    status,
    reason: "",
    message: "",
    request: "DELETE /x",
    causes: [],
    isStatus: true,
    retryAfterMs: undefined,
  });
}
