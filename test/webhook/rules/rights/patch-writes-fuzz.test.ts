import * as fc from "fast-check";
import { expect, test } from "vitest";

import { isRecord, listAt, recordAt } from "../../../../api/fields.ts";
import type { Manifest } from "../../../../api/kubernetes.ts";
import { PatchProblem, type ResourcePatch } from "../../../../render/patches/patch.ts";
import { patchedManifest } from "../../../../render/patches/patched-manifest.ts";
import { harmIn } from "../../../../webhook/rules/rights/patch-writes.ts";
import { runsOf, seed } from "../../../support/fuzz.ts";

const security = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ["ALL"] },
  privileged: false,
  runAsNonRoot: true,
};
const controller: Manifest = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "controller", namespace: "a", labels: { a: "b" } },
  spec: {
    replicas: 1,
    selector: { matchLabels: { a: "b" } },
    template: {
      metadata: { annotations: { a: "b" }, labels: { a: "b" } },
      spec: {
        serviceAccountName: "controller",
        automountServiceAccountToken: false,
        volumes: [{ name: "config", configMap: { name: "a" } }],
        containers: ["controller", "proxy"].map((name) => ({
          name,
          image: name,
          args: ["-v"],
          env: ["A", "PING_IMAGE", "B"].map((one) => ({ name: one, value: one })),
          livenessProbe: { httpGet: { port: 80 }, periodSeconds: 1 },
          ports: [{ containerPort: 80 }],
          securityContext: security,
        })),
      },
    },
  },
};

const keys = (value: unknown, ...weak: readonly string[]) =>
  Object.fromEntries(Object.entries(recordAt(value)).filter(([key]) => !weak.includes(key)));

