import { beforeAll, describe, expect, test } from "vitest";

import type { Component } from "../../api/component.ts";
import { objectId } from "../../api/keys.ts";
import { keyOf } from "../../api/kubernetes.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import type { Config } from "../../render/features/named-objects.ts";
import type { Releases } from "../../render/release/releases.ts";
import { render } from "../../render/render.ts";
import { eventing, serving } from "./components.ts";

let releases: Releases;

beforeAll(async () => {
  releases = await openReleases(sampleDirOf());
});

const kourier = { ingress: { kourier: { enabled: true } } };

async function identities(component: Component): Promise<readonly string[]> {
  const { manifests } = await render(component, releases);
  return manifests.map((manifest) => objectId(keyOf(manifest)));
}

/** The version that a component gets that a set stamped; without a set where `set` is empty. */
async function versionFor(
  version: string,
  { set = "prod", installed = "1.22.0" } = {},
): Promise<string> {
  const component = serving({ ...kourier, version });
  const labels: Record<string, string> = set === "" ? {} : { "knfleet.dev/set": set };
  const metadata = { ...component.metadata, labels };
  const status = { version: installed, conditions: [] };
  return (await render({ ...component, metadata, status }, releases)).version;
}

describe("rendering", () => {
  test("says version, paths and hash", async () => {
    expect(await render(serving(kourier), releases)).toMatchObject({
      version: "1.23.1",
      paths: ["knative-serving/1.23.1", "ingress/1.23/kourier"],
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    expect((await render(serving({ ingress: {} }), releases)).paths).toEqual([
      "knative-serving/1.23.1",
    ]);
    expect((await render(eventing({ version: "1.22" }), releases)).paths).toEqual([
      "knative-eventing/1.22.1",
    ]);
  });

  test("holds each object once, labelled, in one namespace", async () => {
    const component = serving(kourier, { namespace: "mine" });
    const { manifests } = await render(component, releases);
    const ids = manifests.map((manifest) => objectId(keyOf(manifest)));
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain("|Namespace||mine");
    expect(ids).toContain("batch|Job|mine|storage-version-migration-serving-serving-1.23.1");
    expect(new Set(manifests.map(({ metadata }) => metadata.namespace))).toEqual(
      new Set([undefined, "mine"]),
    );
    for (const { metadata } of manifests) {
      expect(metadata.labels?.["app.kubernetes.io/name"]).toBe("knative-serving");
      expect(metadata.ownerReferences).toBeUndefined();
    }
  });

  test("is done once for components that differ only in their cluster", async () => {
    const on = (name: string) =>
      serving({ ...kourier, clusterProfileRef: { name, namespace: "x" } });
    const first = await render(on("a"), releases);
    expect(await render(on("b"), releases)).toBe(first);
    expect(await render(serving({ ...kourier, version: "latest" }), releases)).toBe(first);
    const other = await render(serving(kourier, { namespace: "other" }), releases);
    expect(other.hash).not.toBe(first.hash);
  });

  test("keeps the patch of a component of a set that is installed, until its set names another one", async () => {
    expect(await versionFor("1.22")).toBe("1.22.0");
    expect(await versionFor("1.22.1")).toBe("1.22.1");
    expect(await versionFor("1.23")).toBe("1.23.1");
    expect(await versionFor("1.22", { set: "" })).toBe("1.22.1");
    // The folder does not have it any more.
    expect(await versionFor("1.22", { installed: "1.22.9" })).toBe("1.22.1");
  });

  test("gives the same hash in another directory object, and another for another config", async () => {
    const again = await openReleases(sampleDirOf());
    const { hash } = await render(serving(kourier), releases);
    expect((await render(serving(kourier), again)).hash).toBe(hash);
    const config = { network: { "ingress-class": "kourier" } };
    expect((await render(serving({ ...kourier, config }), releases)).hash).not.toBe(hash);
  });

  test.each<{ config: Config | undefined; there: boolean }>([
    { config: undefined, there: false },
    { config: { features: { "transport-encryption": "disabled" } }, there: false },
    { config: { features: { "transport-encryption": "Strict" } }, there: true },
    { config: { "config-features": { "transport-encryption": "permissive" } }, there: true },
    {
      config: {
        "config-features": { "transport-encryption": "strict" },
        features: { "transport-encryption": "disabled" },
      },
      there: true,
    },
  ])("of Eventing with $config has certificates: $there", async ({ config, there }) => {
    const id = "cert-manager.io|Certificate|knative-eventing|mt-broker-ingress-server-tls";
    expect((await identities(eventing({ config }))).includes(id)).toBe(there);
  });

  test.each([
    { name: "an unknown version", component: serving({ version: "9.9.9" }), path: "9.9.9" },
    { name: "an unknown minor", component: serving({ version: "1.99" }), path: "1.99" },
    {
      name: "an ingress that the release lacks",
      component: serving({ version: "1.22", ingress: { "gateway-api": { enabled: true } } }),
      path: "ingress/1.22/gateway-api",
    },
    {
      name: "a source that the release lacks",
      component: eventing({ source: { redis: { enabled: true } } }),
      path: "eventing-source/1.23/redis",
    },
    {
      name: "a guard that the release lacks",
      component: serving({ ...kourier, security: { securityGuard: { enabled: true } } }),
      path: "security-guard/0.6",
    },
  ])("fails for $name", async ({ component, path }) => {
    await expect(render(component, releases)).rejects.toMatchObject({
      reason: path.includes("/") ? "ReleasePartNotFound" : "ReleaseNotFound",
      message: expect.stringContaining(path),
    });
  });

  test("fails for a path in place of a version", async () => {
    await expect(render(serving({ version: "../../etc" }), releases)).rejects.toMatchObject({
      reason: "VersionNotEligible",
    });
  });

  test("fails when the installed version is too far away, also when it was rendered before", async () => {
    await render(eventing(), releases);
    await expect(render(eventing({}, { installed: "1.21.0" }), releases)).rejects.toMatchObject({
      reason: "VersionNotEligible",
      message: expect.stringContaining("The installed KnativeEventing version is v1.21.0"),
    });
  });

  test.each(["manifests", "additionalManifests"])(
    "allows no URL by itself: spec.%s",
    async (field) => {
      const list = { [field]: [{ URL: "https://example.com/a.yaml" }] };
      const component = serving({ ...kourier, version: "1.23", ...list });
      await expect(render(component, releases)).rejects.toMatchObject({
        reason: "ManifestSourceNotAllowed",
        message: expect.stringContaining("https://example.com/a.yaml"),
      });
      await expect(render(serving({ ...kourier, [field]: [] }), releases)).resolves.toBeDefined();
    },
  );
});

/** A ConfigMap with its URL as its name. */
const manifestText = async (name: string): Promise<string> =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: x}\n`;

describe("entries of spec.config without a ConfigMap", () => {
  const config = { zone: { a: "1" }, "config-mine": { a: "1" }, nobody: {} };

  test.each([
    ["of the release", {}, ["config-mine", "nobody", "zone"]],
    [
      "of the component's own manifests",
      { additionalManifests: [{ URL: "config-mine" }, { URL: "config-zone" }] },
      ["nobody"],
    ],
    [
      "of manifests in place of the release",
      { version: "1.23.0", manifests: [{ URL: "config-mine" }] },
      ["nobody", "zone"],
    ],
  ])("are named: %s", async (_, spec, unused) => {
    const component = eventing({ ...spec, config });
    const { unusedConfig } = await render(component, releases, { manifestText });
    expect(unusedConfig).toEqual(unused);
  });

  test("are not those that are there", async () => {
    const { manifests } = await render(eventing(), releases);
    const names = manifests.flatMap(({ kind, metadata: { name = "" } }) =>
      kind === "ConfigMap" ? [name] : [],
    );
    expect(names.length).toBeGreaterThan(0);
    const all = Object.fromEntries(names.map((name) => [name.replace(/^config-/, ""), {}]));
    expect((await render(eventing({ config: all }), releases)).unusedConfig).toEqual([]);
  });
});

async function bounds(replicas: number): Promise<readonly unknown[]> {
  const component = eventing({ workloads: [{ name: "mt-broker-ingress", replicas }] });
  const { manifests } = await render(component, releases);
  const specOf = (wanted: string, name: string) =>
    manifests.find(({ kind, metadata }) => kind === wanted && metadata.name === name)?.["spec"];
  return [
    specOf("Deployment", "mt-broker-ingress"),
    specOf("HorizontalPodAutoscaler", "broker-ingress-hpa"),
  ];
}

describe("replicas of a workload with an autoscaler", () => {
  test("are 0 without the autoscaler, which would keep pods", async () => {
    expect(await bounds(0)).toEqual([expect.objectContaining({ replicas: 0 }), undefined]);
  });

  test("are the least number of the autoscaler", async () => {
    const [workload, autoscaler] = await bounds(3);
    expect(workload).not.toHaveProperty("replicas");
    expect(autoscaler).toMatchObject({ minReplicas: 3 });
  });
});
