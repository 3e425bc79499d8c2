import { describe, expect, test } from "vitest";

import { keyOf } from "../../../api/kubernetes.ts";
import { readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { eventing, type Installer, openInstaller, serving } from "./installer.ts";
import { interruptedClient, replaceAnchor } from "./replaced-anchor.ts";
import { liveObjects, writtenTo } from "./spoke-view.ts";

const version = "1.23.0";
const kourier = { version, ingress: { kourier: { enabled: true } } };

const fleet = useFleet({ spokes: [{ kwok: false, admissionWebhooks: true }] });

/** Installs until everything is there and owned by the anchor; the garbage collector takes things while the engine makes them anew. */
async function ownedByNewAnchor(
  installer: Installer,
  rendered: Rendered,
  anchorUid: () => Promise<string | undefined>,
): Promise<void> {
  await waitFor("everything to be owned by the new anchor", async () => {
    await installer.install();
    const uid = await anchorUid();
    const live = await liveObjects(fleet().spoke(0), rendered);
    const owners = live.flatMap(({ metadata }) => metadata.ownerReferences ?? []);
    if (owners.length < 50 || live.length < rendered.manifests.length) return false;
    return owners.every((owner) => owner.uid === uid);
  });
}

describe("an install that is stopped half-way", () => {
  test("is finished by the next one, and names in its inventory all that it wrote", async () => {
    const spoke = fleet().spoke(0);
    const component = eventing({ version });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    const selector = { labelSelector: `${componentUidLabel}=${component.metadata.uid}` };
    for (const stopAt of [1, 2, 40, 90, 148]) {
      const crash = new AbortController();
      const reason = new Error(`Killed after ${stopAt} objects`);
      const half = installer.install({
        signal: crash.signal,
        onProgress: ({ done }) => done >= stopAt && crash.abort(reason),
      });
      await expect(half).rejects.toBe(reason);
      const root = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
      expect(root?.inventory?.complete).toBe(false);
      const named = new Set(root?.inventory?.entries.map(({ kind, name }) => `${kind} ${name}`));
      const lists = [
        { apiVersion: "v1", kind: "ConfigMap" },
        { apiVersion: "apps/v1", kind: "Deployment" },
        { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" },
      ].map((type) => spoke.admin.list({ ...type, ...selector }));
      const written = (await Promise.all(lists)).flat();
      expect(
        written.filter(({ kind, metadata }) => !named.has(`${kind} ${metadata.name}`)),
      ).toEqual([]);
      await installer.restart();
    }
    const changes = await installer.install();
    expect(changes).toMatchObject({ parked: [], failed: [] });
    expect(await liveObjects(spoke, rendered)).toHaveLength(rendered.manifests.length);
    const root = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    expect(root?.inventory).toMatchObject({ version, complete: true });
    const since = new Date();
    await installer.restart();
    await installer.install();
    expect(await writtenTo(spoke, since)).toEqual([]);
  });
});

describe("the namespace of an installation", () => {
  test("stays as it was when it existed before", async () => {
    const spoke = fleet().spoke(0);
    const name = "prepared";
    const labels = { team: "theirs", "pod-security.kubernetes.io/enforce": "privileged" };
    await spoke.admin.create({ apiVersion: "v1", kind: "Namespace", metadata: { name, labels } });
    const key = { apiVersion: "v1", kind: "Namespace", name };
    const before = await spoke.admin.get(key);
    const component = serving(kourier, { namespace: name });
    await using opened = await openInstaller(spoke, { component });
    const since = new Date();
    await opened.installer.install();
    expect(await spoke.admin.get(key)).toEqual(before);
    const writes = await writtenTo(spoke, since);
    expect(writes.filter((write) => write.includes(" namespaces "))).toEqual([]);
  });

  test("makes an install wait while it is being deleted", async () => {
    const spoke = fleet().spoke(0);
    const name = "leaving";
    const key = { apiVersion: "v1", kind: "Namespace", name };
    await spoke.admin.create({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
    // A finalizer of an object inside holds the namespace for as long as the test wants.
    const held = { apiVersion: "v1", kind: "ConfigMap", namespace: name, name: "held" };
    await spoke.admin.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "held", namespace: name, finalizers: ["knfleet.dev/test"] },
    });
    await spoke.admin.remove(key);
    const component = serving(kourier, { namespace: name });
    await using opened = await openInstaller(spoke, { component });
    const since = new Date();
    await expect(opened.installer.install()).rejects.toMatchObject({ reason: "ClusterBusy" });
    expect(await writtenTo(spoke, since)).toEqual([]);
    await spoke.admin.patch(held, { metadata: { finalizers: null } });
    const isGone = async () => (await spoke.admin.get(key)) === undefined;
    await waitFor("the namespace to be gone", isGone, { timeoutMs: 60_000 });
    const changes = await opened.installer.install();
    expect(changes).toMatchObject({ parked: [], failed: [] });
  });
});

describe("the anchor", () => {
  test("D-32: of another hub is left alone, with everything else", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "contested";
    const component = eventing({ version }, { namespace });
    await using first = await openInstaller(spoke, { component });
    await first.installer.install();
    await using second = await openInstaller(spoke, {
      component: eventing({ version }, { namespace }),
      hubId: "hub-b",
    });
    const since = new Date();
    await expect(second.installer.install()).rejects.toMatchObject({ reason: "AnchorConflict" });
    await using reborn = await openInstaller(spoke, {
      component: eventing({ version }, { namespace }),
    });
    await expect(reborn.installer.install()).rejects.toMatchObject({ reason: "AnchorConflict" });
    expect(await writtenTo(spoke, since)).toEqual([]);
  });

  test("of the upstream operator is adopted with its uid, and freed of owners and finalizers", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "adopted";
    const name = "knativeeventing-knative-eventing-root-owner";
    await spoke.admin.create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    const anchor = await spoke.admin.create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name,
        namespace,
        labels: {
          "app.kubernetes.io/managed-by": "knative-operator",
          "operator.knative.dev/cr-name": "knative-eventing",
        },
        annotations: { "operator.knative.dev/anchor": "true" },
        finalizers: ["knfleet.dev/test"],
      },
    });
    const component = eventing({ version }, { namespace });
    await using opened = await openInstaller(spoke, { component });
    expect(await opened.installer.install()).toMatchObject({ parked: [], failed: [] });
    const root = await readAnchor(component, opened.installer.target, AbortSignal.timeout(60_000));
    expect(root).toMatchObject({ uid: anchor.metadata.uid, isMarked: true });
    expect(root?.object.metadata.finalizers).toBeUndefined();
  });
});

