import { randomUUID } from "node:crypto";

import { ApiError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import type { KubeObject, Manifest } from "../../../api/kubernetes.ts";
import { policyNameOf } from "../../../controller/guard/policy.ts";
import { MemoryHub } from "../../support/memory-hub.ts";

const policyKind = "ValidatingAdmissionPolicy";

/** The promises of a cluster that the guard depends on: it refuses probes as long as policy and binding are there, and nothing else. */
export class MemorySpoke {
  readonly #hubId: string;
  readonly objects = new MemoryHub();
  /** Writes so far. */
  writes = 0;

  constructor(hubId: string) {
    this.#hubId = hubId;
  }

  /** The policy that guards anchors, as text. */
  get policy(): string {
    const name = policyNameOf("anchor-guard", this.#hubId);
    return JSON.stringify(this.objects.find(policyKind, name) ?? "");
  }

  /** Changes the policy that guards anchors as somebody who may. */
  edit(from: string, to: string): void {
    const spec: unknown = JSON.parse(this.policy.replace(from, to));
    const name = policyNameOf("anchor-guard", this.#hubId);
    const { metadata } = this.objects.find(policyKind, name) ?? {};
    const generation = generationOf(metadata) + 1;
    const fields = { ...Object(spec), metadata: { ...Object(metadata), generation } };
    this.objects.edit(policyKind, name, fields);
  }

  /** How one user talks to the cluster. */
  clientOf(username: string, groups: readonly string[] = []): KubeClient {
    const { objects } = this;
    const written = (object: Manifest, now: KubeObject | undefined): Manifest => {
      this.writes += 1;
      const { uid = randomUUID() } = now?.metadata ?? {};
      const generation = generationOf(now?.metadata) + 1;
      return { ...object, metadata: { ...object.metadata, uid, generation } };
    };
    return {
      server: "https://memory",
      get: objects.get,
      list: objects.list,
      watch: objects.watch,
      create: (ref, object, ...rest) => objects.create(ref, written(object, undefined), ...rest),
      patch: objects.patch,
      replace: (ref, object, ...rest) => {
        const now = objects.find(ref.resource.kind, ref.name);
        return objects.replace(ref, written(object, now), ...rest);
      },
      apply: (ref, object) => {
        const now = objects.find(ref.resource.kind, ref.name);
        const { kind, metadata, ...fields } = written(object, now);
        return Promise.resolve(objects.edit(kind, ref.name, { ...fields, metadata }));
      },
      remove: ({ resource, name }) => {
        const isThere = objects.find(resource.kind, name) !== undefined;
        objects.drop(resource.kind, name);
        return Promise.resolve(isThere ? "gone" : "absent");
      },
      removeCollection: () => Promise.reject(new Error("Nobody asks for that here")),
      request: (_method, path) => this.#answer(path, { username, groups }),
    };
  }

  #answer(path: string, userInfo: object): Promise<unknown> {
    if (path.endsWith("/selfsubjectreviews")) {
      return Promise.resolve({ status: { userInfo } });
    }
    if (path === "/apis/admissionregistration.k8s.io/v1") {
      const plurals = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"];
      return Promise.resolve({ resources: plurals.map((name) => ({ name })) });
    }
    const guard = path.includes("/configmaps") ? "anchor-guard" : "namespace-guard";
    const name = policyNameOf(guard, this.#hubId);
    const kinds = [policyKind, `${policyKind}Binding`];
    const isGuarded = kinds.every((kind) => this.objects.find(kind, name) !== undefined);
    return isGuarded ? Promise.reject(refusalBy(name)) : Promise.resolve({});
  }
}

function generationOf(metadata: object | undefined): number {
  const generation = metadata && "generation" in metadata ? metadata.generation : 0;
  return typeof generation === "number" ? generation : 0;
}

function refusalBy(name: string): ApiError {
  const text = "knfleet enforcement probe: denied as intended (CREATE)";
  const message = `ValidatingAdmissionPolicy '${name}' with binding '${name}' denied request: ${text}`;
  return new ApiError({
    status: 403,
    reason: "Forbidden",
    message,
    causes: [{ message }],
    isStatus: true,
    request: "POST /memory",
  });
}
