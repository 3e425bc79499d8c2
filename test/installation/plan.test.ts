import { describe, expect, test } from "vitest";

import { objectId } from "../../api/keys.ts";
import { keyOf, type Manifest } from "../../api/kubernetes.ts";
import type { Inventory } from "../../installation/inventory.ts";
import type { ObservedObject } from "../../installation/observed-object.ts";
import { isSettled, planObjects } from "../../installation/plan.ts";
import { definitionOf, manifestOf, preparedOf } from "../controller/apply/prepared.ts";

const config = manifestOf("v1 ConfigMap knative/a", { data: { x: "1" } });
const job = manifestOf("batch/v1 Job knative/migrate");
const definition = definitionOf("Thing");

type Record = Partial<ObservedObject>;

function observedAs(
  manifest: Manifest,
  record: Record | undefined,
): ReadonlyMap<string, ObservedObject> {
  if (record === undefined) return new Map();
  const key = keyOf(manifest);
  const full = {
    key,
    uid: "u",
    resourceVersion: "1",
    fingerprint: "f",
    deleting: false,
    ...record,
  };
  return new Map([[objectId(key), full]]);
}

interface Marks {
  readonly hash?: string;
  readonly fingerprint?: string | undefined;
}

function sent(manifest: Manifest, marks: Marks): Inventory {
  const hash = preparedOf([manifest])[0]?.hash ?? "";
  const entry: Marks & { readonly hash: string } = {
    hash,
    ...("fingerprint" in marks ? {} : { fingerprint: "f" }),
    ...marks,
  };
  const accepted = entry.fingerprint === undefined ? {} : { fingerprint: entry.fingerprint };
  const entries = [{ ...keyOf(manifest), hash: entry.hash, ...accepted }];
  return { version: "1.0.0", complete: true, entries };
}

describe("an object that was accepted, and looks as it did", () => {
  test.each([
    { when: "of which this process had no answer", answered: undefined, verdict: "unchanged" },
    { when: "since its answer", answered: 2000, verdict: "unchanged" },
    { when: "but was applied again after its answer", answered: 1000, verdict: "repaired" },
    { when: "but is of before its answer again", answered: 3000, verdict: "repaired" },
  ])("$when, is $verdict", ({ answered, verdict }) => {
    const [object] = preparedOf([config]);
    const plan = planObjects(preparedOf([config]), {
      inventory: sent(config, {}),
      observed: observedAs(config, { appliedAt: 2000 }),
      appliedAt: new Map(answered === undefined ? [] : [[object?.id ?? "", answered]]),
    });
    expect(plan.drifted.size).toBe(verdict === "repaired" ? 1 : 0);
    expect(isSettled(plan)).toBe(verdict === "unchanged");
  });
});

