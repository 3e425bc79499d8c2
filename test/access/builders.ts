import { parseProviderFile, type ProviderFile } from "../../access/providers/provider-config.ts";
import type { AccessProvider, ClusterProfile } from "../../api/cluster-profile.ts";
import type { Condition } from "../../api/kubernetes.ts";
import { createAuthority } from "../fleet/certificates.ts";

/** The authority that signed nothing: good enough for what is only parsed. */
export const anyCaPem = createAuthority("any").certificatePem;
export const anyCaData = Buffer.from(anyCaPem).toString("base64");

export const healthy: Condition = { type: "ControlPlaneHealthy", status: "True" };

/** A profile `fleet/spoke-1` with this status; healthy unless it says otherwise. */
export function profileOf(status: ClusterProfile["status"] = {}): ClusterProfile {
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name: "spoke-1", uid: "uid-1", resourceVersion: "1" },
    spec: { clusterManager: { name: "m" } },
    status: { conditions: [healthy], ...status },
  };
}

/** An access entry with a valid endpoint and these overrides. */
export function entryOf(
  name: string,
  cluster: Readonly<Record<string, unknown>> = {},
): AccessProvider {
  return {
    name,
    cluster: {
      server: "https://spoke-1.test:6443",
      "certificate-authority-data": anyCaData,
      ...cluster,
    },
  };
}

/** A provider as a provider file has it: v1, `/p/plugin a`, `A=1`, with cluster info. */
export function rawProvider(
  name: string,
  overrides: Readonly<Record<string, unknown>> = {},
  exec: Readonly<Record<string, unknown>> = {},
): Readonly<Record<string, unknown>> {
  return {
    name,
    execConfig: {
      apiVersion: "client.authentication.k8s.io/v1",
      command: "/p/plugin",
      args: ["a"],
      env: [{ name: "A", value: "1" }],
      provideClusterInfo: true,
      ...exec,
    },
    ...overrides,
  };
}

/** A loaded provider file with these providers. */
export function fileOf(...providers: readonly Readonly<Record<string, unknown>>[]): ProviderFile {
  return parseProviderFile(JSON.stringify({ providers }), { path: "test", format: "json" });
}
