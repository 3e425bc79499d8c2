import { X509Certificate } from "node:crypto";
import { mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { Agent, get } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect } from "node:tls";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createAuthority } from "../fleet/certificates.ts";
import { exchange } from "../fleet/https-exchange.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { WebhookProcess } from "../support/webhook-process.ts";
import { reviewOf } from "../webhook/serving.ts";
import { absentHubKubeconfig } from "./absent-hub.ts";

const authority = createAuthority("test");

let folder: string;
let kubeconfig: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-webhook-"));
  kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, absentHubKubeconfig("canary-token"), { mode: 0o600 });
});

afterAll(async () => rm(folder, { recursive: true }));

/** A mounted Secret as the kubelet makes it, and the way to exchange it at once. */
async function mounted() {
  const mount = await mkdtemp(join(folder, "mount-"));
  let version = 0;
  const write = async (cert: string, key: string) => {
    const data = await mkdtemp(join(mount, "..v-"));
    await writeFile(join(data, "tls.crt"), cert);
    await writeFile(join(data, "tls.key"), key);
    const link = join(mount, `..link-${(version += 1)}`);
    await symlink(data, link);
    await rename(link, join(mount, "..data"));
  };
  const issue = async () => {
    const pair = authority.issue({ commonName: "webhook", usage: "server", hosts: ["127.0.0.1"] });
    await write(pair.certificatePem, pair.keyPem);
    return new X509Certificate(pair.certificatePem).fingerprint256;
  };
  const first = await issue();
  for (const name of ["tls.crt", "tls.key"]) {
    await symlink(join("..data", name), join(mount, name));
  }
  const flags = ["--certificates=files", `--certificate-dir=${mount}`];
  return { flags, first, issue, write };
}

function shownBy(port: number): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const socket = connect({ port, host: "127.0.0.1", ca: authority.certificatePem }, () => {
    resolve(socket.getPeerX509Certificate()?.fingerprint256 ?? "");
    socket.destroy();
  });
  socket.on("error", reject);
  return promise;
}

describe("a webhook that cannot start ends with 1 and one line on standard error", () => {
  const cases = [
    { name: "a flag that it does not know", flags: ["--bogus"], sentence: /unknown option/ },
    {
      name: "a release directory that is not there",
      flags: ["--release-dir=/no/such-releases"],
      sentence: /\/no\/such-releases/,
    },
    {
      name: "a kubeconfig that is not there",
      flags: ["--kubeconfig=/no/such"],
      sentence: /\/no\/such/,
    },
    {
      name: "an address that is not here",
      flags: ["--address=203.0.113.1:9443"],
      sentence: /--address/,
    },
    {
      name: "verification switched off",
      environment: { NODE_TLS_REJECT_UNAUTHORIZED: "0" },
      sentence: /NODE_TLS_REJECT_UNAUTHORIZED/,
    },
  ];
  test.each(cases)("with $name", async ({ flags = [], environment = {}, sentence }) => {
    await using webhook = new WebhookProcess({ kubeconfig, flags, environment });
    expect(await webhook.exited).toEqual({ code: 1, signal: null });
    expect(webhook.stderr).toMatch(sentence);
    expect(webhook.stderr).toMatch(/^Error: [^\n]+\n$/);
  });
});

test("a webhook without a certificate is healthy, not ready, and stops at once", async () => {
  const flags = ["--drain-period=1h"];
  await using webhook = new WebhookProcess({ kubeconfig, flags, clockFactor: 10 });
  const url = await webhook.healthUrl();
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  const answer = await fetch(`${url}/readyz`);
  expect(answer.status).toBe(503);
  expect(await answer.text()).toContain("waiting for the serving certificate");
  await webhook.logged("Cannot watch Secret knfleet-webhook-certificates");
  expect(await webhook.stop()).toEqual({ code: 0, signal: null });
  expect(webhook.stdout + webhook.stderr).not.toContain("canary-token");
});

