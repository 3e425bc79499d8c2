import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { connectHub } from "../../../../../access/hub/hub.ts";
import { systemClock } from "../../../../../access/time/system-clock.ts";
import type { KubeObject, Manifest } from "../../../../../api/kubernetes.ts";
import { knownResource } from "../../../../../api/resources.ts";
import { type Target, write } from "../../../../../cmd/kubectl/commands/register/write-object.ts";
import { writeProfile } from "../../../../../cmd/kubectl/commands/register/write-profile.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";

const fleet = useFleet({ spokes: [] });
const opened = new AsyncDisposableStack();
const apiVersion = "multicluster.x-k8s.io/v1alpha1";
const key = { apiVersion, kind: "ClusterProfile", namespace: "fleet", name: "eu-1" };
const manifest = {
  apiVersion,
  kind: key.kind,
  metadata: { namespace: "fleet", name: "eu-1", labels: { env: "prod" } },
};
let target: Target;
let read: KubeObject;

beforeAll(async () => {
  const { hub } = fleet();
  const login = { kubeconfig: hub.adminKubeconfigPath, environment: {}, userAgent: "test" };
  const { client } = opened.use(await connectHub({ clock: systemClock, ...login }));
  target = { client, timeoutMs: 10_000, signal: undefined };
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "fleet" } });
  const spec = { displayName: "eu-1", clusterManager: { name: "knfleet-register" } };
  await hub.admin.create({ ...manifest, metadata: { ...manifest.metadata, labels: {} }, spec });
  read = await present();
});
afterAll(() => opened.disposeAsync());

async function present(): Promise<KubeObject> {
  const { namespace, name } = key;
  const ref = { resource: knownResource(apiVersion, key.kind), namespace, name };
  const found = await target.client.get(ref, {}, AbortSignal.timeout(10_000));
  if (found === undefined) throw new Error("The ClusterProfile is not there");
  return found;
}

const version = (kubernetes: string) => ({ status: { version: { kubernetes } } });

test("a status that was written since the reading does not hold up a write", async () => {
  await fleet().hub.admin.patch(key, version("v1.34.0"), { subresource: "status" });
  await write(manifest, { present: read, made: [] }, target);
  expect(await present()).toMatchObject({
    metadata: { labels: { env: "prod" } },
    ...version("v1.34.0"),
  });
});

test.each([
  ["a label", { metadata: { labels: { env: "lab" } } }],
  ["a field of the spec", { spec: { displayName: "mine" } }],
])("%s that was changed since the reading stays, and the write says so", async (_what, change) => {
  const before = await present();
  await fleet().hub.admin.patch(key, change);
  await fleet().hub.admin.patch(key, version("v1.35.0"), { subresource: "status" });
  await expect(write(manifest, { present: before, made: [] }, target)).rejects.toThrow(
    "ClusterProfile fleet/eu-1 was changed by somebody else meanwhile",
  );
  expect(await present()).toMatchObject(change);
});

describe("a ClusterProfile that another register wrote since the reading", () => {
  const renewedAt = "knfleet.dev/credential-renewed-at";
  const renewed = { [renewedAt]: "2026-11-21T12:00:00Z" };
  const spec = { displayName: "eu-2", clusterManager: { name: "knfleet-register" } };
  const mine = {
    ...manifest,
    metadata: { namespace: "fleet", name: "eu-2", labels: { env: "prod" }, annotations: renewed },
    spec,
  };
  const patch = { ...mine, metadata: { ...mine.metadata, labels: { env: "prod", tier: null } } };
  const other = { ...key, name: "eu-2" };

  test.each([
    { what: "a profile that was there", wasRead: true },
    { what: "a profile that was not there yet", wasRead: false },
  ])("is written where both want the same, after the reading of $what", async ({ wasRead }) => {
    const { admin } = fleet().hub;
    await admin.apply({ ...mine, metadata: { ...mine.metadata, annotations: {} } });
    const before = wasRead ? await admin.get(other) : undefined;
    // The other register wrote a time of its own, and somebody a note.
    await admin.patch(other, {
      metadata: { annotations: { [renewedAt]: "2026-11-21T11:00:00Z", note: "is kept" } },
    });
    const made: Manifest[] = [];
    await writeProfile(mine, { present: before, made, patch }, target);
    expect(await admin.get(other)).toMatchObject({
      metadata: { labels: { env: "prod" }, annotations: { ...renewed, note: "is kept" } },
      spec,
    });
    expect(made).toEqual([]);
  });

  test.each([
    ["a label", { metadata: { labels: { env: "lab" } } }],
    ["a label that goes", { metadata: { labels: { tier: "mine" } } }],
    ["the spec", { spec: { displayName: "mine" } }],
  ])("stays where it wants another: %s", async (_what, change) => {
    const { admin } = fleet().hub;
    await admin.patch(other, change);
    await expect(
      writeProfile(mine, { present: undefined, made: [], patch }, target),
    ).rejects.toThrow("meanwhile");
    expect(await admin.get(other)).toMatchObject(change);
    await admin.remove(other);
    await admin.create(mine);
  });
});

test("an object of the same name that somebody made since stays", async () => {
  const { admin } = fleet().hub;
  const before = await present();
  const { uid: _uid, resourceVersion: _version, ...metadata } = before.metadata;
  await admin.remove(key);
  await admin.create({ ...before, metadata });
  await expect(write(manifest, { present: before, made: [] }, target)).rejects.toThrow("meanwhile");
  expect((await present()).metadata.labels).toEqual(before.metadata.labels);
});

test("a Secret of which only the metadata was read is not written over new data", async () => {
  const { admin } = fleet().hub;
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { namespace: "fleet", name: "eu-1" },
  };
  await admin.create(secret);
  const ref = { resource: knownResource("v1", "Secret"), namespace: "fleet", name: "eu-1" };
  const before = await target.client.get(ref, { metadataOnly: true }, AbortSignal.timeout(10_000));
  await admin.patch({ ...secret, ...secret.metadata }, { data: { token: "YQ==" } });
  await expect(
    write({ ...secret, data: { token: "Yg==" } }, { present: before, made: [] }, target),
  ).rejects.toThrow("Secret fleet/eu-1 was changed by somebody else meanwhile");
  expect(await admin.get({ ...secret, ...secret.metadata })).toMatchObject({
    data: { token: "YQ==" },
  });
});