describe("the anchor of a large installation", () => {
  test("11.16: that another one took the place of in the middle of an install stops it, and owns everything in the end", async () => {
    const spoke = fleet().spoke(0);
    const component = eventing({ version }, { namespace: "replaced" });
    await using opened = await openInstaller(spoke, { component });
    const { client, target } = opened.installer;
    const interrupted = interruptedClient(client, 20, async () => {
      const old = await readAnchor(component, target, AbortSignal.timeout(60_000));
      await replaceAnchor(spoke, old);
      const isLost = async () => old !== undefined && installer.observation.isLost(old);
      await waitFor("the loss to be seen", isLost);
    });
    await using installer = opened.installer.beside(interrupted.client);
    await expect(installer.install()).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: expect.stringMatching(/root-owner was deleted in the middle of the work$/),
    });
    expect(interrupted.applies()).toBeLessThanOrEqual(20 + 64);
    const rendered = await installer.rendered();
    await ownedByNewAnchor(installer, rendered, async () => {
      return (await readAnchor(component, target, AbortSignal.timeout(60_000)))?.uid;
    });
  });

  test("is made anew when somebody deleted it, and owns everything again", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "orphaned";
    const component = eventing({ version }, { namespace });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    await installer.install();
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));
    const before = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    if (before === undefined) throw new Error("There is no anchor");
    const rendered = await installer.rendered();
    await spoke.admin.remove(before.key);
    await ownedByNewAnchor(installer, rendered, async () => {
      const root = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
      return root?.uid === before.uid ? undefined : root?.uid;
    });
    // Where an object's status changed under its hands, the collector tries again with the uid alone: it may still take a Deployment that has its new owner.
    await expect
      .poll(async () => (await installer.install()).applied, { timeout: 60_000 })
      .toEqual([]);
  });
});

