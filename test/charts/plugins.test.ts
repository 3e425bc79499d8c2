import { describe, expect, test, vi } from "vitest";

import { providerSchema } from "../../access/providers/provider-schema.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { Values } from "./helm.ts";
import { argumentsOf, listAt, podsIn } from "./rendered.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const helm = useHelm();

function fieldsOf({ properties }: { readonly properties: object }): string {
  return Object.keys(properties).join(", ");
}

describe("plugins", () => {
  const command = "/plugins/login/bin/login";
  const plugin = { name: "login", image: "example.org/login:1", mountPath: "/plugins/login" };
  const execConfig = { apiVersion: "client.authentication.k8s.io/v1", command };
  const accessProvidersConfig = { providers: [{ name: "login", execConfig }] };
  const multicluster = {
    enabled: true,
    accessProvidersConfig,
    plugins: [{ ...plugin, path: "bin/login" }],
  };

  const valuesWith = (provider: object): Values => ({
    multicluster: { ...multicluster, accessProvidersConfig: { providers: [provider] } },
  });

  test.each([
    { version: "1.34.9", delivery: "copied by an init container", kind: "emptyDir" },
    { version: "1.35.0", delivery: "mounted as images", kind: "image" },
  ])("on Kubernetes $version they are $delivery", async ({ version, kind }) => {
    const objects = await helm().objects({ values: { multicluster } }, "--kube-version", version);
    const pod = podsIn(objects).find(({ program }) => program === "controller");
    if (pod === undefined) throw new Error("There is no controller");
    const mounts = listAt(pod.spec, "containers", 0, "volumeMounts");
    const mount = mounts.find((one) => valueAt(one, "mountPath") === "/plugins/login");
    const volumes = listAt(pod.spec, "volumes");
    const volume = volumes.find((one) => valueAt(one, "name") === valueAt(mount, "name"));
    expect(valueAt(mount, "readOnly")).toBe(true);
    expect(volume).toHaveProperty(kind);
    expect(argumentsOf(pod)).toContain("--plugin-root=/plugins/login");
    expect(listAt(pod.spec, "initContainers")).toHaveLength(kind === "image" ? 0 : 1);
  });

  test("have their HOME folders in a volume of their own, which cannot take /tmp away", async () => {
    const objects = await helm().objects({ values: { multicluster } });
    const pod = podsIn(objects).find(({ program }) => program === "controller");
    if (pod === undefined) throw new Error("There is no controller");
    const mounts = listAt(pod.spec, "containers", 0, "volumeMounts");
    const mount = mounts.find((one) => valueAt(one, "name") === "plugin-homes");
    const volumes = listAt(pod.spec, "volumes");
    expect(argumentsOf(pod)).toContain(`--plugin-home-dir=${String(valueAt(mount, "mountPath"))}`);
    expect(valueAt(mount, "mountPath")).not.toMatch(/^\/tmp/);
    // A volume in memory is full at its limit; one on the disk of the node costs the pod.
    expect(volumes).toContainEqual({
      name: "plugin-homes",
      emptyDir: { medium: "Memory", sizeLimit: "32Mi" },
    });
  });

  test("what upstream's chart has below knative_operator is taken as it is", async () => {
    const upstream = { ...multicluster, plugins: [plugin], remoteDeploymentsPollInterval: "30s" };
    const flags = ["--kube-version", "1.36.0"];
    const objects = await helm().objects({ values: { multicluster: upstream } }, ...flags);
    const [pod] = podsIn(objects).filter(({ program }) => program === "controller");
    if (pod === undefined) throw new Error("There is no controller");
    expect(argumentsOf(pod)).toEqual(
      expect.arrayContaining([
        "--clusterprofile-provider-file=/etc/cluster-inventory/config.json",
        "--remote-deployments-poll-interval=30s",
      ]),
    );
  });

  test.each<{ readonly name: string; readonly values: Values; readonly says: RegExp | string }>([
    {
      name: "a value that nobody knows, by Helm itself",
      values: { controler: {} },
      says: /'controler' not allowed/,
    },
    {
      name: "no providers",
      values: { multicluster: { enabled: true } },
      says: /accessProvidersConfig: is required/,
    },
    {
      name: "providers that are no list",
      values: { multicluster: { ...multicluster, accessProvidersConfig: { providers: "a" } } },
      says: /accessProvidersConfig\.providers: must be a list/,
    },
    {
      name: "a provider that is none",
      values: { multicluster: { ...multicluster, accessProvidersConfig: { providers: ["a"] } } },
      says: /providers\[0\]: must be an object with execConfig/,
    },
    {
      name: "a rule with a typo",
      values: valuesWith({ execConfig, allowedNamespace: ["fleet"] }),
      says: `providers[0].allowedNamespace: is no field of a provider; it has ${fieldsOf(providerSchema)}`,
    },
    {
      name: "an execConfig with a typo",
      values: valuesWith({ execConfig: { ...execConfig, arg: [] } }),
      says: `providers[0].execConfig.arg: is no field of a provider; it has ${fieldsOf(providerSchema.properties.execConfig)}`,
    },
    {
      name: "a command elsewhere",
      values: {
        multicluster: { ...multicluster, plugins: [{ ...plugin, path: "a", mountPath: "/other" }] },
      },
      says: /providers\[0\]\.execConfig\.command: must be below/,
    },
    {
      name: "a command that climbs out",
      values: {
        multicluster: {
          ...multicluster,
          accessProvidersConfig: {
            providers: [
              { name: "a", execConfig: { ...execConfig, command: "/plugins/login/../../bin/sh" } },
            ],
          },
        },
      },
      says: /command: must be below/,
    },
    {
      name: "the root as a mount path",
      values: { multicluster: { ...multicluster, plugins: [{ ...plugin, mountPath: "/.." }] } },
      says: /mountPath: must be an absolute path below/,
    },
    {
      name: "two plugins of a name",
      values: {
        multicluster: {
          ...multicluster,
          plugins: [...multicluster.plugins, { ...plugin, path: "a", mountPath: "/b" }],
        },
      },
      says: /two plugins of the name "login"/,
    },
    {
      name: "one mount path in the other",
      values: {
        multicluster: {
          ...multicluster,
          plugins: [
            ...multicluster.plugins,
            { ...plugin, path: "a", name: "b", mountPath: "/plugins/login/b" },
          ],
        },
      },
      says: /are one in the other/,
    },
    {
      name: "a copy without the path",
      values: {
        multicluster: { ...multicluster, plugins: [plugin], pluginDelivery: "InitContainer" },
      },
      says: /plugins\[0\]\.path: the file in example\.org\/login:1 is required/,
    },
  ])("refused: $name", async ({ values, says }) => {
    const { code, stderr } = await helm().template({ values });
    expect(code).toBe(1);
    expect(stderr.replaceAll(/\s+/g, " ")).toMatch(says);
  });
});
