import { describe, expect, test } from "vitest";

import { systemClock } from "../../../../access/time/system-clock.ts";
import { keyOf, type KubeObject, type Manifest } from "../../../../api/kubernetes.ts";
import { readAnchor } from "../../../../controller/apply/anchor/anchor.ts";
import type { ChangeSet } from "../../../../controller/apply/change-set.ts";
import { finalize } from "../../../../controller/uninstall/finalize.ts";
import { anchorKey } from "../../../../installation/anchor-object.ts";
import { componentUidLabel } from "../../../../installation/anchor.ts";
import { useSpokes } from "../../../fleet/use-fleet.ts";
import { waitFor } from "../../../fleet/wait-for.ts";
import { silentLog } from "../../../support/silent-log.ts";
import { eventing, type Installer, openInstaller, serving } from "../installer.ts";
import { manifestOf } from "../prepared.ts";
import { renderedOf } from "../small-set.ts";
import { writtenTo } from "../spoke-view.ts";

const fleet = useSpokes([{ kwok: false }]);

const config = ({ target }: Installer): Manifest =>
  manifestOf(`v1 ConfigMap ${target.namespace}/own`);

function remove({ component, target }: Installer): Promise<unknown> {
  return finalize(
    { component, target },
    { clock: systemClock, log: silentLog },
    AbortSignal.timeout(60_000),
  );
}

