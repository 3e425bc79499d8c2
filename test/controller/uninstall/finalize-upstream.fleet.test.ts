import { afterAll, beforeAll, expect, test } from "vitest";

import type { HubConnection } from "../../../access/hub/hub.ts";
import { systemClock } from "../../../access/time/system-clock.ts";
import type { Component } from "../../../api/component.ts";
import { keyOf, type Manifest, type ObjectKey } from "../../../api/kubernetes.ts";
import type { Target } from "../../../controller/target/target.ts";
import { finalize } from "../../../controller/uninstall/finalize.ts";
import { anchorKey } from "../../../installation/anchor-object.ts";
import type { AdminClient } from "../../fleet/admin-client.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { silentLog } from "../../support/silent-log.ts";
import { openInstaller } from "../apply/installer.ts";
import { manifestOf } from "../apply/prepared.ts";
import { config, named, setOf } from "../apply/small-set.ts";
import { lastApplied, UpstreamOperator } from "../apply/upstream-operator.ts";
import {
  connectAs,
  eventing,
  existing,
  namespaceOf,
  remoteTarget,
} from "../hand-made-installation.ts";

const fleet = useFleet({ spokes: [{ kwok: false }] });
const { signal } = new AbortController();
const rbac = "rbac.authorization.k8s.io/v1";
let spoke: HubConnection;
let hub: HubConnection;

beforeAll(async () => {
  spoke = await connectAs(fleet().spoke(0), "controller", { clusterRoles: ["knfleet-spoke"] });
  const rules = [{ apiGroups: ["*"], resources: ["*"], verbs: ["*"] }];
  hub = await connectAs(fleet().hub, "local-controller", { rules });
});

