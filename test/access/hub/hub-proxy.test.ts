import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { freePort } from "../../fleet/ports.ts";
import { authority, stub, untilTheEnd } from "../loopback.ts";
import { startProxyStub } from "../proxy-stub.ts";

// A workstation whose hub only a proxy knows: the certificate of the stub is for this name.
const host = "kube.internal";
const signal = AbortSignal.timeout(600_000);

interface Workstation {
  readonly environment: Readonly<Record<string, string>>;
  readonly port: number;
  readonly cluster?: Readonly<Record<string, string>>;
}

async function ask({ environment, port, cluster = {} }: Workstation): Promise<unknown> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-hub-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const kubeconfig = join(folder, "kubeconfig.yaml");
  const data = Buffer.from(authority.certificatePem).toString("base64");
  const server = `https://${host}:${port}`;
  const one = { server, "certificate-authority-data": data, ...cluster };
  await writeFile(
    kubeconfig,
    JSON.stringify({
      "current-context": "hub",
      clusters: [{ name: "hub", cluster: one }],
      users: [{ name: "me", user: { token: "T1" } }],
      contexts: [{ name: "hub", context: { cluster: "hub", user: "me" } }],
    }),
  );
  const options = { clock: systemClock, kubeconfig, environment, userAgent: "test" };
  const hub = untilTheEnd(await connectHub(options));
  return hub.client.request("GET", "/version", undefined, signal);
}

test("the hub is reached through HTTPS_PROXY, which resolves its name", async () => {
  const { port } = await stub();
  const proxy = untilTheEnd(await startProxyStub(200, undefined, [host]));
  await ask({ port, environment: { HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` } });
  expect(proxy.asked.map(({ target }) => target)).toEqual([`${host}:${port}`]);
});

test("proxy-url of the kubeconfig wins, also over NO_PROXY", async () => {
  const { port } = await stub();
  const proxy = untilTheEnd(await startProxyStub(200, undefined, [host]));
  const environment = { HTTPS_PROXY: "http://127.0.0.1:1", NO_PROXY: "*" };
  const cluster = { "proxy-url": `http://127.0.0.1:${proxy.port}` };
  await ask({ port, environment, cluster });
  expect(proxy.asked).toHaveLength(1);
});

test("a server that NO_PROXY names is not asked of the proxy", async () => {
  const proxy = untilTheEnd(await startProxyStub(200, undefined, [host]));
  const HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`;
  const work = ask({ port: 6443, environment: { HTTPS_PROXY, NO_PROXY: ".internal" } });
  await expect(work).rejects.toThrow(`https://${host}:6443 `);
  expect(proxy.asked).toEqual([]);
});

test("a proxy that is down, or refuses, is named with its variable and without its login", async () => {
  const port = await freePort();
  const down = ask({
    port: 6443,
    environment: { HTTPS_PROXY: `http://u:canary@127.0.0.1:${port}` },
  });
  await expect(down).rejects.toThrow(
    `The proxy 127.0.0.1:${port} (HTTPS_PROXY) of ${host}:6443 refused the connection`,
  );
  const proxy = untilTheEnd(await startProxyStub(403));
  const refused = ask({ port: 6443, environment: { https_proxy: `127.0.0.1:${proxy.port}` } });
  await expect(refused).rejects.toThrow(
    `The proxy 127.0.0.1:${proxy.port} (https_proxy) of ${host}:6443 answered 403 to CONNECT`,
  );
});

test("a server behind the proxy that is not trusted is told with the proxy, which may be what answers", async () => {
  const { port } = await stub();
  const proxy = untilTheEnd(await startProxyStub(200, undefined, ["other.internal"]));
  const HTTPS_PROXY = `http://127.0.0.1:${proxy.port}`;
  const cluster = { server: `https://other.internal:${port}` };
  await expect(ask({ port, environment: { HTTPS_PROXY }, cluster })).rejects.toThrow(
    `https://other.internal:${port} through the proxy 127.0.0.1:${proxy.port} (HTTPS_PROXY) shows a certificate`,
  );
});

test("a variable that is no proxy is told before anything is sent", async () => {
  const work = ask({ port: 6443, environment: { HTTPS_PROXY: "ftp://proxy.test" } });
  await expect(work).rejects.toThrow("HTTPS_PROXY has to begin with http://");
});

test("a pod reaches its own cluster without a proxy", async () => {
  const { port } = await stub();
  const proxy = untilTheEnd(await startProxyStub(200, undefined, [host]));
  const environment = {
    KUBERNETES_SERVICE_HOST: host,
    KUBERNETES_SERVICE_PORT: String(port),
    HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
  };
  const overrides = { clusterFields: { "certificate-authority": "" }, userFields: { token: "T1" } };
  const options = { clock: systemClock, environment, overrides, userAgent: "test" };
  const { endpoint } = untilTheEnd(await connectHub(options));
  expect(endpoint).toMatchObject({ server: `https://${host}:${port}` });
  expect(endpoint).not.toHaveProperty("proxy");
});