describe("a webhook with a mounted certificate", () => {
  test("is ready while the hub does not answer, and refuses what it cannot decide", async () => {
    const { flags } = await mounted();
    await using webhook = new WebhookProcess({
      kubeconfig,
      flags: [
        ...flags,
        "--controller-user=system:serviceaccount:knfleet-system:knfleet-controller",
      ],
    });
    await webhook.ready();
    const agent = new Agent({ ca: authority.certificatePem });
    const answer = await exchange({
      url: `https://127.0.0.1:${await webhook.port()}/validate/anchor?timeout=2s`,
      method: "POST",
      agent,
      headers: { "content-type": "application/json" },
      body: JSON.stringify(
        reviewOf({
          kind: { group: "", version: "v1", kind: "ConfigMap" },
          resource: { group: "", version: "v1", resource: "configmaps" },
          operation: "DELETE",
          object: null,
          oldObject: { kind: "ConfigMap", metadata: { name: "a", namespace: "b" } },
        }),
      ),
    });
    expect(answer.json).toMatchObject({ response: { allowed: false, status: { code: 500 } } });
  });

  test("serves the next one within seconds, and keeps the last while the files are wrong", async () => {
    const mount = await mounted();
    await using webhook = new WebhookProcess({ kubeconfig, flags: mount.flags, clockFactor: 10 });
    await webhook.ready();
    const port = await webhook.port();
    expect(await shownBy(port)).toBe(mount.first);
    await mount.write("garbage", "garbage");
    await webhook.logged("The folder holds no usable certificate");
    expect(await shownBy(port)).toBe(mount.first);
    const second = await mount.issue();
    await waitFor("the second certificate", async () => (await shownBy(port)) === second);
    const ends = /knfleet_webhook_certificate_expiry_seconds (\d+)/;
    const [, seconds] =
      ends.exec(await (await fetch(`${await webhook.healthUrl()}/metrics`)).text()) ?? [];
    expect(Number(seconds) * 1_000).toBeGreaterThan(Date.now());
  });

  test("speaks TLS 1.2 when it is asked to", async () => {
    const { flags } = await mounted();
    const options = { kubeconfig, flags: [...flags, "--tls-min-version=1.2"] };
    await using webhook = new WebhookProcess(options);
    await webhook.ready();
    const { promise, resolve, reject } = Promise.withResolvers<string | null>();
    const port = await webhook.port();
    const socket = connect(
      { port, host: "127.0.0.1", ca: authority.certificatePem, maxVersion: "TLSv1.2" },
      () => resolve(socket.getProtocol()),
    );
    socket.on("error", reject);
    expect(await promise).toBe("TLSv1.2");
    socket.destroy();
  });

  test("drains on SIGTERM: not ready, and answers with Connection: close", async () => {
    const { flags } = await mounted();
    const options = { kubeconfig, flags: [...flags, "--drain-period=1h"] };
    await using webhook = new WebhookProcess(options);
    await webhook.ready();
    const port = await webhook.port();
    const agent = new Agent({ ca: authority.certificatePem, keepAlive: true });
    const ask = () => {
      const { promise, resolve, reject } = Promise.withResolvers<object>();
      get(`https://127.0.0.1:${port}/healthz`, { agent }, (response) => {
        const { statusCode: status, headers } = response.resume();
        resolve({ status, connection: headers.connection });
      }).on("error", reject);
      return promise;
    };
    expect(await ask()).toEqual({ status: 200, connection: "keep-alive" });
    webhook.signal("SIGTERM");
    await webhook.logged("Draining");
    expect((await fetch(`${await webhook.healthUrl()}/readyz`)).status).toBe(503);
    expect(await ask()).toEqual({ status: 200, connection: "close" });
    agent.destroy();
  });

  test("ends with 0 after it has drained", async () => {
    const { flags } = await mounted();
    const options = { kubeconfig, flags: [...flags, "--drain-period=100ms"] };
    await using webhook = new WebhookProcess(options);
    await webhook.ready();
    webhook.signal("SIGTERM");
    expect(await webhook.exited).toEqual({ code: 0, signal: null });
  });

  test("ends at once on a second signal", async () => {
    const { flags } = await mounted();
    const options = { kubeconfig, flags: [...flags, "--drain-period=1h"] };
    await using webhook = new WebhookProcess(options);
    await webhook.ready();
    webhook.signal("SIGTERM");
    await webhook.logged("Draining");
    webhook.signal("SIGTERM");
    expect(await webhook.exited).toEqual({ code: 1, signal: null });
  });
});
