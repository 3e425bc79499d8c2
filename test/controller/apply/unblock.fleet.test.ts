// @module-tag release-files
import { describe, expect, test, vi } from "vitest";

import { systemClock } from "../../../access/time/system-clock.ts";
import { keyOf, type Manifest } from "../../../api/kubernetes.ts";
import { readAnchor } from "../../../controller/apply/anchor/anchor.ts";
import type { Unblocked } from "../../../controller/apply/unblock.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import type { Cluster } from "../../fleet/fleet.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { silentLog } from "../../support/silent-log.ts";
import { dumpOfCluster } from "../../support/spoke-dump.ts";
import { eventing, type Installer, openInstaller, serving } from "./installer.ts";
import { writtenTo } from "./spoke-view.ts";
import { UpstreamOperator } from "./upstream-operator.ts";

const fleet = useSpokes([{ kwok: false, admissionWebhooks: true }]);

const configuration = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "config.webhook.serving.knative.dev",
};

async function removed({ component, target }: Installer): Promise<void> {
  await finalize(
    { component, target },
    { clock: systemClock, log: silentLog },
    AbortSignal.timeout(120_000),
  );
}

/** A clock that is ahead of the machine's. */
function ahead(ms: number) {
  return { ...systemClock, now: () => systemClock.now() + ms };
}

const rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["configmaps/*", "configmaps"],
  scope: "Namespaced",
};

/** Gives webhooks the rules of the release, or those that their pods write. */
async function fillRules({ admin }: Cluster, manifests: readonly Manifest[]): Promise<void> {
  for (const manifest of manifests.filter(({ kind }) => kind.endsWith("WebhookConfiguration"))) {
    const key = keyOf(manifest);
    const isOfConfig = key.name.startsWith("config.webhook.");
    const rules = valueAt(manifest, "webhooks", 0, "rules") ?? (isOfConfig ? [rule] : []);
    const first = Object(valueAt(await admin.get(key), "webhooks", 0));
    await admin.patch(key, { webhooks: [{ ...first, rules }] });
  }
}

/** Writes what the webhook's pod writes when it runs, and waits until ConfigMaps are refused for it. */
async function giveRules({ admin }: Cluster): Promise<void> {
  const live = await admin.get(configuration);
  const webhooks = [{ ...Object(valueAt(live, "webhooks", 0)), rules: [rule] }];
  await admin.patch(configuration, { webhooks });
  const path = "/api/v1/namespaces/knative-serving/configmaps?dryRun=All";
  const probe = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: {
      name: "probe",
      labels: {
        "app.kubernetes.io/name": "knative-serving",
        "app.kubernetes.io/component": "logging",
      },
    },
  };
  await waitFor("the webhook to be in force", () =>
    admin.request("POST", path, probe).then(
      () => false,
      () => true,
    ),
  );
}

/** The webhooks of a release, and a ConfigMap and a Deployment of those that wait for each other. */
function few({ manifests }: Rendered): readonly Manifest[] {
  return manifests.filter(
    ({ kind, metadata }) =>
      kind.endsWith("Configuration") ||
      (/^(?:config-logging|controller)$/.test(metadata.name ?? "") && kind !== "ServiceAccount"),
  );
}

/** What stays of an installation, of all that was not there before; see docs/removal.md. */
const staying = [
  /^apiextensions\.k8s\.io\|CustomResourceDefinition\|/,
  /^\|Namespace\|\|knative-serving$/,
  /^\|Namespace\|\|knative-eventing$/,
  // The cluster makes one in each namespace, sooner or later.
  /^\|ServiceAccount\|[^|]+\|default$/,
];

describe("11.13: Serving and Eventing of the real release", () => {
  test("go although no webhook of theirs answers any more, and leave what is documented", async () => {
    const spoke = fleet().spoke(0);
    const version = "1.23.0";
    const installers: Installer[] = [];
    await using opened = new AsyncDisposableStack();
    for (const component of [serving({ version, ingress: {} }), eventing({ version })]) {
      const { installer } = opened.use(await openInstaller(spoke, { component }));
      installers.push(installer);
    }
    const before = await dumpOfCluster(spoke);
    for (const installer of installers) {
      const rendered = await installer.rendered();
      expect(await installer.install()).toMatchObject({ parked: [], failed: [] });
      await fillRules(spoke, rendered.manifests);
    }
    const certificate = {
      apiVersion: "networking.internal.knative.dev/v1alpha1",
      kind: "Certificate",
      namespace: "knative-serving",
      name: "routing-serving-certs",
    };
    expect(await spoke.admin.get(certificate)).toBeDefined();
    const path = `/apis/${certificate.apiVersion}/namespaces/knative-serving/certificates`;
    await waitFor("a deletion to be refused", () =>
      spoke.admin.request("DELETE", `${path}/${certificate.name}?dryRun=All`).then(
        () => false,
        () => true,
      ),
    );
    for (const installer of installers) await removed(installer);
    await vi.waitFor(async () => {
      const now = Object.keys(await dumpOfCluster(spoke)).filter(
        (id) => !Object.hasOwn(before, id),
      );
      expect(now.filter((id) => !staying.some((kept) => kept.test(id)))).toEqual([]);
      for (const kept of staying) expect(now).toContainEqual(expect.stringMatching(kept));
    }, 60_000);
  });
});

