import { chmod, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test, vi } from "vitest";

import type { WatchEvent } from "../../../access/kube/kube-client.ts";
import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { entryOf, profileOf, rawProvider } from "../builders.ts";
import { authority, stub } from "../loopback.ts";
import { execName } from "../rows.ts";

const signal = AbortSignal.timeout(600_000);

// The token is kept in HOME under the name of the program alone.
const script = `#!/bin/sh
kept="$HOME/.caching-plugin"
[ -f "$kept" ] || echo "$KUBERNETES_EXEC_INFO" | sed 's/.*"clusterName":"\\([^"]*\\)".*/token-of-\\1/' >"$kept"
echo '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"'"$(cat "$kept")"'"}}'
`;

test("two spokes of one plugin that keeps its token get their own, and nothing stays at the end", async () => {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-spokes-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  vi.stubEnv("TMPDIR", folder);
  onTestFinished(() => void vi.unstubAllEnvs());
  const command = join(folder, "caching-plugin");
  await writeFile(command, script);
  await chmod(command, 0o755);
  const providerFile = join(folder, "providers.json");
  const provider = rawProvider("sr", {}, { command, args: [] });
  await writeFile(providerFile, JSON.stringify({ providers: [provider] }));
  const servers = await Promise.all([stub(), stub()]);
  const data = Buffer.from(authority.certificatePem).toString("base64");
  const profiles = servers.map(({ server }, at) => {
    const extensions = [{ name: execName, extension: { clusterName: `spoke-${at}` } }];
    const cluster = { server, "certificate-authority-data": data, extensions };
    const profile = profileOf({ accessProviders: [entryOf("sr", cluster)] });
    return { ...profile, metadata: { ...profile.metadata, name: `spoke-${at}`, uid: `uid-${at}` } };
  });
  const hub = {
    get: () => Promise.resolve(undefined),
    list: () => Promise.resolve({ items: [], resourceVersion: "1" }),
    async *watch(): AsyncGenerator<WatchEvent> {
      for (const object of profiles) yield { type: "ADDED", object };
      yield { type: "BOOKMARK", resourceVersion: "9", initialEventsEnd: true };
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  };
  const environment = { PATH: "/usr/bin:/bin", HOME: folder };
  const options = { clock: systemClock, hub, providerFile, environment, userAgent: "test" };
  await using spokes = await openSpokes(options, signal);
  for (const { metadata } of profiles) {
    const { namespace, name } = metadata;
    await spokes.acquire({ namespace, name }, signal);
  }
  expect(servers.map(({ requests }) => requests.at(-1)?.authorization)).toEqual([
    "Bearer token-of-spoke-0",
    "Bearer token-of-spoke-1",
  ]);
  await spokes[Symbol.asyncDispose]();
  expect((await readdir(folder)).filter((name) => name.startsWith("knfleet-homes-"))).toEqual([]);
});
