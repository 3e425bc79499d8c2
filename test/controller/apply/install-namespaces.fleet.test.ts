import { describe, expect, test } from "vitest";

import type { Component, KnativeEventing } from "../../../api/component.ts";
import { releaseNamespaces } from "../../../controller/guard/guarded-objects.ts";
import { anchorNameOf } from "../../../installation/anchor.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, openInstaller, serving } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf, serviceOf } from "./small-set.ts";
import { sentTo, writtenTo } from "./spoke-view.ts";

const fleet = useSpokes([{ kwok: false }]);

const uid = "0f7d9a52-0000-4000-8000-000000000001";

function componentIn(
  namespace: string,
  settings: NonNullable<KnativeEventing["spec"]>["namespace"],
): KnativeEventing {
  return eventing(settings === undefined ? {} : { namespace: settings }, { namespace, uid });
}

function keyOf(name: string) {
  return { apiVersion: "v1", kind: "Namespace", name };
}

function configMapIn(namespace: string) {
  return manifestOf(`v1 ConfigMap ${namespace}/guest`);
}

function withoutAll(marks: object | undefined): object {
  return Object.fromEntries(Object.keys(marks ?? {}).map((name) => [name, null]));
}

describe("the namespace of an installation", () => {
  test("is created with what spec.namespace says, and with the guard's label", async () => {
    const spoke = fleet().spoke(0);
    const component = componentIn("made", {
      labels: { team: "a", "app.kubernetes.io/managed-by": "mine" },
      annotations: { note: "b" },
    });
    await using opened = await openInstaller(spoke, { component });
    await opened.installer.install({ rendered: renderedOf(serviceOf("made")) });
    const { metadata } = (await spoke.admin.get(keyOf("made"))) ?? {};
    expect(metadata?.labels).toEqual({
      "kubernetes.io/metadata.name": "made",
      team: "a",
      "app.kubernetes.io/managed-by": "knative-operator",
      "operator.knative.dev/anchor-namespace": "hub-a",
    });
    expect(metadata?.annotations).toEqual({ note: "b", "operator.knative.dev/cr-uid": uid });
    const since = new Date();
    await opened.installer.restart();
    await opened.installer.install({ rendered: renderedOf(serviceOf("made")) });
    expect(await writtenTo(spoke, since)).toEqual([]);
  });

  test("follows spec.namespace when we made it, also after a restart, and keeps what others put there", async () => {
    const spoke = fleet().spoke(0);
    const first = componentIn("made", { labels: { team: "a" }, annotations: { note: "b" } });
    await using opened = await openInstaller(spoke, { component: first });
    const { installer } = opened;
    const rendered = renderedOf(serviceOf("made"));
    await installer.install({ rendered });
    await spoke.admin.patch(keyOf("made"), { metadata: { labels: { theirs: "kept" } } });

    const second = componentIn("made", { labels: { team: "c", stage: "d" } });
    const since = new Date();
    await installer.install({ rendered, component: second });
    expect(
      (await writtenTo(spoke, since)).filter((write) => !/namespaces made/.test(write)),
    ).toEqual([]);
    const { metadata } = (await spoke.admin.get(keyOf("made"))) ?? {};
    expect(metadata?.labels).toMatchObject({ team: "c", stage: "d", theirs: "kept" });
    expect(metadata?.annotations).not.toHaveProperty("note");

    const quiet = new Date();
    await installer.install({ rendered, component: second });
    expect(await sentTo(spoke, quiet)).toEqual([]);
    await installer.restart();
    await installer.install({ rendered, component: second });
    expect(await writtenTo(spoke, quiet)).toEqual([]);
    await installer.install({ rendered, component: componentIn("made", undefined) });
    const after = await spoke.admin.get(keyOf("made"));
    expect(after?.metadata.labels).toEqual({
      "kubernetes.io/metadata.name": "made",
      "app.kubernetes.io/managed-by": "knative-operator",
      "operator.knative.dev/anchor-namespace": "hub-a",
      theirs: "kept",
    });
  });

  test("is never changed when it was there before, or when another component made it", async () => {
    const spoke = fleet().spoke(0);
    await spoke.admin.create(manifestOf("v1 Namespace there"));
    const before = await spoke.admin.get(keyOf("there"));
    await using opened = await openInstaller(spoke, {
      component: componentIn("there", { labels: { team: "a" } }),
    });
    const rendered = renderedOf(serviceOf("there"));
    await opened.installer.install({ rendered });
    await opened.installer.install({ rendered, component: componentIn("there", { labels: {} }) });
    expect(await spoke.admin.get(keyOf("there"))).toEqual(before);

    const made = await spoke.admin.get(keyOf("made"));
    const other = eventing(
      { namespace: { labels: { team: "other" } } },
      { namespace: "made", uid: "0f7d9a52-0000-4000-8000-000000000002" },
    );
    const named = { ...other, metadata: { ...other.metadata, name: "second" } };
    await using second = await openInstaller(spoke, { component: named });
    await second.installer.install({
      rendered: renderedOf(manifestOf("v1 ConfigMap made/second")),
    });
    expect(await spoke.admin.get(keyOf("made"))).toEqual(made);
  });

  test("is created beside the first look for a new component, and only where the target suits", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component: componentIn("new", undefined) });
    const { installer } = opened;
    const rendered = renderedOf(serviceOf("new"));
    const since = new Date();
    const targetCheck = Promise.reject(new Error("too old"));
    targetCheck.catch(() => undefined);
    await expect(installer.install({ rendered, isNew: true, targetCheck })).rejects.toThrow(
      "too old",
    );
    expect(await writtenTo(spoke, since)).toEqual([]);

    await installer.install({ rendered, isNew: true, targetCheck: Promise.resolve() });
    const created = (await sentTo(spoke, since)).filter(({ verb }) => verb === "create");
    expect(created.map(({ resource, code }) => `${resource} ${code}`)).toEqual([
      "namespaces 201",
      "configmaps 201",
    ]);

    // One that was there is answered with a conflict, and stays as it is.
    const before = await spoke.admin.create(manifestOf("v1 Namespace older"));
    const again = componentIn("older", { labels: { team: "a" } });
    await installer.restart();
    await using second = await openInstaller(spoke, { component: again });
    await second.installer.install({ rendered: renderedOf(serviceOf("older")), isNew: true });
    const after = await spoke.admin.get(keyOf("older"));
    expect(after?.metadata.labels).toEqual(before.metadata.labels);
  });

  test("has the guard's label back when somebody takes it away", async () => {
    const spoke = fleet().spoke(0);
    const component = componentIn("watched", { labels: { team: "a" } });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = renderedOf(serviceOf("watched"));
    await installer.install({ rendered, isNew: true });
    const guardLabel = "operator.knative.dev/anchor-namespace";
    await spoke.admin.patch(keyOf("watched"), {
      metadata: { labels: { [guardLabel]: null, team: "b", theirs: "kept" } },
    });
    const isSeen = (): boolean =>
      installer.changes.some(
        (change) => change.kind === "object" && change.key.kind === "Namespace",
      );
    await waitFor("the change to be seen", () => Promise.resolve(isSeen()));
    await installer.install({ rendered });
    const { metadata } = (await spoke.admin.get(keyOf("watched"))) ?? {};
    expect(metadata?.labels).toMatchObject({ [guardLabel]: "hub-a", team: "a", theirs: "kept" });
    const quiet = new Date();
    await installer.install({ rendered });
    expect(await sentTo(spoke, quiet)).toEqual([]);
  });

  test("that a component left behind belongs to the next one, and is guarded again", async () => {
    const spoke = fleet().spoke(0);
    const guardLabel = "operator.knative.dev/anchor-namespace";
    const configMap = { apiVersion: "v1", kind: "ConfigMap" };
    const rendered = renderedOf(serviceOf("left"));
    await using first = await openInstaller(spoke, { component: componentIn("left", undefined) });
    await first.installer.install({ rendered, isNew: true });
    const made = await spoke.admin.get(keyOf("left"));
    // What the end of a component removes.
    const anchor = "knativeeventing-knative-eventing-root-owner";
    await spoke.admin.remove({ ...configMap, namespace: "left", name: anchor });
    await spoke.admin.patch(keyOf("left"), { metadata: { labels: { [guardLabel]: null } } });

    const next = componentIn("left", { labels: { team: "next" } });
    const nextUid = "0f7d9a52-0000-4000-8000-000000000003";
    const component = { ...next, metadata: { ...next.metadata, uid: nextUid } };
    await using second = await openInstaller(spoke, { component });
    await second.installer.install({ rendered, isNew: true });
    const { metadata } = (await spoke.admin.get(keyOf("left"))) ?? {};
    expect(metadata?.uid).toBe(made?.metadata.uid);
    expect(metadata?.labels).toMatchObject({ [guardLabel]: "hub-a", team: "next" });
  });

  test("keeps the guard's label while a component is in it, and loses it with the last one, whoever made it", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "shared";
    const guardLabel = "operator.knative.dev/anchor-namespace";
    const maker = componentIn(namespace, undefined);
    await using first = await openInstaller(spoke, { component: maker });
    await first.installer.install({ rendered: renderedOf(serviceOf(namespace)), isNew: true });
    const guest = serving({}, { namespace, uid: "0f7d9a52-0000-4000-8000-000000000004" });
    await using second = await openInstaller(spoke, { component: guest });
    await second.installer.install({ rendered: renderedOf(configMapIn(namespace)), isNew: true });

    const labelAfter = async (gone: Component, left: readonly Component[]): Promise<unknown> => {
      const { target } = gone === maker ? first.installer : second.installer;
      const name = anchorNameOf({ kind: gone.kind, name: gone.metadata.name });
      await spoke.admin.remove({ apiVersion: "v1", kind: "ConfigMap", namespace, name });
      const isKnown = (known: string): boolean =>
        left.some(({ metadata }) => metadata.uid === known);
      const componentUid = gone.metadata.uid;
      const { signal } = new AbortController();
      await releaseNamespaces({ ...target, componentUid, isKnown }, signal);
      return (await spoke.admin.get(keyOf(namespace)))?.metadata.labels?.[guardLabel];
    };
    expect(await labelAfter(maker, [maker, guest])).toBe("hub-a");
    expect(await labelAfter(guest, [guest])).toBeUndefined();
  });

  test("holds an anchor that is known also without any mark, which gets its marks back", async () => {
    const spoke = fleet().spoke(0);
    const component = componentIn("stripped", undefined);
    await using opened = await openInstaller(spoke, { component });
    const rendered = renderedOf(serviceOf("stripped"));
    await opened.installer.install({ rendered });
    const key = {
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: "stripped",
      name: anchorNameOf({ kind: component.kind, name: component.metadata.name }),
    };
    const { metadata } = (await spoke.admin.get(key)) ?? {};
    const labels = withoutAll(metadata?.labels);
    const annotations = withoutAll(metadata?.annotations);
    await spoke.admin.patch(key, { metadata: { labels, annotations } });
    await opened.installer.restart();
    await opened.installer.install({ rendered });
    const after = await spoke.admin.get(key);
    expect(after?.metadata).toMatchObject({
      uid: metadata?.uid,
      labels: metadata?.labels,
      annotations: metadata?.annotations,
    });
  });
});
