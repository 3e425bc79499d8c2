import { describe, expect, test } from "vitest";

import { systemClock } from "../../../access/time/system-clock.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing, type Installer, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";
import { sentTo, writtenTo } from "./spoke-view.ts";

const fleet = useSpokes([{ kwok: false }]);

/** A kind that somebody else brought to the cluster: cluster-scoped, and with a plural that nobody would guess. */
function definitionOf(kind: string, scope: "Cluster" | "Namespaced"): Manifest {
  const plural = `${kind.toLowerCase()}-en`;
  const schema = {
    openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
  };
  return manifestOf(`apiextensions.k8s.io/v1 CustomResourceDefinition ${plural}.foreign.dev`, {
    spec: {
      group: "foreign.dev",
      scope,
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  });
}

interface Opened {
  readonly kind: string;
  readonly scope: "Cluster" | "Namespaced";
}

/** A set as it is rendered: of the foreign kind nothing says that it has no namespace. */
async function opened({ kind, scope }: Opened) {
  const spoke = fleet().spoke(0);
  const namespace = kind.toLowerCase();
  const component = eventing({}, { namespace });
  const kubeconfig = spoke.adminKubeconfigPath;
  const { installer, ...rest } = await openInstaller(spoke, { component, kubeconfig });
  const configs = Array.from({ length: 30 }, (_, at) =>
    manifestOf(`v1 ConfigMap ${namespace}/stays-${at}`),
  );
  const one = manifestOf(`foreign.dev/v1 ${kind} ${namespace}/one`, { spec: { a: "1" } });
  const place = scope === "Cluster" ? {} : { namespace };
  const key = { apiVersion: one.apiVersion, kind, name: "one", ...place };
  const define = (): Promise<unknown> => spoke.admin.apply(definitionOf(kind, scope));
  const live = () => spoke.admin.get(key);
  const whole = renderedOf(...configs, one);
  return { installer, spoke, whole, less: renderedOf(...configs), key, define, live, ...rest };
}

async function inventoryEntriesOf({ component, target }: Installer) {
  const anchor = await readAnchor(component, target, AbortSignal.timeout(60_000));
  return anchor?.inventory?.entries.map(({ apiVersion, kind, namespace, name }) => ({
    apiVersion,
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  }));
}

describe.each<Opened & { name: string }>([
  { name: "cluster-scoped", kind: "Ox", scope: "Cluster" },
  { name: "namespaced", kind: "Child", scope: "Namespaced" },
])("a $name kind whose definition is on the cluster and not in the set", ({ kind, scope }) => {
  test("is applied, left alone, put right, pruned and removed where it is served", async () => {
    await using scene = await opened({ kind, scope });
    const { installer, spoke, whole, less, key, define, live } = scene;
    expect(await installer.install({ rendered: whole })).toMatchObject({
      parked: [{ message: `The cluster does not serve foreign.dev/v1 ${kind}` }],
    });
    await define();
    await waitFor("the kind to be served", async () => {
      const changes = await installer.install({ rendered: whole });
      return changes.parked.length + changes.failed.length === 0;
    });
    const object = await live();
    expect(object?.metadata.ownerReferences?.length).toBe(scope === "Cluster" ? undefined : 1);
    expect(await inventoryEntriesOf(installer)).toHaveLength(31);
    expect(await inventoryEntriesOf(installer)).toContainEqual(key);

    const rest = new Date();
    const repeated = await installer.install({ rendered: whole });
    expect(repeated).toMatchObject({ applied: [], pruned: [] });
    expect(await sentTo(spoke, rest)).toEqual([]);

    await spoke.admin.remove(key);
    await waitFor("its deletion to be seen", async () => {
      await installer.install({ rendered: whole });
      return (await live()) !== undefined;
    });

    await installer.restart();
    const restarted = new Date();
    expect(await installer.install({ rendered: whole })).toMatchObject({ applied: [], pruned: [] });
    expect(await writtenTo(spoke, restarted)).toEqual([]);

    await installer.restart();
    expect(await installer.install({ rendered: less })).toMatchObject({ pruned: [key] });
    expect(await live()).toBeUndefined();
    expect(await inventoryEntriesOf(installer)).toHaveLength(30);

    expect(await installer.install({ rendered: whole })).toMatchObject({ applied: [key] });
    const { component, target } = installer;
    await finalize(
      { component, target },
      { clock: systemClock, log: silentLog },
      AbortSignal.timeout(60_000),
    );
    expect(await live()).toBeUndefined();
  });
});

test("a kind that was there before costs one question more than others", async () => {
  await using scene = await opened({ kind: "Foot", scope: "Cluster" });
  const { installer, spoke, whole, define, live } = scene;
  await define();
  await waitFor("the kind to be served", () =>
    spoke.admin.request("GET", "/apis/foreign.dev/v1/foot-en").then(
      () => true,
      () => false,
    ),
  );
  const since = new Date();
  const changes = await installer.install({ rendered: whole });
  expect(changes).toMatchObject({ parked: [], failed: [] });
  expect((await live())?.metadata).toMatchObject({ name: "one" });
  const sent = await sentTo(spoke, since);
  expect(sent.filter(({ uri }) => uri === "/apis/foreign.dev/v1")).toHaveLength(1);
  expect(sent.filter(({ code }) => code >= 400 && code !== 404)).toEqual([]);
});

const irregular = "NetworkAttachmentDefinition";
const apiVersion = "k8s.cni.cncf.io/v1";
const plural = "network-attachment-definitions";

/** Its plural is not the one that the name of the kind lets expect. */
const irregularDefinition = manifestOf(
  `apiextensions.k8s.io/v1 CustomResourceDefinition ${plural}.k8s.cni.cncf.io`,
  {
    spec: {
      group: "k8s.cni.cncf.io",
      scope: "Namespaced",
      names: { kind: irregular, plural, singular: "network-attachment-definition" },
      versions: [
        {
          name: "v1",
          served: true,
          storage: true,
          schema: {
            openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
          },
        },
      ],
    },
  },
);

async function openedIrregular(namespace: string) {
  const spoke = fleet().spoke(0);
  // Elsewhere, so that it is not owned by the anchor and no collector takes it.
  const place = `${namespace}-elsewhere`;
  await spoke.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: place } });
  const kubeconfig = spoke.adminKubeconfigPath;
  const component = eventing({}, { namespace });
  const { installer, ...rest } = await openInstaller(spoke, { component, kubeconfig });
  const config = manifestOf(`v1 ConfigMap ${namespace}/stays`, { data: { a: "1" } });
  const instance: Manifest = manifestOf(`${apiVersion} ${irregular} ${place}/net`, { spec: {} });
  const path = `/apis/${apiVersion}/namespaces/${place}/${plural}/net`;
  const isThere = () =>
    spoke.admin.request("GET", path).then(
      () => true,
      () => false,
    );
  const all = renderedOf(config, irregularDefinition, instance);
  return { installer, spoke, all, less: renderedOf(config), instance, isThere, ...rest };
}

