import { describe, expect, test } from "vitest";

import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import { objectId } from "../../../api/keys.ts";
import { keyOf, type KubeObject } from "../../../api/kubernetes.ts";
import { Neighbours } from "../../../controller/reconcile/neighbours.ts";
import type { OwnershipQuestion } from "../../../installation/sharing.ts";
import { apiError } from "../../support/api-error.ts";
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
const second = component("KnativeEventing", "second", "two");

interface Try extends Cluster {
  readonly all?: readonly Component[];
}

describe("of objects that an installed component comes to want", () => {
  const serve = component("KnativeServing", "serving");
  const own = bornAt("2026-01-01T00:00:05Z", madeAnchor(second, []), "own");
  const ids = new Set([objectId(keyOf(role))]);
  const none = new Set<string>();
  const words = "Belongs to the installation of KnativeServing serving/knative-serving";

  function held(
    { open = none, fought = none, lost = none }: Partial<OwnershipQuestion>,
    { roots, all = [serve, second], ...rest }: Try,
  ): Promise<ReadonlyMap<string, string> | undefined> {
    const newcomer = { component: second, target: targetOf(second, { roots, ...rest }) };
    return new Neighbours(systemClock).holders(
      newcomer,
      { open, fought, lost, all: () => all },
      signal,
    );
  }

  const theirs = (at: string, fingerprint?: string): readonly KubeObject[] => [
    own,
    bornAt(at, madeAnchor(serve, [role], hubId, fingerprint), "theirs"),
  ];

  test("those are another's that it has named, however late", async () => {
    const roots = theirs("2026-01-01T00:00:09Z");
    const answer = await held({ open: ids }, { roots });
    expect(answer).toEqual(new Map([...ids].map((id) => [id, words])));
  });

  test.each([
    { name: "nobody has named", roots: [own] },
    { name: "only it has named itself", roots: [madeAnchor(second, [role])] },
    { name: "somebody of whom the hub does not know has", roots: theirs("x"), all: [second] },
  ])("those are free that $name", async ({ roots, all }) => {
    const answer = await held({ open: ids }, { roots, all: all ?? [serve, second] });
    expect(answer).toEqual(new Map());
  });

  test.each([
    { whose: "theirs who were earlier", at: "2026-01-01T00:00:04Z", fingerprint: "f", size: 1 },
    { whose: "its own before later ones", at: "2026-01-01T00:00:06Z", fingerprint: "f", size: 0 },
    { whose: "its own where they have nothing yet", at: "2026-01-01T00:00:04Z", size: 0 },
  ])("those that both have are $whose", async ({ at, fingerprint, size }) => {
    const roots = theirs(at, fingerprint);
    expect((await held({ fought: ids }, { roots }))?.size).toBe(size);
  });

  test("those of an installation that lost its anchor are another's, but nobody's of its own kind", async () => {
    const [, anchor] = theirs("x");
    const like = component("KnativeEventing", "like", "three");
    const roots = [anchor, madeAnchor(like, [role])].filter((one) => one !== undefined);
    expect(await held({ lost: ids }, { roots })).toEqual(
      new Map([...ids].map((id) => [id, words])),
    );
    const all = [like, second];
    expect(await held({ lost: ids }, { roots, all })).toEqual(new Map());
  });

  test.each([403, 404])("nothing is known where nobody may ask (%i)", async (status) => {
    expect(await held({ open: ids }, { refusal: apiError(status, "", "no") })).toBeUndefined();
  });

  test.each([429, 500, 503, 504])("those are nobody's to take after %i", async (status) => {
    const refusal = apiError(status, "", "no");
    await expect(held({ open: ids }, { refusal })).rejects.toBe(refusal);
  });
});
