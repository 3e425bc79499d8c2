import { describe, expect, test } from "vitest";

import { type Component, operatorApiVersion } from "../../../api/component.ts";
import { managedClusterAnnotation } from "../../../api/delivery.ts";
import { setAnnotations } from "../../../api/fleet-set.ts";
import { componentId } from "../../../api/keys.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { IndexedObjects } from "../../../controller/sets/indexed-objects.ts";
import { ChildWriter, type ChildWriterOptions } from "../../../controller/sets/write-children.ts";
import { questionText } from "../../../sets/pulled-checks.ts";
import { SetWorld } from "../../sets/set-world.ts";
import { apiError } from "../../support/api-error.ts";
import { serving } from "../../support/component.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { about } from "../verify/about.ts";

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

const stamp = {
  cluster: "fleet/a",
  revision: "prod-1",
  stage: "all",
  template: { metadata: {}, spec: { version: "1.22.0" } },
  desired: { spec: { version: "1.22.0" }, hash: "h" },
};

const contentOf = () => Promise.resolve({ spec: "s", rendered: "r" });
const answer = (): Promise<KubeObject> => Promise.resolve(answered);

/** A writer to a hub that takes everything, and what is remembered of a component that no watch has shown. */
function writer(refusals: Partial<ChildWriterOptions["client"]> = {}) {
  const clock = new FakeClock();
  const recent = new IndexedObjects<Component>(clock, () => ["all"]);
  const client = { get: answer, apply: answer, patch: answer, remove: answer, ...refusals };
  return {
    children: new ChildWriter({ client, clock, recent, contentOf }),
    remember: () => recent.add(componentId(child), child, clock.now()),
    see: () => recent.see(componentId(child), child),
    remembered: () => recent.in("all")[0],
  };
}

test("what was stamped is remembered as the hub answered it", async () => {
  const { children, remembered } = writer();
  expect(remembered()).toBeUndefined();
  await children.stamp(set, { ...stamp, child: undefined }, signal);
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

const gone: Partial<ChildWriterOptions["client"]> = {
  get: () => Promise.resolve(undefined),
  patch: () => Promise.reject(apiError(404, "NotFound")),
  remove: () => Promise.resolve("absent"),
};

/** The writes to a component that the hub does not have any more. */
const writesToGone = [
  ...(["unmark", "markUnselected", "orphan", "remove"] as const).map((removal) => ({
    name: removal,
    refusals: gone,
    write: async (children: ChildWriter) => {
      const sendings = children.removals({ ...none, [removal]: [key] }, [child], signal);
      for (const { send } of sendings) await send();
    },
  })),
  ...[gone, { patch: gone.patch, get: () => Promise.resolve(child) }].map((refusals) => ({
    name: `take over, deleted ${refusals === gone ? "before" : "after"} the reading`,
    refusals,
    write: (children: ChildWriter) => children.stamp(set, { ...stamp, child }, signal),
  })),
];

test.each(writesToGone)(
  "a remembered component that the hub does not have any more is forgotten: $name",
  async ({ refusals, write }) => {
    const { children, remember, remembered } = writer(refusals);
    remember();
    await write(children).catch(() => undefined);
    expect(remembered()).toBeUndefined();
  },
);

test("a component that the watch shows stays until the watch shows its deletion", async () => {
  const { children, see, remembered } = writer(gone);
  see();
  const [sending] = children.removals({ ...none, unmark: [key] }, [child], signal);
  await expect(sending?.send()).rejects.toMatchObject({ status: 404 });
  expect(remembered()).toBe(child);
});

describe("what is asked about pulled clusters", () => {
  const pulled = serving({
    metadata: {
      namespace: "fleet",
      name: "prod-a",
      annotations: { [managedClusterAnnotation]: "spoke-1" },
    },
  });
  const spec = { workloads: { maxNewlyBroken: 0 } };
  const verification = { ...about("fleet/a", spec), component: pulled };
  const question = questionText(verification) ?? "";
  const asked = serving({
    metadata: {
      ...pulled.metadata,
      annotations: { ...pulled.metadata.annotations, [setAnnotations.question]: question },
    },
  });

  test.each([
    ["is written to their components", pulled, [verification], [question]],
    ["is written once", asked, [verification], []],
    ["is taken away when nothing is asked any more", asked, [], [null]],
    [
      "is no matter of clusters that are dialled",
      child,
      [{ ...verification, component: child }],
      [],
    ],
  ])("%s", async (_, component, verifications, written) => {
    const patches: unknown[] = [];
    const patch = async (...[, body]: Parameters<ChildWriterOptions["client"]["patch"]>) => {
      patches.push(body);
      return answered;
    };
    const { children } = writer({ patch });
    const sendings = children.questions(verifications, [component], signal);
    for (const { send } of sendings) await send();
    const { uid } = component.metadata;
    expect(patches).toEqual(
      written.map((text) => ({
        metadata: { uid, annotations: { [setAnnotations.question]: text } },
      })),
    );
  });
});
