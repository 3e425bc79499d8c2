import { describe, expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, type Installer, openInstaller, userAgent } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";

const fleet = useFleet({ spokes: [{ kwok: false }] });
const elsewhere = "elsewhere";

interface Place {
  readonly name: string;
  readonly namespace: string;
  readonly isLocal: boolean;
}

function setOf(namespace: string) {
  const config = manifestOf(`v1 ConfigMap ${namespace}/stays`, { data: { a: "1" } });
  const rbac = "rbac.authorization.k8s.io/v1";
  const obsolete = [
    manifestOf(`${rbac} ClusterRole ${namespace}-goes`, { rules: [] }),
    manifestOf(`v1 ConfigMap ${elsewhere}/${namespace}-goes`, { data: { a: "1" } }),
  ];
  return { all: renderedOf(config, ...obsolete), less: renderedOf(config), obsolete };
}

async function opened({ namespace, isLocal }: Place) {
  const cluster = isLocal ? fleet().hub : fleet().spoke(0);
  const { admin } = cluster;
  for (const name of [namespace, elsewhere]) {
    await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  }
  // On the hub its uid has to be a real one, or the garbage collector takes everything for orphaned.
  const made = isLocal
    ? await admin.create({
        apiVersion: "operator.knative.dev/v1beta1",
        kind: "KnativeEventing",
        metadata: { name: "knative-eventing", namespace },
      })
    : undefined;
  const component = eventing({}, { namespace, ...(made && { uid: made.metadata.uid }) });
  const { installer, ...rest } = await openInstaller(cluster, {
    component,
    isLocal,
    kubeconfig: cluster.adminKubeconfigPath,
  });
  const isThere = async (manifest: Manifest) => (await admin.get(keyOf(manifest))) !== undefined;
  return { cluster, admin, installer, isThere, ...rest };
}

/** The component as the hub holds it after it was installed. */
function installed(component: Component): Component {
  return { ...component, status: { version: "1.23.0", manifests: ["rendered"] } };
}

async function withoutAnchor({ component, target }: Installer, admin: Admin): Promise<void> {
  const anchor = await readAnchor(component, target, AbortSignal.timeout(60_000));
  if (anchor === undefined) throw new Error("There is no anchor");
  await admin.remove(anchor.key);
}

type Admin = ReturnType<typeof fleet>["hub"]["admin"];

describe.each<Place>([
  { name: "a spoke", namespace: "lost", isLocal: false },
  { name: "the hub", namespace: "lost-local", isLocal: true },
])("on $name, what becomes obsolete while the anchor is lost", (place) => {
  test("goes when a controller that starts anew installs the rest", async () => {
    await using scene = await opened(place);
    const { installer, admin, isThere } = scene;
    const { all, less, obsolete } = setOf(place.namespace);
    await installer.install({ rendered: all, isNew: true });
    await withoutAnchor(installer, admin);
    await installer.restart();
    const component = installed(installer.component);
    await waitFor("everything to be there", async () => {
      const { parked, failed } = await installer.install({ rendered: less, component });
      return parked.length + failed.length === 0;
    });
    for (const one of obsolete) expect(await isThere(one)).toBe(false);
    expect((await installer.install({ rendered: less, component })).applied).toEqual([]);
  });
});

describe("what becomes obsolete while the anchor is lost", () => {
  const place = { name: "a spoke", namespace: "lost-early", isLocal: false };

  test("goes though the component never was ready, when the same controller saw its anchor before", async () => {
    await using scene = await opened(place);
    const { installer, admin, isThere } = scene;
    const { all, less, obsolete } = setOf(place.namespace);
    await installer.install({ rendered: all });
    await withoutAnchor(installer, admin);
    const gone = new AbortController();
    const reason = new Error("Stopped before anything was written");
    const targetCheck = Promise.reject(reason);
    targetCheck.catch(() => gone.abort());
    await expect(installer.install({ rendered: less, targetCheck })).rejects.toBe(reason);
    await waitFor("everything to be there", async () => {
      const { parked, failed } = await installer.install({ rendered: less });
      return parked.length + failed.length === 0;
    });
    for (const one of obsolete) expect(await isThere(one)).toBe(false);
  });

  test("is looked for by nobody where nothing was ever installed", async () => {
    await using scene = await opened({ ...place, namespace: "fresh" });
    const { installer, cluster } = scene;
    const since = new Date();
    await installer.install({ rendered: setOf("fresh").all });
    const requests = await cluster.auditLog.requests({ userAgent, since, verb: ["list"] });
    expect(requests.map(({ resource }) => resource)).toEqual([]);
  });
});
