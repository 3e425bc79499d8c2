import { describe, expect, test } from "vitest";

import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import type { FleetError } from "../../../api/errors.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import type { SeenAnchor } from "../../../controller/apply/anchor/anchor.ts";
import { installedRival } from "../../../controller/reconcile/installed-rival.ts";
import { Neighbours } from "../../../controller/reconcile/neighbours.ts";
import { apiError } from "../../support/api-error.ts";
import { connectionTo } from "../../support/connection-to.ts";
import { eventing } from "../apply/installer.ts";
import {
  bornAt,
  type Cluster,
  component,
  hubId,
  role,
  madeAnchor,
  targetOf,
} from "../neighbourhood.ts";

const { signal } = new AbortController();

interface Try extends Cluster {
  readonly manifests?: readonly Manifest[];
  readonly all?: readonly Component[];
  readonly neighbours?: Neighbours;
}

function tried(
  one: Component,
  { manifests = [role], all = [], ...rest }: Try,
): Promise<SeenAnchor> {
  const { neighbours = new Neighbours(systemClock), ...cluster } = rest;
  const target = targetOf(one, cluster);
  const newcomer = { component: one, target, connection: connectionTo(target), manifests };
  return neighbours.assertNoOverlap(newcomer, () => all, signal);
}

const first = component("KnativeEventing", "first");
const second = component("KnativeEventing", "second", "two");

describe("a newcomer", () => {
  test("is accepted on an empty cluster, and beside an installation with other objects", async () => {
    await expect(tried(second, {})).resolves.toBeUndefined();
    const other = { ...role, metadata: { name: "other" } };
    const crd = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
    const definition = { ...crd, metadata: { name: "brokers.eventing.knative.dev" } };
    const roots = [madeAnchor(first, [other, definition])];
    const manifests = [role, definition];
    await expect(tried(second, { roots, manifests, all: [first] })).resolves.toBeUndefined();
  });

  test.each([
    {
      beside: "one of its kind that is installed",
      inventory: [role],
      all: [first],
      reason: "DuplicateComponent",
      message: `KnativeEventing first/knative-eventing is installed on the same cluster already, ClusterProfile fleet/one`,
    },
    {
      beside: "one of its kind of which nobody knows what it has, as upstream's",
      inventory: undefined,
      all: [first],
      reason: "DuplicateComponent",
      message: `KnativeEventing first/knative-eventing is installed on the same cluster already, ClusterProfile fleet/one`,
    },
    {
      beside: "another hub's",
      inventory: [role],
      hub: "hub-b",
      reason: "AnchorConflict",
      message: `ConfigMap shared belongs to the installation of ConfigMap first/knativeeventing-knative-eventing-root-owner`,
    },
  ])("has none beside $beside", async ({ inventory, hub, all = [], reason, message }) => {
    const roots = [madeAnchor(first, inventory, hub)];
    await expect(tried(second, { roots, all })).rejects.toMatchObject({ reason, message });
  });

  test("gets no control characters of the cluster in the message", async () => {
    const root = madeAnchor(first, [role], "hub-b");
    const metadata = { ...root.metadata, namespace: "\u001b[31mred" };
    const roots = [{ ...root, metadata }];
    await expect(tried(second, { roots })).rejects.toMatchObject({
      message: expect.not.stringContaining("\u001b"),
    });
  });

  test("is refused where the other kind has one of its objects", async () => {
    const neighbour = component("KnativeServing", "first");
    const roots = [madeAnchor(neighbour, [role])];
    await expect(tried(first, { roots, all: [neighbour] })).rejects.toMatchObject({
      reason: "AnchorConflict",
      message:
        "ConfigMap shared belongs to the installation of KnativeServing first/knative-serving",
    });
  });

  test("whose own anchor is there is accepted and gets it", async () => {
    const roots = [madeAnchor(second, [role]), madeAnchor(first, [role])];
    await expect(tried(second, { roots, all: [first] })).resolves.toBe(roots[0]);
  });

  test.each([429, 500, 503, 504])("is not accepted where the answer is %i", async (status) => {
    const refusal = apiError(status, "", "no");
    await expect(tried(second, { refusal, all: [first, second] })).rejects.toBe(refusal);
  });

  test("is not accepted beside a rival while its cluster cannot be identified", async () => {
    const unnamed = apiError(500, "", "no");
    await expect(tried(second, { unnamed, all: [first, second] })).rejects.toBe(unnamed);
    const all = [first, second];
    await expect(tried(second, { unnamed: apiError(403, "", "no"), all })).resolves.toBeUndefined();
  });

  test.each([403, 404])("is accepted without the right to list anchors (%i)", async (status) => {
    const refusal = apiError(status, "", "no");
    const all = [first, second];
    const neighbours = new Neighbours(systemClock);
    for (const one of all) {
      await expect(tried(one, { refusal, all, neighbours })).resolves.toBe("unknown");
    }
  });
});

describe("commands name the component that makes the controller refuse a newcomer", () => {
  const serving = component("KnativeServing", "first");
  const stranger = component("KnativeEventing", "stranger");
  const all = [first, second, serving];
  test.each([
    { beside: "nothing", roots: [], rival: undefined },
    { beside: "its kind", roots: [madeAnchor(first, [role])], rival: first },
    {
      beside: "its kind, as upstream installs it",
      roots: [madeAnchor(first, undefined)],
      rival: first,
    },
    {
      beside: "its kind, which has nothing outside of another namespace",
      roots: [madeAnchor(first, [{ ...role, metadata: { namespace: "one", name: "a" } }])],
      rival: undefined,
    },
    { beside: "another hub's", roots: [madeAnchor(stranger, [role], "hub-b")], rival: undefined },
    { beside: "another kind", roots: [madeAnchor(serving, [role])], rival: undefined },
    {
      beside: "its kind, where it is installed itself",
      roots: [madeAnchor(first, [role]), madeAnchor(second, [role])],
      rival: undefined,
    },
  ])("beside $beside", async ({ roots, rival }) => {
    expect(installedRival(second, roots, all)).toBe(rival);
    const refusal = await tried(second, { roots, all }).then(
      () => undefined,
      ({ reason }: FleetError) => reason,
    );
    expect(refusal === "DuplicateComponent").toBe(rival !== undefined);
  });
});

