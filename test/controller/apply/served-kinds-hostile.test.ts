import { expect, test } from "vitest";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import {
  deletableKinds,
  kindsOfGroup,
  servedKinds,
} from "../../../controller/apply/served-kinds.ts";
import { startApiStub, type ApiStub } from "../../access/api-stub.ts";
import { requesterTo, serverIdentity, untilTheEnd } from "../../access/loopback.ts";

const { signal } = new AbortController();
const tooManyVersions = {
  reason: "ApplyFailed",
  message:
    "The target cluster names more than 2000 versions of API groups, which are too many to look through for what was installed",
};
const tooManyKinds = {
  reason: "ApplyFailed",
  message:
    "The target cluster names more than 10000 kinds, which are too many to look through for what was installed",
};

interface Discovery {
  readonly groups: number;
  readonly kinds: number;
  /** Of the names of its kinds. */
  readonly length?: number;
}

/** An API server that names so many groups, each with so many kinds. */
async function discovery({ groups, kinds, length = 1 }: Discovery): Promise<ApiStub> {
  const group = JSON.stringify({ groups: times(groups, groupOf) });
  const versions = JSON.stringify({ versions: times(groups, versionOf) });
  const resources = JSON.stringify({
    resources: times(kinds, (at) => ({
      name: `k${at}`.padEnd(length, "s"),
      kind: `K${at}`,
      namespaced: true,
      verbs: ["list", "delete"],
    })),
  });
  const bodies = new Map([
    ["/apis", group],
    ["/apis/one.example.com", versions],
    ["/api/v1", "{}"],
  ]);
  const answer = ({ path }: { readonly path: string }) => ({ body: bodies.get(path) ?? resources });
  return untilTheEnd(await startApiStub({ identity: serverIdentity, answer }));
}

function times<T>(length: number, make: (at: number) => T): readonly T[] {
  return Array.from({ length }, (_, at) => make(at));
}

function groupOf(at: number): object {
  return { preferredVersion: { groupVersion: `g${at}.example.com/v1` } };
}

function versionOf(at: number): object {
  return { groupVersion: `one.example.com/v${at}` };
}

test("T-54: a cluster with 5,000 groups is asked for none of them", async () => {
  const api = await discovery({ groups: 5_000, kinds: 1 });
  const looking = deletableKinds(createKubeClient(requesterTo(api)), signal);
  await expect(looking).rejects.toMatchObject(tooManyVersions);
  expect(api.requests.map(({ path }) => path)).toEqual(["/apis"]);
});

test("T-54: a group with 5,000 versions is asked for none of them", async () => {
  const api = await discovery({ groups: 5_000, kinds: 1 });
  const looking = kindsOfGroup(createKubeClient(requesterTo(api)), "one.example.com", signal);
  await expect(looking).rejects.toMatchObject(tooManyVersions);
  expect(api.requests.map(({ path }) => path)).toEqual(["/apis/one.example.com"]);
});

test("T-54: an inventory with objects of 5,000 groups costs no request", async () => {
  const api = await discovery({ groups: 0, kinds: 0 });
  const keys = times(5_000, (at) => ({
    apiVersion: `g${at}.example.com/v1`,
    kind: "Thing",
    name: "one",
  }));
  const looking = servedKinds(createKubeClient(requesterTo(api)), keys, signal);
  await expect(looking).rejects.toMatchObject(tooManyVersions);
  expect(api.requests).toEqual([]);
});

test("T-54: a cluster is not asked for more groups when those before have too many kinds", async () => {
  const api = await discovery({ groups: 1_900, kinds: 1_001 });
  const looking = deletableKinds(createKubeClient(requesterTo(api)), signal);
  await expect(looking).rejects.toMatchObject(tooManyKinds);
  // What the connection lets through at a time.
  expect(api.requests.length).toBeLessThan(100);
});

test("T-54: kinds with names that no kind can have are left out", async () => {
  const api = await discovery({ groups: 1, kinds: 20_000, length: 64 });
  await expect(deletableKinds(createKubeClient(requesterTo(api)), signal)).resolves.toEqual([]);
});

test("a cluster with 500 groups and 10,000 kinds is looked through with one request a version", async () => {
  const api = await discovery({ groups: 500, kinds: 20 });
  const kinds = await deletableKinds(createKubeClient(requesterTo(api)), signal);
  expect(kinds).toHaveLength(10_000);
  expect(api.requests).toHaveLength(1 + 1 + 500);
});
