import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { operatorApiVersion } from "../../../api/component.ts";
import { listAt, recordAt } from "../../../api/fields.ts";
import { fleetSetApiVersion, setAnnotations, setLabels } from "../../../api/fleet-set.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import type { Scene } from "../../e2e/scene.ts";
import { rowsOf, type Ran } from "./run-knfleet.ts";

const namespace = "platform";
const set = { apiVersion: fleetSetApiVersion, kind: "KnativeServingSet" } as const;
const crd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "routes.serving.knative.dev",
};

interface Upgrading {
  readonly scene: () => Scene;
  /** Runs a command with the release files. */
  readonly compared: (...args: readonly string[]) => Promise<Ran>;
  /** Fails when more than dry runs and reviews was sent since. */
  readonly onlyDryRuns: (since: Date) => Promise<void>;
}

/** Tests of `plan --version`: spoke-1 has KnativeServing 1.22; whoever else is on the hub is written here, and gone afterwards. */
export function testUpgradeOfFleet({ scene, compared, onlyDryRuns }: Upgrading): void {
  async function component(
    { name, ...marks }: { readonly name: string },
    cluster: string,
    version: string,
  ): Promise<void> {
    const { admin } = scene().hub;
    const key = { apiVersion: operatorApiVersion, kind: "KnativeServing" };
    const metadata = { namespace, name };
    const clusterProfileRef = { namespace: "fleet", name: cluster };
    await admin.apply({
      ...key,
      metadata: { ...metadata, ...marks },
      spec: { version: version.replace(/\.\d+$/, ""), clusterProfileRef },
    });
    await admin.apply({ ...key, metadata, status: { version } }, { subresource: "status" });
  }

  async function stampedComponent(cluster: string): Promise<void> {
    const { admin } = scene().hub;
    const stages = [
      { name: "canary", selector: { matchLabels: { ring: "0" } } },
      { name: "rest", selector: {} },
    ];
    const selector = { namespaces: ["fleet"], matchLabels: { ring: "0" } };
    const { metadata } = await admin.apply({
      ...set,
      metadata: { namespace, name: "prod" },
      spec: {
        clusters: { from: "Selector", selector },
        template: { spec: { version: "1.22" } },
        rollout: { stages },
      },
    });
    const profile = { apiVersion: "multicluster.x-k8s.io/v1alpha1", kind: "ClusterProfile" };
    await admin.patch(
      { ...profile, namespace: "fleet", name: cluster },
      { metadata: { labels: { ring: "0" } } },
    );
    const name = `prod-fleet-${cluster}`;
    const labels = {
      [setLabels.set]: "prod",
      [setLabels.kind]: set.kind,
      [setLabels.revision]: "prod-0",
    };
    const annotations = {
      [setAnnotations.setUid]: metadata.uid,
      [setAnnotations.component]: name,
    };
    const stamped = { name, labels, annotations };
    await component(stamped, cluster, "1.22.0");
  }

  /** Makes a CRD of spoke-1 say that objects are stored in a version that no release has. */
  async function storeOldVersion(): Promise<() => Promise<void>> {
    const { admin } = scene().fleet.spoke(0);
    const live: Manifest | undefined = await admin.get(crd);
    const versions = listAt(recordAt(live, "spec"), "versions");
    const { storedVersions } = recordAt(live, "status");
    const old = { ...recordAt(versions[0]), name: "v1alpha0", storage: false };
    await admin.patch(crd, { spec: { versions: [...versions, old] } });
    const stored = { status: { storedVersions: ["v1alpha0", "v1"] } };
    await admin.patch(crd, stored, { subresource: "status" });
    return async () => {
      await admin.patch(crd, { status: { storedVersions } }, { subresource: "status" });
      await admin.patch(crd, { spec: { versions } });
    };
  }

  describe("an upgrade of the fleet", () => {
    const undo = new AsyncDisposableStack();

    beforeAll(async () => {
      const { hub, fleet } = scene();
      const spoke = fleet.spoke(1);
      await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
      const gone = { plugin: "secretreader", name: "gone", via: "https://127.0.0.1:9" } as const;
      const rules = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["get", "list"] }];
      const identity = { namespace: "knfleet", name: "upgrade-limited", rules };
      const limited = { plugin: "secretreader", name: "limited", identity } as const;
      const profiles = [
        await fleet.addProfile(spoke, gone),
        await fleet.addProfile(spoke, limited),
      ];
      for (const profile of profiles) undo.defer(() => profile.remove());
      await stampedComponent("spoke-2");
      await component({ name: "limited" }, "limited", "1.22.0");
      await component({ name: "away" }, "gone", "1.22.0");
      await component({ name: "far" }, "gone", "1.20.0");
      undo.defer(async () => {
        const all = await hub.admin.list({
          apiVersion: operatorApiVersion,
          kind: "KnativeServing",
          namespace,
        });
        const key = { apiVersion: operatorApiVersion, kind: "KnativeServing", namespace };
        for (const { metadata } of all) {
          // oxlint-disable-next-line no-await-in-loop -- a handful
          await hub.admin.remove({ ...key, name: metadata.name });
        }
        await hub.admin.remove({ ...set, namespace, name: "prod" });
      });
    }, 120_000);
    afterAll(() => undo.disposeAsync());

    test("is one row for each component, whether its cluster can be read or not", async () => {
      const since = new Date();
      const { stdout, stderr, exitCode } = await compared("plan", "--version", "1.23", "-A");
      const fine = { KUBERNETES: expect.stringMatching(/^v1\.36\./), STORED: "fine" };
      const hops = expect.stringMatching(/^1\.22\.\d+ > 1\.23\.\d+$/);
      const unread = { KUBERNETES: "<unknown>", RIGHTS: "<unknown>", RESTARTS: "<unknown>" };
      expect(rowsOf(stdout)).toMatchObject([
        {
          CLUSTER: "spoke-1",
          COMPONENT: "ks/knative-serving",
          HOPS: hops,
          RIGHTS: "all",
          RESTARTS: expect.stringMatching(/^\d+ pods$/),
          SET: "<none>",
          ...fine,
        },
        { CLUSTER: "gone", COMPONENT: "ks/away", HOPS: hops, ...unread },
        {
          CLUSTER: "gone",
          COMPONENT: "ks/far",
          HOPS: expect.stringMatching(/^1\.20\.0 > /),
          ...unread,
        },
        {
          CLUSTER: "limited",
          HOPS: hops,
          KUBERNETES: fine.KUBERNETES,
          RIGHTS: expect.stringMatching(/^\d+ missing$/),
          MESSAGE: expect.stringContaining("KNF5002 Forbidden"),
        },
        {
          CLUSTER: "spoke-2",
          COMPONENT: "ks/prod-fleet-spoke-2",
          HOPS: hops,
          SET: "kss/prod",
          STAGE: "canary",
          ...fine,
        },
      ]);
      expect(stderr).toContain("2 of 5 components could not be upgraded:");
      expect(stderr).toMatch(/ks\/far -n platform: KNF1015 VersionNotEligible: /);
      expect(stderr).toContain("1 of 4 clusters could not be read:");
      expect(stderr).toContain("can-i fleet/limited --version 1.23 -o clusterrole");
      expect(exitCode).toBe(2);
      await onlyDryRuns(since);
    });

    test("tells of stored versions that the release does not have, and is 2", async () => {
      const restore = await storeOldVersion();
      try {
        const line = ["plan", "ks/knative-serving", "--version", "1.23", "-o", "json"];
        const { stdout, exitCode } = await compared(...line);
        const dropped = ["v1alpha0"];
        expect(JSON.parse(stdout)).toMatchObject({
          items: [
            {
              upgrade: {
                storedVersions: [{ name: crd.name, storage: "v1", dropped }],
                refusals: [{ reason: "ApplyFailed", code: "KNF1018" }],
              },
            },
          ],
        });
        expect(exitCode).toBe(2);
      } finally {
        await restore();
      }
    });

    test("of what is installed already changes nothing", async () => {
      const line = ["plan", "ks/knative-serving", "--version", "1.22"];
      const { stdout, exitCode } = await compared(...line);
      expect(rowsOf(stdout)).toMatchObject([{ MESSAGE: "installed already", RESTARTS: "<none>" }]);
      expect(exitCode).toBe(0);
    });
  });
}
