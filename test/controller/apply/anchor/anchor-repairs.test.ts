import { expect, test } from "vitest";

import { systemClock } from "../../../../access/time/system-clock.ts";
import { FleetError } from "../../../../api/errors.ts";
import type { KubeObject, Manifest, ObjectMeta } from "../../../../api/kubernetes.ts";
import { inventoryTextOf, anchorKey } from "../../../../installation/anchor-object.ts";
import { anchorAnnotations, anchorLabels } from "../../../../installation/anchor.ts";
import type { StubAnswer, StubRequest } from "../../../access/api-stub.ts";
import { bareInstaller, component, json, roots } from "../bare-spoke.ts";
import { manifestOf } from "../prepared.ts";
import { renderedOf } from "../small-set.ts";

const { namespace } = component.metadata;
const { protected: mark } = anchorAnnotations;

/** A spoke that stores the anchor and refuses every other object. */
class AnchorStore {
  #anchor: KubeObject | undefined;
  #version = 0;

  get anchor(): KubeObject {
    if (this.#anchor === undefined) throw new Error("There is no anchor");
    return this.#anchor;
  }

  get isMarked(): boolean {
    return this.anchor.metadata.annotations?.[mark] === "true";
  }

  /** Somebody takes a mark off. */
  strip(): void {
    this.change({ annotations: { ...this.anchor.metadata.annotations, [mark]: "false" } });
  }

  change(metadata: ObjectMeta): void {
    this.store({ ...this.anchor, metadata: { ...this.anchor.metadata, ...metadata } });
  }

  store(manifest: Manifest): void {
    this.#version += 1;
    const stored = { name: "", ...manifest.metadata, uid: "root" };
    this.#anchor = {
      ...manifest,
      metadata: { ...stored, resourceVersion: `${this.#version}` },
    };
  }

  answer = ({ method, path, body }: StubRequest): StubAnswer | undefined => {
    const isNew = method === "POST" && path.startsWith(roots);
    if (isNew) this.store(JSON.parse(body));
    else if (this.#anchor === undefined) return undefined;
    else if (!path.startsWith(`${roots}/${this.anchor.metadata.name}`)) return undefined;
    else if (method === "PATCH" && !path.includes("dryRun")) this.#patch(JSON.parse(body));
    return json(this.anchor, isNew ? 201 : 200);
  };

  #patch(body: Manifest | readonly { readonly op: string; readonly path: string }[]): void {
    if ("metadata" in body) return this.store(body);
    const removed = body.flatMap(({ op, path }) => (op === "remove" ? [path] : []));
    return this.change(Object.fromEntries(removed.map((path) => [path.split("/")[2], undefined])));
  }
}

/** What upstream's operator left, and what nobody wants any more. */
const leftover = {
  ...manifestOf(`v1 ConfigMap ${namespace}/gone`),
  metadata: {
    namespace,
    name: "gone",
    uid: "gone",
    resourceVersion: "1",
    managedFields: [
      { manager: "manifestival", operation: "Update", apiVersion: "v1", fieldsV1: {} },
    ],
  },
};

function withLeftover({ method, path }: StubRequest): StubAnswer | undefined {
  const isAsked = method === "GET" && path.startsWith("/api/v1/configmaps?");
  if (!isAsked || path.includes("watch=true")) return undefined;
  return json({ kind: "List", metadata: { resourceVersion: "1" }, items: [leftover] });
}

/** An installer on a spoke with an anchor; of upstream's, with one more object, or of ours. */
async function opened(whose: "upstream's" | "ours") {
  const store = new AnchorStore();
  const { attempt, target } = await bareInstaller(
    (request) => store.answer(request) ?? (whose === "ours" ? undefined : withLeftover(request)),
  );
  const key = anchorKey({ component, target });
  const { apiVersion, kind, ...place } = key;
  const labels = { [anchorLabels.componentName]: component.metadata.name };
  if (whose === "upstream's") store.store({ apiVersion, kind, metadata: { ...place, labels } });
  /** An attempt so many seconds after the first one. */
  const at = (seconds: number, options: Parameters<typeof attempt>[0] = {}) =>
    attempt({ clock: { ...systemClock, now: () => seconds * 1_000 }, ...options });
  return { store, at, key };
}

