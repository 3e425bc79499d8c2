import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { parseProviderFile, type ProviderFile } from "../../../access/providers/provider-config.ts";
import { resolveAccess, type ResolvedAccess } from "../../../access/spokes/resolved-access.ts";
import { type ClusterProfile, isClusterProfile } from "../../../api/cluster-profile.ts";
import { recordAt } from "../../../api/fields.ts";
import type { KubeObject } from "../../../api/kubernetes.ts";
import { blocksOf, fileNameOf } from "../../demo/page.ts";
import { anyCaData, healthy, rawProvider } from "../builders.ts";

// Profiles as GKE's fleet, KubeFleet and Open Cluster Management write them, and the values of docs/providers.md for them.

const root = join(import.meta.dirname, "../../..");
const page = blocksOf(await readFile(join(root, "docs/providers.md"), "utf8"));

async function recorded(name: string): Promise<ClusterProfile> {
  const path = join(import.meta.dirname, "profiles", `${name}.yaml`);
  const text = (await readFile(path, "utf8")).replace(": CA\n", `: ${anyCaData}\n`);
  const profile: KubeObject = parse(text);
  if (!isClusterProfile(profile)) throw new Error(`${name} is no ClusterProfile`);
  return profile;
}

/** The provider file of a values file of docs/providers.md, with these words replaced. */
function documented(name: string, words: Readonly<Record<string, string>> = {}): ProviderFile {
  const block = page.find((one) => fileNameOf(one) === name);
  const text = Object.entries(words).reduce(
    (all, [from, to]) => all.replaceAll(from, to),
    block?.text ?? "",
  );
  const config = recordAt(parse(text), "multicluster", "accessProvidersConfig");
  return parseProviderFile(JSON.stringify(config), { path: name, format: "json" });
}

function reach(profile: ClusterProfile, file: ProviderFile): ResolvedAccess {
  return resolveAccess(profile, file, Date.now());
}

const kubeFleet = documented("aks.yaml", {
  "name: aks": "name: KubeFleet",
  "[fleet]": "[fleet-system]",
});

describe("GKE", () => {
  test("its profiles are reached through the gateway of their region", async () => {
    const { provider, endpoint } = reach(await recorded("gke-fleet"), documented("gke.yaml"));
    expect(provider).toBe("google");
    expect(endpoint).toEqual({
      server:
        "https://us-west4-connectgateway.googleapis.com/v1/projects/100000000000/locations/us-west4/gkeMemberships/training",
    });
  });

  test("a profile whose control plane is said to be unhealthy is not ready, though it has joined", async () => {
    const profile = await recorded("gke-fleet");
    const conditions = [
      ...(profile.status?.conditions ?? []),
      { ...healthy, status: "False" as const },
    ];
    const ill = { ...profile, status: { ...profile.status, conditions } };
    expect(() => reach(ill, documented("gke.yaml"))).toThrow(
      /no condition ControlPlaneHealthy=True/,
    );
  });
});

describe("KubeFleet", () => {
  test("its profiles are reached with a plugin that needs nothing from them", async () => {
    const { provider, endpoint, plan } = reach(await recorded("kubefleet"), kubeFleet);
    expect({ provider, server: endpoint.server, cluster: plan.cluster }).toEqual({
      provider: "KubeFleet",
      server: "https://member-1-a1b2c3.hcp.westeurope.azmk8s.io",
      cluster: undefined,
    });
  });

  test("an entry without a server, as older hubs write, does not hide the next one", async () => {
    const file = parseProviderFile(
      JSON.stringify({ providers: [rawProvider("KubeFleet"), rawProvider("secretreader")] }),
      { path: "test", format: "json" },
    );
    const { provider, skipped } = reach(await recorded("kubefleet-older"), file);
    expect(provider).toBe("secretreader");
    expect(skipped).toEqual(['"KubeFleet": The access entry is not usable: server is empty']);
  });
});

test("Open Cluster Management: its profiles are reached through cluster-proxy", async () => {
  const { provider, endpoint, plan } = reach(
    await recorded("open-cluster-management"),
    documented("ocm.yaml"),
  );
  expect({ provider, server: endpoint.server, config: plan.cluster?.["config"] }).toEqual({
    provider: "open-cluster-management",
    server: "https://cluster-proxy-addon-user.open-cluster-management-addon:9092/spoke1",
    config: { clusterName: "spoke1" },
  });
});
