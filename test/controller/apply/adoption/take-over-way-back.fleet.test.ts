import { describe, expect, test } from "vitest";

import { systemClock } from "../../../../access/time/system-clock.ts";
import type { Component } from "../../../../api/component.ts";
import {
  keyOf,
  type KubeObject,
  type Manifest,
  type ObjectKey,
} from "../../../../api/kubernetes.ts";
import { isUpstreams } from "../../../../controller/apply/adoption/take-over.ts";
import type { ChangeSet } from "../../../../controller/apply/change-set.ts";
import { gateOf, Guards } from "../../../../controller/guard/guards.ts";
import type { Protection } from "../../../../controller/guard/protection.ts";
import {
  anchorNameOf,
  componentUidLabel,
  secondOwnerKey,
} from "../../../../installation/anchor.ts";
import type { Rendered } from "../../../../render/release/releases.ts";
import type { Cluster } from "../../../fleet/fleet.ts";
import { valueAt } from "../../../fleet/json-record.ts";
import { useFleet } from "../../../fleet/use-fleet.ts";
import { waitFor } from "../../../fleet/wait-for.ts";
import { documentedCommands, runAsAdmin } from "../../../support/documented-commands.ts";
import { silentLog } from "../../../support/silent-log.ts";
import { eventing, openInstaller } from "../installer.ts";
import { config, setOf, workload } from "../small-set.ts";
import { liveObjects } from "../spoke-view.ts";
import { UpstreamOperator } from "../upstream-operator.ts";

// No policies may be written on the second spoke.
const fleet = useFleet({ spokes: [{ kwok: false }, { kwok: false }] });

const deletesTwin = /^.*kubectl delete clusterroles .*\n/m;

function anchorKeyOf({ kind, metadata: { namespace, name } }: Component): ObjectKey {
  return { apiVersion: "v1", kind: "ConfigMap", namespace, name: anchorNameOf({ kind, name }) };
}

/** The commands of the page for a component in a namespace of its own. */
async function commandsFor({ metadata: { namespace } }: Component): Promise<string> {
  const blocks = await documentedCommands("docs/migrate.md", "## Back");
  expect(blocks).toHaveLength(2);
  return blocks.join("").replace("namespace=knative-eventing", `namespace=${namespace}`);
}

/** knfleet's part of the way back, as the page says it. */
async function leave(spoke: Cluster, commands: string): Promise<void> {
  await runAsAdmin(spoke, commands, { HUB_KUBECONFIG: fleet().hub.adminKubeconfigPath });
}

/** Upstream's operator begins, in the two passes that it takes until it is quiet. */
async function settle(upstream: UpstreamOperator, rendered: Rendered): Promise<void> {
  await upstream.reconcile(rendered);
  await upstream.reconcile(rendered);
  expect(await upstream.reconcile(rendered)).toBe(0);
}

describe("the way back (docs/migrate.md)", () => {
  test("upstream takes over again, changes and removes fields, and we can come once more", async () => {
    const spoke = fleet().spoke(0);
    const namespace = "back";
    const component = eventing({}, { namespace });
    const upstream = new UpstreamOperator(spoke.admin, component);
    const rendered = setOf(namespace, config(namespace, { a: "1", b: "2" }));
    await upstream.reconcile(rendered);
    const anchor = await spoke.admin.get(anchorKeyOf(component));
    {
      await using opened = await openInstaller(spoke, { component });
      await opened.installer.install({ rendered });
    }
    const ours = await spoke.admin.get(keyOf(workload(namespace)));

    await leave(spoke, await commandsFor(component));
    await settle(upstream, rendered);
    const theirs = await spoke.admin.get(keyOf(workload(namespace)));
    expect(valueAt(theirs, "spec", "template")).toEqual(valueAt(ours, "spec", "template"));
    expect((await spoke.admin.get(anchorKeyOf(component)))?.metadata.uid).toBe(
      anchor?.metadata.uid,
    );

    // It changes and removes what it wants.
    const next = setOf(namespace, config(namespace, { a: "3" }));
    await upstream.reconcile(next);
    const changed = await spoke.admin.get(keyOf(config(namespace, {})));
    expect(valueAt(changed, "data")).toEqual({ a: "3" });
    expect(changed !== undefined && isUpstreams(changed)).toBe(true);

    await using again = await openInstaller(spoke, { component });
    const changes = await again.installer.install({ rendered: setOf(namespace) });
    expect(changes).toMatchObject({ parked: [], failed: [], pruned: [{ name: "config" }] });
    const last = await spoke.admin.get(keyOf(workload(namespace)));
    expect(last?.metadata.managedFields?.map(({ manager }) => manager)).not.toContain(
      "manifestival",
    );
  });
});

/** Takes the right to policies from the identities on a spoke. */
async function forbidPolicies({ admin }: Cluster): Promise<void> {
  const key = {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRole",
    name: "knfleet-spoke",
  };
  const rules = (await admin.get(key))?.["rules"];
  if (!Array.isArray(rules)) throw new Error("The role has no rules");
  const allowed = rules.filter((rule) => !JSON.stringify(rule).includes("admissionpolic"));
  await admin.patch(key, { rules: allowed });
}

interface Guarded {
  readonly changes: ChangeSet;
  readonly protection: Protection | "off" | undefined;
}

