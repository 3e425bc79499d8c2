import { once } from "node:events";
import { createServer } from "node:net";

import { startApiStub, type StubAnswer } from "../../../../access/api-stub.ts";
import { startProxyStub } from "../../../../access/proxy-stub.ts";
import { createAuthority } from "../../../../fleet/certificates.ts";
import { portOf } from "../../../../fleet/ports.ts";
import { droppingAddress } from "../../../silent-networks.ts";
import { providerOf, writeComponent, type World } from "./diagnose-world.ts";
import type { Fault, Made } from "./fault.ts";
import { fileFlag, withEntry } from "./ways-in.ts";

const short = ["--spoke-timeout", "3s"];
const authority = createAuthority("stub");
const caData = Buffer.from(authority.certificatePem).toString("base64");

/** A stub in place of a spoke; with `expired` its certificate is. */
async function stubbed(
  world: World,
  name: string,
  { expired = false, answer = {} }: { expired?: boolean; answer?: StubAnswer } = {},
): Promise<Made> {
  const identity = authority.issue({
    commonName: "stub",
    usage: "server",
    hosts: ["127.0.0.1"],
    expired,
  });
  const stub = await startApiStub({ identity, answer: () => answer });
  await world.profile(name, {
    via: stub.server,
    cluster: { server: stub.server, "certificate-authority-data": caData },
  });
  return { args: [`fleet/${name}`], undo: async () => stub[Symbol.asyncDispose]() };
}

async function via(world: World, name: string, server: string): Promise<Made> {
  await world.profile(name, { via: server });
  return { args: [`fleet/${name}`] };
}

