import { describe, expect, test } from "vitest";

import type { Component } from "../../../../api/component.ts";
import { keyOf, type KubeObject, type Manifest } from "../../../../api/kubernetes.ts";
import { isUpstreams } from "../../../../controller/apply/adoption/take-over.ts";
import { readAnchor } from "../../../../controller/apply/anchor/anchor.ts";
import { componentUidLabel } from "../../../../installation/anchor.ts";
import type { Rendered } from "../../../../render/release/releases.ts";
import type { Cluster } from "../../../fleet/fleet.ts";
import { valueAt } from "../../../fleet/json-record.ts";
import { useSpokes } from "../../../fleet/use-fleet.ts";
import { waitFor } from "../../../fleet/wait-for.ts";
import { differencesOf, dumpOfComponent } from "../../../support/spoke-dump.ts";
import { eventing, openInstaller, serving } from "../installer.ts";
import { liveObjects, outlives, writtenTo } from "../spoke-view.ts";
import { lastApplied, UpstreamOperator } from "../upstream-operator.ts";

const version = "1.23.1";
const kourier = { version, ingress: { kourier: { enabled: true } } };

const fleet = useSpokes([{ kwok: false }, { kwok: false }]);

/** What a rollout would change. */
interface Rollout {
  readonly name: string;
  readonly generation: number | undefined;
  readonly revision: string | undefined;
  readonly template: unknown;
}

async function rolloutsOf(spoke: Cluster, rendered: Rendered): Promise<readonly Rollout[]> {
  const objects = await liveObjects(spoke, rendered);
  return objects
    .filter(({ kind }) => kind === "Deployment")
    .map((object) => ({
      name: object.metadata.name,
      generation: object.metadata.generation,
      revision: revisionOf(object),
      template: valueAt(object, "spec", "template"),
    }));
}

/** What rollouts there are once the Deployments' controller has caught up: it restores what upstream's update takes away. */
async function settledRollouts(spoke: Cluster, rendered: Rendered): Promise<readonly Rollout[]> {
  await waitFor("all Deployments to be rolled out", async () => {
    const deployments = (await liveObjects(spoke, rendered)).filter(
      ({ kind }) => kind === "Deployment",
    );
    return (
      deployments.length > 0 &&
      deployments.every(
        (object) =>
          revisionOf(object) === "1" &&
          valueAt(object, "status", "observedGeneration") === object.metadata.generation,
      )
    );
  });
  return rolloutsOf(spoke, rendered);
}

function revisionOf({ metadata }: KubeObject): string | undefined {
  return metadata.annotations?.["deployment.kubernetes.io/revision"];
}

/** Upstream installs the component, in the two passes that it takes until it is quiet, and Kubernetes begins the rollouts. */
async function installedByUpstream(
  spoke: Cluster,
  component: Component,
  rendered: Rendered,
): Promise<UpstreamOperator> {
  const upstream = new UpstreamOperator(spoke.admin, component);
  const theirs = { ...rendered, manifests: rendered.manifests.map(asUpstreamOrders) };
  await upstream.reconcile(theirs);
  await settledRollouts(spoke, rendered);
  await upstream.reconcile(theirs);
  return upstream;
}

/** What upstream makes of the PingSource adapter in its second pass: the variables that it keeps come first. Spec: knative-operator.md 3.20. */
function asUpstreamOrders(manifest: Manifest): Manifest {
  if (manifest.metadata.name !== "pingsource-mt-adapter" || manifest.kind !== "Deployment") {
    return manifest;
  }
  const changed = JSON.parse(JSON.stringify(manifest));
  const [container] = changed.spec.template.spec.containers;
  const others = container.env.filter((variable: { name: string }) => !isKept(variable));
  container.env = [...container.env.filter(isKept), ...others];
  expect(container.env).not.toEqual(valueAt(manifest, ...containerOf, "env"));
  return changed;
}

function isKept({ name }: { readonly name: string }): boolean {
  return /^(?:K_(?:METRICS|LOGGING|LEADER_ELECTION|TRACING)_CONFIG|K_NO_SHUTDOWN_AFTER|K_SINK_TIMEOUT|(?:SYSTEM_)?NAMESPACE)$/.test(
    name,
  );
}

const containerOf = ["spec", "template", "spec", "containers", 0] as const;

function hasNote({ metadata }: KubeObject): boolean {
  return Object.hasOwn(metadata.annotations ?? {}, lastApplied);
}

/** Equal when nobody wrote any of the objects; to an autoscaler its controller writes at any time what it sees. */
function versionsOf(objects: readonly KubeObject[]) {
  return objects.map(({ kind, metadata, spec }) => {
    const isJudged = kind === "HorizontalPodAutoscaler";
    return [kind, metadata.name, isJudged ? spec : metadata.resourceVersion];
  });
}

