import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Silence } from "../../../access/http/liveness.ts";
import type { KeepBudget } from "../../../access/kube/keep-budget.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { type AccessOutcome, resolveAccess } from "../../../access/spokes/resolved-access.ts";
import { SpokeKeeper } from "../../../access/spokes/spoke-keeper.ts";
import type { Clock } from "../../../access/time/clock.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { FleetError } from "../../../api/errors.ts";
import { knownResource } from "../../../api/resources.ts";
import type { StubAnswer, StubRequest } from "../api-stub.ts";
import { entryOf, fileOf, profileOf, rawProvider } from "../builders.ts";
import { authority, stub, untilTheEnd } from "../loopback.ts";

/** Of a plugin. */
export const output = `{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"T1"}}`;
/** The access to a server, with a plugin that prints a token. */
export function accessTo(server: string): AccessOutcome {
  const ca = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server, "certificate-authority-data": ca };
  const profile = profileOf({ accessProviders: [entryOf("sr", cluster)] });
  const exec = { command: "/bin/sh", args: ["-c", `echo '${output}'`] };
  const access = resolveAccess(profile, fileOf(rawProvider("sr", {}, exec)), Date.now());
  return { kind: "access", access };
}

export const patience = { timeout: 60_000, interval: 20 };
const soon = { everyMs: 20, limit: 3 };

async function quickPlugin(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-quiet-"));
  untilTheEnd({ [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) });
  const plugin = join(folder, "plugin");
  await writeFile(plugin, `#!/bin/sh\necho '${output}'\n`);
  await chmod(plugin, 0o755);
  return plugin;
}

/** A connection to a stub that has a watch open for whoever asks; `/readyz` says what `ready` does. */
export async function connected(
  ready: () => StubAnswer,
  {
    prefix = "",
    http1 = false,
    plugin,
    quiet = soon,
    kept,
    clock = systemClock,
    all,
  }: {
    readonly prefix?: string;
    readonly http1?: boolean;
    /** Default: one that answers at once. */
    readonly plugin?: string;
    readonly quiet?: Silence;
    /** Limits what watches keep. */
    readonly kept?: KeepBudget;
    readonly clock?: Clock;
    /** In place of every answer; undefined: as it is. */
    readonly all?: (request: StubRequest) => StubAnswer | undefined;
  } = {},
): Promise<{
  readonly keeper: SpokeKeeper;
  readonly client: KubeClient;
  readonly asked: () => number;
  readonly versions: () => number;
}> {
  const api = await stub(undefined, {
    http1,
    answer: (request) => {
      const { path } = request;
      const instead = all?.(request);
      if (instead !== undefined) return instead;
      if (path === `${prefix}/readyz`) return ready();
      return path.includes("watch=true") ? { body: "", open: true } : { body: "{}" };
    },
  });
  const certificate = Buffer.from(authority.certificatePem).toString("base64");
  const cluster = { server: `${api.server}${prefix}`, "certificate-authority-data": certificate };
  const type = "ControlPlaneHealthy";
  const profile = profileOf({
    conditions: [{ type, status: "True" }],
    accessProviders: [entryOf("sr", cluster)],
  });
  const command = plugin ?? (await quickPlugin());
  const access = resolveAccess(
    profile,
    fileOf(rawProvider("sr", {}, { command })),
    Number(clock.date()),
  );
  const deps = {
    clock,
    environment: { PATH: "/usr/bin:/bin" },
    userAgent: "test",
    quiet,
    ...(kept === undefined ? {} : { kept }),
  };
  const keeper = new SpokeKeeper({ kind: "access", access }, deps, () => undefined);
  const over = new FleetError("ClusterProviderClosed", "The test is over");
  untilTheEnd({ [Symbol.asyncDispose]: () => keeper.close(over) });
  const { client } = await keeper.acquire(AbortSignal.timeout(60_000));
  const times = (question: string): number =>
    api.requests.filter(({ path }) => path === `${prefix}${question}`).length;
  return {
    keeper,
    client,
    asked: () => times("/readyz"),
    versions: () => times("/version"),
  };
}

// Not every server has it.
export const perhaps = knownResource("gateway.networking.k8s.io/v1", "GatewayClass");

/** Follows a collection until the watch ends, and says how it did. */
export async function watched(
  client: KubeClient,
  resource = knownResource("v1", "ConfigMap"),
): Promise<unknown> {
  const ref = { resource };
  const { signal } = new AbortController();
  try {
    for await (const _event of client.watch(ref, { resourceVersion: "1" }, signal));
    return undefined;
  } catch (error) {
    return error;
  }
}