export const networkFaults: readonly Fault[] = [
  {
    name: "the host name does not resolve",
    code: "KNF4001",
    make: (world) => via(world, "no-name", "https://no-such-host.invalid:6443"),
  },
  {
    name: "the connection is refused",
    code: "KNF4002",
    make: (world) => via(world, "refused", "https://127.0.0.1:9"),
  },
  {
    name: "packets to the server are dropped",
    code: "KNF4003",
    make: async (world) => {
      const place = await droppingAddress();
      const { args } = await via(world, "dropped", `https://127.0.0.1:${place.port}`);
      return { args: [...args, ...short], undo: async () => place[Symbol.asyncDispose]() };
    },
  },
  {
    name: "the server is a metadata service",
    code: "KNF4005",
    make: (world) => via(world, "metadata", "https://169.254.169.254"),
  },
  {
    name: "the proxy refuses connections",
    code: "KNF4006",
    make: async (world) => {
      const { server, caPem } = world.fleet.spoke(0);
      const data = Buffer.from(caPem).toString("base64");
      await world.profile("no-proxy", {
        cluster: { server, "certificate-authority-data": data, "proxy-url": "http://127.0.0.1:9" },
      });
      return { args: ["fleet/no-proxy"] };
    },
  },
  {
    name: "the proxy wants a login",
    code: "KNF4007",
    says: /answered 407 to CONNECT/,
    make: async (world) => {
      const proxy = await startProxyStub(407);
      const { server, caPem } = world.fleet.spoke(0);
      const data = Buffer.from(caPem).toString("base64");
      await world.profile("login", {
        cluster: {
          server,
          "certificate-authority-data": data,
          "proxy-url": `http://127.0.0.1:${proxy.port}`,
        },
      });
      return { args: ["fleet/login"], undo: async () => proxy[Symbol.asyncDispose]() };
    },
  },
  {
    name: "what listens there speaks no TLS",
    code: "KNF4008",
    make: async (world) => {
      const server = createServer((socket) =>
        socket.on("error", () => undefined).end("SSH-2.0-x\r\n"),
      );
      await once(server.listen(0, "127.0.0.1"), "listening");
      const made = await via(world, "no-tls", `https://127.0.0.1:${portOf(server.address())}`);
      return { ...made, undo: () => Promise.resolve(server.close()) };
    },
  },
  {
    name: "a black hole takes the connection and says nothing",
    code: "KNF4009",
    make: async (world) => {
      const { proxy } = world.fleet.spoke(0);
      await proxy.setMode("blackhole");
      return { args: ["fleet/healthy", ...short], undo: () => proxy.setMode("open") };
    },
  },
  {
    name: "the spoke hangs after its certificate",
    code: "KNF4009",
    make: async (world) => {
      const made = await stubbed(world, "hangs", { answer: { hang: true } });
      return { ...made, args: [...made.args, ...short] };
    },
  },
  {
    name: "the CA is another one",
    code: "KNF4010",
    make: async (world) => {
      const { proxy } = world.fleet.spoke(0);
      await world.profile("other-ca", {
        cluster: { server: proxy.url, "certificate-authority-data": caData },
      });
      return { args: ["fleet/other-ca"] };
    },
  },
  {
    name: "the server certificate has expired",
    code: "KNF4011",
    make: (world) => stubbed(world, "old-certificate", { expired: true }),
  },
  {
    name: "the server certificate is for other names",
    code: "KNF4012",
    says: /is not for wrong.example.test, but for /,
    make: async (world) => {
      const { proxy, caPem } = world.fleet.spoke(0);
      const cluster = {
        server: proxy.url,
        "certificate-authority-data": Buffer.from(caPem).toString("base64"),
        "tls-server-name": "wrong.example.test",
      };
      await world.profile("wrong-name", { cluster });
      return { args: ["fleet/wrong-name"] };
    },
  },
  {
    name: "the server is not verified",
    code: "KNF4014",
    severity: "warning",
    make: async (world) => {
      const { args } = await withEntry(world, "unverified", {
        "insecure-skip-tls-verify": true,
        "certificate-authority-data": undefined,
      });
      const real = providerOf("builtin:secretreader", { allowInsecure: true });
      const path = await world.providers("unverified", real);
      return { args: [...args, "--plugin-namespace", "fleet-credentials", fileFlag, path] };
    },
  },
  {
    name: "a login page answers",
    code: "KNF4015",
    make: (world) =>
      stubbed(world, "login-page", {
        answer: { body: "<html>Log in</html>", headers: { "content-type": "text/html" } },
      }),
  },
  {
    name: "the API server answers with an error",
    code: "KNF4016",
    make: (world) => stubbed(world, "broken-server", { answer: { status: 500, body: "no" } }),
  },
  {
    name: "the token is of another cluster",
    code: "KNF5001",
    make: async (world) => {
      const { secret } = await world.profile("wrong-token");
      await world.fleet.hub.admin.apply({
        apiVersion: "v1",
        kind: "Secret",
        metadata: { ...secret },
        stringData: { token: "of-no-cluster" },
      });
      return { args: ["fleet/wrong-token"] };
    },
  },
  {
    name: "the ServiceAccount of the token is gone",
    code: "KNF5001",
    make: async (world) => {
      const identity = { namespace: "knfleet", name: "revoked", clusterRoles: ["knfleet-spoke"] };
      const profile = await world.profile("revoked", { identity });
      await profile.revoke();
      return { args: ["fleet/revoked"] };
    },
  },
  {
    name: "the identity has no rights at all",
    code: "KNF5002",
    says: /Missing is the right to get and list and watch and create and patch namespaces/,
    make: async (world) => {
      await world.profile("powerless", { identity: { namespace: "knfleet", name: "powerless" } });
      await writeComponent(world.fleet, "powerless", {
        clusterProfileRef: { namespace: "fleet", name: "powerless" },
      });
      return { args: ["ke/powerless", "-n", "powerless"] };
    },
  },
  {
    name: "the identity lacks one right",
    code: "KNF5002",
    says: /Missing is the right to escalate clusterroles.rbac.authorization.k8s.io/,
    make: async (world) => {
      const rules = [
        {
          apiGroups: ["*"],
          resources: ["*"],
          verbs: [
            "get",
            "list",
            "watch",
            "create",
            "update",
            "patch",
            "delete",
            "deletecollection",
            "bind",
          ],
        },
      ];
      await world.profile("lacking", {
        identity: { namespace: "knfleet", name: "lacking", rules },
      });
      await writeComponent(world.fleet, "lacking", {
        clusterProfileRef: { namespace: "fleet", name: "lacking" },
      });
      return { args: ["ke/lacking", "-n", "lacking"] };
    },
  },
];
