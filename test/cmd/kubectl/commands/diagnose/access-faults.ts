import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { providerOf, realProvider } from "./diagnose-world.ts";
import type { Fault } from "./fault.ts";
import { fileFlag, withEntries, withEntry, withProvider } from "./ways-in.ts";

export const accessFaults: readonly Fault[] = [
  {
    name: "the server of the ClusterProfile is no https address",
    code: "KNF2006",
    says: /server has to begin with https/,
    make: (world) => withEntry(world, "no-https", { server: "http://127.0.0.1:1" }),
  },
  {
    name: "the CA of the ClusterProfile is no certificate",
    code: "KNF2006",
    says: /certificate-authority-data holds no PEM certificate/,
    make: (world) =>
      withEntry(world, "no-ca", {
        "certificate-authority-data": Buffer.from("x").toString("base64"),
      }),
  },
  {
    name: "the ClusterProfile names a CA file",
    code: "KNF2007",
    severity: "warning",
    make: (world) => withEntry(world, "ca-file", { "certificate-authority": "/etc/ca.pem" }),
  },
  {
    name: "the ClusterProfile wants to set PATH of the plugin",
    code: "KNF2008",
    make: async (world) => {
      const { args } = await withEntry(world, "sets-path", {
        extensions: [
          {
            name: "clusterprofiles.multicluster.x-k8s.io/exec/additional-envs",
            extension: { PATH: "/evil" },
          },
        ],
      });
      const { execConfig: exec } = await realProvider(world.providerFile);
      const provider = {
        name: "secretreader",
        execConfig: exec,
        profileSourcedEnvVarsPolicy: "Replace",
      };
      return { args: [...args, fileFlag, await world.providers("replace-env", provider)] };
    },
  },
  {
    name: "no provider file is named",
    code: "KNF3001",
    severity: "warning",
    make: () => Promise.resolve({ args: ["fleet/healthy"], options: { env: { NO_FILE: "1" } } }),
  },
  {
    name: "the provider file does not exist",
    code: "KNF3002",
    make: () =>
      Promise.resolve({ args: ["fleet/healthy", fileFlag, "/nonexistent/providers.json"] }),
  },
  {
    name: "the provider file is no JSON",
    code: "KNF3003",
    make: async ({ fleet }) => {
      const path = join(fleet.folder, "broken.json");
      await writeFile(path, "{ providers");
      return { args: ["fleet/healthy", fileFlag, path] };
    },
  },
  {
    name: "the ClusterProfile offers other providers",
    code: "KNF3004",
    says: /offers the providers "secretreader"/,
    make: (world) => withProvider(world, "others", { ...providerOf("/bin/true"), name: "other" }),
  },
  {
    name: "the ClusterProfile offers no provider",
    code: "KNF2015",
    says: /offers the providers \(none\)/,
    make: (world) => withEntries(world, "no-way-in", {}),
  },
  {
    name: "allowedServers of the provider leave the server out",
    code: "KNF3022",
    says: /allowedServers of the provider "secretreader" does not hold the server 127\.0\.0\.1:\d+/,
    make: async (world) => {
      const real = await realProvider(world.providerFile);
      return withProvider(world, "elsewhere", { ...real, allowedServers: ["*.example.com"] });
    },
  },
  {
    name: "the provider has no command",
    code: "KNF3005",
    make: (world) => withProvider(world, "no-command", providerOf("")),
  },
  {
    name: "an earlier provider matches and cannot be used",
    code: "KNF3019",
    severity: "warning",
    make: async (world) => {
      const { args } = await withEntries(world, "two-ways", { secretreader: {}, broken: {} });
      const path = join(world.fleet.folder, "two-ways.json");
      const real = await realProvider(world.providerFile);
      await writeFile(
        path,
        JSON.stringify({ providers: [{ ...providerOf(""), name: "broken" }, real] }),
      );
      return { args: [...args, fileFlag, path] };
    },
  },
];