/** What a controller with the usual protection does with the component, from its start to its end. */
async function installGuarded(
  spoke: Cluster,
  component: Component,
  rendered: Rendered,
): Promise<Guarded> {
  await using opened = await openInstaller(spoke, { component });
  const { installer } = opened;
  const end = new AbortController();
  const guards = new Guards({
    clock: systemClock,
    log: silentLog,
    hubId: installer.target.hubId,
    protection: "Auto",
    crds: false,
    onChange: () => undefined,
    onEvent: () => undefined,
  });
  const gate = gateOf(component, {
    target: installer.target,
    signal: end.signal,
    beforeFirstWrite: () => Promise.resolve(),
    guards,
  });
  try {
    const changes = await installer.install({ rendered, gate });
    return { changes, protection: guards.protectionOf(component) };
  } finally {
    end.abort();
  }
}

const bothOwners = ["ConfigMap", "ClusterRole"];

/** Kinds of the owners of each object that is there. */
async function ownersOf(rendered: Rendered): Promise<readonly (readonly string[])[]> {
  const live = await liveObjects(fleet().spoke(1), rendered);
  return live.map(({ metadata }) => metadata.ownerReferences?.map(({ kind }) => kind) ?? []);
}

function twinOf(component: Component): Promise<KubeObject | undefined> {
  return fleet().spoke(1).admin.get(secondOwnerKey(component));
}

async function uidsOf(rendered: Rendered): Promise<readonly string[]> {
  const live = await liveObjects(fleet().spoke(1), rendered);
  return live.map(({ metadata }) => metadata.uid);
}

describe("the way back where a second owner stands in for the policies", () => {
  const profile = { namespace: "fleet", name: "spoke-2" };

  /** Upstream has installed it, and we have taken it over. */
  async function adopted(namespace: string): Promise<{
    readonly component: Component;
    readonly upstream: UpstreamOperator;
    readonly rendered: Rendered;
  }> {
    const spoke = fleet().spoke(1);
    await forbidPolicies(spoke);
    const component = eventing({ clusterProfileRef: profile }, { namespace });
    const upstream = new UpstreamOperator(spoke.admin, component);
    const rendered = setOf(namespace, config(namespace, { a: "1" }));
    await upstream.reconcile(rendered);
    expect(await installGuarded(spoke, component, rendered)).toMatchObject({
      changes: { parked: [], failed: [] },
      protection: { reason: "PolicyForbidden" },
    });
    expect(await ownersOf(rendered)).toEqual(rendered.manifests.map(() => bothOwners));
    return { component, upstream, rendered };
  }

  test("takes it away and nothing along, upstream owns everything alone, and we can come once more", async () => {
    const spoke = fleet().spoke(1);
    const { component, upstream, rendered } = await adopted("back-from-twin");
    const before = await uidsOf(rendered);
    await leave(spoke, await commandsFor(component));
    expect(await twinOf(component)).toBeUndefined();
    const alone = rendered.manifests.map(() => ["ConfigMap"]);
    await expect.poll(() => ownersOf(rendered), { timeout: 60_000 }).toEqual(alone);
    await settle(upstream, rendered);
    expect(await ownersOf(rendered)).toEqual(alone);

    const { changes } = await installGuarded(spoke, component, rendered);
    expect(changes).toMatchObject({ parked: [], failed: [] });
    expect(await ownersOf(rendered)).toEqual(rendered.manifests.map(() => bothOwners));
    expect(await uidsOf(rendered)).toEqual(before);

    // And back again, for good: upstream uninstalls by deleting its anchor.
    await leave(spoke, await commandsFor(component));
    await settle(upstream, rendered);
    await spoke.admin.remove(anchorKeyOf(component));
    const isGone = async (): Promise<boolean> => (await uidsOf(rendered)).length === 0;
    await waitFor("what the anchor owned to be collected", isGone, { timeoutMs: 60_000 });
  });

  test("does not end in a conflict where the commands left it there without its label", async () => {
    const spoke = fleet().spoke(1);
    const { component, upstream, rendered } = await adopted("back-with-twin");
    const secondOwner = await twinOf(component);
    const commands = await commandsFor(component);
    expect(commands).toMatch(deletesTwin);
    await leave(spoke, commands.replace(deletesTwin, ""));
    expect((await twinOf(component))?.metadata.labels).not.toHaveProperty(componentUidLabel);
    await settle(upstream, rendered);

    const { changes } = await installGuarded(spoke, component, rendered);
    expect(changes).toMatchObject({ parked: [], failed: [] });
    const { uid, labels } = (await twinOf(component))?.metadata ?? {};
    expect(uid).toBe(secondOwner?.metadata.uid);
    expect(labels).toMatchObject({ [componentUidLabel]: component.metadata.uid });
    expect(await ownersOf(rendered)).toEqual(rendered.manifests.map(() => bothOwners));
  });

  test("leaves alone what only has its name", async () => {
    const spoke = fleet().spoke(1);
    const component = eventing({ clusterProfileRef: profile }, { namespace: "namesake" });
    const namesake: Manifest = {
      apiVersion: "rbac.authorization.k8s.io/v1",
      kind: "ClusterRole",
      metadata: { name: secondOwnerKey(component).name },
    };
    await forbidPolicies(spoke);
    const { metadata } = await spoke.admin.create(namesake);
    const rendered = setOf("namesake");
    await expect(installGuarded(spoke, component, rendered)).rejects.toMatchObject({
      reason: "AnchorConflict",
    });
    expect((await twinOf(component))?.metadata.resourceVersion).toBe(metadata.resourceVersion);
  });
});
