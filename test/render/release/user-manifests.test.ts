import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import type { Component } from "../../../api/component.ts";
import { FleetError } from "../../../api/errors.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import { sampleDirOf } from "../../../cmd/release-files.ts";
import type { Releases } from "../../../render/release/releases.ts";
import { namesChangeable } from "../../../render/release/user-manifests.ts";
import { render } from "../../../render/render.ts";
import { eventing, serving } from "../components.ts";

let releases: Releases;

beforeAll(async () => {
  releases = await openReleases(sampleDirOf());
});

const kourier = { ingress: { kourier: { enabled: true } } };
const at = (...names: readonly string[]) => names.map((name) => ({ URL: `https://a/${name}` }));

function map(name: string, rest = ""): string {
  return `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}${rest}}\ndata: {mine: "1"}\n`;
}

const webhook = [
  "apiVersion: apps/v1",
  "kind: Deployment",
  "metadata: {name: webhook, labels: {app.kubernetes.io/version: v1.23.9}}",
  "spec: {selector: {matchLabels: {a: b}}, template: {metadata: {labels: {a: b}}, spec: {containers: []}}}",
].join("\n");

function rendered(component: Component, files: Readonly<Record<string, string>>) {
  return render(component, releases, {
    manifestText: async (url) => files[url.slice("https://a/".length)] ?? "",
  });
}

function find(manifests: readonly Manifest[], kind: string, name: string) {
  return manifests.filter((one) => one.kind === kind && one.metadata.name === name);
}

describe("additional manifests", () => {
  test("come last, in the component's namespace, with its label", async () => {
    const component = eventing({ additionalManifests: at("a", "b") }, { namespace: "mine" });
    const { manifests, paths } = await rendered(component, {
      a: map("config-one", ", namespace: elsewhere"),
      b: map("config-two"),
    });
    expect(manifests.slice(-2).map(({ metadata }) => metadata)).toMatchObject([
      {
        name: "config-one",
        namespace: "mine",
        labels: { "app.kubernetes.io/name": "knative-eventing" },
      },
      { name: "config-two", namespace: "mine" },
    ]);
    expect(paths).toEqual(["knative-eventing/1.23.1", "https://a/a,https://a/b"]);
  });

  test.each(["", ", namespace: knative-eventing", ", namespace: elsewhere"])(
    "take the place of a bundled object that is written with the namespace %j",
    async (place) => {
      const component = eventing({ additionalManifests: at("a") });
      const { manifests } = await rendered(component, { a: map("config-br-defaults-x", place) });
      const before = await render(eventing(), releases);
      expect(manifests).toHaveLength(before.manifests.length + 1);
      const twin = before.manifests.find(({ kind }) => kind === "ConfigMap")?.metadata.name ?? "";
      const data = { mine: "1" };
      const replaced = await rendered(
        eventing({ additionalManifests: at("a"), defaultBrokerClass: "A" }),
        {
          a: map(twin, place).replace(
            'mine: "1"',
            'mine: "1", default-br-config: "clusterDefault: {}"',
          ),
        },
      );
      expect(find(replaced.manifests, "ConfigMap", twin)).toMatchObject([{ data }]);
      expect(replaced.manifests.at(-1)?.metadata.name).toBe(twin);
      expect(replaced.manifests).toHaveLength(before.manifests.length);
    },
  );

  test("take the place over all versions of a group, and get the options of the spec", async () => {
    const config = { gc: { theirs: "2" } };
    const budget = "apiVersion: policy/v1beta1\nkind: PodDisruptionBudget\nmetadata: {name: x}\n";
    const component = serving({ ...kourier, config, additionalManifests: at("a", "b") });
    const { manifests } = await rendered(component, {
      a: `${budget}spec: {a: 1}\n`,
      b: `${budget.replace("v1beta1", "v1")}---\n${map("config-gc")}`,
    });
    expect(find(manifests, "PodDisruptionBudget", "x")).toMatchObject([
      { apiVersion: "policy/v1" },
    ]);
    expect(find(manifests, "ConfigMap", "config-gc")).toMatchObject([
      { data: { mine: "1", theirs: "2" } },
    ]);
  });

  test("add to the one Namespace", async () => {
    const namespace =
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: b, labels: {own: label}}\n";
    const component = serving({ ...kourier, additionalManifests: at("a") });
    const { manifests } = await rendered(component, { a: namespace });
    const all = manifests.filter(({ kind }) => kind === "Namespace");
    expect(all).toMatchObject([
      { metadata: { name: "knative-serving", labels: { own: "label" } } },
    ]);
  });

  test("are asked for with the version that is installed", async () => {
    const component = serving({
      ...kourier,
      version: "1.22",
      additionalManifests: at("${VERSION}/a-${VERSION}"),
    });
    const { manifests } = await rendered(component, { "1.22.1/a-1.22.1": map("config-mine") });
    expect(find(manifests, "ConfigMap", "config-mine")).toHaveLength(1);
  });

  test("are rendered anew when their text changes, and only then", async () => {
    const component = serving({ ...kourier, additionalManifests: at("a") });
    const first = await rendered(component, { a: map("config-mine") });
    expect(await rendered(component, { a: map("config-mine") })).toBe(first);
    const second = await rendered(component, { a: map("config-other") });
    expect(second.hash).not.toBe(first.hash);
  });

  test.each([
    {
      name: "are empty",
      text: "# nothing",
      problem: "there is no resource available in the target",
    },
    {
      name: "are of another minor version",
      text: map("config-mine", ", labels: {app.kubernetes.io/version: 1.22.7}"),
      problem: "the version of the manifests v1.22.7 of the component config-mine does not match",
    },
  ])("cannot be used when they $name", async ({ text, problem }) => {
    const component = serving({ ...kourier, additionalManifests: at("a") });
    await expect(rendered(component, { a: text })).rejects.toMatchObject({
      reason: "ManifestInvalid",
      message: expect.stringContaining(problem),
    });
  });

  test("are at most 16 MiB altogether", async () => {
    const component = serving({ ...kourier, additionalManifests: at("a", "a", "a") });
    const large = "#".repeat(6 * 1024 * 1024);
    await expect(rendered(component, { a: large })).rejects.toMatchObject({
      reason: "ManifestInvalid",
      message: "The manifests hold more than 16 MiB",
    });
  });

  test("are at most 64", async () => {
    const many = Array.from({ length: 65 }, (_, index) => `${index}`);
    const component = serving({ ...kourier, additionalManifests: at(...many) });
    await expect(rendered(component, {})).rejects.toMatchObject({ reason: "ManifestInvalid" });
  });
});