describe("an object that a webhook without pods refuses", () => {
  test("is parked while the rest is installed, and sent alone when it is tried again", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "blocked";
    const webhook = {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingWebhookConfiguration",
      metadata: { name: "nobody-answers" },
      webhooks: [
        {
          name: "nobody.answers.test",
          admissionReviewVersions: ["v1"],
          sideEffects: "None",
          failurePolicy: "Fail",
          clientConfig: { service: { name: "nobody", namespace: "default" } },
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": namespace } },
          matchConditions: [
            { name: "logging", expression: "object.metadata.name == 'config-logging'" },
          ],
          rules: [
            {
              apiGroups: [""],
              apiVersions: ["v1"],
              operations: ["CREATE", "UPDATE"],
              resources: ["configmaps"],
            },
          ],
        },
      ],
    };
    await spoke.admin.create({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: namespace },
    });
    await spoke.admin.create(webhook);
    await using opened = await openInstaller(spoke, {
      component: eventing({ version }, { namespace }),
    });
    const { installer } = opened;
    // A new webhook is in force after a moment.
    const probe = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "config-logging" } };
    const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
    await waitFor("the webhook to be in force", () =>
      spoke.admin.request("POST", path, probe).then(
        () => false,
        () => true,
      ),
    );
    const changes = await installer.install();
    expect(changes.parked).toEqual([
      {
        key: { apiVersion: "v1", kind: "ConfigMap", namespace, name: "config-logging" },
        message: `Waiting for webhook nobody.answers.test of ${webhook.kind} ${webhook.metadata.name}`,
      },
    ]);
    expect(changes).toMatchObject({ failed: [], pruned: [] });
    await spoke.admin.remove(keyOf(webhook));
    await waitFor("the webhook to be out of force", async () => {
      const again = await installer.install();
      return again.parked.length === 0 && again.applied.length === 1;
    });
    expect((await installer.install()).unchanged).toBe(changes.applied.length + 1);
  });
});

describe("a component without a profile", () => {
  test("is installed on the hub itself and owned by itself", async () => {
    const { hub } = fleet();
    const namespace = "local";
    await hub.admin.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    // Its uid has to be a real one, or the garbage collector takes everything for orphaned.
    const { metadata } = await hub.admin.create({
      apiVersion: "operator.knative.dev/v1beta1",
      kind: "KnativeEventing",
      metadata: { name: "knative-eventing", namespace },
    });
    const component = eventing({ version }, { namespace, uid: metadata.uid });
    const kubeconfig = await fleet().controllerKubeconfig();
    await using opened = await openInstaller(hub, { component, kubeconfig, isLocal: true });
    const { installer } = opened;
    expect(await installer.install()).toMatchObject({ parked: [], failed: [] });
    const objects = await liveObjects(hub, await installer.rendered());
    const root = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    expect(root?.inventory?.complete).toBe(true);
    const inside = [...objects, ...(root === undefined ? [] : [root.object])].filter(
      (object) => object.metadata.namespace === namespace,
    );
    expect(inside.length).toBeGreaterThan(30);
    expect(
      inside.filter(
        ({ metadata: { ownerReferences } }) => ownerReferences?.[0]?.uid !== metadata.uid,
      ),
    ).toEqual([]);
    expect(root?.object.metadata.annotations).not.toHaveProperty("operator.knative.dev/protected");
    await installer.restart();
    expect((await installer.install()).applied).toEqual([]);
  });
});
