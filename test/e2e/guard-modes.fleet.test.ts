import { expect, test } from "vitest";

import type { ObjectKey } from "../../api/kubernetes.ts";
import { anchorNameOf, guardLabels } from "../../installation/anchor.ts";
import { conditionOf } from "../fleet/json-record.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { startControllerProcess } from "../support/controller-process.ts";
import { condition, create, gone, installed, ready, remove } from "./installation.ts";
import { releaseDir } from "./release-dir.ts";
import { guardRequestsTo } from "./requests.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: 1 }, ["--anchor-protection=None"]);
const kind = "KnativeEventing";
const namespace = "knative-eventing";
const patience = 120_000;
const policies = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
} as const;
const anchor: ObjectKey = {
  apiVersion: "v1",
  kind: "ConfigMap",
  namespace,
  name: anchorNameOf({ kind, name: namespace }),
};
const role: ObjectKey = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  name: "knativeeventing-knative-eventing-knative-eventing-root-owner",
};
const definition: ObjectKey = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "brokers.eventing.knative.dev",
};

/** Ends the controller that runs and starts one with other flags. */
async function restart(...flags: readonly string[]): Promise<void> {
  const { fleet } = scene();
  await scene().controller[Symbol.asyncDispose]();
  const [kubeconfig, providerFile, releases] = await Promise.all([
    fleet.controllerKubeconfig(),
    fleet.providerFile(),
    releaseDir(),
  ]);
  const options = { kubeconfig, providerFile, releaseDir: releases, flags };
  scene().controller = await startControllerProcess(options);
}

const admin = () => scene().fleet.spoke(0).admin;

test("with None an installation has no guard, no condition and no second owner", async () => {
  const { hub, fleet, profiles } = scene();
  await create(hub, { kind, on: profiles[0] });
  const component = await ready(hub, kind, patience);
  expect(conditionOf(component, "AnchorProtected")).toBeUndefined();
  expect(await guardRequestsTo(fleet.spoke(0))).toEqual([]);
  expect(await admin().list(policies)).toEqual([]);
  expect(await admin().get(role)).toBeUndefined();
}, 300_000);

test(
  "with TwinOwner an installation that is there gets a second owner, and both go with it",
  { timeout: 300_000 },
  async () => {
    const { hub, fleet } = scene();
    await restart("--anchor-protection=TwinOwner");
    const wanted = { status: "False", reason: "TwinOwner" };
    const { metadata } = await condition(hub, kind, ["AnchorProtected", wanted, patience]);
    await waitFor(
      "every object to have both owners",
      async () => {
        const owners = [await admin().get(anchor), await admin().get(role)].map(
          (owner) => owner?.metadata.uid ?? "none",
        );
        const all = await installed(fleet.spoke(0), metadata.uid);
        const inside = all
          .filter((object) => object.metadata.namespace === namespace)
          .map((object) => object.metadata.ownerReferences ?? [])
          // What a Deployment made has that for an owner.
          .filter(([first]) => first?.kind === "ConfigMap" || first?.kind === "ClusterRole");
        const isOwned = (own: readonly { readonly uid: string }[]): boolean =>
          owners.every((owner) => own.some(({ uid }) => uid === owner));
        return inside.length > 30 && inside.every(isOwned);
      },
      { timeoutMs: patience },
    );
    await remove(hub, kind);
    await gone(hub, kind, patience);
    expect(await admin().get(role)).toBeUndefined();
    expect(await installed(fleet.spoke(0), metadata.uid)).toEqual([]);
    expect(await guardRequestsTo(fleet.spoke(0))).toEqual([]);
  },
);

test(
  "with --anchor-protection-crds nobody deletes a CRD without a confirmation, until the last component goes",
  { timeout: 300_000 },
  async () => {
    const { hub, profiles } = scene();
    await restart("--anchor-protection-crds");
    await create(hub, { kind, on: profiles[0] });
    await condition(hub, kind, ["AnchorProtected", { reason: "Enforced" }, patience]);
    await ready(hub, kind, patience);
    const system = { apiVersion: "v1", kind: "Namespace", name: "kube-system" };
    const hubId = (await hub.admin.get(system))?.metadata.uid;
    const labelled = await admin().list({
      apiVersion: definition.apiVersion,
      kind: definition.kind,
      labelSelector: `${guardLabels.crd}=${hubId}`,
    });
    expect(labelled.map(({ metadata }) => metadata.name)).toContain(definition.name);
    const refused = /part of a Knative installation managed from hub/;
    await waitFor(
      "the guard of CRDs to be enforced",
      async () => {
        const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition.name}`;
        const asked = admin().request("DELETE", `${path}?dryRun=All`);
        return asked.then(
          () => false,
          (error: unknown) => error instanceof Error && refused.test(error.message),
        );
      },
      { timeoutMs: patience },
    );
    const unlabelled = { metadata: { labels: { [guardLabels.crd]: null } } };
    await expect(admin().patch(definition, unlabelled)).rejects.toThrow(/may be removed only by/);

    await remove(hub, kind);
    await gone(hub, kind, patience);
    expect(await admin().list(policies)).toEqual([]);
    expect(await admin().get(definition)).toBeDefined();
    // The API server goes on with a policy that is gone for about a second.
    const isDeleted = (): Promise<boolean> =>
      admin()
        .remove(definition)
        .catch(() => false);
    await waitFor("the CRD to be anybody's to delete", isDeleted, { timeoutMs: patience });
  },
);
