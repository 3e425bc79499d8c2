import { readFile } from "node:fs/promises";

import type { Fleet } from "../../../../fleet/fleet.ts";

const namespace = "knfleet-system";
const configMap = "providers";
const account = "remote-controller";
const mountPath = "/etc/cluster-inventory";
/** Where the controller has its provider file, in its pods. */
export const mountedFile = `${mountPath}/config.json`;

/**
 * A Deployment on the hub as the chart makes it, with the provider file in a ConfigMap. No node takes its pods, so that a test can play
 * the kubelet of those that look like them.
 */
export async function deployController(
  { hub }: Fleet,
  providerFile: string,
): Promise<() => Promise<unknown>> {
  const labels = { app: "knfleet-controller" };
  // What a controller has that installs nothing on the hub itself: no right to read Secrets.
  await hub.serviceAccountToken({ namespace, name: account, clusterRoles: ["knfleet-hub"] });
  await hub.admin.apply({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { namespace, name: configMap },
    data: { "config.json": await readFile(providerFile, "utf8") },
  });
  const key = { apiVersion: "apps/v1", kind: "Deployment" };
  const container = {
    name: "controller",
    image: "registry.example.test/knfleet:1",
    command: ["node", "/app/cmd/knfleet-controller.ts"],
    args: [`--clusterprofile-provider-file=${mountedFile}`],
    volumeMounts: [{ name: "config", mountPath }],
  };
  const metadata = { namespace, name: "knfleet-controller" };
  await hub.admin.apply({
    ...key,
    metadata,
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: {
          serviceAccountName: account,
          nodeSelector: { nowhere: "true" },
          containers: [container],
          volumes: [{ name: "config", configMap: { name: configMap } }],
        },
      },
    },
  });
  return () => hub.admin.remove({ ...key, ...metadata });
}
