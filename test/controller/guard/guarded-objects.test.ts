import { expect, test } from "vitest";

import type { CollectionRef, ObjectRef } from "../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { anchorsOf, releaseNamespaces } from "../../../controller/guard/guarded-objects.ts";
import { anchorAnnotations, guardLabels } from "../../../installation/anchor.ts";

const hubId = "hub";
const { signal } = new AbortController();

interface Fields {
  /** Uid of the component that a namespace was created for. */
  readonly creator?: string;
  readonly deletionTimestamp?: string;
}

function namespace(name: string, { creator, ...metadata }: Fields): KubeObject {
  const annotations: Record<string, string> =
    creator === undefined ? {} : { [anchorAnnotations.componentUid]: creator };
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name, uid: `uid-of-${name}`, resourceVersion: "1", annotations, ...metadata },
  };
}

function configMap(where: string, annotations?: Readonly<Record<string, string>>): KubeObject {
  const metadata = { namespace: where, name: "anchor", uid: "1", resourceVersion: "1" };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: annotations === undefined ? metadata : { ...metadata, annotations },
  };
}

const anchorMarks = { [anchorAnnotations.hubId]: hubId, [anchorAnnotations.protected]: "true" };

/** A cluster with guarded namespaces and with anchors in some of them, and what it is asked. */
function cluster(objects: readonly KubeObject[]) {
  const asked: unknown[] = [];
  const patches: unknown[] = [];
  const client = {
    list: async (ref: CollectionRef, options: object) => {
      asked.push({ kind: ref.resource.kind, selector: ref.labelSelector, ...options });
      const items = objects.filter(
        ({ kind, metadata }) =>
          kind === ref.resource.kind &&
          (ref.namespace === undefined || metadata.namespace === ref.namespace),
      );
      return { items, resourceVersion: "1" };
    },
    patch: async (ref: ObjectRef, patch: unknown, options: object) => {
      patches.push({ name: ref.name, patch, options });
      return namespace(ref.name, {});
    },
  };
  return { client, asked, patches };
}

/** The names of the namespaces that are released when the anchor of component `a` in namespace `home` is gone. */
async function released(objects: readonly KubeObject[]): Promise<readonly string[]> {
  const names: string[] = [];
  const { client } = cluster(objects);
  const patch: typeof client.patch = async (ref, ...rest) => {
    names.push(ref.name);
    return client.patch(ref, ...rest);
  };
  const installation = { fieldManager: "knfleet", hubId, componentUid: "a", namespace: "home" };
  await releaseNamespaces(
    { client: { ...client, patch }, isKnown: (uid) => uid === "known", ...installation },
    signal,
  );
  return names;
}

test.each<{ name: string; objects: readonly KubeObject[]; are: readonly string[] }>([
  {
    name: "those that were created for the component",
    objects: [namespace("home", { creator: "a" }), namespace("other", { creator: "a" })],
    are: ["home", "other"],
  },
  {
    name: "none of a component that the hub has",
    objects: [namespace("home", { creator: "known" }), namespace("other", { creator: "known" })],
    are: [],
  },
  {
    name: "that of the anchor, when its creator is gone, and no other of that creator",
    objects: [namespace("home", { creator: "gone" }), namespace("other", { creator: "gone" })],
    are: ["home"],
  },
  {
    name: "none that nobody of the hub created",
    objects: [namespace("home", {}), namespace("other", {})],
    are: [],
  },
  {
    name: "none that is going already",
    objects: [namespace("home", { creator: "a", deletionTimestamp: "2026-01-01T00:00:00Z" })],
    are: [],
  },
  {
    name: "none with another anchor of the hub",
    objects: [
      namespace("home", { creator: "a" }),
      configMap("home", anchorMarks),
      namespace("other", { creator: "a" }),
    ],
    are: ["other"],
  },
  {
    name: "those whose anchors are elsewhere",
    objects: [
      namespace("home", { creator: "a" }),
      namespace("other", { creator: "a" }),
      configMap("other", anchorMarks),
    ],
    are: ["home"],
  },
])("of the guarded namespaces, $name are released", async ({ objects, are }) => {
  expect(await released(objects)).toEqual(are);
});

test("a release takes only the label of the guard, and only from the namespace that was read", async () => {
  const { client, asked, patches } = cluster([namespace("home", { creator: "a" })]);
  const installation = { fieldManager: "knfleet", hubId, componentUid: "a", namespace: "home" };
  await releaseNamespaces({ client, isKnown: () => true, ...installation }, signal);
  expect(patches).toEqual([
    {
      name: "home",
      patch: { metadata: { uid: "uid-of-home", labels: { [guardLabels.namespace]: null } } },
      options: { fieldManager: "knfleet", metadataOnly: true },
    },
  ]);
  expect(asked).toEqual([
    { kind: "Namespace", selector: `${guardLabels.namespace}=${hubId}`, metadataOnly: true },
    { kind: "ConfigMap", selector: undefined, metadataOnly: true },
  ]);
});

test.each([
  { name: "has all marks", annotations: anchorMarks, is: true },
  { name: "is of another hub", annotations: { ...anchorMarks, [anchorAnnotations.hubId]: "b" } },
  { name: "is not protected", annotations: { [anchorAnnotations.hubId]: hubId } },
  { name: "has no annotations", annotations: undefined },
])("a ConfigMap that $name is an anchor of the hub: $is", async ({ annotations, is = false }) => {
  const { client } = cluster([configMap("home", annotations)]);
  for (const where of [{}, { namespace: "home" }]) {
    // oxlint-disable-next-line no-await-in-loop -- two questions
    expect(await anchorsOf(client, { hubId, ...where }, signal)).toHaveLength(is ? 1 : 0);
  }
  expect(await anchorsOf(client, { hubId, namespace: "other" }, signal)).toEqual([]);
});
