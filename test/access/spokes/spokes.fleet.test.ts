import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { connectHub, type HubConnection } from "../../../access/hub/hub.ts";
import { Reflector } from "../../../access/kube/reflector.ts";
import { openSpokes } from "../../../access/spokes/open-spokes.ts";
import type { SpokeConnection, Spokes } from "../../../access/spokes/spokes.ts";
import { delay } from "../../../access/time/clock.ts";
import type { ClusterProfileRef } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import { knownResource } from "../../../api/resources.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { QuickClock } from "../../support/quick-clock.ts";
import { rethrow } from "../../support/rethrow.ts";

const fleet = useFleet({
  spokes: [
    { name: "spoke-1", kwok: false },
    { name: "spoke-2", kwok: false },
  ],
});
const userAgent = "knfleet-access-test/0";
const configMap = knownResource("v1", "ConfigMap");
const patience = { timeout: 60_000, interval: 50 };

// A spoke is lost, asked and tried again in a fifth of the time.
let clock: QuickClock;
let hub: HubConnection;
let spokes: Spokes;
let changed: string[];

beforeAll(async () => {
  clock = new QuickClock(5);
  hub = await connectHub({
    clock,
    kubeconfig: await fleet().controllerKubeconfig(),
    environment: process.env,
    userAgent,
  });
  spokes = await opened(await fleet().providerFile());
  changed = [];
  spokes.onChange(({ namespace, name }) => changed.push(`${namespace}/${name}`));
}, 600_000);

afterAll(async () => {
  await spokes[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  await clock[Symbol.asyncDispose]();
});

function opened(providerFile?: string): Promise<Spokes> {
  return openSpokes(
    {
      clock,
      hub: hub.client,
      environment: process.env,
      userAgent,
      ...(providerFile === undefined ? {} : { providerFile }),
    },
    soon(),
  );
}

function soon(ms = 20_000): AbortSignal {
  return AbortSignal.timeout(ms);
}

async function reasonOf(work: Promise<unknown>): Promise<string> {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error === undefined) return "nothing";
  if (!(error instanceof FleetError)) throw new Error("No FleetError", { cause: error });
  return error.code === undefined ? error.reason : `${error.reason} ${error.code}`;
}

/** The profile and its status are written one after the other, so the first answers may be of the state in between. */
function connectionTo(ref: ClusterProfileRef, from: Spokes = spokes): Promise<SpokeConnection> {
  return vi.waitFor(() => from.acquire(ref, soon()), patience);
}

function refusalOf(ref: ClusterProfileRef, from: Spokes = spokes): Promise<string> {
  return reasonOf(from.acquire(ref, soon()));
}

function reviewSelf({ client }: SpokeConnection): Promise<unknown> {
  const path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const body = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  return client.request("POST", path, body, soon());
}

describe("a way to a spoke", () => {
  test.each(["secretreader", "kubeconfig-secretreader"] as const)(
    "leads through the plugin %s and speaks as a ServiceAccount",
    async (plugin) => {
      const ref = await fleet().addProfile(fleet().spoke(0), { plugin, name: `by-${plugin}` });
      const connection = await connectionTo(ref);
      expect(connection.provider).toBe(plugin);
      expect(await reviewSelf(connection)).toMatchObject({
        status: { userInfo: { username: "system:serviceaccount:knfleet:knfleet-hub" } },
      });
      // The documented role and no more.
      const ask = (path: string) => connection.client.request("GET", path, undefined, soon());
      await ask("/api/v1/namespaces");
      await ask("/apis/apps/v1/deployments");
      await expect(ask("/api/v1/nodes")).rejects.toMatchObject({ status: 403 });
    },
  );

  test("is refused without a provider file", async () => {
    await using none = await opened();
    const ref = { namespace: "fleet", name: "anything" };
    expect(await refusalOf(ref, none)).toBe("AccessProviderNotConfigured");
  });

  test("fails for a wrong CA, and says so", async () => {
    const ref = await fleet().addProfile(fleet().spoke(0), {
      plugin: "secretreader",
      name: "wrong-ca",
      cluster: {
        "certificate-authority-data": Buffer.from(fleet().hub.caPem).toString("base64"),
      },
    });
    await expect
      .poll(() => refusalOf(ref), patience)
      .toBe("RemoteClientCreationFailed TLSUntrusted");
  });

  test("fails without the plugin's Secret and works once it is there", async () => {
    const profile = await fleet().addProfile(fleet().spoke(0), {
      plugin: "secretreader",
      name: "late-secret",
    });
    const secret = { apiVersion: "v1", kind: "Secret", ...profile.secret };
    await fleet().hub.admin.remove(secret);
    await expect.poll(() => refusalOf(profile), patience).toBe("AccessProviderFailed PluginFailed");
    await profile.renew();
    await vi.waitFor(() => expect(spokes.state(profile)?.kind).toBe("connected"), patience);
  });
});