describe("an object of a kind with an irregular plural", () => {
  test.each([
    { when: "by the same controller", namespace: "nets", restarts: false },
    { when: "by one that starts anew", namespace: "nets-restarted", restarts: true },
  ])("goes $when together with its definition in the set", async ({ namespace, restarts }) => {
    await using scene = await openedIrregular(namespace);
    const { installer, all, less, instance, isThere } = scene;
    await waitFor("the new kind to be served", async () => {
      const { parked, failed } = await installer.install({ rendered: all });
      return parked.length + failed.length === 0;
    });
    expect(await isThere()).toBe(true);
    if (restarts) await installer.restart();
    expect(await installer.install({ rendered: less })).toMatchObject({
      pruned: [keyOf(instance)],
      failed: [],
    });
    expect(await isThere()).toBe(false);
    expect(await installer.install({ rendered: less })).toMatchObject({ applied: [], pruned: [] });
  });

  test("goes with its component after a change that could not prune it", async () => {
    await using scene = await openedIrregular("nets-held");
    const { installer, all, instance, isThere } = scene;
    const broken = manifestOf("v1 Service nets-held/broken", { spec: { ports: [{ port: -1 }] } });
    await waitFor("the new kind to be served", async () => {
      const { parked, failed } = await installer.install({ rendered: all });
      return parked.length + failed.length === 0;
    });
    await installer.restart();
    const changes = await installer.install({ rendered: renderedOf(broken) });
    expect(changes).toMatchObject({ failed: [{ key: { name: "broken" } }], pruned: [] });
    expect(await isThere()).toBe(true);
    const { component, target, observation } = installer;
    await finalize(
      { component, target, observation },
      { clock: systemClock, log: silentLog },
      AbortSignal.timeout(60_000),
    );
    await waitFor(`${instance.kind} to be gone`, async () => !(await isThere()));
  });
});