describe("manifests of the component", () => {
  const custom = { ...kourier, manifests: at("${VERSION}.yaml") };

  test("take the place of the release, with the bundled ingress of the same minor version", async () => {
    const { version, manifests, paths } = await rendered(serving({ ...custom, version: "1.23" }), {
      "1.23.yaml": webhook,
    });
    expect(version).toBe("1.23");
    expect(paths).toEqual(["https://a/1.23.yaml", "ingress/1.23/kourier"]);
    expect(find(manifests, "Deployment", "webhook")).toHaveLength(1);
    expect(find(manifests, "Deployment", "controller")).toHaveLength(0);
    expect(find(manifests, "Deployment", "net-kourier-controller")).toHaveLength(1);
  });

  test("do without an ingress or guard that the bundle lacks", async () => {
    const security = { securityGuard: { enabled: true } };
    const component = serving({ ...custom, version: "1.99.0", security });
    const { paths } = await rendered(component, {
      "1.99.0.yaml": webhook.replace("1.23.9", "1.99.9"),
    });
    expect(paths).toEqual(["https://a/1.99.0.yaml"]);
  });

  test("keep a bundled ingress when the version has no guard", async () => {
    const dir = await mkdtemp(join(tmpdir(), "knfleet-render-"));
    try {
      await cp(sampleDirOf(), dir, { recursive: true });
      await cp(join(dir, "ingress/1.23"), join(dir, "ingress/1.99"), { recursive: true });
      const security = { securityGuard: { enabled: true } };
      const component = serving({ ...custom, version: "1.99.0", security });
      const { paths } = await render(component, await openReleases(dir), {
        manifestText: async () => webhook.replace("1.23.9", "1.99.9"),
      });
      expect(paths).toEqual(["https://a/1.99.0.yaml", "ingress/1.99/kourier"]);
    } finally {
      await rm(dir, { recursive: true });
    }
  });

  test("that bring an object twice mean the last one, and merge Namespaces", async () => {
    const component = serving({ ...custom, manifests: at("a", "b"), version: "1.23" });
    const namespace =
      "apiVersion: v1\nkind: Namespace\nmetadata: {name: x, labels: {own: label}}\n";
    const { manifests } = await rendered(component, {
      a: `${webhook}\n---\n${map("config-a", ", namespace: x")}---\n${namespace}`,
      b: `${map("config-a").replace('"1"', '"2"')}---\n${namespace.replace("own", "other")}`,
    });
    expect(find(manifests, "ConfigMap", "config-a")).toMatchObject([{ data: { mine: "2" } }]);
    expect(manifests.filter(({ kind }) => kind === "Namespace")).toMatchObject([
      { metadata: { labels: { own: "label", other: "label" } } },
    ]);
  });

  test.each([
    { version: undefined, reason: "VersionNotEligible" },
    { version: "", reason: "VersionNotEligible" },
    { version: "nightly", reason: "VersionNotEligible" },
    { version: "1.22.0", reason: "ManifestInvalid" },
  ])("of the version $version are refused: $reason", async ({ version, reason }) => {
    const component = serving({ ...custom, manifests: at("a"), version });
    await expect(rendered(component, { a: webhook })).rejects.toMatchObject({ reason });
  });

  test("of any version may be called latest", async () => {
    const component = serving({ ...custom, manifests: at("a"), version: "Latest" });
    expect((await rendered(component, { a: webhook })).version).toBe("1.23.1");
  });

  test("of Serving have to hold its webhook", async () => {
    const component = serving({ ...custom, version: "1.23" });
    await expect(rendered(component, { "1.23.yaml": map("config-mine") })).rejects.toMatchObject({
      reason: "ManifestInvalid",
      message: "webhook deployment not found in manifest",
    });
  });
});

