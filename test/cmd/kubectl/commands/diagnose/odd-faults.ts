import { readFile } from "node:fs/promises";
import { createServer, request, type Server } from "node:https";

import { createAuthority } from "../../../../fleet/certificates.ts";
import type { Cluster } from "../../../../fleet/fleet.ts";
import { portOf } from "../../../../fleet/ports.ts";
import { holdLease, providerOf, type World } from "./diagnose-world.ts";
import { eventing, type Fault, type Made } from "./fault.ts";
import { execConfig, fileFlag, withEntry, withScript } from "./ways-in.ts";

const monthMs = 30 * 24 * 3_600_000;

/** Odd faults and faults that come together, which nobody makes on purpose. */
export const oddFaults: readonly Fault[] = [
  {
    name: "the plugin greets before it prints the credential",
    code: "KNF3011",
    says: /begins with other text/,
    make: (world) => withScript(world, "greeting", `echo 'Welcome to ACME!'\necho '${lasting()}'`),
  },
  {
    name: "the plugin warns on standard output after the credential",
    code: "KNF3011",
    says: /ends with other text/,
    make: (world) => withScript(world, "warning", `echo '${lasting()}'\necho 'WARNING: update me'`),
  },
  {
    name: "the token of the Secret is a whole kubeconfig",
    code: "KNF3011",
    says: /a token with characters that a header cannot hold/,
    make: async (world) => {
      const kubeconfig = await readFile(world.kubeconfig, "utf8");
      return withSecret(world, "pasted", kubeconfig);
    },
  },
  {
    name: "the token of the Secret begins with Bearer",
    code: "KNF3011",
    says: /itself begins with "Bearer "/,
    make: (world) => withSecret(world, "bearer", `Bearer ${tokenOf(world)}`),
  },
  {
    name: "the kubeconfig has two contexts, and the spoke's is the current one",
    code: "KNF1004",
    make: async (world) => {
      const { adminKubeconfigPath } = world.fleet.spoke(0);
      const KUBECONFIG = `${adminKubeconfigPath}:${world.kubeconfig}`;
      return { args: ["fleet/healthy"], options: { env: { KUBECONFIG } } };
    },
  },
  {
    name: "the clock of this machine is a month ahead",
    code: "KNF1021",
    says: /is 30d ahead of the hub's/,
    make: async () => ({ args: ["fleet/healthy"], options: { laterMs: monthMs } }),
  },
  {
    name: "the path of the server is not the one that its gateway knows",
    code: "KNF4015",
    says: /\/clusters\/b\/version is answered 404/,
    make: (world) => behindGateway(world, "wrong-path", { asked: "/clusters/b" }),
  },
  {
    name: "no right CA and a controller that is gone, too",
    code: "KNF4010",
    make: async (world) => {
      const other = Buffer.from(createAuthority("other").certificatePem).toString("base64");
      const made = await withEntry(world, "two-at-once", { "certificate-authority-data": other });
      await holdLease(world.fleet, 1, { holder: "" });
      return made;
    },
  },
  {
    name: "the spoke's kube-controller-manager stands still",
    code: "KNF6010",
    says: /kube-controller-manager/,
    make: async (world) => {
      const spoke = world.fleet.spoke(0);
      const pid = await pidOf(spoke, "kube-controller-manager");
      const resume = () => Promise.resolve(process.kill(pid, "SIGCONT"));
      process.kill(pid, "SIGSTOP");
      const key = { apiVersion: "apps/v1", kind: "Deployment", namespace: "frozen", name: "thin" };
      await spoke.admin
        .patch(key, { spec: { minReadySeconds: 1 } })
        .catch(async (error: unknown) => {
          await resume();
          throw error;
        });
      return { args: eventing("frozen"), undo: resume };
    },
  },
];

/** The way to the healthy spoke through a gateway that knows it by a path. */
export async function behindGateway(
  world: World,
  name: string,
  { asked }: { readonly asked: string },
): Promise<Made> {
  const authority = createAuthority("gateway");
  const gateway = await startGateway(world.fleet.spoke(0), "/clusters/a", authority);
  const data = Buffer.from(authority.certificatePem).toString("base64");
  const server = `https://127.0.0.1:${portOf(gateway.address())}${asked}`;
  const made = await withEntry(world, name, { server, "certificate-authority-data": data });
  return {
    ...made,
    undo: async () => {
      gateway.closeAllConnections();
      gateway.close();
    },
  };
}

async function startGateway(
  spoke: Cluster,
  prefix: string,
  authority: ReturnType<typeof createAuthority>,
): Promise<Server> {
  const identity = authority.issue({
    commonName: "gateway",
    usage: "server",
    hosts: ["127.0.0.1"],
  });
  const { hostname, port } = new URL(spoke.server);
  const { certificatePem: cert, keyPem: key } = identity;
  const server = createServer({ cert, key }, (asked, answer) => {
    const { url = "", method, headers } = asked;
    if (!url.startsWith(`${prefix}/`)) {
      answer.writeHead(404, { "content-type": "text/html" }).end("<h1>no such cluster</h1>");
      return;
    }
    const path = url.slice(prefix.length);
    const onward = request({ hostname, port, path, method, headers, ca: spoke.caPem }, (said) => {
      answer.writeHead(said.statusCode ?? 502, said.headers);
      said.pipe(answer);
    });
    onward.on("error", () => answer.destroy());
    asked.pipe(onward);
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return server;
}

/** A way in by a Secret that somebody filled by hand. */
async function withSecret(world: World, name: string, token: string): Promise<Made> {
  const file = await world.providers(`${name}-provider`, providerOf("builtin:secretreader"));
  const { args } = await withEntry(world, name, execConfig({ clusterName: name }));
  const metadata = { namespace: "fleet-credentials", name };
  const secret = { apiVersion: "v1", kind: "Secret", metadata, stringData: { token } };
  await world.fleet.hub.admin.apply(secret);
  return { args: [...args, fileFlag, file] };
}

function tokenOf({ installed }: World): string {
  return installed.get("healthy")?.token ?? "";
}

function lasting(): string {
  const status = { token: "not-a-token" };
  const apiVersion = "client.authentication.k8s.io/v1";
  return JSON.stringify({ kind: "ExecCredential", apiVersion, status });
}

async function pidOf({ pids }: Cluster, program: string): Promise<number> {
  for (const pid of pids) {
    // oxlint-disable-next-line no-await-in-loop -- a handful
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8");
    if (line.split("\0")[0]?.endsWith(program) === true) return pid;
  }
  throw new Error(`${program} does not run`);
}
