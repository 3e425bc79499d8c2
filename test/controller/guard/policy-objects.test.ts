import { expect, test } from "vitest";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { settlePolicies } from "../../../controller/guard/policy-objects.ts";

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

const conflict = new ApiError({
  status: 409,
  reason: "Conflict",
  message: "",
  request: "PATCH /x",
  causes: [],
  isStatus: true,
  retryAfterMs: undefined,
});

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
