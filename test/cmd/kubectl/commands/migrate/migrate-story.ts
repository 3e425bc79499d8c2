import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type Component, componentKinds } from "../../../../../api/component.ts";
import { isRecord, jsonOf, listAt, recordAt } from "../../../../../api/fields.ts";
import { keyOf, type KubeObject } from "../../../../../api/kubernetes.ts";
import { openReleases } from "../../../../../cmd/open-releases.ts";
import { asComponent } from "../../../../../controller/component-identity.ts";
import { anchorNameOf, componentUidLabel } from "../../../../../installation/anchor.ts";
import type { Rendered } from "../../../../../render/release/releases.ts";
import { render } from "../../../../../render/render.ts";
import { UpstreamOperator } from "../../../../controller/apply/upstream-operator.ts";
import { componentOf, installed } from "../../../../e2e/installation.ts";
import { releaseDir } from "../../../../e2e/release-dir.ts";
import type { Cluster, Profile } from "../../../../fleet/fleet.ts";
import { conditionOf, valueAt } from "../../../../fleet/json-record.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import {
  type ControllerProcess,
  startControllerProcess,
} from "../../../../support/controller-process.ts";
import { shortLeases } from "../../../../support/short-leases.ts";
import { controllerBinding } from "../../controller-binding.ts";
import type { Ran } from "../../run-knfleet.ts";
import { type Moments, runMigrate } from "./run-migrate.ts";
import {
  accountOf,
  deploymentOf,
  helmRecordOf,
  operatorBindings,
  operatorNamespace,
  operatorRole,
  upstreamStatus,
} from "./upstream-chart-objects.ts";

