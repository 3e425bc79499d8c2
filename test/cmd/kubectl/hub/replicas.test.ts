import { describe, expect, test } from "vitest";

import type { KubeClient } from "../../../../access/kube/kube-client.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import type { Part } from "../../../../api/shards.ts";
import {
  listControllerLeases,
  partsText,
  servedBy,
  type Serving,
  servingOf,
} from "../../../../cmd/kubectl/hub/replicas.ts";
import { now } from "../fleet-facts.ts";
import { lease } from "./lease-facts.ts";

async function serving(leases: readonly KubeObject[]): Promise<Serving | undefined> {
  const list: KubeClient["list"] = () => Promise.resolve({ items: leases, resourceVersion: "1" });
  const found = await listControllerLeases({ list }, AbortSignal.timeout(1_000));
  return servingOf(found, now.getTime());
}

const shard = (number: number, of: number): string => `knfleet-shard-${number}-of-${of}`;
const member = (of: number, name: string): string => `knfleet-member-of-${of}-${name}`;

interface Case {
  readonly name: string;
  readonly leases: readonly KubeObject[];
  /** Shards, who holds which part, and who waits; undefined: not known. */
  readonly is:
    | readonly [number, Readonly<Record<string, string>>, ...(readonly string[])]
    | undefined;
}

const cases: readonly Case[] = [
  { name: "no Lease", leases: [], is: undefined },
  {
    name: "Leases of others",
    leases: [lease("kube-scheduler", { holder: "a" }), lease("knfleet-webhook", { holder: "a" })],
    is: undefined,
  },
  {
    name: "a leader",
    leases: [lease("knfleet-controller", { holder: "pod-a" })],
    is: [1, { "0": "pod-a" }],
  },
  {
    name: "a leader that renewed 19 s ago, which a slow hub or another clock may make of 14",
    leases: [lease("knfleet-controller", { holder: "pod-a", age: 19 })],
    is: [1, { "0": "pod-a" }],
  },
  {
    name: "a leader whose Lease has run out",
    leases: [lease("knfleet-controller", { holder: "pod-a", age: 21 })],
    is: [1, {}],
  },
  {
    name: "a leader of whose day only a minute is believed",
    leases: [lease("knfleet-controller", { holder: "pod-a", age: 66, seconds: 86_400 })],
    is: [1, {}],
  },
  { name: "a Lease that was released", leases: [lease("knfleet-controller")], is: [1, {}] },
  {
    name: "replicas that share the fleet",
    leases: [
      lease("knfleet-controller", { age: 3_600 }),
      lease(shard(0, 3), { holder: "pod-a" }),
      lease(shard(1, 3), { holder: "pod-b" }),
      lease(shard(2, 3), { holder: "pod-a" }),
      lease("knfleet-fleet", { holder: "pod-b" }),
      lease(member(3, "one"), { holder: "pod-a" }),
      lease(member(3, "two"), { holder: "pod-b" }),
    ],
    is: [3, { "0": "pod-a", "1": "pod-b", "2": "pod-a", fleet: "pod-b" }],
  },
  {
    name: "shards that ran out, were released and do not exist, and a replica without a shard",
    leases: [
      lease(shard(0, 4), { holder: "pod-a" }),
      lease(shard(1, 4), { holder: "pod-b", age: 40 }),
      lease(shard(2, 4)),
      lease(member(4, "one"), { holder: "pod-a" }),
      lease(member(4, "two"), { holder: "pod-b", age: 40 }),
      lease(member(4, "three"), { holder: "pod-c" }),
    ],
    is: [4, { "0": "pod-a" }, "pod-c"],
  },
  {
    name: "a change from three shards to two, of which the first was taken",
    leases: [
      lease(shard(0, 3), { age: 1 }),
      lease(shard(1, 3), { age: 1 }),
      lease(shard(2, 3), { age: 1 }),
      lease(shard(0, 2), { holder: "pod-d" }),
      lease(member(3, "one"), { holder: "pod-a" }),
    ],
    is: [2, { "0": "pod-d" }],
  },
  {
    name: "a change to one shard",
    leases: [lease(shard(0, 2)), lease(shard(1, 2)), lease("knfleet-controller", { holder: "e" })],
    is: [1, { "0": "e" }],
  },
  {
    name: "all ended: the number of shards is that of the last",
    leases: [lease("knfleet-controller", { age: 60 }), lease(shard(1, 2), { age: 30 })],
    is: [2, {}],
  },
  {
    name: "the rest of a controller in another namespace",
    leases: [
      lease("knfleet-controller", { namespace: "old", age: 1 }),
      lease(shard(0, 2), { namespace: "old", holder: "pod-z", age: 1_000 }),
      lease(shard(0, 2), { holder: "pod-a" }),
    ],
    is: [2, { "0": "pod-a" }],
  },
  {
    name: "names that no replica gives",
    leases: [
      lease(shard(2, 2), { holder: "a" }),
      lease(shard(0, 0), { holder: "a" }),
      lease(shard(0, 1), { holder: "a" }),
      lease(shard(0, 99_999), { holder: "a" }),
    ],
    is: undefined,
  },
];