describe("a ClusterProfile", () => {
  test("that is created later is told of, then given a connection", async () => {
    const ref = { namespace: "fleet", name: "later" };
    expect(await refusalOf(ref)).toBe("ClusterProfileNotFound");
    await fleet().addProfile(fleet().spoke(0), { plugin: "secretreader", name: "later" });
    await vi.waitFor(() => expect(changed).toContain("fleet/later"), patience);
    expect((await connectionTo(ref)).provider).toBe("secretreader");
  });

  test("that turns unhealthy gives no connection, keeps the one that is there, and comes back", async () => {
    const profile = await fleet().addProfile(fleet().spoke(0), {
      plugin: "secretreader",
      name: "moody",
    });
    const connection = await connectionTo(profile);
    await profile.update({ healthy: false });
    await expect.poll(() => refusalOf(profile), patience).toBe("ClusterProfileNotReady");
    expect(connection.signal.aborted).toBe(false);
    await profile.update({ healthy: true });
    await vi.waitFor(() => expect(spokes.state(profile)?.kind).toBe("connected"), patience);
    expect(await spokes.acquire(profile, soon())).toBe(connection);
  });

  test("that gets a new endpoint gets a new connection, and the old one ends", async () => {
    const profile = await fleet().addProfile(fleet().spoke(0), {
      plugin: "secretreader",
      name: "mover",
    });
    const before = await connectionTo(profile);
    await profile.update({ via: "direct" });
    await vi.waitFor(() => expect(before.signal.aborted).toBe(true), patience);
    const after = await spokes.acquire(profile, soon());
    expect(after.fingerprint).not.toBe(before.fingerprint);
    expect(after.client.server).toBe(fleet().spoke(0).server);
    expect(await reasonOf(reviewSelf(before))).toBe("RemoteClusterStale");
  });

  test("that is deleted ends the connection", async () => {
    const profile = await fleet().addProfile(fleet().spoke(0), {
      plugin: "secretreader",
      name: "leaver",
    });
    const connection = await connectionTo(profile);
    await profile.remove();
    await vi.waitFor(() => expect(connection.signal.aborted).toBe(true), patience);
    expect(await refusalOf(profile)).toBe("ClusterProfileNotFound");
  });
});

test("a changed provider file is used at once, an invalid one is not", async () => {
  const good = await fleet().providerFile();
  const path = join(fleet().folder, "changing-providers.json");
  const text = await readFile(good, "utf8");
  await writeFile(path, text.replace('"name": "secretreader"', '"name": "other"'));
  await using fresh = await opened(path);
  const told: string[] = [];
  fresh.onChange(({ name }) => told.push(name));
  const ref = await fleet().addProfile(fleet().spoke(0), {
    plugin: "secretreader",
    name: "by-file",
  });
  await vi.waitFor(() => expect(told).toContain("by-file"), patience);
  await expect
    .poll(() => refusalOf(ref, fresh), patience)
    .toBe("MulticlusterDisabled NoMatchingProvider");
  await writeFile(path, text);
  await vi.waitFor(() => expect(fresh.state(ref)?.kind).toBe("connected"), patience);
  const connection = await fresh.acquire(ref, soon());
  await writeFile(path, '{"providers": [');
  await expect(fresh.acquire(ref, soon())).resolves.toBe(connection);
});

describe("a spoke", () => {
  test("that is idle gets nothing but the watch that was opened", async () => {
    const spoke = fleet().spoke(1);
    const agent = "knfleet-idle-test/0";
    await using quiet = await openSpokes(
      {
        clock,
        hub: hub.client,
        providerFile: await fleet().providerFile(),
        environment: process.env,
        userAgent: agent,
      },
      soon(),
    );
    const ref = await fleet().addProfile(spoke, { plugin: "secretreader", name: "idle" });
    const { client, signal } = await connectionTo(ref, quiet);
    const resource = { resource: configMap, namespace: "kube-system" };
    using reflector = new Reflector({ clock, client, ref: resource }, ignore, signal);
    await reflector.synced;
    const since = new Date();
    await delay(clock, 20_000, signal);
    const asked = await spoke.auditLog.requests({ userAgent: agent, since });
    // It is quiet for longer than a server may be without being asked how it is.
    expect(asked.filter(({ uri }) => uri !== "/readyz")).toEqual([]);
    expect(asked.length).toBeLessThanOrEqual(3);
    expect(quiet.state(ref)?.kind).toBe("connected");
  });

  test("that is away at first is connected when it comes, and holds nobody up", async () => {
    const spoke = fleet().spoke(1);
    await spoke.proxy.setMode("refuse");
    const ref = await fleet().addProfile(spoke, { plugin: "secretreader", name: "absent" });
    await expect
      .poll(() => refusalOf(ref), patience)
      .toBe("RemoteClientCreationFailed Unreachable");
    expect(await refusalOf(ref)).toBe("RemoteClientCreationFailed Unreachable");
    changed.length = 0;
    await spoke.proxy.setMode("open");
    await vi.waitFor(() => expect(spokes.state(ref)?.kind).toBe("connected"), patience);
    expect(changed).toContain("fleet/absent");
  });

  test("whose credential is revoked is reported, and works with a new one", async () => {
    const spoke = fleet().spoke(1);
    const profile = await fleet().addProfile(spoke, {
      plugin: "secretreader",
      name: "revoked",
      identity: { namespace: "knfleet", name: "short-lived", clusterRoles: ["knfleet-spoke"] },
    });
    const connection = await connectionTo(profile);
    await profile.revoke();
    await vi.waitFor(
      async () => {
        expect(await reasonOf(reviewSelf(connection))).toBe(
          "AccessProviderFailed CredentialRejected",
        );
      },
      { timeout: 60_000, interval: 500 },
    );
    await vi.waitFor(() => expect(spokes.state(profile)?.kind).toBe("lost"), patience);
    await profile.renew();
    await vi.waitFor(() => expect(spokes.state(profile)?.kind).toBe("connected"), {
      timeout: 60_000,
      interval: 100,
    });
    expect(await reviewSelf(connection)).toMatchObject({
      status: { userInfo: { username: "system:serviceaccount:knfleet:short-lived" } },
    });
  });
});

const ignore = { onChange: (): void => undefined, onDelete: (): void => undefined, onBug: rethrow };
