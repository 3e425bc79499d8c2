import { describe, expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { images, type Registry, sharedImageNames } from "../../../render/workloads/images.ts";
import { withContainer, workload } from "../workload-objects.ts";

const cached = (spec: object, name = "queue-proxy"): Manifest => ({
  apiVersion: "caching.internal.knative.dev/v1alpha1",
  kind: "Image",
  metadata: { name },
  spec,
});
const digest = `sha256:${"1".repeat(64)}`;

const namedJob = (image: string): Manifest => ({
  ...workload("Job ignored", { containers: [{ name: "c", image }] }),
  metadata: { name: "ignored", generateName: "migrate-" },
});
const withSecrets = (...names: readonly string[]): Manifest =>
  workload("a", { containers: [], imagePullSecrets: names.map((name) => ({ name })) });

const deployments = (image: string): Manifest => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "config-deployment", namespace: "knative-serving" },
  data: { "queue-sidecar-image": image, _example: "queue-sidecar-image: gcr.io/x/queue" },
});

describe("images", () => {
  test.each([
    { image: "gcr.io/x/cmd/queue", after: "queue" },
    { image: "gcr.io/x/cmd/queue:v1.2.0", after: "queue" },
    { image: `gcr.io/x/cmd/queue@${digest}`, after: "queue" },
    { image: `gcr.io/x/cmd/queue:v2@${digest}`, after: "queue" },
    { image: "localhost:5000/queue", after: "queue" },
    { image: "localhost:5000/team/queue:1", after: "queue" },
    { image: "busybox", after: "c" },
    { image: "busybox:1.36", after: "c" },
    { image: undefined, after: "c" },
  ])("of $image are called $after in another registry", ({ image, after }) => {
    const registry = { default: "r.example.com:5000/${NAME}/${NAME}:v1" };
    expect(images(registry)(withContainer("a", { image }))).toEqual(
      withContainer("a", { image: `r.example.com:5000/${after}/${after}:v1` }),
    );
  });

  test.each([
    [{ override: { "queue-proxy": "r.example.com/queue:v1" } }, "r.example.com/queue:v1"],
    [{ default: "r.example.com/${NAME}:v1" }, "r.example.com/queue:v1"],
    [
      { default: "r.example.com/${NAME}", override: { "queue-proxy": "other.example.com/q" } },
      "other.example.com/q",
    ],
    [{ override: { queue: "r.example.com/no" } }, "gcr.io/x/cmd/queue:1"],
    [{}, "gcr.io/x/cmd/queue:1"],
  ])("of the queue-proxy of user pods follow %j", (registry: Registry, image) => {
    expect(images(registry)(deployments("gcr.io/x/cmd/queue:1"))).toEqual(deployments(image));
  });

  test("are all one image for a template without the name", () => {
    expect(images({ default: "one:v1" })(withContainer("a", { image: "x/y" }))).toEqual(
      withContainer("a", { image: "one:v1" }),
    );
  });

  test.each<{ override: Registry["override"]; after: string }>([
    { override: { "a/c": "1", c: "2", a: "3" }, after: "1" },
    { override: { c: "2", a: "3" }, after: "2" },
    { override: { a: "3", "b/c": "4", C: "5" }, after: "default" },
    { override: { constructor: "6" }, after: "default" },
    { override: { c: "" }, after: "x/y" },
  ])("of $override for container c of a are $after", ({ override, after }) => {
    expect(images({ default: "default", override })(withContainer("a", { image: "x/y" }))).toEqual(
      withContainer("a", { image: after }),
    );
  });

  test.each(["Deployment", "StatefulSet", "DaemonSet", "Job"])("change in a %s", (kind) => {
    const pod = (image: string) => workload(`${kind} a`, { containers: [{ name: "c", image }] });
    expect(images({ default: "r/${NAME}" })(pod("x/y:1"))).toEqual(pod("r/y"));
  });

  test("of a Job with a generateName go by that name", () => {
    const override = { "ignored/c": "wrong", "migrate-/c": "right" };
    expect(images({ override })(namedJob("x/y"))).toEqual(namedJob("right"));
  });

  test("in variables are overridden by the name of the variable, also when the value came from elsewhere", () => {
    const valueFrom = { fieldRef: { fieldPath: "metadata.name" } };
    const env = [
      { name: "A", value: "x" },
      { name: "B", valueFrom },
      { name: "C", valueFrom },
    ];
    const registry = { default: "r/${NAME}", override: { A: "1", B: "2" } };
    expect(images(registry)(withContainer("a", { image: "x/y", env }))).toEqual(
      withContainer("a", {
        image: "r/y",
        env: [
          { name: "A", value: "1" },
          { name: "B", value: "2" },
          { name: "C", valueFrom },
        ],
      }),
    );
  });

  test("in variables stay where several have one name, unless they are overridden", () => {
    const adapters = ["github", "gitlab"].map((source) =>
      workload(source, {
        containers: [
          {
            name: "controller",
            image: "gcr.io/x/controller",
            env: [
              { name: `${source.toUpperCase()}_RA_IMAGE`, value: `gcr.io/x/${source}/adapter:1` },
            ],
          },
        ],
      }),
    );
    const shared = sharedImageNames(adapters);
    expect([...shared]).toEqual(["adapter"]);
    const registry = { default: "r/${NAME}", override: { GITLAB_RA_IMAGE: "r/gitlab" } };
    const found = JSON.stringify(adapters.map(images(registry, shared)));
    expect(found).toContain('"value":"gcr.io/x/github/adapter:1"');
    expect(found).toContain('"value":"r/gitlab"');
    expect(found).toContain('"image":"r/controller"');
    expect(sharedImageNames(adapters.slice(1)).size).toBe(0);
  });

  test("of init containers are replaced, of CronJobs stay", () => {
    const registry = { default: "r/${NAME}", override: { A: "1", i: "2" } };
    const init = workload("a", {
      initContainers: [{ name: "i", image: "x/y", env: [{ name: "A", value: "x" }] }],
    });
    expect(images(registry)(init)).toEqual(
      workload("a", {
        initContainers: [{ name: "i", image: "2", env: [{ name: "A", value: "1" }] }],
      }),
    );
    const cron = {
      ...init,
      kind: "CronJob",
      apiVersion: "batch/v1",
      spec: { jobTemplate: init["spec"] },
    };
    expect(images(registry)(cron)).toBe(cron);
  });

  const digested = "gcr.io/releases/cmd/receive_adapter@sha256:" + "0a".repeat(32);

  test.each([
    ["with a digest", digested, "r/receive_adapter"],
    ["with a tag", "localhost:5000/a/b:v1", "r/b"],
    ["without a registry", "a/b:v1", "a/b:v1"],
    ["without tag and digest", "knative.dev/eventing", "knative.dev/eventing"],
    ["that are addresses", "https://example.com/b:v1", "https://example.com/b:v1"],
  ])("of variables and ConfigMaps, %s: %s becomes %s", (_what, value, wanted) => {
    const container = { name: "c", image: "c", env: [{ name: "RA_IMAGE", value }] };
    const { spec } = images({ default: "r/${NAME}" })(workload("a", { containers: [container] }));
    expect(JSON.stringify(spec)).toContain(JSON.stringify({ name: "RA_IMAGE", value: wanted }));
    const map = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "m" },
      data: { k: value },
    };
    expect(images({ default: "r/${NAME}" })(map)["data"]).toEqual({ k: wanted });
  });

  test.each(["m/k", "k"])("of ConfigMaps are overridden by %s", (name) => {
    const map = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "m" } };
    const registry = { default: "r/${NAME}", override: { [name]: "mine" } };
    expect(images(registry)({ ...map, data: { k: digested } })["data"]).toEqual({ k: "mine" });
  });

  test("of other groups stay (N-3)", () => {
    const job = { ...withContainer("a", { image: "x/y" }), apiVersion: "batch.example.com/v1" };
    expect(images({ default: "r/${NAME}", imagePullSecrets: [{ name: "s" }] })(job)).toBe(job);
  });

  test("are pulled with the secrets of the release first, then those of the component", () => {
    const registry = { imagePullSecrets: [{ name: "b" }, { name: "a" }] };
    expect(images(registry)(withSecrets("a"))).toEqual(withSecrets("a", "b", "a"));
    expect(images(registry)(workload("a", { containers: [] }))).toEqual(withSecrets("b", "a"));
    expect(images({ imagePullSecrets: [] })(withSecrets("a"))).toEqual(withSecrets("a"));
  });

  test.each<{ registry: Registry; before: object; after: object }>([
    {
      registry: { override: { "queue-proxy": "mine" }, default: "r/${NAME}" },
      before: { image: "x/queue" },
      after: { image: "mine" },
    },
    {
      registry: { default: "r/${NAME}" },
      before: { image: `x/queue@${digest}` },
      after: { image: "r/queue" },
    },
    {
      registry: { default: "r/${NAME}", imagePullSecrets: [{ name: "b" }] },
      before: { image: "queue:v1", imagePullSecrets: [{ name: "a" }] },
      after: { image: "r/queue-proxy", imagePullSecrets: [{ name: "a" }, { name: "b" }] },
    },
    { registry: {}, before: { image: "x/queue" }, after: { image: "x/queue" } },
  ])("that are cached become $after", ({ registry, before, after }) => {
    expect(images(registry)({ ...cached(before), status: { conditions: [] } })).toEqual(
      cached(after),
    );
  });

  test("that no registry is named for are the same objects", () => {
    for (const manifest of [
      withContainer("a", { image: "x/y", env: [] }),
      cached({ image: "x" }),
    ]) {
      expect(images()(manifest)).toBe(manifest);
      expect(images({ default: "" })(manifest)).toBe(manifest);
    }
  });

  test("in a list that is none are invalid", () => {
    expect(() => images({ default: "r" })(withContainer("a", { env: "x" }))).toThrow(
      expect.objectContaining({ reason: "ManifestInvalid" }),
    );
  });

  test("are not made as long as a spec can be", () => {
    expect(() => images({ default: "r/${NAME}".repeat(1_000) })).toThrow(
      expect.objectContaining({
        reason: "ManifestInvalid",
        message: expect.stringMatching(/^spec\.registry\.default: /),
      }),
    );
  });
});
