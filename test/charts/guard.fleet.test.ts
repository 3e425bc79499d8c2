// Servers of its own: the API server calls webhooks through an egress proxy.
import { afterAll, beforeAll, expect, test, vi } from "vitest";

import { anchorAnnotations, guardAnnotations, guardLabels } from "../../installation/anchor.ts";
import { openAdminClient } from "../fleet/admin-client.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { manifestsIn } from "../fleet/manifest-files.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { askForAnchor } from "../webhook/guarded-hub.ts";
import { ChartedPods } from "./charted-pods.ts";
import { chartFolder, Helm } from "./helm.ts";
import { rightsReport } from "./rights.ts";

vi.setConfig({ testTimeout: 600_000 });

// The cluster plays a spoke without policies, whose hub is itself.
const fleet = useFleet({
  hub: { egress: true, apiServerFlags: ["--feature-gates=WatchList=false"] },
  spokes: 0,
});
const namespace = "guard-system";
const crd = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "knativeservings.operator.knative.dev",
};
const opened = new AsyncDisposableStack();
let cluster: Cluster;
let hubId = "";
let helm: Helm;

beforeAll(async () => {
  cluster = fleet().hub;
  const kubeSystem = { apiVersion: "v1", kind: "Namespace", name: "kube-system" };
  hubId = (await cluster.admin.get(kubeSystem))?.metadata.uid ?? "";
  const labels = { [guardLabels.namespace]: hubId };
  const made = { apiVersion: "v1", kind: "Namespace" };
  await cluster.admin.apply({ ...made, metadata: { name: "guarded" } });
  await cluster.admin.apply({ ...made, metadata: { name: "made-by-hub", labels } });
  await cluster.admin.patch(crd, { metadata: { labels: { [guardLabels.crd]: hubId } } });
  const annotations = { [anchorAnnotations.protected]: "true", [anchorAnnotations.hubId]: hubId };
  const metadata = { namespace: "guarded", name: "anchor", annotations };
  await cluster.admin.apply({ apiVersion: "v1", kind: "ConfigMap", metadata });
  helm = opened.use(await Helm.open(cluster.adminKubeconfigPath));
});

afterAll(() => opened.disposeAsync());

test("guard.only=true guards what the hubs marked, with the rights of the chart and no others", async () => {
  const since = new Date();
  // ClusterProfiles lead here with two identities.
  const users = ["system:serviceaccount:knfleet:knfleet-hub", "knfleet-hub-too"];
  const hubs = users.map((user) => ({ id: hubId, user }));
  const values = { guard: { only: true, crds: true, hubs } };
  const place = ["guard", "--namespace", namespace] as const;
  const flags = await helm.flagsOf({ values });
  await helm.must("install", ...place, "--create-namespace", chartFolder, ...flags);
  const pods = new ChartedPods(cluster, { namespace, name: "guard-knfleet" });
  await waitForPods();
  opened.use(await pods.webhook());
  await waitFor(
    "somebody else's anchor to be refused",
    async () => {
      return (await askForAnchor(cluster)) === 403;
    },
    { timeoutMs: 90_000 },
  );
  expect(await Promise.all(users.map(anchorAskedBy))).toEqual([201, 201]);
  expect(await anchorAskedBy("another-hub")).toBe(403);
  const anchor = { apiVersion: "v1", kind: "ConfigMap", namespace: "guarded", name: "anchor" };
  const { admin } = cluster;
  const instead = /Delete the custom resource on the hub instead/;
  await expect(admin.remove(anchor)).rejects.toThrow(instead);
  const house = { apiVersion: "v1", kind: "Namespace", name: "made-by-hub" };
  await expect(admin.remove(house)).rejects.toThrow(/anchor/);
  await expect(admin.remove(crd)).rejects.toThrow(/crd-guard/);
  await healed();
  const confirmation = (await admin.get(anchor))?.metadata.uid;
  const annotations = { [guardAnnotations.confirmDeletion]: confirmation };
  await admin.patch(anchor, { metadata: { annotations } });
  expect(await admin.remove(anchor)).toBe(true);
  const objects = manifestsIn(await helm.must("get", "manifest", ...place), "The release");
  const account = { namespace, name: "guard-knfleet-webhook", since };
  expect(await rightsReport(cluster, account, objects)).toEqual({ refused: [], unused: [] });
  await helm.must("uninstall", ...place);
}, 300_000);

/** The answer to a user with all rights who asks for an anchor. */
async function anchorAskedBy(user: string): Promise<number> {
  const identity = cluster.clientCertificate(user, ["system:masters"]);
  const admin = openAdminClient(cluster.server, cluster.caPem, identity);
  try {
    return await askForAnchor({ admin });
  } finally {
    admin.close();
  }
}

async function waitForPods(): Promise<void> {
  await waitFor(
    "the pods",
    async () => {
      return (await cluster.admin.list({ apiVersion: "v1", kind: "Pod", namespace })).length > 0;
    },
    { timeoutMs: 90_000 },
  );
}

/** Somebody spoils the certificate; the webhook makes another. */
async function healed(): Promise<void> {
  const name = "guard-knfleet-webhook-certificates";
  const secret = { apiVersion: "v1", kind: "Secret", namespace, name };
  const garbage = "Z2FyYmFnZQ==";
  await cluster.admin.patch(secret, { data: { "tls.crt": garbage } });
  await waitFor(
    "another certificate",
    async () => {
      return valueAt(await cluster.admin.get(secret), "data", "tls.crt") !== garbage;
    },
    { timeoutMs: 90_000 },
  );
}
