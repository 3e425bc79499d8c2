import { readFile } from "node:fs/promises";
import { resolve } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";

import type { KnativeServing } from "../../../api/component.ts";
import { isRecord, listAt, recordAt } from "../../../api/fields.ts";
import { openReleases } from "../../../cmd/open-releases.ts";
import type { Rendered } from "../../../render/release/releases.ts";
import { render } from "../../../render/render.ts";
import { releaseDir } from "../../e2e/release-dir.ts";
import { serving } from "../components.ts";

const page = await readFile(resolve(import.meta.dirname, "../../../docs/patches.md"), "utf8");
const examples = [...page.matchAll(/^```yaml\n([^]*?)^```$/gm)].map(([, text = ""]) => text);
const rendered: Rendered[] = [];

beforeAll(async () => {
  const releases = await openReleases(await releaseDir());
  for (const text of examples) rendered.push(await render(serving(specOf(text)), releases));
});

function specOf(text: string): KnativeServing["spec"] {
  const document: unknown = parse(text);
  if (!isRecord(document)) throw new Error("The example is no component");
  return { version: "1.23.0", ...recordAt(document, "spec") };
}

function podOf(example: number, name: string) {
  const manifests = rendered[example]?.manifests ?? [];
  const deployment = manifests.find(
    ({ kind, metadata }) => kind === "Deployment" && metadata.name === name,
  );
  return recordAt(deployment, "spec", "template", "spec");
}

describe("docs/patches.md", () => {
  test("has six examples, of which each can be rendered", () => {
    expect(rendered).toHaveLength(6);
  });

  test("gives priority classes", () => {
    expect(podOf(0, "activator")["priorityClassName"]).toBe("system-cluster-critical");
    expect(podOf(2, "webhook")["priorityClassName"]).toBe("system-cluster-critical");
  });

  test("changes probes", () => {
    const [activator] = listAt(podOf(1, "activator"), "containers").map((one) => recordAt(one));
    expect(activator?.["readinessProbe"]).toMatchObject({
      periodSeconds: 2,
      failureThreshold: 10,
      httpGet: expect.anything(),
    });
    expect(activator).not.toHaveProperty("livenessProbe");
  });

  test("hands the activator over to KEDA", () => {
    const name = "activator";
    const kind = "HorizontalPodAutoscaler";
    expect(rendered[3]?.deletions).toEqual([
      { apiVersion: "autoscaling/v2", kind, namespace: "knative-serving", name },
    ]);
    const found = rendered[3]?.manifests.filter(({ metadata }) => metadata.name === name) ?? [];
    expect(found.map((one) => one.kind)).not.toContain(kind);
    const deployment = found.find((one) => one.kind === "Deployment");
    expect(recordAt(deployment, "spec")).not.toHaveProperty("replicas");
  });

  test("puts a container beside", () => {
    const pod = podOf(4, "controller");
    const names = listAt(pod, "containers").map((one) => recordAt(one)["name"]);
    expect(names).toEqual(["log-forwarder", "controller"]);
    expect(pod["volumes"]).toEqual([{ name: "buffer", emptyDir: {} }]);
  });
});
