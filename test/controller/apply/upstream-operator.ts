import type { Component } from "../../../api/component.ts";
import {
  keyOf,
  type KubeObject,
  type Manifest,
  type OwnerReference,
} from "../../../api/kubernetes.ts";
import { resourceFinder } from "../../../api/resources.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import { withOwners } from "../../../render/namespace.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { isRecord } from "../../fleet/json-record.ts";
import { waitFor } from "../../fleet/wait-for.ts";

export const lastApplied = "kubectl.kubernetes.io/last-applied-configuration";
const marker = { manifestival: "new" };

/**
 * Installs as the upstream operator does: GET, then POST or PUT of whole objects by `manifestival` with the two annotations of its library, in
 * its order, everything in the namespace owned by the anchor (another cluster) or the component (the hub). Spec: knative-operator.md 4.4, 5.4 and
 * Appendix A.
 */
export class UpstreamOperator {
  readonly #admin: AdminClient;
  readonly #component: Component;
  readonly #isLocal: boolean;

  constructor(admin: AdminClient, component: Component, { isLocal = false } = {}) {
    this.#admin = admin;
    this.#component = component;
    this.#isLocal = isLocal;
  }

  /** One pass of the operator; how many objects it wrote. */
  async reconcile({ manifests }: Rendered): Promise<number> {
    const owner = await this.#owner();
    const { namespace } = this.#component.metadata;
    const resourceOf = resourceFinder(manifests);
    const ours = manifests
      .filter(({ kind }) => kind !== "Namespace")
      .map(withOwners(owner, namespace));
    let written = 0;
    for (const rank of [1, 2, 3, 4, 5]) {
      const batch = ours.filter((manifest) => rankOf(manifest) === rank);
      await Promise.all(
        batch.map(async (manifest) => {
          const { plural, namespaced } = resourceOf(manifest);
          const base = manifest.apiVersion.includes("/") ? "apis" : "api";
          const where = namespaced ? `/namespaces/${manifest.metadata.namespace}` : "";
          const path = `/${base}/${manifest.apiVersion}${where}/${plural}`;
          // A new kind is served a little after its definition was accepted, and a status may be written between GET and PUT.
          const isWritten = await waitFor(
            `${manifest.kind} ${manifest.metadata.name}`,
            async () => [await this.#apply(manifest, path)],
          );
          if (isWritten[0] === true) written += 1;
        }),
      );
    }
    return written;
  }

  async #apply(manifest: Manifest, path: string): Promise<boolean> {
    const query = "?fieldManager=manifestival";
    const live = await this.#admin.get(keyOf(manifest));
    if (live === undefined) {
      const marked = withAnnotations(manifest, marker);
      const noted = withAnnotations(marked, { [lastApplied]: JSON.stringify(marked) });
      await this.#admin.request("POST", `${path}${query}`, noted);
      return true;
    }
    const before: unknown = JSON.parse(live.metadata.annotations?.[lastApplied] ?? "{}");
    const merged = merge(before, manifest, live);
    if (JSON.stringify(merged) === JSON.stringify(live)) return false;
    const kept = isRecord(live.metadata.annotations) && "manifestival" in live.metadata.annotations;
    const noted = withAnnotations(objectOf(merged), {
      ...(kept ? marker : {}),
      [lastApplied]: JSON.stringify(manifest),
    });
    await this.#admin.request("PUT", `${path}/${manifest.metadata.name}${query}`, noted);
    return true;
  }

  async #owner(): Promise<OwnerReference> {
    const { apiVersion, kind, metadata } = this.#component;
    const { uid, name, namespace } = metadata;
    const ownership = { controller: true, blockOwnerDeletion: true };
    if (this.#isLocal) return { apiVersion, kind, name, uid, ...ownership };
    const managed = { "app.kubernetes.io/managed-by": "knative-operator" };
    await this.#ensure({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace, labels: managed },
    });
    const anchor = await this.#ensure({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        namespace,
        name: anchorNameOf({ kind, name }),
        labels: { ...managed, "operator.knative.dev/cr-name": name },
        annotations: {
          "operator.knative.dev/anchor": "true",
          "operator.knative.dev/protected": "true",
          "operator.knative.dev/description": "Do not delete. Uninstall through the hub.",
        },
      },
    });
    return {
      apiVersion: "v1",
      kind: "ConfigMap",
      name: anchor.metadata.name,
      uid: anchor.metadata.uid,
      ...ownership,
    };
  }

  async #ensure(manifest: Manifest): Promise<KubeObject> {
    const live = await this.#admin.get(keyOf(manifest));
    if (live !== undefined) return live;
    const { namespace } = manifest.metadata;
    const where = namespace === undefined ? "namespaces" : `namespaces/${namespace}/configmaps`;
    await this.#admin.request("POST", `/api/v1/${where}?fieldManager=operator`, manifest);
    return this.#ensure(manifest);
  }
}

function rankOf({ kind }: Manifest): number {
  // Not upstream's order, which meets kinds that are not served yet and then begins anew.
  if (kind === "CustomResourceDefinition") return 1;
  if (/^(?:Cluster)?Role$/.test(kind)) return 2;
  if (kind.endsWith("RoleBinding")) return 3;
  return kind.endsWith("WebhookConfiguration") ? 5 : 4;
}

function withAnnotations(manifest: Manifest, annotations: Record<string, string>): Manifest {
  const { metadata } = manifest;
  return {
    ...manifest,
    metadata: { ...metadata, annotations: { ...metadata.annotations, ...annotations } },
  };
}

/** Three-way merge: what was applied before and is not wanted any more goes, lists of named items are merged by name. */
function merge(before: unknown, wanted: unknown, live: unknown): unknown {
  if (Array.isArray(wanted)) return Array.isArray(live) ? mergedList(before, wanted, live) : wanted;
  if (!isRecord(wanted)) return wanted;
  const result: Record<string, unknown> = isRecord(live) ? { ...live } : {};
  const former = isRecord(before) ? before : {};
  for (const field of Object.keys(former)) if (!Object.hasOwn(wanted, field)) delete result[field];
  for (const [field, value] of Object.entries(wanted)) {
    result[field] = merge(former[field], value, result[field]);
  }
  return result;
}

function mergedList(
  before: unknown,
  wanted: readonly unknown[],
  live: readonly unknown[],
): unknown {
  if (wanted.some((item) => keyOfItem(item) === undefined)) return wanted;
  const former: readonly unknown[] = Array.isArray(before) ? before : [];
  const kept = live.flatMap((item) => {
    const key = keyOfItem(item);
    const next = find(wanted, key);
    if (next !== undefined) return [merge(find(former, key), next, item)];
    return find(former, key) === undefined ? [item] : [];
  });
  const added = wanted.filter((item) => find(live, keyOfItem(item)) === undefined);
  return [...kept, ...added];
}

function objectOf(value: unknown): Manifest {
  if (!isRecord(value)) throw new Error("A merge of objects is an object");
  const manifest: Manifest = JSON.parse(JSON.stringify(value));
  return manifest;
}

function keyOfItem(item: unknown): unknown {
  return isRecord(item) ? (item["name"] ?? item["uid"]) : undefined;
}

function find(items: readonly unknown[], key: unknown): unknown {
  return items.find((item) => keyOfItem(item) === key);
}