afterAll(async () => {
  await spoke[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});

/** What upstream writes once it has begun. */
const installed = { manifests: ["/var/run/ko/knative-eventing/1.23.0"] };

interface Inherited {
  readonly component: Component;
  readonly anchor: ObjectKey;
  /** Cluster-scoped, or in a namespace that others have, too. */
  readonly outside: readonly ObjectKey[];
  readonly inside: readonly ObjectKey[];
  /** Carry the label of the component, and upstream wrote none of them. */
  readonly others: readonly ObjectKey[];
}

/** Upstream's operator has installed something in a namespace, and beside it there is what somebody applied with kubectl. */
async function inherited(
  word: string,
  { admin, isLocal = false }: { readonly admin: AdminClient; readonly isLocal?: boolean },
): Promise<Inherited> {
  const component = eventing(word);
  for (const namespace of [word, `${word}-gateway`]) await admin.apply(namespaceOf(namespace));
  const outside = [
    named(manifestOf(`${rbac} ClusterRole ${word}`), { rules: [] }),
    named(manifestOf(`admissionregistration.k8s.io/v1 ValidatingWebhookConfiguration ${word}`), {
      webhooks: [refusingDeletions(word)],
    }),
    config(`${word}-gateway`, {}, "gateway"),
  ];
  const inside = [config(word, { a: "1" }), ...setOf(word).manifests];
  const { spec: _, ...local } = component;
  const owner = isLocal ? { ...local, spec: {}, ...(await stored(admin, word)) } : component;
  const rendered = { ...setOf(word), manifests: [...inside, ...outside] };
  await new UpstreamOperator(admin, owner, { isLocal }).reconcile(rendered);
  const others = [
    noted(named(manifestOf(`${rbac} ClusterRole ${word}-of-kubectl`), { rules: [] })),
    noted(config(word, {}, "of-kubectl")),
  ];
  for (const other of others) await admin.create(other);
  return {
    component: { ...owner, status: installed },
    anchor: anchorKey({ component, target: remoteTarget(spoke.client, word) }),
    outside: outside.map(keyOf),
    inside: inside.map(keyOf),
    others: others.map(keyOf),
  };
}

/** A component of the hub itself as the hub has it. */
async function stored(admin: AdminClient, word: string): Promise<Pick<Component, "metadata">> {
  const { apiVersion, kind } = eventing(word);
  const { metadata } = await admin.create({
    apiVersion,
    kind,
    metadata: { namespace: word, name: word },
  });
  return { metadata: { ...metadata, namespace: word } };
}

// Nobody answers for it: while it stands nothing of its namespace can be deleted.
function refusingDeletions(word: string): object {
  return {
    name: "refuses.example.com",
    sideEffects: "None",
    admissionReviewVersions: ["v1"],
    failurePolicy: "Fail",
    clientConfig: { service: { namespace: word, name: "main" } },
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": word } },
    rules: [
      { apiGroups: [""], apiVersions: ["v1"], operations: ["DELETE"], resources: ["configmaps"] },
    ],
  };
}

function noted(manifest: Manifest): Manifest {
  const { metadata } = manifest;
  return { ...manifest, metadata: { ...metadata, annotations: { [lastApplied]: "{}" } } };
}

function finalized(component: Component, target: Target): ReturnType<typeof finalize> {
  return finalize(
    { component, target },
    { clock: systemClock, log: silentLog, patienceMs: 60_000 },
    signal,
  );
}

test("D-01: what upstream installed goes with a component that nobody took over, in every scope, and nothing of others", async () => {
  const { admin } = fleet().spoke(0);
  const { component, anchor, outside, inside, others } = await inherited("stuck", { admin });
  const { left } = await finalized(component, remoteTarget(spoke.client, "stuck"));
  expect(left).toBeUndefined();
  expect(await existing(admin, [anchor, ...outside, ...inside])).toEqual([]);
  expect(await existing(admin, others)).toHaveLength(others.length);
});

test("an anchor of upstream's stays with all that it owns where nothing says that it installed the component", async () => {
  const { admin } = fleet().spoke(0);
  const { component, anchor, outside, inside } = await inherited("of-another-hub", { admin });
  const { status: _, ...never } = component;
  expect(await finalized(never, remoteTarget(spoke.client, "of-another-hub"))).toEqual({
    removed: 0,
    left: `ConfigMap of-another-hub/${anchor.name}`,
  });
  const all = [anchor, ...outside, ...inside];
  expect(await existing(admin, all)).toHaveLength(all.length);
  await finalized(component, remoteTarget(spoke.client, "of-another-hub"));
});

test("what belongs to no namespace stays while another anchor of the kind is on the cluster", async () => {
  const { admin } = fleet().spoke(0);
  const first = await inherited("first", { admin });
  const second = await inherited("second", { admin });
  await finalized(first.component, remoteTarget(spoke.client, "first"));
  expect(await existing(admin, [first.anchor, ...first.inside])).toEqual([]);
  const stays = [...first.outside, second.anchor, ...second.outside, ...second.inside];
  expect(await existing(admin, stays)).toHaveLength(stays.length);
  await finalized(second.component, remoteTarget(spoke.client, "second"));
  expect(await existing(admin, stays)).toEqual([]);
});

test("a component that is deleted while it is taken over leaves nothing behind", async () => {
  const { admin } = fleet().spoke(0);
  const { component, anchor, outside, inside, others } = await inherited("half", { admin });
  await using opened = await openInstaller(fleet().spoke(0), { component });
  const { installer } = opened;
  const crash = new AbortController();
  const half = installer.install({
    rendered: setOf("half", config("half", { b: "2" })),
    signal: crash.signal,
    onProgress: () => crash.abort(new Error("Killed")),
  });
  await expect(half).rejects.toThrow("Killed");
  await finalized(component, installer.target);
  expect(await existing(admin, [anchor, ...outside, ...inside])).toEqual([]);
  expect(await existing(admin, others)).toHaveLength(others.length);
});

test("D-08: on the hub itself it goes in every scope, too", async () => {
  const { admin } = fleet().hub;
  const { component, outside, inside, others } = await inherited("local", { admin, isLocal: true });
  const { profile: _, ...target } = remoteTarget(hub.client, "local");
  await finalized(component, target);
  expect(await existing(admin, [...outside, ...inside])).toEqual([]);
  expect(await existing(admin, [keyOf(component), ...others])).toHaveLength(others.length + 1);
});