describe("of two newcomers at the same time", () => {
  test("the second one is refused until the attempt of the first one has ended, also where that failed", async () => {
    const neighbours = new Neighbours(systemClock);
    const all = [first, second];
    await tried(first, { neighbours, all });
    await expect(tried(second, { neighbours, all })).rejects.toMatchObject({
      reason: "DuplicateComponent",
    });
    neighbours.forget(first);
    await expect(tried(second, { neighbours, all })).resolves.toBeUndefined();
  });

  test("the second one is accepted when the first one moves to another cluster", async () => {
    const neighbours = new Neighbours(systemClock);
    const all = [first, second];
    await tried(first, { neighbours, all });
    await tried(first, { neighbours, all, uid: "another" });
    await expect(tried(second, { neighbours, all })).resolves.toBeUndefined();
  });

  test("an attempt that has ended claims nothing any more, whatever is answered then", async () => {
    const neighbours = new Neighbours(systemClock);
    const all = [first, second];
    const over = new AbortController();
    const target = targetOf(first, {});
    const connection = connectionTo(target);
    const newcomer = { component: first, target, connection, manifests: [role] };
    const checking = neighbours.assertNoOverlap(newcomer, () => all, over.signal);
    over.abort(new DOMException("The attempt is over", "AbortError"));
    neighbours.forget(first);
    await expect(checking).rejects.toThrow("The attempt is over");
    await expect(tried(second, { neighbours, all })).resolves.toBeUndefined();
  });

  test("a newcomer without a rival does not identify its cluster", async () => {
    let asked = 0;
    const onAsked = (): void => void (asked += 1);
    const installed = { ...second, status: { version: "1.23.0" } };
    const other = component("KnativeServing", "elsewhere");
    await tried(first, { all: [first, installed, other], onAsked });
    expect(asked).toBe(0);
    await tried(first, { all: [first, second], onAsked });
    expect(asked).toBe(1);
  });

  test("both are accepted on two clusters, and without a common object", async () => {
    const neighbours = new Neighbours(systemClock);
    const all = [first, second];
    await tried(first, { neighbours, all });
    await expect(tried(second, { neighbours, all, uid: "another" })).resolves.toBeUndefined();
    const manifests = [{ ...role, metadata: { name: "other" } }];
    await expect(tried(second, { neighbours, all, manifests })).resolves.toBeUndefined();
  });

  test("the hub is also identified through a ClusterProfile", async () => {
    const neighbours = new Neighbours(systemClock);
    const local = eventing({}, { namespace: "local", uid: "local" });
    const all = [local, second];
    await tried(local, { neighbours, all });
    await expect(tried(second, { neighbours, all, uid: hubId })).rejects.toMatchObject({
      message: "KnativeEventing local/knative-eventing is installed on the same cluster already",
    });
  });
});

describe("a newcomer whose anchor was just created", () => {
  const own = bornAt("2026-01-01T00:00:05Z", madeAnchor(second, [role]), "own");

  function asked(cluster: Cluster, object = own): Promise<void> {
    const target = targetOf(second, cluster);
    const connection = connectionTo(target);
    const newcomer = { component: second, target, connection, manifests: [role] };
    const making = Promise.resolve({ object });
    return new Neighbours(systemClock).assertFirst(newcomer, { making, all: () => [] }, signal);
  }

  test("is accepted when its anchor is the oldest", async () => {
    const later = bornAt("2026-01-01T00:00:05Z", madeAnchor(first, [role], "hub-b"), "later");
    await expect(asked({ roots: [own, later] })).resolves.toBeUndefined();
  });

  test("is refused when an older anchor has its objects", async () => {
    const before = [madeAnchor(first, [role], "hub-b")];
    await expect(asked({ before })).rejects.toMatchObject({ reason: "AnchorConflict" });
  });

  const beside = (at: string): Promise<void> => {
    const roots = [own, bornAt(at, madeAnchor(first, [role], "hub-b"), "other")];
    return asked({ before: roots, roots });
  };

  describe("and written again since", () => {
    test.each(["2026-01-01T00:00:04Z", "2026-01-01T00:00:05Z"])(
      "is refused beside an anchor that was created at %s",
      async (at) => {
        await expect(beside(at)).rejects.toMatchObject({ reason: "AnchorConflict" });
      },
    );

    test("is accepted beside a younger anchor", async () => {
      await expect(beside("2026-01-01T00:00:06Z")).resolves.toBeUndefined();
    });
  });

  test("is accepted without the right to list anchors", async () => {
    await expect(asked({ refusal: apiError(403, "", "no") })).resolves.toBeUndefined();
  });

  test("is not accepted while the older anchors cannot be listed", async () => {
    const refusal = apiError(500, "", "no");
    await expect(asked({ refusal })).rejects.toBe(refusal);
  });

  test("is refused beside an older anchor where only the current anchors can be listed", async () => {
    const roots = [
      own,
      bornAt("2026-01-01T00:00:04Z", madeAnchor(first, [role], "hub-b"), "other"),
    ];
    await expect(asked({ forgotten: apiError(500, "", "no"), roots })).rejects.toMatchObject({
      reason: "AnchorConflict",
    });
  });
});
