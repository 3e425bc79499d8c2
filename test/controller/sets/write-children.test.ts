import { expect, test } from "vitest";

import { type Component, operatorApiVersion } from "../../../api/component.ts";
import { componentId } from "../../../api/keys.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { RecentWrites } from "../../../controller/sets/recent-writes.ts";
import { ChildWriter } from "../../../controller/sets/write-children.ts";
import { SetWorld } from "../../sets/set-world.ts";
import { serving } from "../../support/component.ts";
import { FakeClock } from "../../support/fake-clock.ts";

const { set } = new SetWorld({}, []);
const { signal } = new AbortController();
const child = serving({ metadata: { namespace: "fleet", name: "prod-a" } });
const answered = serving({
  metadata: { namespace: "fleet", name: "prod-a", resourceVersion: "9" },
});
const key = {
  apiVersion: operatorApiVersion,
  kind: child.kind,
  namespace: "fleet",
  name: "prod-a",
};
const none = { unmark: [], markUnselected: [], orphan: [], remove: [] };

const contentOf = () => Promise.resolve({ spec: "s", rendered: "r" });
const answer = (): Promise<KubeObject> => Promise.resolve(answered);

/** A writer to a hub that takes everything, and what is remembered of a component that no watch has shown. */
function writer() {
  const clock = new FakeClock();
  const recent = new RecentWrites<Component>();
  const client = { get: answer, apply: answer, patch: answer, remove: answer };
  return {
    children: new ChildWriter({ client, clock, recent, contentOf }),
    remembered: () => recent.newest(componentId(child), undefined, clock.now()),
  };
}

test("what was stamped is remembered as the hub answered it", async () => {
  const { children, remembered } = writer();
  const template = { metadata: {}, spec: { version: "1.22.0" } };
  const desired = { spec: { version: "1.22.0" }, hash: "h" };
  expect(remembered()).toBeUndefined();
  await children.stamp(
    set,
    { cluster: "fleet/a", revision: "prod-1", stage: "all", template, desired, child: undefined },
    signal,
  );
  expect(remembered()).toBe(answered);
});

test.each(["unmark", "markUnselected", "orphan", "remove"] as const)(
  "what a removal writes is remembered as the hub answered it: %s",
  async (removal) => {
    const { children, remembered } = writer();
    const sendings = children.removals({ ...none, [removal]: [key] }, [child], signal);
    for (const { send } of sendings) await send();
    expect(remembered()).toBe(answered);
  },
);