/** Two components of one hub on one cluster that both may want the same role. */
async function opened(name: string) {
  const spoke = fleet().spoke(0);
  await using stack = new AsyncDisposableStack();
  const open = async (component: Installer["component"]) =>
    stack.use(await openInstaller(spoke, { component })).installer;
  const first = await open(serving({}, { namespace: `${name}-first` }));
  const second = await open(eventing({}, { namespace: `${name}-second` }));
  const role = manifestOf(`rbac.authorization.k8s.io/v1 ClusterRole ${name}-shared`, {
    rules: [{ apiGroups: [""], resources: ["pods"], verbs: ["get"] }],
  });
  const all = [first.component, second.component];
  const less = (one: Installer): Promise<ChangeSet> =>
    one.install({ rendered: renderedOf(config(one)), all });
  const whole = (one: Installer): Promise<ChangeSet> =>
    one.install({ rendered: renderedOf(config(one), role), all });
  const unaware = (one: Installer): Promise<ChangeSet> =>
    one.install({ rendered: renderedOf(config(one), role) });
  const labelOf = async (): Promise<string | undefined> =>
    labelIn(await spoke.admin.get(keyOf(role)));
  const owned = stack.move();
  return {
    spoke,
    first,
    second,
    role,
    less,
    whole,
    unaware,
    labelOf,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function labelIn(object: KubeObject | undefined): string | undefined {
  return object?.metadata.labels?.[componentUidLabel];
}

async function namesIn({ component, target }: Installer): Promise<readonly string[]> {
  const anchor = await readAnchor(component, target, AbortSignal.timeout(60_000));
  return anchor?.inventory?.entries.map(({ name }) => name) ?? [];
}

function leftTo({ component: { kind, metadata } }: Installer, role: Manifest) {
  const message = `Belongs to the installation of ${kind} ${metadata.namespace}/${metadata.name}`;
  return [{ key: keyOf(role), message }];
}

describe("an object that another component of the hub has", () => {
  test("is left to that one, and taken when that one gives it up", async () => {
    await using scene = await opened("given-up");
    const { spoke, first, second, role, less, whole, labelOf } = scene;
    await whole(first);
    await less(second);
    expect(await whole(second)).toMatchObject({ applied: [], failed: leftTo(first, role) });
    expect(await labelOf()).toBe(first.component.metadata.uid);
    expect(await namesIn(second)).toEqual(["own"]);

    const since = new Date();
    expect(await whole(second)).toMatchObject({ applied: [], failed: leftTo(first, role) });
    expect(await whole(first)).toMatchObject({ applied: [], failed: [] });
    expect(await writtenTo(spoke, since)).toEqual([]);

    await second.restart();
    expect(await whole(second)).toMatchObject({ applied: [], failed: leftTo(first, role) });
    expect(await less(first)).toMatchObject({ pruned: [keyOf(role)] });
    expect(await whole(second)).toMatchObject({ applied: [keyOf(role)], failed: [] });
    expect(await labelOf()).toBe(second.component.metadata.uid);
    expect(await whole(first)).toMatchObject({ applied: [], failed: leftTo(second, role) });
  });

  test("is taken when that one is removed, and stays where the other one is", async () => {
    await using scene = await opened("removed");
    const { first, second, role, less, whole, labelOf } = scene;
    await whole(first);
    await less(second);
    await whole(second);
    await remove(second);
    expect(await labelOf()).toBe(first.component.metadata.uid);
    await second.restart();
    await less(second);
    await whole(second);
    await remove(first);
    expect(await labelOf()).toBeUndefined();
    expect(await whole(second)).toMatchObject({ applied: [keyOf(role)], failed: [] });
  });

  test("is one's alone when both come to want it at the same time", async () => {
    await using scene = await opened("at-once");
    const { first, second, less, whole, labelOf } = scene;
    const both = [first, second];
    await Promise.all(both.map(less));
    const winner = await waitFor("one of them to have it", async () => {
      const ends = await Promise.all(both.map(whole));
      return both.find((_, at) => ends[at]?.failed.length === 0);
    });
    expect(await labelOf()).toBe(winner.component.metadata.uid);
    const ends = await Promise.all(both.map(whole));
    expect(ends.filter(({ failed }) => failed.length === 0)).toHaveLength(1);
    expect(await labelOf()).toBe(winner.component.metadata.uid);
  });

  test("does not keep one from being installed again of which nobody knows what it had left, only one that comes anew", async () => {
    await using scene = await opened("lost");
    const { spoke, first, second, role, less, whole, labelOf } = scene;
    await whole(first);
    await expect(whole(second)).rejects.toMatchObject({ reason: "AnchorConflict" });
    await less(second);
    await whole(second);
    await spoke.admin.remove(anchorKey(second));
    await second.restart();

    const component = { ...second.component, status: { version: "1.23.0" } };
    const rendered = renderedOf(config(second), role);
    const all = [first.component, component];
    expect(await second.install({ component, rendered, all })).toMatchObject({
      applied: [keyOf(config(second))],
      failed: leftTo(first, role),
    });
    expect(await namesIn(second)).toEqual(["own"]);
    expect(await labelOf()).toBe(first.component.metadata.uid);
  });

  test("over which they have fought stays with the one that was installed first", async () => {
    await using scene = await opened("fought");
    const { first, second, role, less, whole, unaware, labelOf } = scene;
    await less(first);
    // Roots that were made in the same second are in an order of their own.
    const { timestamp } = await madeAnchor(first);
    await waitFor("another second", () => new Date().toISOString().slice(0, 19) > timestamp);
    await less(second);
    for (const one of [first, second]) await unaware(one);
    await waitFor("the second one to give it up", async () => {
      await whole(first);
      const { failed } = await whole(second);
      return failed.length > 0;
    });
    await waitFor("the first one to have it", async () => {
      await whole(first);
      return (await labelOf()) === first.component.metadata.uid;
    });
    expect(await whole(second)).toMatchObject({ failed: leftTo(first, role), pruned: [] });
    expect(await namesIn(second)).toEqual(["own"]);
    expect(await labelOf()).toBe(first.component.metadata.uid);
  });
});

async function madeAnchor({
  component,
  target,
}: Installer): Promise<{ readonly timestamp: string }> {
  const anchor = await readAnchor(component, target, AbortSignal.timeout(60_000));
  return { timestamp: anchor?.object.metadata.creationTimestamp?.slice(0, 19) ?? "" };
}

test("an object that nobody else has costs one list, and none when it has to wait", async () => {
  await using scene = await opened("alone");
  const { spoke, first, second, less } = scene;
  await less(first);
  await less(second);
  const blocked = manifestOf("v1 ConfigMap nowhere/blocked");
  const own = manifestOf(`v1 ConfigMap ${second.target.namespace}/own`);
  const more = manifestOf(`v1 ConfigMap ${second.target.namespace}/more`);
  const all = [first.component, second.component];
  const rendered = renderedOf(own, more, blocked);
  const listed = async (): Promise<number> => {
    const since = new Date();
    const { parked, failed } = await second.install({ rendered, all });
    expect([parked.length, failed.length]).toEqual([1, 0]);
    const requests = await spoke.auditLog.requests({ since, verb: ["list"] });
    return requests.filter(({ uri }) => uri.includes("managed-by")).length;
  };
  expect(await listed()).toBe(1);
  expect(await listed()).toBe(0);
});