/** The tests, for each of the worlds of releases: a worker runs a module once, so a test file cannot import another one. */
export async function migrateStory(): Promise<void> {
  // There are no pods behind the webhooks of a release, which upstream's operator would meet.
  const fleet = useFleet({ spokes: 1, hub: { admissionWebhooks: false, kwok: true } });
  const releases = await releaseDir();
  const patience = { timeoutMs: 120_000 };
  const kind = "KnativeEventing";
  const { label, finalizer } = componentKinds[kind];

  /** A component that upstream's operator installed. */
  interface Inherited {
    readonly component: Component;
    readonly cluster: Cluster;
    readonly rendered: Rendered;
    readonly upstream: UpstreamOperator;
  }

  let local: Inherited;
  let remote: Inherited;
  let providerFile: string;
  let controller: ControllerProcess | undefined;

  beforeAll(async () => {
    const { hub } = fleet();
    providerFile = await fleet().providerFile();
    const profile = await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader" });
    for (const name of [operatorNamespace, "knfleet-system", "team-a", label])
      await namespaced(hub, name);
    await installOperator();
    local = await inherit(label);
    // As upstream's operator does from 1.24 on: the namespace on the spoke is not that of the hub.
    remote = await inherit("team-a", profile);
  }, 600_000);

  afterAll(async () => controller?.[Symbol.asyncDispose]());

  const release = { name: "knative-operator", namespace: operatorNamespace };
  const programs = ["knative-operator", "operator-webhook"];
  const ownParts = [
    operatorRole,
    ...programs.map(accountOf),
    ...programs.map((name) => deploymentOf(name)),
    ...operatorBindings({ namespace: operatorNamespace, release }),
    helmRecordOf(release, "knative-operator"),
  ];

  /** What the chart of upstream's operator leaves on a hub. Spec: knative-operator.md 7.1. */
  async function installOperator(): Promise<void> {
    const { admin } = fleet().hub;
    for (const manifest of ownParts) await admin.apply(manifest);
    await ownDefinitions("knative-operator", operatorNamespace);
    await available("knative-operator");
  }

  /** The operator as it comes back, without Helm. */
  async function installAgain(): Promise<void> {
    const account = "knative-operator";
    await fleet().hub.admin.apply(accountOf(account));
    await fleet().hub.admin.apply(controllerBinding("upstream", operatorNamespace, account));
    await fleet().hub.admin.apply(deploymentOf("knative-operator"));
  }

  const definitions = ["knativeservings", "knativeeventings"].map((plural) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    name: `${plural}.operator.knative.dev`,
  }));

  /** What Helm does with `--take-ownership`. */
  async function ownDefinitions(name: string, namespace: string): Promise<void> {
    const annotations = {
      "meta.helm.sh/release-name": name,
      "meta.helm.sh/release-namespace": namespace,
    };
    for (const key of definitions) {
      await fleet().hub.admin.patch(key, { metadata: { annotations } });
    }
  }

  async function available(name: string): Promise<void> {
    const isAvailable = async (): Promise<boolean> =>
      conditionOf(await fleet().hub.admin.get(keyOf(deploymentOf(name))), "Available")?.status ===
      "True";
    await waitFor(`${name} to be available`, isAvailable, patience);
  }

  /** Upstream's operator has brought a component to Ready, on the spoke or on the hub itself. */
  async function inherit(namespace: string, on?: Profile): Promise<Inherited> {
    const { hub } = fleet();
    const cluster = on === undefined ? hub : fleet().spoke(0);
    const manifest = componentOf({ kind, ...(on === undefined ? {} : { on }) });
    const metadata = { ...manifest.metadata, namespace, finalizers: [finalizer] };
    const component = asComponent(await hub.admin.create({ ...manifest, metadata }));
    if (component?.kind !== kind) throw new Error("The hub has no component");
    const placed = { ...component, metadata: { ...component.metadata, namespace: label } };
    const rendered = await render(placed, await openReleases(releases));
    const upstream = new UpstreamOperator(cluster.admin, placed, { isLocal: on === undefined });
    await upstream.reconcile(rendered);
    await upstream.reconcile(rendered);
    const status = upstreamStatus(component);
    await hub.admin.patch(keyOf(component), { status }, { subresource: "status" });
    return { component, cluster, rendered, upstream };
  }

  /** Runs the plugin on the hub, with what a person does by hand while it runs. */
  function migrate(args: readonly string[], moments: Moments = []): Promise<Ran> {
    const env = {
      KUBECONFIG: fleet().hub.adminKubeconfigPath,
      KNFLEET_PROVIDER_FILE: providerFile,
    };
    // A busy machine answers late.
    return runMigrate([...args, "--spoke-timeout", "60s"], { env, moments });
  }

  async function statesOf(args: readonly string[]): Promise<Readonly<Record<string, string>>> {
    const { stdout } = await migrate([...args, "-o", "json"]);
    const items = listAt(recordAt(jsonOf(stdout)), "items").filter(isRecord);
    return Object.fromEntries(items.map(({ id, state }) => [String(id), String(state)]));
  }

  async function startController(): Promise<void> {
    controller = await startControllerProcess({
      kubeconfig: await fleet().controllerKubeconfig(),
      providerFile,
      releaseDir: releases,
      leaderElection: true,
      flags: ["--leader-election-namespace=knfleet-system", ...shortLeases],
    });
  }

  async function deploymentsOf({ cluster, rendered }: Inherited): Promise<readonly KubeObject[]> {
    const keys = rendered.manifests.filter((one) => one.kind === "Deployment").map(keyOf);
    const live = await Promise.all(keys.map((key) => cluster.admin.get(key)));
    return live.filter((object) => object !== undefined);
  }

  async function generationsOf(one: Inherited): Promise<readonly unknown[]> {
    return (await deploymentsOf(one)).map(({ metadata: { name, uid, generation } }) => [
      name,
      uid,
      generation,
    ]);
  }

  async function templatesOf(one: Inherited): Promise<readonly unknown[]> {
    return (await deploymentsOf(one)).map((object) => [
      object.metadata.uid,
      valueAt(object, "spec", "template"),
    ]);
  }

  async function replicasOf(name: string): Promise<unknown> {
    return valueAt(await fleet().hub.admin.get(keyOf(deploymentOf(name))), "spec", "replicas");
  }

  function anchorOf({ cluster, component }: Inherited): Promise<KubeObject | undefined> {
    const name = anchorNameOf({ kind, name: component.metadata.name });
    return cluster.admin.get({ apiVersion: "v1", kind: "ConfigMap", namespace: label, name });
  }

  function records(): Promise<readonly KubeObject[]> {
    const labelSelector = "knfleet.dev/migration";
    return fleet().hub.admin.list({ apiVersion: "v1", kind: "ConfigMap", labelSelector });
  }

  describe("from upstream's operator", () => {
    test("a check shows the steps and writes nothing", async () => {
      const { stdout, exitCode } = await migrate(["from-upstream"]);
      expect(stdout).toContain("Scale Deployment knative-operator/knative-operator to 0");
      expect(stdout).toContain("controller.hubInstallations=true --take-ownership");
      expect(stdout).toContain("helm get values knative-operator");
      expect(exitCode).toBe(1);
      expect(await records()).toEqual([]);
      expect(await replicasOf("knative-operator")).toBe(1);
    });

    test("nobody is there to agree, so nothing is written", async () => {
      const { stderr, exitCode } = await migrate(["from-upstream", "--apply"]);
      expect(stderr).toContain("Agree with --yes");
      expect(exitCode).toBe(2);
      expect(await records()).toEqual([]);
    });

    // May take more than 15 s: a controller waits a Lease duration where another one may lead, and takes everything over.
    test("a run that ends while it waits is taken up by the next one, and no Deployment gets another generation", async () => {
      const before = [await generationsOf(remote), await generationsOf(local)];
      expect(before.flat().length).toBeGreaterThan(3);
      const first = await migrate(
        ["from-upstream", "--apply", "--yes"],
        [["by hand: 3 install-knfleet", async (child) => void child.kill("SIGINT")]],
      );
      expect(first.stderr).toContain("Run the command again");
      expect(first.exitCode).toBe(130);
      expect(await replicasOf("knative-operator")).toBe(0);
      expect(await records()).toHaveLength(1);

      const second = await migrate(
        ["from-upstream", "--apply", "--yes"],
        [
          [
            "by hand: 3 install-knfleet",
            async () => {
              await ownDefinitions("knfleet", "knfleet-system");
              await startController();
            },
          ],
        ],
      );
      expect(second.exitCode).toBe(0);
      // On a busy machine it says meanwhile how many clusters it has read.
      expect(second.stderr).toMatch(/^(?:spokes \d\/\d\n)*$/);
      expect(second.stdout).toMatch(/done: 6 compare: (\d+) of \1 Deployments have the generation/);
      expect([await generationsOf(remote), await generationsOf(local)]).toEqual(before);
    });

    test("leaves nothing of upstream's operator but the CRDs", async () => {
      const { admin } = fleet().hub;
      for (const manifest of ownParts) expect(await admin.get(keyOf(manifest))).toBeUndefined();
      for (const key of definitions) expect(await admin.get(key)).toBeDefined();
      expect(await records()).toEqual([]);
      expect(new Set(Object.values(await statesOf(["from-upstream"])))).toEqual(new Set(["Done"]));
    });

    test("refuses two operators at once", async () => {
      await installAgain();
      const { stdout, exitCode } = await migrate(["from-upstream", "--apply", "--yes"]);
      expect(stdout).toContain("Both operators are at work");
      expect(exitCode).toBe(2);
      expect(await replicasOf("knative-operator")).toBe(1);
      await fleet().hub.admin.remove(keyOf(deploymentOf("knative-operator")));
    });
  });

  /** How often the credential of the spoke was read from the hub: once for each run of the exec plugin. */
  async function pluginRuns(since: Date): Promise<number> {
    const reads = { since, userAgent: "secretreader", resource: "secrets", verb: "get" };
    return (await fleet().hub.auditLog.requests(reads)).length;
  }

  describe("back to upstream's operator", () => {
    test("waits for what is done by hand, gives everything back, and no pod is made anew", async () => {
      const before = [await templatesOf(remote), await templatesOf(local)];
      const anchor = await anchorOf(remote);
      const since = new Date();
      const { stdout, stderr, exitCode } = await migrate(
        ["to-upstream", "--apply", "--yes"],
        [
          ["by hand: 2 stop-knfleet", async () => void (await controller?.stop())],
          [
            "by hand: 5 start-upstream",
            async () => {
              await installAgain();
              for (const { upstream, rendered } of [local, remote]) {
                await upstream.reconcile(rendered);
                await upstream.reconcile(rendered);
              }
            },
          ],
        ],
      );
      expect({ stderr, exitCode }).toEqual({ stderr: "", exitCode: 0 });
      expect(stdout).toContain("done: 7 compare: None of");
      // However long it lasts, and however often it looks.
      expect(await pluginRuns(since)).toBe(1);
      expect([await templatesOf(remote), await templatesOf(local)]).toEqual(before);
      expect((await anchorOf(remote))?.metadata.uid).toBe(anchor?.metadata.uid);
      for (const { cluster, component } of [local, remote]) {
        expect(await installed(cluster, component.metadata.uid)).toEqual([]);
      }
      expect(await records()).toEqual([]);
    });

    test("leaves no guard and no mark of knfleet", async () => {
      const { admin } = fleet().spoke(0);
      const policies = await admin.list({
        apiVersion: "admissionregistration.k8s.io/v1",
        kind: "ValidatingAdmissionPolicyBinding",
      });
      expect(policies).toEqual([]);
      const { annotations = {}, labels = {} } = (await anchorOf(remote))?.metadata ?? {};
      expect(Object.keys(annotations)).not.toContain("operator.knative.dev/hub-id");
      expect(labels).not.toHaveProperty(componentUidLabel);
      expect(new Set(Object.values(await statesOf(["to-upstream"])))).toEqual(new Set(["Done"]));
    });
  });
}

async function namespaced({ admin }: Cluster, name: string): Promise<void> {
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
}