test.each([
  { what: "an object is refused", whose: "ours", failed: ["a"] },
  { what: "an adoption is not finished", whose: "upstream's", failed: ["a", "gone"] },
] as const)(
  "while $what, an anchor that is fought over is left alone for a while, but for what it has to say",
  async ({ whose, failed }) => {
    const { store, at, key } = await opened(whose);
    expect(await at(0)).toMatchObject({
      repaired: [],
      failed: failed.map((name) => ({ key: { name } })),
    });
    for (const conflicts of [[], [], [{ key }]]) {
      store.strip();
      expect(await at(1)).toMatchObject({ repaired: [key], conflicts });
      expect(store.isMarked).toBe(true);
    }
    store.strip();
    const stripped = store.anchor;
    for (const seconds of [1, 5, 10]) {
      expect(await at(seconds)).toMatchObject({ repaired: [], conflicts: [{ key }] });
    }
    expect(store.anchor).toEqual(stripped);
    expect(await at(11)).toMatchObject({ repaired: [key], conflicts: [{ key }] });
    expect(store.isMarked).toBe(true);

    store.strip();
    const rendered = renderedOf(manifestOf(`v1 ConfigMap ${namespace}/b`));
    expect(await at(12, { rendered })).toMatchObject({ repaired: [], conflicts: [{ key }] });
    expect(inventoryTextOf(store.anchor)).toContain('"b":');
  },
);

test("a foreign owner of an anchor goes at once, however often it comes back, which is told as a contest then", async () => {
  const { store, at, key } = await opened("ours");
  const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "nobody", uid: "nobody" }];
  await at(0);
  for (const [repaired, conflicts] of [
    [[key], []],
    [[key], []],
    [[key], [{ key }]],
    [[], [{ key }]],
    [[], [{ key }]],
  ]) {
    store.change({ ownerReferences });
    expect(await at(1)).toMatchObject({ repaired, conflicts });
    expect(store.anchor.metadata.ownerReferences).toBeUndefined();
  }
  store.strip();
  expect(await at(2)).toMatchObject({ repaired: [], conflicts: [{ key }] });
  store.change({ ownerReferences });
  expect(await at(3)).toMatchObject({ repaired: [], conflicts: [{ key }] });
  expect(store.isMarked).toBe(true);
});

test("an anchor that is being deleted is never built upon, however often it was stripped", async () => {
  const { store, at, key } = await opened("ours");
  await at(0);
  for (const conflicts of [[], [], [{ key }]]) {
    store.strip();
    expect(await at(1)).toMatchObject({ conflicts });
  }
  store.change({ deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["example.com/hold"] });
  await expect(at(2)).rejects.toMatchObject({ reason: "ClusterBusy" });
});

test("upstream's anchor that was not taken over at once was not repaired", async () => {
  const { store, at, key } = await opened("upstream's");
  const unprotected = new FleetError("AnchorUnprotected", "Nothing would protect the anchor");
  const gate = {
    waitUntilSent: () => Promise.resolve(),
    needsSecondOwner: () => Promise.resolve(false),
    noteAnchor: () => undefined,
  };
  const shut = { ...gate, waitUntilOpen: () => Promise.reject(unprotected) };
  for (let attempt = 1; attempt <= 2; attempt += 1) {
    await expect(at(0, { gate: shut })).rejects.toBe(unprotected);
  }
  const open = { ...gate, waitUntilOpen: () => Promise.resolve() };
  expect(await at(1, { gate: open })).toMatchObject({ repaired: [] });
  expect(store.isMarked).toBe(true);

  // What is put right late was repaired all the same.
  store.strip();
  await expect(at(2, { gate: shut })).rejects.toBe(unprotected);
  expect(await at(3, { gate: open })).toMatchObject({ repaired: [key] });
});