describe("the texts of both fields", () => {
  const component = serving({
    ...kourier,
    manifests: at("component"),
    additionalManifests: at("additional"),
    version: "1.23",
  });

  test("are asked for at the same time", async () => {
    const asked: string[] = [];
    const { promise: all, resolve } = Promise.withResolvers<void>();
    const manifestText = async (url: string): Promise<string> => {
      asked.push(url);
      if (asked.length === 2) resolve();
      await all;
      return url.endsWith("component") ? webhook.replace("1.23.9", "1.23.0") : map("config-mine");
    };
    const { manifests } = await render(component, releases, { manifestText });
    expect(asked).toEqual(["https://a/component", "https://a/additional"]);
    expect(find(manifests, "ConfigMap", "config-mine")).toHaveLength(1);
  });

  test("fail in their order, whichever is the first to fail", async () => {
    const { promise: isLate, resolve } = Promise.withResolvers<void>();
    const manifestText = async (url: string): Promise<string> => {
      if (url.endsWith("component")) await isLate;
      else setImmediate(resolve);
      throw new FleetError("ManifestSourceUnavailable", url);
    };
    await expect(render(component, releases, { manifestText })).rejects.toMatchObject({
      message: "https://a/component",
    });
  });
});

test("a cluster that is too old gets nothing", async () => {
  const options = { kubernetesVersion: "v1.24.9", environment: {} };
  await expect(render(serving(kourier), releases, options)).rejects.toMatchObject({
    reason: "KubernetesVersionTooOld",
  });
  const environment = { KUBERNETES_MIN_VERSION: "v1.24.0" };
  await expect(
    render(serving(kourier), releases, { ...options, environment }),
  ).resolves.toBeDefined();
});

test.each<readonly [what: string, spec: Component["spec"], names: boolean]>([
  ["a spec", undefined, false],
  ["manifests", {}, false],
  ["manifests without a digest", { manifests: at("a#sha256=0", "b#sha256=1") }, false],
  ["a digest in one of two manifests", { manifests: at("a#sha256=0", "b") }, true],
  ["a digest in additional manifests", { additionalManifests: at("a") }, true],
])("what a component without %s names may change: %#", (_what, spec, names) => {
  const { spec: __, ...component } = serving({});
  expect(namesChangeable(spec === undefined ? component : { ...component, spec })).toBe(names);
});
