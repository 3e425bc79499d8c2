import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { HubConnection } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import { keyOf } from "../../../api/kubernetes.ts";
import type { Observation } from "../../../controller/observe/observation.ts";
import { observe } from "../../../controller/observe/observe.ts";
import { sweepScopeOf } from "../../../controller/uninstall/finalize-scope.ts";
import { Sweep } from "../../../controller/uninstall/finalize-sweep.ts";
import { finalize, type FinalizeDeps } from "../../../controller/uninstall/finalize.ts";
import { componentUidLabel } from "../../../installation/anchor.ts";
import { encodeInventory } from "../../../installation/inventory.ts";
import { builtInReleaseKinds, customReleaseKinds } from "../../../installation/kinds.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import type { AuditedRequest } from "../../fleet/audit-log.ts";
import { useSpokes } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { connectionTo } from "../../support/connection-to.ts";
import { silentLog } from "../../support/silent-log.ts";
import {
  connectAs,
  eventing,
  existing,
  imageDefinition,
  type Installation,
  installByHand,
  remoteTarget,
  userAgent,
} from "../hand-made-installation.ts";

const fleet = useSpokes([{ kwok: false, admissionWebhooks: true }]);
const { signal } = new AbortController();

let admin: AdminClient;
let spoke: HubConnection;

beforeAll(async () => {
  admin = fleet().spoke(0).admin;
  spoke = await connectAs(fleet().spoke(0), "controller", { clusterRoles: ["knfleet-spoke"] });
});

afterAll(async () => {
  await spoke[Symbol.asyncDispose]();
});

function install(word: string, kinds?: readonly string[]): Promise<Installation> {
  return installByHand({
    component: eventing(word),
    target: remoteTarget(spoke.client, word),
    admin,
    ...(kinds === undefined ? {} : { kinds }),
  });
}

/** A view of all kinds of an installation, as the controller has one after it installed it. */
async function viewOf({ keys, component, target }: Installation): Promise<Observation> {
  const view = observe({
    clock: systemClock,
    client: spoke.client,
    componentUid: component.metadata.uid,
    watches: connectionTo(target).watches,
    onChange: () => undefined,
    log: silentLog,
  });
  const resources = [...builtInReleaseKinds, ...customReleaseKinds];
  view.watchKinds(resources.filter(({ kind }) => keys.some((key) => key.kind === kind)));
  await view.waitForSync(signal);
  await waitFor("all to be seen", () => view.objects().size === keys.length);
  return view;
}

function finalized(
  { component, target }: Pick<Installation, "component" | "target">,
  { observation, ...deps }: Partial<FinalizeDeps> & { readonly observation?: Observation } = {},
): Promise<{ readonly removed: number }> {
  const seen = observation === undefined ? {} : { observation };
  return finalize(
    { component, target, ...seen },
    { clock: systemClock, log: silentLog, ...deps },
    signal,
  );
}

function requestsSince(since: Date): Promise<readonly AuditedRequest[]> {
  return fleet().spoke(0).auditLog.requests({ userAgent, since });
}

