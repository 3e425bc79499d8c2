import { describe, expect, test } from "vitest";

import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { eventing, openInstaller } from "./installer.ts";
import { manifestOf } from "./prepared.ts";
import { renderedOf } from "./small-set.ts";

const fleet = useSpokes([{ kwok: false }]);
const kind = "NetworkAttachmentDefinition";
const apiVersion = "k8s.cni.cncf.io/v1";
const plural = "network-attachment-definitions";

/** Its plural is not the one that the name of the kind lets expect. */
const definition = manifestOf(
  `apiextensions.k8s.io/v1 CustomResourceDefinition ${plural}.k8s.cni.cncf.io`,
  {
    spec: {
      group: "k8s.cni.cncf.io",
      scope: "Namespaced",
      names: { kind, plural, singular: "network-attachment-definition" },
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

async function opened(namespace: string) {
  const spoke = fleet().spoke(0);
  // Elsewhere, so that it is not owned by the anchor and no collector takes it.
  const place = `${namespace}-elsewhere`;
  await spoke.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: place } });
  const kubeconfig = spoke.adminKubeconfigPath;
  const component = eventing({}, { namespace });
  const { installer, ...rest } = await openInstaller(spoke, { component, kubeconfig });
  const config = manifestOf(`v1 ConfigMap ${namespace}/stays`, { data: { a: "1" } });
  const instance: Manifest = manifestOf(`${apiVersion} ${kind} ${place}/net`, { spec: {} });
  const path = `/apis/${apiVersion}/namespaces/${place}/${plural}/net`;
  const isThere = () =>
    spoke.admin.request("GET", path).then(
      () => true,
      () => false,
    );
  const all = renderedOf(config, definition, instance);
  return { installer, spoke, all, less: renderedOf(config), instance, isThere, ...rest };
}

describe("an object of a kind with an irregular plural", () => {
  test.each([
    { when: "by the same controller", namespace: "nets", restarts: false },
    { when: "by one that starts anew", namespace: "nets-restarted", restarts: true },
  ])("goes $when together with its definition in the set", async ({ namespace, restarts }) => {
    await using scene = await opened(namespace);
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
    await using scene = await opened("nets-held");
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
      { log: silentLog },
      AbortSignal.timeout(60_000),
    );
    await waitFor(`${instance.kind} to be gone`, async () => !(await isThere()));
  });
});
