// Servers of its own: the API server is killed under watches.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";

import type { HubConnection } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { objectId } from "../../../api/keys.ts";
import { type ObjectKey } from "../../../api/kubernetes.ts";
import { knownResource, type ResourceType } from "../../../api/resources.ts";
import type { Observation, ObservedChange } from "../../../controller/observe/observation.ts";
import { observe } from "../../../controller/observe/observe.ts";
import { observedObject } from "../../../installation/observed-object.ts";
import { readinessOf } from "../../../installation/readiness.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { connectionTo } from "../../support/connection-to.ts";
import { silentLog } from "../../support/silent-log.ts";
import {
  connectAs,
  eventing,
  imageDefinition,
  type Installation,
  installByHand,
  remoteTarget,
} from "../hand-made-installation.ts";

const fleet = useSpokes(1);
const { signal } = new AbortController();

const images: ResourceType = {
  apiVersion: "caching.internal.knative.dev/v1alpha1",
  kind: "Image",
  plural: "images",
  namespaced: true,
};

let admin: AdminClient;
let spoke: HubConnection;
let observation: Observation;
let changes: ObservedChange[];

beforeAll(async () => {
  admin = fleet().spoke(0).admin;
  spoke = await connectAs(fleet().spoke(0), "controller", { clusterRoles: ["knfleet-spoke"] });
});

afterAll(async () => {
  await spoke[Symbol.asyncDispose]();
});

beforeEach(() => {
  changes = [];
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

const kinds = ["ConfigMap", "Secret", "ClusterRole", "Deployment"];

async function installed(word: string): Promise<Installation> {
  const component = eventing(word);
  const target = remoteTarget(spoke.client, word);
  return installByHand({ component, target, admin, kinds });
}

async function observed({ component, target, keys }: Installation, more: ResourceType[] = []) {
  observation = observe({
    clock: systemClock,
    client: spoke.client,
    componentUid: component.metadata.uid,
    watches: connectionTo(target).watches,
    onChange: (change) => changes.push(change),
    log: silentLog,
  });
  observation.watchKinds([
    ...keys.map(({ apiVersion, kind }) => knownResource(apiVersion, kind)),
    ...more,
  ]);
  await observation.waitForSync(signal);
}

function keyNamed({ keys }: Installation, kind: string): ObjectKey {
  const key = keys.find((candidate) => candidate.kind === kind);
  if (key === undefined) throw new Error(`No ${kind} was installed`);
  return key;
}

test("everything of the installation is known when it is synced, and nothing else", async () => {
  const installation = await installed("known");
  await installed("not-known");
  await observed(installation);
  expect([...observation.objects().keys()].toSorted()).toEqual(
    installation.keys.map(objectId).toSorted(),
  );
  const prints = [...observation.objects().values()].map(({ fingerprint }) => fingerprint);
  expect(prints).not.toContain(undefined);
});

describe("a change on the cluster", () => {
  test("is reported when it takes a field of ours, and not when it does not", async () => {
    const installation = await installed("changed");
    await observed(installation);
    const map = keyNamed(installation, "ConfigMap");
    const role = keyNamed(installation, "ClusterRole");
    await admin.patch(map, { metadata: { labels: { theirs: "yes" } }, data: { another: "key" } });
    await admin.patch(role, { rules: [] });
    await vi.waitFor(() => expect(changes).toContainEqual({ kind: "object", key: role }), 60_000);
    expect(changes).not.toContainEqual({ kind: "object", key: map });
    await admin.patch(map, { data: { key: "other" } });
    await vi.waitFor(() => expect(changes).toContainEqual({ kind: "object", key: map }), 60_000);
  });

  test("is reported when an object is deleted", async () => {
    const installation = await installed("deleted");
    await observed(installation);
    const key = keyNamed(installation, "Secret");
    await admin.remove(key);
    await vi.waitFor(() => expect(changes).toContainEqual({ kind: "object", key }), 60_000);
    expect(observation.objects().has(objectId(key))).toBe(false);
  });

  test("is reported when an object loses our label", async () => {
    const installation = await installed("unlabelled");
    await observed(installation);
    const key = keyNamed(installation, "Secret");
    await admin.patch(key, { metadata: { labels: { "knfleet.dev/component-uid": null } } });
    await vi.waitFor(() => expect(changes).toContainEqual({ kind: "object", key }), 60_000);
  });

  test("of our own is known as soon as it is noted", async () => {
    const installation = await installed("noted");
    await observed(installation);
    const [map, secret] = [keyNamed(installation, "ConfigMap"), keyNamed(installation, "Secret")];
    const { fieldManager } = installation.target;
    const { metadata } = (await admin.get(map)) ?? {};
    const { namespace, name, labels, ownerReferences } = metadata ?? {};
    const manifest = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace, name, labels, ownerReferences },
      data: { key: "new", added: "by us" },
    };
    const written = observedObject(await admin.apply(manifest, { fieldManager }), fieldManager);
    observation.note([written]);
    expect(observation.objects().get(objectId(map))).toEqual(written);
    // Later events of the same watch change nothing about it.
    await admin.remove(secret);
    await vi.waitFor(() => expect(changes).toContainEqual({ kind: "object", key: secret }), 60_000);
    expect(observation.objects().get(objectId(map))).toEqual(written);
  });
});

test("a Deployment is waited for until its pods are there", async () => {
  const installation = await installed("rolling");
  await observed(installation);
  const key = keyNamed(installation, "Deployment");
  const readiness = () => readinessOf(installation.keys, observation.workloads());
  await vi.waitFor(() => expect(readiness().available).toBe(true), 60_000);
  expect(changes).toContainEqual({ kind: "workload", key });
  await admin.remove(key);
  await vi.waitFor(() => expect(readiness().missing).toEqual([key.name]), 60_000);
});

test("a kind whose CRD comes later is seen then", async () => {
  await admin.remove({ ...imageDefinition, name: imageDefinition.metadata.name ?? "" });
  await vi.waitFor(
    () => expect(admin.request("GET", `/apis/${images.apiVersion}`)).rejects.toThrow("404"),
    60_000,
  );
  const component = eventing("later");
  const target = remoteTarget(spoke.client, "later");
  const before: Installation = await installed("later-too");
  await observed({ ...before, component }, [images]);
  expect(observation.objects().size).toBe(0);
  await installByHand({ component, target, admin, kinds: ["Image"] });
  const key: ObjectKey = { ...images, namespace: "later", name: "thing" };
  await vi.waitFor(() => {
    expect(observation.objects().has(objectId(key))).toBe(true);
  }, 600_000);
});

test("an API server that was killed and started again is followed on", async () => {
  const installation = await installed("restarted");
  await observed(installation);
  await fleet().spoke(0).stop("SIGKILL");
  await fleet().spoke(0).start();
  const key = keyNamed(installation, "Secret");
  await admin.remove(key);
  await vi.waitFor(() => expect(changes).toContainEqual({ kind: "object", key }), 60_000);
});
