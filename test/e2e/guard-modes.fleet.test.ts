import { expect, test } from "vitest";

import type { ObjectKey } from "../../api/kubernetes.ts";
import { guardLabels } from "../../installation/anchor.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { condition, create, gone, ready, remove } from "./installation.ts";
import { useScene } from "./scene.ts";

const scene = useScene({ spokes: 1 }, { flags: ["--anchor-protection-crds"] });
const kind = "KnativeEventing";
const patience = 120_000;
const policies = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
} as const;
const definition: ObjectKey = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "brokers.eventing.knative.dev",
};

const admin = () => scene().fleet.spoke(0).admin;

test(
  "with --anchor-protection-crds nobody deletes a CRD without a confirmation, until the last component goes",
  { timeout: 300_000 },
  async () => {
    const { hub, profiles } = scene();
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
