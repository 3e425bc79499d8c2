import { describe, expect, test } from "vitest";

import type { Component } from "../../../../../api/component.ts";
import type { KubeObject } from "../../../../../api/kubernetes.ts";
import {
  readKnownReleases,
  knownVersions,
  type LiveVersion,
  nextVersion,
  skewOf,
} from "../../../../../cmd/kubectl/commands/version/skew.ts";
import { tagOf } from "../../../../../cmd/kubectl/spokes/workload-fact.ts";
import { recordedBinding } from "../../controller-binding.ts";
import { component, deployment } from "../../fleet-facts.ts";
import { rowsOf } from "../../run-knfleet.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";

describe("the version of an image", () => {
  test.each([
    ["example.com:5000/a/activator:v1.23.0", "1.23.0"],
    ["example.com:5000/a/activator", null],
    ["activator:1.2@sha256:abc", "1.2"],
    ["example.com/activator@sha256:abc", null],
    ["", null],
  ])("%s is %s", (image, version) => expect(tagOf(image)).toBe(version));
});

describe("the next version", () => {
  const known = ["1.23.0", "1.22.1", "1.22.0", "1.21.3"];

  test.each([
    ["1.21.0", "1.22.1"],
    ["1.22.0", "1.23.0"],
    ["1.22.1", "1.23.0"],
    ["1.23.0", null],
    ["1.19.0", null],
    ["0.26.0", null],
    [null, null],
  ])("after %s is %s", (installed, next) => {
    expect(nextVersion("KnativeServing", installed, known)).toBe(next);
  });

  test("is one of those that the lock file has", async () => {
    const { KnativeServing, KnativeEventing } = await readKnownReleases();
    expect(KnativeServing).toContain("1.23.0");
    expect(nextVersion("KnativeEventing", "1.21.0", KnativeEventing)).toMatch(/^1\.22\./);
    expect(knownVersions({ files: [] })).toEqual({ KnativeServing: [], KnativeEventing: [] });
  });
});

function of(wanted: string | undefined, installed: string): Component {
  return {
    ...component(wanted === undefined ? {} : { wanted }),
    status: { version: installed },
  };
}

function live(...versions: readonly (string | null)[]): readonly LiveVersion[] {
  return versions.map((version) => ({ version, deployments: 1 }));
}

describe("a skew", () => {
  const known = ["1.23.0", "1.22.1"];

  test.each([
    { name: "nothing is wanted", of: of(undefined, "1.22.1"), skew: [] },
    { name: "a minor is wanted and there", of: of("1.23", "1.23.0"), skew: [] },
    { name: "latest is wanted", of: of("latest", "1.22.1"), skew: [] },
    { name: "another minor is wanted", of: of("1.23", "1.22.1"), skew: ["Wanted"] },
    { name: "another patch is wanted", of: of("v1.22.0", "1.22.1"), skew: ["Wanted"] },
    { name: "nothing is installed yet", of: of("1.23", ""), skew: ["Wanted"] },
    { name: "all is as it should be", live: live("1.23.0", "1.23.0"), skew: [] },
    { name: "an ingress is of another patch", live: live("1.23.0", "1.23.4"), skew: [] },
    { name: "a Deployment is of another minor", live: live("1.23.0", "1.22.1"), skew: ["Live"] },
    { name: "all Deployments are of another patch", live: live("1.23.4"), skew: ["Live"] },
    { name: "a Deployment does not say it", live: live(null, "latest"), skew: [] },
    { name: "Kubernetes is old", kubernetes: "v1.30.1", skew: ["Kubernetes"] },
    { name: "Kubernetes is new enough", kubernetes: "v1.36.3-gke.1", skew: [] },
  ])("when $name: $skew", ({ of: one = of("1.23.0", "1.23.0"), skew, ...facts }) => {
    const known2 = { known, live: facts.live ?? null, kubernetes: facts.kubernetes ?? null };
    expect(skewOf(one, known2).map(({ between }) => between)).toEqual(skew);
  });
});

describe("version on a recorded hub", () => {
  const local = component({ kind: "KnativeEventing", cluster: null, wanted: "1.22" });
  const owner = { kind: "KnativeEventing", name: "knative-eventing" };
  const eventing = { label: "knative-eventing", owner };
  const named = { label: "controller", owner: { kind: "Deployment", name: "none" } };
  const pod = {
    containers: [{ name: "controller", image: "example.com/knfleet-controller:v9.1.0" }],
    volumes: [{ name: "plugin-reader", image: { reference: "example.com/reader:v0.1.3" } }],
    initContainers: [{ name: "copy-other", image: "example.com/other@sha256:abc" }],
  };
  const controller: KubeObject = {
    ...deployment({ ...named, name: "knfleet-controller", namespace: "knfleet-system" }),
    spec: { replicas: 1, template: { spec: pod } },
  };
  const objects = [
    local,
    deployment({ ...eventing, name: "eventing-controller" }),
    controller,
    recordedBinding("knfleet", "knfleet-system"),
  ];

  test("shows the controller with the images of its plugins, and what does not agree", async () => {
    await using hub = await startStubHub(objects);
    const { stdout, stderr, exitCode } = await runText(["version"], { env: hub.env });
    expect(stdout).toContain("Controller Version: 9.1.0 (");
    expect(stdout).toContain("Plugin Version: 0.1.3 (plugin-reader)\n");
    expect(stdout).toContain("Plugin Version: <none> (copy-other)\n");
    expect(rowsOf(stdout.split("\n\n")[1] ?? "")).toMatchObject([
      { CLUSTER: "<hub>", WANTED: "1.22", INSTALLED: "1.23.0", SKEW: "Wanted" },
    ]);
    expect(stderr).toContain("knfleet-controller is 9.1.0, this program ");
    expect(stderr).toContain("knative-eventing: 1.22 is wanted, 1.23.0 is installed");
    expect(exitCode).toBe(0);
    const strict = await runText(["version", "--strict", "-o", "json"], { env: hub.env });
    expect(strict).toMatchObject({ stderr: "", exitCode: 1 });
    expect(JSON.parse(strict.stdout)).toMatchObject({
      summary: { skew: [{ between: "Controller" }] },
      items: [{ skew: [{ between: "Wanted" }] }],
    });
  });

  test("does not speak of controllers where they may not be looked for", async () => {
    const refusal = { kind: "Status", apiVersion: "v1", code: 403, message: "no" };
    await using hub = await startStubHub(objects, ({ path }) =>
      path === "/apis/apps/v1/deployments" ? { status: 403, body: refusal } : undefined,
    );
    const { stdout } = await runText(["version", "--no-live", "-o", "json"], { env: hub.env });
    expect(JSON.parse(stdout)).toMatchObject({
      complete: true,
      summary: { controllers: null, skew: [] },
      items: [{ liveVersions: null, kubernetes: null }],
    });
  });
});