describe("with a view that follows the installation", () => {
  test("D-54: everything is gone and verified with one request a collection and three for the anchor, and no list", async () => {
    const installed = await install("viewed");
    await using observation = await viewOf(installed);
    const since = new Date();
    expect(await finalized(installed, { observation })).toEqual({ removed: installed.keys.length });
    const requests = await requestsSince(since);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
    const [read, mark, ...rest] = requests.map(({ verb, resource }) => `${verb} ${resource}`);
    expect([read, mark]).toEqual(["get configmaps", "patch configmaps"]);
    expect(rest.slice(0, 1)).toEqual(["deletecollection validatingwebhookconfigurations"]);
    expect(rest.slice(1, -1).every((text) => text.startsWith("deletecollection "))).toBe(true);
    expect(rest.slice(-1)).toEqual(["delete configmaps"]);
    expect(requests).toHaveLength(installed.keys.length + 3);
  });

  test("a large collection goes in parts, also objects with odd names and what nobody knew of", async () => {
    const installed = await install("large", ["ConfigMap", "ClusterRole"]);
    const named = (name: string) => ({
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name, labels: { [componentUidLabel]: installed.component.metadata.uid } },
    });
    const names = Array.from({ length: 70 }, (_, at) => `large:${at}`);
    const known = [...names, String.raw`large,a=b\c`, "large!=d"].map(named);
    const kept = "large-of-a-user";
    await admin.create({ ...named(kept), metadata: { name: kept } });
    await Promise.all([...known, named("large-unknown")].map((role) => admin.create(role)));
    const entries = [
      ...(installed.anchor.inventory?.entries ?? []),
      ...known.map((role) => ({ ...keyOf(role), hash: "" })),
    ];
    const inventory = encodeInventory({ version: "1.23.0", complete: true, entries });
    await admin.patch(installed.anchor.key, { data: { inventory } });
    const since = new Date();
    await finalized(installed);
    const requests = await fleet()
      .spoke(0)
      .auditLog.requests({ userAgent, since, verb: "deletecollection", resource: "clusterroles" });
    expect(requests).toHaveLength(3);
    const roles = await admin.list({ apiVersion: named("").apiVersion, kind: "ClusterRole" });
    const left = roles
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.startsWith("large"));
    expect(left).toEqual([kept]);
  });

  test("nothing is deleted where the view shows nothing", async () => {
    const installed = await install("half-gone", ["ConfigMap", "Secret", "ClusterRole"]);
    await using observation = await viewOf(installed);
    for (const key of installed.keys.filter(({ kind }) => kind !== "Secret")) {
      await admin.remove(key);
    }
    await waitFor("the view to show it", () => observation.objects().size === 1);
    const since = new Date();
    await finalized(installed, { observation });
    const deleted = (await requestsSince(since)).filter(({ verb }) => verb === "deletecollection");
    expect(deleted.map(({ resource }) => resource)).toEqual(["secrets"]);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test("an object that lost our label unseen goes all the same", async () => {
    const installed = await install("unlabelled", ["ConfigMap", "ClusterRole"]);
    await using observation = await viewOf(installed);
    for (const key of installed.keys) {
      await admin.patch(key, { metadata: { labels: { [componentUidLabel]: null } } });
    }
    await waitFor("the view to lose it", () => observation.objects().size === 0);
    await finalized(installed, { observation });
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test("what a view does not show yet is found before all is taken for gone", async () => {
    const installed = await install("not-yet-seen", ["ConfigMap", "ClusterRole"]);
    const scope = await sweepScopeOf(installed.anchor, installed, signal);
    const view = { objects: () => new Map<string, never>() };
    const sweep = new Sweep(spoke.client, { ...scope, view }, silentLog);
    await sweep.removeInventory(signal);
    const remnants = await sweep.findRemnants(signal);
    expect(remnants.map(({ key }) => key.kind).toSorted()).toEqual(["ClusterRole", "ConfigMap"]);
    await sweep.remove(remnants, signal);
    expect(await existing(admin, installed.keys)).toEqual([]);
  });

  test("what a view cannot tell is looked for: the finalizer that holds an object", async () => {
    const installed = await install("held-in-view", ["ConfigMap", "Secret"]);
    await using observation = await viewOf(installed);
    const [key] = installed.keys;
    if (key === undefined) throw new Error("Nothing was installed");
    await admin.patch(key, { metadata: { finalizers: ["example.com/hold"] } });
    await expect(finalized(installed, { observation, patienceMs: 2_000 })).rejects.toMatchObject({
      reason: "ClusterBusy",
      message: `Waiting for the deletion of ${key.kind} held-in-view/thing (finalizer example.com/hold)`,
    });
    expect(await existing(admin, [installed.anchor.key])).toHaveLength(1);
    await admin.patch(key, { metadata: { finalizers: null } });
    await finalized(installed);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test("a view that does not follow every kind of the inventory is not believed", async () => {
    const installed = await install("part-of-it", ["ConfigMap", "ClusterRole"]);
    const part = { ...installed, keys: installed.keys.filter(({ kind }) => kind === "ConfigMap") };
    await using observation = await viewOf(part);
    await finalized(installed, { observation });
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });
});

describe("C28: a removal that is stopped", () => {
  const kinds = ["ConfigMap", "ClusterRole", "ValidatingWebhookConfiguration"];

  test.each([true, false])(
    "before any of its requests is completed by the next one (with a view: %s)",
    async (isViewed) => {
      let stopped = 0;
      for (let at = 1; ; at += 1) {
        const { target, ...rest } = await install(`stopped-${isViewed}-${at}`, kinds);
        await using view = isViewed ? await viewOf({ ...rest, target }) : undefined;
        const stop = new AbortController();
        const request = finalize(
          {
            ...rest,
            target: { ...target, client: stoppedAt(target.client, at, stop) },
            ...(view === undefined ? {} : { observation: view }),
          },
          { clock: systemClock, log: silentLog },
          stop.signal,
        );
        const ended = await request.then(
          () => "done",
          (error: unknown) => error,
        );
        if (ended === "done") break;
        expect(ended).toBe(stop.signal.reason);
        stopped += 1;
        // A new process has no view.
        await finalized({ ...rest, target });
        expect(await existing(admin, [...rest.keys, rest.anchor.key])).toEqual([]);
      }
      expect(stopped).toBeGreaterThanOrEqual(kinds.length + 3);
    },
  );
});

describe("what happened to the cluster meanwhile", () => {
  test("an anchor that a finalizer holds is not taken for gone, whoever deleted it first", async () => {
    const installed = await install("held-root", ["ConfigMap"]);
    const { key } = installed.anchor;
    await admin.patch(key, { metadata: { finalizers: ["example.com/hold"] } });
    for (let attempt = 0; attempt < 2; attempt += 1) {
      await expect(finalized(installed, { patienceMs: 200 })).rejects.toMatchObject({
        reason: "ClusterBusy",
        message: `Waiting for the deletion of ConfigMap held-root/${key.name} (finalizer example.com/hold)`,
      });
    }
    const waiting = finalized(installed);
    await admin.patch(key, { metadata: { finalizers: null } });
    await waiting;
    expect(await existing(admin, [...installed.keys, key])).toEqual([]);
  });

  test("a namespace that is being deleted, or is gone, keeps nobody", async () => {
    const installed = await install("terminating");
    await admin.remove({ apiVersion: "v1", kind: "Namespace", name: "terminating" });
    await finalized(installed);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);

    const second = await install("terminated", ["ConfigMap", "ClusterRole", "Service"]);
    const namespace = { apiVersion: "v1", kind: "Namespace", name: "terminated" };
    await admin.remove(namespace);
    await waitFor("the namespace to be gone", async () => !(await admin.get(namespace)), {
      timeoutMs: 60_000,
    });
    await finalized(second);
    expect(await existing(admin, [...second.keys, second.anchor.key])).toEqual([]);
  });

  test("an install that never finished leaves nothing", async () => {
    const installed = await install("unfinished");
    for (const key of installed.keys) {
      if (key.kind === "ClusterRole" || key.kind === "ConfigMap") await admin.remove(key);
    }
    await finalized(installed);
    expect(await existing(admin, [...installed.keys, installed.anchor.key])).toEqual([]);
  });

  test.each([true, false])(
    "a CRD that was removed by hand keeps nobody (with a view: %s)",
    async (isViewed) => {
      const installed = await install(`no-crd-${isViewed}`);
      await using view = isViewed ? await viewOf(installed) : undefined;
      const { apiVersion, kind, metadata } = imageDefinition;
      const crd = { apiVersion, kind, name: metadata.name ?? "" };
      await admin.remove(crd);
      await waitFor("the CRD to be gone", async () => !(await admin.get(crd)));
      await finalized(installed, view === undefined ? {} : { observation: view });
      const others = installed.keys.filter(({ kind: name }) => name !== "Image");
      expect(await existing(admin, [...others, installed.anchor.key])).toEqual([]);
    },
  );
});

/** A client whose user is stopped right before its nth request. */
function stoppedAt(
  client: HubConnection["client"],
  request: number,
  stop: AbortController,
): HubConnection["client"] {
  let requests = 0;
  const counted = <T>(send: () => T): T => {
    requests += 1;
    if (requests >= request) stop.abort(new Error("stopped"));
    return send();
  };
  return {
    ...client,
    get: (...args) => counted(() => client.get(...args)),
    list: (...args) => counted(() => client.list(...args)),
    patch: (...args) => counted(() => client.patch(...args)),
    remove: (...args) => counted(() => client.remove(...args)),
    removeCollection: (...args) => counted(() => client.removeCollection(...args)),
    request: (...args) => counted(() => client.request(...args)),
  };
}