describe("who serves what", () => {
  test.each(cases)("$name", async ({ leases, is }) => {
    const found = await serving(leases);
    const said = found && [found.shards, Object.fromEntries(found.holders), ...found.spare];
    expect(said).toEqual(is);
    expect(await serving(leases.toReversed())).toEqual(found);
  });

  test("asks once, and neither for claims of clusters nor for Leases of nodes", async () => {
    const asked: unknown[] = [];
    const list: KubeClient["list"] = (ref) => {
      asked.push(ref);
      return Promise.resolve({ items: [], resourceVersion: "1" });
    };
    await listControllerLeases({ list }, AbortSignal.timeout(1_000));
    expect(asked).toMatchObject([
      {
        labelSelector: "!knfleet.dev/cluster-claim",
        fieldSelector: "metadata.namespace!=kube-node-lease",
      },
    ]);
  });
});

describe("the replica of a cluster", () => {
  const shared = [lease(shard(0, 2), { holder: "pod-a" }), lease(shard(1, 2), { holder: "pod-b" })];

  const half = shared.slice(0, 1);

  // FNV-1a of the key, modulo 2.
  test.each([
    {
      name: "the leader",
      leases: [lease("knfleet-controller", { holder: "pod-a" })],
      of: "spoke-2",
      replica: { name: "pod-a", shard: 0, shards: 1 },
    },
    {
      name: "the holder of the first shard",
      leases: shared,
      of: "spoke-1",
      replica: { name: "pod-a", shard: 0, shards: 2 },
    },
    {
      name: "the holder of the second shard",
      leases: shared,
      of: "spoke-2",
      replica: { name: "pod-b", shard: 1, shards: 2 },
    },
    {
      name: "that of the hub's shard",
      leases: shared,
      of: undefined,
      replica: { name: "pod-a", shard: 0, shards: 2 },
    },
    {
      name: "nobody, when the shard has no holder",
      leases: half,
      of: "spoke-2",
      replica: { name: null, shard: 1, shards: 2 },
    },
  ])("is $name", async ({ leases, of, replica }) => {
    const found = await serving(leases);
    const cluster = of === undefined ? null : { namespace: "fleet", name: of };
    expect(found && servedBy(cluster, found)).toEqual(replica);
  });
});

test.each<[readonly Part[], number, string]>([
  [[0], 1, "leader"],
  [[1], 3, "shard 1 of 3"],
  [[0, 2, "fleet"], 3, "shards 0, 2 of 3, fleet"],
  [["fleet"], 3, "fleet"],
  [[], 3, "no shard of 3"],
])("%j of %d shards are said as %s", (parts, shards, text) => {
  expect(partsText(parts, shards)).toBe(text);
});
