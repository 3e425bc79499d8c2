import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { connectHub } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { ApiStub, StubRequest } from "../api-stub.ts";
import { authority, stub, untilTheEnd } from "../loopback.ts";

const signal = AbortSignal.timeout(600_000);
const me = authority.issue({ commonName: "me", usage: "client" });
const base64 = (text: string): string => Buffer.from(text).toString("base64");
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-hub-"));
});

afterEach(() => rm(folder, { recursive: true }));

/** Asks for the version as a kubeconfig's user and returns what the server saw. */
async function seenOf(user: object, api?: ApiStub): Promise<StubRequest | undefined> {
  const server = api ?? (await stub(() => ({}), { clientCaPem: authority.certificatePem }));
  const kubeconfig = join(folder, "kubeconfig.yaml");
  const cluster = {
    server: server.server,
    "certificate-authority-data": base64(authority.certificatePem),
  };
  await writeFile(
    kubeconfig,
    JSON.stringify({
      "current-context": "hub",
      clusters: [{ name: "hub", cluster }],
      users: [{ name: "me", user }],
      contexts: [{ name: "hub", context: { cluster: "hub", user: "me" } }],
    }),
  );
  const environment = { PATH: "/usr/bin:/bin" };
  const hub = untilTheEnd(
    await connectHub({ clock: systemClock, kubeconfig, environment, userAgent: "test" }),
  );
  await hub.client.request("GET", "/version", undefined, signal);
  return server.requests.at(-1);
}

describe("a user of the hub who impersonates", () => {
  const user = {
    token: "T1",
    as: "jane",
    "as-uid": "u1",
    "as-groups": ["a", "b,c"],
    "as-user-extra": { "example.com/Scope (x)": ["1", "2"] },
  };
  const headers = [
    ["impersonate-user", "jane"],
    ["impersonate-uid", "u1"],
    ["impersonate-group", "a"],
    ["impersonate-group", "b,c"],
    ["impersonate-extra-example.com%2Fscope%20%28x%29".toLowerCase(), "1"],
    ["impersonate-extra-example.com%2Fscope%20%28x%29".toLowerCase(), "2"],
  ];

  test.each([{ http1: true }, { http1: false }])(
    "sends a header for each group and extra value ($http1)",
    async ({ http1 }) => {
      const seen = await seenOf(user, await stub(() => ({}), { http1 }));
      expect(seen?.impersonation).toEqual(headers);
      expect(seen?.authorization).toBe("Bearer T1");
    },
  );

  test.each([{ "as-uid": "1" }, { "as-groups": ["a"] }, { "as-user-extra": { a: ["b"] } }])(
    "needs a name beside %j",
    async (alone) => {
      await expect(seenOf(alone)).rejects.toMatchObject({ reason: "ConfigInvalid" });
    },
  );
});

describe("a user of the hub", () => {
  test.each([
    {
      name: "with a token",
      user: { token: "T1" },
      seen: { authorization: "Bearer T1", client: undefined },
    },
    {
      name: "with a name and a password",
      user: { username: "me", password: "pw" },
      seen: { authorization: `Basic ${base64("me:pw")}` },
    },
    {
      name: "with a certificate",
      user: {
        "client-certificate-data": base64(me.certificatePem),
        "client-key-data": base64(me.keyPem),
      },
      seen: { authorization: undefined, client: "me" },
    },
    { name: "without anything", user: {}, seen: { authorization: undefined, client: undefined } },
  ])("$name is that one to the server", async ({ user, seen }) => {
    expect(await seenOf(user)).toMatchObject(seen);
  });

  test("with a token file is read from it", async () => {
    const tokenFile = join(folder, "token");
    await writeFile(tokenFile, "T1\n");
    expect(await seenOf({ tokenFile })).toMatchObject({ authorization: "Bearer T1" });
  });

  test("with an exec login gets its token, once more after 401", async () => {
    const command = join(folder, "login");
    const runs = join(folder, "runs");
    const output = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"T%s"}}`;
    await writeFile(
      command,
      `#!/bin/sh\necho x >> ${runs}\nprintf '${output}' "$(wc -l < ${runs} | tr -d ' ')"\n`,
    );
    await chmod(command, 0o755);
    const exec = {
      apiVersion: "client.authentication.k8s.io/v1",
      command,
      interactiveMode: "Never",
    };
    const api = await stub((times) => (times === 1 ? { status: 401 } : {}));
    expect(await seenOf({ exec }, api)).toMatchObject({ authorization: "Bearer T2" });
    expect(api.requests[0]).toMatchObject({ authorization: "Bearer T1" });
  });
});