describe.each([
  { name: "Eventing", component: eventing({ version }, { namespace: "eventing" }) },
  { name: "Serving with Kourier", component: serving(kourier, { namespace: "serving" }) },
])("$name that the upstream operator installed", ({ component }) => {
  test("is taken over with its anchor, and no Deployment has another generation or is rolled out", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    await installedByUpstream(spoke, component, rendered);
    const before = await settledRollouts(spoke, rendered);
    const anchor = await spoke.admin.get({
      apiVersion: "v1",
      kind: "ConfigMap",
      namespace: component.metadata.namespace,
      name: `${component.kind}-${component.metadata.name}-root-owner`.toLowerCase(),
    });

    const counts: number[] = [];
    const onAdopted = (count: number): number => counts.push(count);
    const changes = await installer.install({ onAdopted });
    expect(changes).toMatchObject({ parked: [], failed: [], pruned: [] });
    expect(await settledRollouts(spoke, rendered)).toEqual(before);
    await installer.install({ onAdopted });
    expect(counts).toEqual([changes.applied.length]);

    const root = await readAnchor(component, installer.target, AbortSignal.timeout(60_000));
    expect(root).toMatchObject({ uid: anchor?.metadata.uid, isMarked: true });
    expect(root?.inventory).toMatchObject({ version, complete: true });
    expect(root?.inventory).not.toHaveProperty("adopting");
    const objects = await liveObjects(spoke, rendered);
    const adopted = objects.filter(({ kind }) => kind !== "Namespace");
    expect(adopted).toHaveLength(changes.applied.length);
    expect(adopted.filter((object) => isUpstreams(object)).map(keyOf)).toEqual([]);
    expect(adopted.filter(hasNote).map(({ kind }) => kind)).toEqual(before.map(() => "Deployment"));
    const labelled = adopted.filter(
      ({ metadata }) => metadata.labels?.[componentUidLabel] === component.metadata.uid,
    );
    expect(labelled).toHaveLength(adopted.filter((object) => !outlives(object)).length);
  });

  test("is sent again by an audit, which repairs nothing and gives no Deployment another generation", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    await installer.install();
    const before = await liveObjects(spoke, rendered);
    installer.audit();
    const changes = await installer.install();
    expect(changes).toMatchObject({ repaired: [], parked: [], failed: [] });
    expect(changes.applied.length).toBeGreaterThan(50);
    expect(versionsOf(await liveObjects(spoke, rendered))).toEqual(versionsOf(before));
  });

  test("needs no write afterwards, also after a restart of the controller", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component });
    const since = new Date();
    expect((await opened.installer.install()).applied).toEqual([]);
    expect(await writtenTo(spoke, since)).toEqual([]);
  });

  test("is in the end what a fresh install is", async () => {
    const [adopted, fresh] = [fleet().spoke(0), fleet().spoke(1)];
    const { uid } = component.metadata;
    await using opened = await openInstaller(fresh, { component });
    await opened.installer.install();
    const differences = differencesOf(
      await dumpOfComponent(fresh, uid),
      await dumpOfComponent(adopted, uid),
    );
    // Notes on Deployments go with the next change, so as not to raise the generation now, and variables stay in their order. Rules of webhooks are their pods'.
    const expected =
      /Deployment.* › metadata › annotations › (?:manifestival|kubectl.kubernetes.io\/last-applied)|WebhookConfiguration.* › rules|pingsource-mt-adapter › .* › env › /;
    expect(differences.filter((line) => !expected.test(line))).toEqual([]);
  });

  test("loses what upstream wrote and we do not send: a key, a variable, and the notes of a Deployment", async () => {
    const spoke = fleet().spoke(0);
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    const deployment = rendered.manifests.find(
      ({ kind, metadata }) => kind === "Deployment" && /controller/.test(metadata.name ?? ""),
    );
    const config = rendered.manifests.find(
      ({ kind, metadata }) => kind === "ConfigMap" && metadata.name === "config-observability",
    );
    if (deployment === undefined || config === undefined) throw new Error("Nothing to change");
    const env = valueAt(deployment, ...containerOf, "env");
    const [gone, ...left] = Array.isArray(env) ? env : [];
    const smaller = JSON.parse(JSON.stringify(deployment));
    smaller.spec.template.spec.containers[0].env = left;
    const { data: _, ...bare } = config;
    const manifests = rendered.manifests.map((manifest) => {
      if (manifest === deployment) return smaller;
      return manifest === config ? { ...bare, data: { only: "this" } } : manifest;
    });
    const changes = await installer.install({ rendered: { ...rendered, manifests, hash: "less" } });
    expect(changes).toMatchObject({ failed: [], parked: [] });
    expect(changes.applied).toHaveLength(2);
    const after = await spoke.admin.get(keyOf(deployment));
    expect(valueAt(after, ...containerOf, "env")).not.toContainEqual(gone);
    expect(valueAt(after, ...containerOf, "env")).toHaveLength(left.length);
    expect(after === undefined || hasNote(after)).toBe(false);
    expect(valueAt(await spoke.admin.get(keyOf(config)), "data")).toEqual({ only: "this" });
    await installer.install({ rendered });
  });
});
