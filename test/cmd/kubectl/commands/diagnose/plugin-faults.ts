import { chmod, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { providerOf } from "./diagnose-world.ts";
import type { Fault } from "./fault.ts";
import { execConfig, withEntry, withProvider, withReal, withScript } from "./ways-in.ts";

export const pluginFaults: readonly Fault[] = [
  {
    name: "the plugin is missing",
    code: "KNF3006",
    make: (world) => withProvider(world, "no-plugin", providerOf("/nonexistent/plugin")),
  },
  {
    name: "the plugin is not executable",
    code: "KNF3007",
    make: async (world) => {
      const path = await world.script("not-executable", "true");
      await chmod(path, 0o644);
      return withProvider(world, "not-executable", providerOf(path));
    },
  },
  {
    name: "the interpreter of the plugin is missing",
    code: "KNF3009",
    says: /interpreter .* is not/,
    advises: /Use a plugin that is one static program/,
    make: async (world) => {
      const path = await world.script("no-interpreter", "true");
      await writeFile(path, "#!/no/such/python3\n");
      return withProvider(world, "no-interpreter", providerOf(path));
    },
  },
  {
    name: "the plugin is below no plugin root",
    code: "KNF3008",
    make: () => Promise.resolve({ args: ["fleet/healthy", "--plugin-root", "/usr/lib"] }),
  },
  {
    name: "everybody may write to the plugin",
    code: "KNF3008",
    make: async (world) => {
      const path = await world.script("writable", "true");
      await chmod(path, 0o777);
      return withProvider(world, "writable", providerOf(path));
    },
  },
  {
    name: "kuberc denies all plugins (T-85)",
    code: "KNF3008",
    says: /not allowed: policy set to "DenyAll"/,
    make: async ({ fleet }) => {
      const path = join(fleet.folder, "kuberc");
      await writeFile(
        path,
        "apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\ncredentialPluginPolicy: DenyAll\n",
      );
      return { args: ["fleet/healthy"], options: { env: { KUBERC: path } } };
    },
  },
  {
    name: "the plugin ends with an error",
    code: "KNF3009",
    says: /exit code 3/,
    make: (world) => withScript(world, "fails", "echo no luck >&2; exit 3"),
  },
  {
    name: "the plugin hangs, as it would for ever with the upstream operator (D8)",
    code: "KNF3010",
    make: async (world) => {
      const { args } = await withScript(world, "hangs", "exec sleep 600");
      return { args: [...args, "--exec-timeout", "2s"] };
    },
  },
  {
    name: "the plugin prints rubbish",
    code: "KNF3011",
    make: (world) => withScript(world, "rubbish", "echo '{{{'"),
  },
  {
    name: "the plugin prints nothing",
    code: "KNF3011",
    make: (world) => withScript(world, "nothing", "true"),
  },
  {
    name: "the plugin gives a token that has expired",
    code: "KNF3014",
    make: (world) => withScript(world, "expired", `echo '${expired()}'`),
  },
  {
    name: "the Secret does not exist",
    code: "KNF3015",
    says: /Secret fleet-credentials\/nowhere does not exist/,
    make: (world) => withEntry(world, "no-secret", execConfig({ clusterName: "nowhere" })),
  },
  {
    name: "the Secret has another key",
    code: "KNF3016",
    make: async (world) => {
      const metadata = { namespace: "fleet-credentials", name: "other-key" };
      await world.fleet.hub.admin.apply({
        apiVersion: "v1",
        kind: "Secret",
        metadata,
        stringData: { value: "x" },
      });
      return withEntry(world, "wrong-key", execConfig({ clusterName: "other-key" }));
    },
  },
  {
    name: "the plugin's identity may not read the Secret",
    code: "KNF3017",
    make: async (world) => {
      const { hub } = world.fleet;
      const { token } = await hub.serviceAccountToken({ namespace: "people", name: "powerless" });
      const kubeconfig = await hub.writeKubeconfig("powerless.kubeconfig", {
        identity: { token },
        namespace: "fleet-credentials",
      });
      return withReal(world, "powerless", { env: [{ name: "KUBECONFIG", value: kubeconfig }] });
    },
  },
  {
    name: "the plugin looks in another namespace than the Secret's",
    code: "KNF3018",
    says: /Secret elsewhere\/healthy does not exist, but there is fleet-credentials\/healthy/,
    make: async (world) => {
      const { hub } = world.fleet;
      const kubeconfig = await hub.writeKubeconfig("elsewhere.kubeconfig", {
        identity: hub.adminIdentity,
        namespace: "elsewhere",
      });
      return withReal(world, "elsewhere", { env: [{ name: "KUBECONFIG", value: kubeconfig }] });
    },
  },
  {
    name: "a built-in reader looks where no Secret is",
    code: "KNF3018",
    make: async (world) => {
      const { args } = await withProvider(world, "built-in", providerOf("builtin:secretreader"));
      return { args: [...args, "--plugin-namespace", "default"] };
    },
  },
];

function expired(): string {
  const claims = Buffer.from(JSON.stringify({ exp: 1_000_000_000 })).toString("base64url");
  const status = { token: `eyJhbGciOiJub25lIn0.${claims}.x` };
  return JSON.stringify({
    apiVersion: "client.authentication.k8s.io/v1",
    kind: "ExecCredential",
    status,
  });
}
