import { describe, expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { isGuardInstalled, settlePolicies } from "../../../controller/guard/policy-objects.ts";

const { signal } = new AbortController();
const hubId = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";

/** A cluster that answers so many writes of each object with 409. */
class RefusingCluster implements Pick<KubeClient, "get" | "create" | "replace"> {
  readonly #conflicts: number;
  readonly #tries = new Map<string, number>();
  readonly stored = new Map<string, KubeObject>();

  constructor(conflicts: number) {
    this.#conflicts = conflicts;
  }

  get: KubeClient["get"] = ({ resource, name }) =>
    Promise.resolve(this.stored.get(`${resource.kind} ${name}`));
  create: KubeClient["create"] = (_, manifest) =>
    this.#write(manifest.metadata.name ?? "", manifest);
  replace: KubeClient["replace"] = ({ name }, manifest) => this.#write(name, manifest);

  async #write(name: string, manifest: Manifest): Promise<KubeObject> {
    const id = `${manifest.kind} ${name}`;
    const tries = (this.#tries.get(id) ?? 0) + 1;
    this.#tries.set(id, tries);
    if (tries <= this.#conflicts) throw conflict;
    const metadata = { ...manifest.metadata, name, uid: id, resourceVersion: String(tries) };
    const object = { ...manifest, metadata };
    this.stored.set(id, object);
    return Promise.resolve(object);
  }
}

const conflict = refusalWith(409);

function refusalWith(status: number): ApiError {
  return new ApiError({
    status,
    reason: "Conflict",
    message: "",
    request: "PATCH /x",
    causes: [],
    isStatus: true,
    retryAfterMs: undefined,
  });
}

function settled(client: RefusingCluster): ReturnType<typeof settlePolicies> {
  const live = [{ guard: "anchor-guard", policy: undefined, binding: undefined }] as const;
  const work = { client, fieldManager: "test", hubId, usersOf: () => ["hub"], live };
  return settlePolicies(work, signal);
}

test("C12: a policy and its binding are made although a write of each is answered with 409", async () => {
  const client = new RefusingCluster(1);
  const objects = await settled(client);
  expect(objects.map(({ before }) => before)).toEqual(["missing", "missing"]);
  expect([...client.stored.keys()].map((id) => id.split(" ")[0])).toEqual([
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
  ]);
});

test("C12: a policy that cannot be made in five attempts is given up", async () => {
  await expect(settled(new RefusingCluster(5))).rejects.toBe(conflict);
});

/** What settling finds, one after the other, where somebody has changed the spec of the policy or of the binding. */
async function settledAfter(kind: string, change: (spec: object) => object) {
  const client = new RefusingCluster(0);
  const [policy, binding] = (await settled(client)).map(({ object }) => object);
  const edited = (object: KubeObject | undefined): KubeObject | undefined =>
    object?.kind === kind ? { ...object, spec: change(Object(object["spec"])) } : object;
  const live = [
    { guard: "anchor-guard", policy: edited(policy), binding: edited(binding) },
  ] as const;
  const work = { client, fieldManager: "test", hubId, usersOf: () => ["hub"], live };
  return (await settlePolicies(work, signal)).map(({ before }) => before);
}

const policyKind = "ValidatingAdmissionPolicy";

function withEmptySelectors(spec: object): object {
  const constraints = Object(Object(spec).matchConstraints);
  return {
    ...spec,
    matchConstraints: { ...constraints, namespaceSelector: {}, objectSelector: {} },
  };
}

describe("policies that somebody has changed are put right:", () => {
  test.each<{ name: string; change: (spec: object) => object }>([
    { name: "a parameter", change: (spec) => ({ ...spec, paramKind: { kind: "ConfigMap" } }) },
    ...["namespaceSelector", "objectSelector", "excludeResourceRules"].map((field) => ({
      name: `the constraint ${field}`,
      change: (spec: object) => ({
        ...spec,
        matchConstraints: {
          ...Object(Object(spec).matchConstraints),
          [field]: { matchLabels: { a: "b" } },
        },
      }),
    })),
    { name: "its validations", change: (spec) => ({ ...spec, validations: [] }) },
  ])("$name of the policy", async ({ change }) => {
    expect(await settledAfter(policyKind, change)).toEqual(["different", "equal"]);
  });

  test.each(["paramRef", "matchResources"])("%s of the binding", async (field) => {
    const change = (spec: object) => ({ ...spec, [field]: { name: "a" } });
    expect(await settledAfter(`${policyKind}Binding`, change)).toEqual(["equal", "different"]);
  });

  test("but not what the server adds", async () => {
    expect(await settledAfter(policyKind, withEmptySelectors)).toEqual(["equal", "equal"]);
  });
});

test.each([409, 404])(
  "a policy that another one wrote meanwhile is read again: %i",
  async (status) => {
    const client = new RefusingCluster(0);
    const [policy] = await settled(client);
    const old = { ...policy?.object, spec: {} };
    let failures = 1;
    const replace: KubeClient["replace"] = (...args) => {
      if ((failures -= 1) < 0) return client.replace(...args);
      if (status === 404) client.stored.clear();
      return Promise.reject(refusalWith(status));
    };
    const live = [{ guard: "anchor-guard", policy: Object(old), binding: undefined }] as const;
    const work = {
      client: { get: client.get, create: client.create, replace },
      fieldManager: "test",
      hubId,
      usersOf: () => ["hub"],
      live,
    };
    const [again] = await settlePolicies(work, signal);
    expect(again?.before).toBe(status === 404 ? "missing" : "equal");
  },
);

test("a guard is installed when its policy is there", async () => {
  const client = new RefusingCluster(0);
  expect(await isGuardInstalled(client, hubId, signal)).toBe(false);
  await settled(client);
  expect(await isGuardInstalled(client, hubId, signal)).toBe(true);
});