/** What of a Deployment decides over more than its own pods. */
function strongPart(manifest: Manifest): unknown {
  const { metadata, spec, ...rest } = manifest;
  const template = recordAt(spec, "template");
  const pod = recordAt(template, "spec");
  const { containers: _, ...fields } = pod;
  return {
    ...rest,
    metadata: keys(metadata, "labels", "annotations"),
    spec: keys(spec, "replicas", "template"),
    template: keys(template, "metadata", "spec"),
    annotations: Object.keys(recordAt(template, "metadata", "annotations")).filter((key) =>
      key.includes("apparmor"),
    ),
    pod: Object.entries(keys(fields, "tolerations")).filter(
      ([, value]) => value !== false && value !== null,
    ),
    containers: listAt(pod, "containers").map((container) => ({
      ...keys(container, "args", "env", "livenessProbe", "securityContext"),
      probe: keys(recordAt(container, "livenessProbe"), "periodSeconds"),
      security: Object.entries(recordAt(container, "securityContext")).filter(
        ([field]) =>
          field !== "privileged" || recordAt(container, "securityContext")[field] === true,
      ),
    })),
    images: listAt(pod, "containers")
      .flatMap((container) => listAt(recordAt(container), "env"))
      .filter((one) => /image".*"mine"/i.test(JSON.stringify(keys(one, "image")))),
  };
}

/** Without the probes that a patch took away. */
function withProbesOf(before: Manifest, after: Manifest): unknown {
  const has = listAt(recordAt(after, "spec", "template", "spec"), "containers").map((one) =>
    isRecord(recordAt(one)["livenessProbe"]),
  );
  const containers = listAt(recordAt(before, "spec", "template", "spec"), "containers").map(
    (one, at) => (has[at] === true ? one : keys(one, "livenessProbe")),
  );
  const template = recordAt(before, "spec", "template");
  const pod = { ...recordAt(template, "spec"), containers };
  return strongPart({
    ...before,
    spec: { ...recordAt(before, "spec"), template: { ...template, spec: pod } },
  });
}

const leaf = fc.constantFrom<unknown>(
  null,
  true,
  false,
  0,
  "mine",
  [],
  {},
  ["ALL"],
  [{ name: "mine", image: "mine" }],
  {
    name: "PING_IMAGE",
    value: "mine",
  },
);
const directive = fc.constantFrom("delete", "replace", "merge");
/** An object with one or two of the fields: with more, hardly a patch would be harmless. */
const optional = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc
    .subarray(Object.keys(fields), {
      minLength: 1,
      maxLength: Math.min(2, Object.keys(fields).length),
    })
    .chain((names) =>
      fc.record(
        Object.fromEntries(Object.entries(fields).filter(([name]) => names.includes(name))),
      ),
    );
const variables = fc.array(
  fc.record({ name: fc.constantFrom("A", "PING_IMAGE", "ping_image"), value: fc.constant("mine") }),
  { maxLength: 2 },
);
const container = optional({
  name: fc.constantFrom("controller", "proxy", "mine"),
  env: fc.oneof(variables, leaf),
  args: leaf,
  image: leaf,
  livenessProbe: fc.oneof(leaf, optional({ periodSeconds: leaf, exec: leaf, httpGet: leaf })),
  securityContext: fc.oneof(
    leaf,
    optional({ privileged: leaf, runAsNonRoot: leaf, capabilities: leaf }),
  ),
  $patch: directive,
});
const podFields = optional({
  containers: fc.oneof(fc.array(container, { maxLength: 2 }), leaf),
  "$setElementOrder/containers": fc.constant([{ name: "proxy" }]),
  hostPID: leaf,
  volumes: leaf,
  serviceAccountName: leaf,
  automountServiceAccountToken: leaf,
  tolerations: leaf,
  $patch: directive,
  $retainKeys: fc.constant(["containers"]),
});
const annotations = fc.dictionary(
  fc.constantFrom("a", "container.apparmor.security.beta.kubernetes.io/controller"),
  leaf,
);
const document = optional({
  $patch: directive,
  metadata: fc.oneof(leaf, optional({ labels: annotations })),
  spec: fc.oneof(
    { weight: 1, arbitrary: leaf },
    {
      weight: 9,
      arbitrary: optional({
        replicas: leaf,
        selector: leaf,
        template: optional({ metadata: optional({ annotations }), spec: podFields }),
      }),
    },
  ),
});
const spec = "/spec/template/spec";
const strongAnnotation = "container.apparmor.security.beta.kubernetes.io~1controller";
const containerFields = [
  "",
  "/args",
  "/args/0",
  "/env",
  "/env/-",
  "/env/0",
  "/env/-2",
  "/env/1/value",
  "/image",
  "/livenessProbe",
  "/livenessProbe/periodSeconds",
  "/livenessProbe/exec",
  "/securityContext",
  "/securityContext/privileged",
  "/securityContext/runAsNonRoot",
];
const pointer = fc.oneof(
  fc.constantFrom(
    "",
    "/metadata/labels",
    "/spec/replicas",
    "/spec/template/metadata/annotations",
    "/spec/template/metadata/annotations/a",
    `/spec/template/metadata/annotations/${strongAnnotation}`,
    ...["hostPID", "volumes", "volumes/-", "tolerations", "automountServiceAccountToken"].map(
      (field) => `${spec}/${field}`,
    ),
  ),
  fc
    .tuple(
      fc.constantFrom(spec, `ignored${spec}`),
      fc.constantFrom("0", "-1", "+1", "-"),
      fc.constantFrom(...containerFields),
    )
    .map(([start, position, field]) => `${start}/containers/${position}${field}`),
);
const operation = fc.record({
  op: fc.constantFrom("add", "add", "replace", "remove", "copy", "move"),
  path: pointer,
  from: pointer,
  value: leaf,
});
const patch = fc
  .oneof(
    fc.tuple(fc.constantFrom("merge", "strategic"), document),
    fc.tuple(fc.constant("json"), fc.array(operation, { minLength: 1, maxLength: 2 })),
  )
  .map(([type, content]) => ({ type, content: JSON.stringify(content) }));

test("a patch that needs no right leaves everything strong of an object as it was", () => {
  const target = { apiVersion: "apps/v1", kind: "Deployment", name: "controller" };
  const applied = { json: 0, merge: 0, strategic: 0 };
  fc.assert(
    fc.property(patch, ({ type, content }) => {
      const one: ResourcePatch = { target, patch: { type, content } };
      if (harmIn(one) !== undefined) return;
      const after = resultOf(one);
      if (after === undefined || isRefused(after)) return;
      applied[type] += 1;
      expect(strongPart(after)).toEqual(withProbesOf(controller, after));
    }),
    { seed, numRuns: runsOf(20_000) },
  );
  // The vocabulary has to give patches that can be applied.
  expect(Math.min(...Object.values(applied))).toBeGreaterThan(20);
});

/** No API server takes a container without an image, such as one that only its other fields were given for. */
function isRefused(after: Manifest): boolean {
  const containers = listAt(recordAt(after, "spec", "template", "spec"), "containers");
  return containers.some((one) => recordAt(one)["image"] === undefined);
}

/** Undefined for a patch that cannot be applied or deletes the object. */
function resultOf(patchOfOne: ResourcePatch): Manifest | undefined {
  try {
    return patchedManifest(controller, patchOfOne, "KnativeServing");
  } catch (error) {
    if (error instanceof PatchProblem) return undefined;
    throw error;
  }
}
