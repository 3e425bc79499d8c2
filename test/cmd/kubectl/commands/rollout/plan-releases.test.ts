import { tmpdir } from "node:os";

import { expect, test } from "vitest";

import { clusterProfileApiVersion } from "../../../../../api/cluster-profile.ts";
import { operatorApiVersion } from "../../../../../api/component.ts";
import { contentText, setAnnotations, setLabels } from "../../../../../api/fleet-set.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import { openReleases } from "../../../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../../../cmd/release-files.ts";
import { contentOf } from "../../../../../render/content.ts";
import { recordedBinding } from "../../controller-binding.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";
import { sampleSet } from "./sample-set.ts";

test("rollout plan without release files says that it could not read them", async () => {
  await using hub = await startStubHub([sampleSet()]);
  const line = ["rollout", "plan", "kss/prod", "-n", "platform", "--release-dir", tmpdir()];
  const { stderr, exitCode } = await runText(line, { env: hub.env });
  expect(exitCode).toBe(3);
  expect(stderr).toContain("warning: could not be read: the release files: Release directory");
});

test("rollout plan calls it an update when the same spec renders other objects, by the stamp of the cluster", async () => {
  const releases = await openReleases(sampleDirOf());
  const spec = { version: releases.versionsOf("KnativeServing")[0] ?? "" };
  const now = contentText(await contentOf({ kind: "KnativeServing", spec }, releases, {}));
  const stamps = { "eu-1": now, "eu-2": now.replace(/-.*/, "-0123456789") };
  const profiles = Object.keys(stamps).map((name) => ({
    apiVersion: clusterProfileApiVersion,
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1" },
    status: { conditions: [{ type: "ControlPlaneHealthy", status: "True" }] },
  }));
  const components = Object.entries(stamps).map(([cluster, content]) => ({
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: {
      namespace: "platform",
      name: `prod-fleet-${cluster}`,
      uid: cluster,
      resourceVersion: "1",
      labels: { [setLabels.set]: "prod", [setLabels.kind]: "KnativeServingSet" },
      annotations: {
        [setAnnotations.setUid]: "set-uid",
        [setAnnotations.component]: `prod-fleet-${cluster}`,
        [setAnnotations.content]: content,
      },
    },
    spec: { ...spec, clusterProfileRef: { namespace: "fleet", name: cluster } },
  }));
  await using hub = await startStubHub([
    sampleSet({ spec: { template: { spec } } }),
    ...profiles,
    ...components,
  ]);
  const line = ["rollout", "plan", "kss/prod", "-n", "platform", "--release-dir", sampleDirOf()];
  const { stdout } = await runText([...line, "-o", "json", "--sort-by", "{.component}"], {
    env: hub.env,
  });
  expect(JSON.parse(stdout).items).toMatchObject([
    { component: "prod-fleet-eu-1", action: "relabel", changesSpec: false, message: null },
    {
      component: "prod-fleet-eu-2",
      action: "update",
      changesSpec: false,
      message: "The release files or the rendering have changed",
    },
  ]);
});

/** A Deployment of the controller with another lowest version of Kubernetes. */
function controllerNamed(name: string, least: string): KubeObject {
  const env = [{ name: "KUBERNETES_MIN_VERSION", value: least }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "knfleet-system", name, uid: name, resourceVersion: "1" },
    spec: { template: { spec: { containers: [{ name: "controller", env }] } } },
  };
}

test("rollout plan names both of two Deployments that may be the controller, and believes neither", async () => {
  const controllers = [controllerNamed("one", "v1.30.0"), controllerNamed("two", "v1.31.0")];
  const binding = recordedBinding("knfleet", "knfleet-system");
  await using hub = await startStubHub([sampleSet(), binding, ...controllers]);
  const line = ["rollout", "plan", "kss/prod", "-n", "platform", "--release-dir", sampleDirOf()];
  const { stderr, exitCode } = await runText(line, { env: hub.env });
  expect(stderr).toContain(
    "warning: could not be read: the environment of the controller: 2 Deployments of the hub may be the controller of knfleet: Deployment knfleet-system/one, Deployment knfleet-system/two",
  );
  expect(exitCode).toBe(3);
});