describe("an object", () => {
  test.each([
    {
      state: "that was never sent",
      of: config,
      inventory: undefined,
      record: undefined,
      verdict: "apply",
    },
    {
      state: "as it was sent",
      of: config,
      inventory: sent(config, {}),
      record: {},
      verdict: "unchanged",
    },
    {
      state: "that is gone",
      of: config,
      inventory: sent(config, {}),
      record: undefined,
      verdict: "apply",
    },
    {
      state: "of other content",
      of: config,
      inventory: sent(config, { hash: "old" }),
      record: {},
      verdict: "apply",
    },
    {
      state: "that was never accepted",
      of: config,
      inventory: sent(config, { fingerprint: undefined }),
      record: {},
      verdict: "apply",
    },
    {
      state: "that somebody changed",
      of: config,
      inventory: sent(config, {}),
      record: { fingerprint: "g" },
      verdict: "apply",
    },
    {
      state: "that somebody took from us",
      of: config,
      inventory: sent(config, {}),
      record: { fingerprint: undefined },
      verdict: "apply",
    },
    {
      state: "never accepted and not ours",
      of: config,
      inventory: sent(config, { fingerprint: undefined }),
      record: { fingerprint: undefined },
      verdict: "apply",
    },
    {
      state: "that is being deleted",
      of: config,
      inventory: sent(config, {}),
      record: { deleting: true },
      verdict: "leaving",
    },
    {
      state: "that is a finished Job",
      of: job,
      inventory: sent(job, {}),
      record: undefined,
      verdict: "unchanged",
    },
    {
      state: "that is a finished Job on its way out",
      of: job,
      inventory: sent(job, {}),
      record: { deleting: true },
      verdict: "unchanged",
    },
    {
      state: "that is a new Job",
      of: job,
      inventory: sent(job, { hash: "old" }),
      record: undefined,
      verdict: "apply",
    },
    {
      state: "that is a new Job while the old one leaves",
      of: job,
      inventory: sent(job, { hash: "old" }),
      record: { deleting: true },
      verdict: "leaving",
    },
    {
      state: "that is a Job whose answer was lost",
      of: job,
      inventory: sent(job, { fingerprint: undefined }),
      record: undefined,
      verdict: "apply",
    },
    {
      state: "that is a CRD as it was sent",
      of: definition,
      inventory: sent(definition, {}),
      record: {},
      verdict: "unchanged",
    },
    {
      state: "that is a CRD which is gone",
      of: definition,
      inventory: sent(definition, {}),
      record: undefined,
      verdict: "apply",
    },
    {
      state: "that is a changed CRD",
      of: definition,
      inventory: sent(definition, { hash: "old" }),
      record: undefined,
      verdict: "apply",
    },
  ] as const)("$state: $verdict", ({ of, inventory, record, verdict }) => {
    const desired = preparedOf([of]);
    const plan = planObjects(desired, { inventory, observed: observedAs(of, record) });
    const { apply, leaving, unchanged } = plan;
    expect({ apply, leaving, unchanged }).toEqual({
      apply: [],
      leaving: [],
      unchanged: [],
      [verdict]: desired,
    });
    expect(isSettled(plan)).toBe(verdict === "unchanged");
  });

  test("of a kind whose CRD is being deleted waits together with it", () => {
    const custom = manifestOf("test.dev/v1 Thing knative/one");
    const desired = preparedOf([definition, custom, config]);
    const entries = [definition, custom].flatMap((one) => sent(one, {}).entries);
    const inventory = { version: "1.0.0", complete: true, entries };
    const observed = observedAs(definition, { deleting: true });
    const { apply, leaving } = planObjects(desired, { inventory, observed });
    expect(apply.map(({ key }) => key.kind)).toEqual(["ConfigMap"]);
    expect(leaving.map(({ key }) => key.kind)).toEqual(["CustomResourceDefinition", "Thing"]);
  });
});

describe("an obsolete object", () => {
  const nothing = { observed: new Map<string, ObservedObject>() };
  const desired = preparedOf([config]);

  test("is pruned", () => {
    const inventory = sent(job, {});
    const plan = planObjects(desired, { ...nothing, inventory });
    expect(plan.prune.map(({ name }) => name)).toEqual(["migrate"]);
    expect(isSettled(plan)).toBe(false);
  });

  test("stays when nothing is desired at all", () => {
    expect(planObjects([], { ...nothing, inventory: sent(job, {}) }).prune).toEqual([]);
  });

  test("stays when it is a CRD or a Namespace", () => {
    for (const manifest of [definition, manifestOf("v1 Namespace knative")]) {
      expect(planObjects(desired, { ...nothing, inventory: sent(manifest, {}) }).prune).toEqual([]);
    }
  });

  test("is not an object whose API version changed", () => {
    const before = manifestOf("policy/v1beta1 PodDisruptionBudget knative/a");
    const after = preparedOf([manifestOf("policy/v1 PodDisruptionBudget knative/a")]);
    expect(planObjects(after, { ...nothing, inventory: sent(before, {}) }).prune).toEqual([]);
  });
});

test("an object that was sent like this before, and is gone or different now, has drifted", () => {
  const other = manifestOf("v1 ConfigMap knative/b");
  const inventory = sent(config, {});
  const gone = planObjects(preparedOf([config, other]), { inventory, observed: new Map() });
  expect([...gone.drifted]).toEqual([objectId(keyOf(config))]);
  const observed = observedAs(config, { fingerprint: "another" });
  const changed = planObjects(preparedOf([config, other]), { inventory, observed });
  expect([...changed.drifted]).toEqual([objectId(keyOf(config))]);
  const wanted = preparedOf([manifestOf("v1 ConfigMap knative/a", { data: { x: "2" } })]);
  expect(planObjects(wanted, { inventory, observed }).drifted.size).toBe(0);
});
