import { expect, test } from "vitest";

import { componentKinds } from "../../../api/component.ts";
import {
  assertPermitted,
  claimantsOf,
  isHeldBack,
  claimRefusal,
} from "../../../controller/reconcile/claims.ts";
import { serving } from "../../support/component.ts";
import { componentsOf } from "../../support/components.ts";

const ref = { namespace: "fleet", name: "a" };
const grants = [{ fromNamespace: "friend", toNamespace: "fleet" }];
const references = { policy: { mode: "Granted", grants } } as const;
const { finalizer } = componentKinds.KnativeServing;

function of(namespace: string, rest: { readonly finalizers?: readonly string[] } = {}) {
  const metadata = { namespace, name: "x", uid: namespace, ...rest };
  return serving({ metadata, spec: { clusterProfileRef: ref } });
}

test("T-04 a component without a grant may not use its cluster; without a policy all may", () => {
  expect(claimRefusal(of("friend"), { references })).toBeUndefined();
  expect(claimRefusal(of("foe"), { references })).toContain('namespace "foe"');
  expect(claimRefusal(of("foe"), {})).toBeUndefined();
  expect(claimRefusal(serving(), { references })).toBeUndefined();
  expect(() => assertPermitted(of("foe"), { references })).toThrow(
    expect.objectContaining({ reason: "ReferenceNotPermitted" }),
  );
});

test("T-04 a component without a grant has no claim, unless it was installed before", () => {
  const conditions = [{ type: "InstallSucceeded", status: "True" }] as const;
  const held = { ...of("gone", { finalizers: [finalizer] }), status: { conditions } };
  const disguised = of("disguised", { finalizers: [finalizer] });
  const all = [of("friend"), of("foe"), disguised, held];
  const components = componentsOf(() => all);
  expect([...claimantsOf(of("new"), { components, references })]).toEqual([all[0], held]);
  expect([...claimantsOf(of("new"), { components })]).toEqual(all);
  const elsewhere = serving({ spec: { clusterProfileRef: { ...ref, name: "b" } } });
  expect([...claimantsOf(elsewhere, { components })]).toEqual([]);
});

test("T-04 a component without a grant gets no finalizer, so it can be deleted at any time", () => {
  const late = {
    ...of("friend"),
    status: { conditions: [{ type: "Ready", status: "False", reason: "DuplicateComponent" }] },
  } as const;
  const younger = {
    ...of("fleet", { finalizers: [finalizer] }),
  };
  const among = (...all: readonly ReturnType<typeof of>[]) => ({
    references,
    components: componentsOf(() => all),
  });
  expect(isHeldBack(of("foe"), among())).toBe(true);
  expect(isHeldBack(of("foe", { finalizers: [finalizer] }), among())).toBe(false);
  expect(isHeldBack(of("friend"), among(younger))).toBe(false);
  expect(isHeldBack(late, among(late))).toBe(false);
  expect(isHeldBack(late, among(late, younger))).toBe(true);
});