describe("Serving whose webhook has rules but no pods (engine-facts 1)", () => {
  test("has its Deployments in any case, and its ConfigMaps once the rules are emptied, which happens once", async () => {
    const spoke = fleet().spoke(0);
    const component = serving({ version: "1.23.0" });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    const own = few(rendered);
    await installer.install({ rendered: { ...rendered, manifests: own, hash: "own" } });
    await installer.observation.waitForSync(AbortSignal.timeout(60_000));

    await giveRules(spoke);

    const manifests = own.map((manifest) =>
      ["ConfigMap", "Deployment"].includes(manifest.kind)
        ? {
            ...manifest,
            metadata: { ...manifest.metadata, annotations: { changed: "yes" } },
          }
        : manifest,
    );
    const changed = { ...rendered, manifests, hash: "changed" };
    const unblocked: Unblocked[] = [];
    const options = { rendered: changed, onUnblocked: (one: Unblocked) => unblocked.push(one) };
    const first = await installer.install(options);
    expect(first.applied).toMatchObject([{ kind: "Deployment", name: "controller" }]);
    expect(first.parked).toMatchObject([
      {
        key: { name: "config-logging" },
        message: `Waiting for webhook ${configuration.name} of ${configuration.kind} ${configuration.name}`,
      },
    ]);
    await installer.install({ ...options, clock: ahead(2 * 60_000) });
    expect(unblocked).toEqual([]);

    await installer.install({ ...options, clock: ahead(3 * 60_000 + 1_000) });
    expect(unblocked).toEqual([
      {
        webhook: configuration.name,
        configuration: `${configuration.kind} ${configuration.name}`,
      },
    ]);
    await installer.install({ ...options, clock: ahead(4 * 60_000) });
    expect(unblocked).toHaveLength(1);
    await waitFor("the ConfigMap to be accepted", async () => {
      const { parked } = await installer.install({ ...options, clock: ahead(5 * 60_000) });
      return parked.length === 0;
    });
    const since = new Date();
    await installer.install(options);
    expect(await writtenTo(spoke, since)).toEqual([]);
    expect(unblocked).toHaveLength(1);
    const after = await spoke.admin.get(configuration);
    expect(valueAt(after, "webhooks", 0, "rules")).toBeUndefined();
    expect(
      after?.metadata.managedFields?.filter(({ operation }) => operation === "Apply"),
    ).toHaveLength(1);
    await removed(installer);
  });

  test("is adopted from the upstream operator all the same: its Deployment at once, the rest when the rules are emptied", async () => {
    const spoke = fleet().spoke(0);
    const component = serving({ version: "1.23.0" });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const all = await installer.rendered();
    const rendered = { ...all, manifests: few(all), hash: "few" };
    const config = rendered.manifests.find(({ metadata }) => metadata.name === "config-logging");
    if (config === undefined) throw new Error("No ConfigMap");
    const gone = { ...config, metadata: { ...config.metadata, name: "config-gone" } };
    const old = { ...rendered, manifests: [...rendered.manifests, gone], hash: "old" };
    await new UpstreamOperator(spoke.admin, component).reconcile(old);
    await giveRules(spoke);

    const unblocked: Unblocked[] = [];
    const counts: number[] = [];
    const options = {
      rendered,
      onUnblocked: (one: Unblocked) => unblocked.push(one),
      onAdopted: (count: number) => counts.push(count),
    };
    const changes = await installer.install(options);
    expect(changes.applied).toContainEqual(
      expect.objectContaining({ kind: "Deployment", name: "controller" }),
    );
    const message = `Waiting for webhook ${configuration.name} of ${configuration.kind} ${configuration.name}`;
    expect([changes.failed, changes.parked]).toEqual([
      [],
      [gone, config].map((one) => ({
        key: { ...keyOf(one), namespace: "knative-serving" },
        message,
      })),
    ]);
    expect(counts).toEqual([rendered.manifests.length - 1]);
    const anchorNow = () => readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    expect((await anchorNow())?.inventory).toMatchObject({ complete: false, adopting: true });
    await installer.install({ ...options, clock: ahead(3 * 60_000 + 1_000) });
    expect([unblocked.length, counts.length]).toEqual([1, 1]);
    await waitFor("the ConfigMaps to be accepted", async () => {
      const { parked } = await installer.install({ ...options, clock: ahead(5 * 60_000) });
      return parked.length === 0;
    });
    const { inventory } = (await anchorNow()) ?? {};
    expect(inventory).toMatchObject({ complete: true });
    expect(inventory).not.toHaveProperty("adopting");
    expect(await spoke.admin.get({ ...keyOf(gone), namespace: "knative-serving" })).toBeUndefined();
    await removed(installer);
  });
});
