import { expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { withUniqueEntries } from "../../installation/strip-manifests.ts";

function deployment(pod: object): Manifest {
  const spec = { template: { spec: pod } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "a" }, spec };
}

test("of variables and pull secrets with one name the last one is sent, in the place of the first", () => {
  const env = [
    { name: "A", value: "1" },
    { name: "B", value: "2" },
    { name: "A", value: "3" },
  ];
  const unique = [
    { name: "A", value: "3" },
    { name: "B", value: "2" },
  ];
  const secrets = [{ name: "a" }, { name: "b" }, { name: "a" }];
  expect(
    withUniqueEntries(
      deployment({
        imagePullSecrets: secrets,
        containers: [{ name: "x", env }, { name: "y" }],
        initContainers: [{ name: "z", env }],
      }),
    ),
  ).toEqual(
    deployment({
      imagePullSecrets: [{ name: "a" }, { name: "b" }],
      containers: [{ name: "x", env: unique }, { name: "y" }],
      initContainers: [{ name: "z", env: unique }],
    }),
  );
});

test("another kind with a list of that name is the same object", () => {
  const env = [{ name: "A" }, { name: "A" }];
  const manifest = { ...deployment({ containers: [{ env }] }), apiVersion: "example.com/v1" };
  expect(withUniqueEntries(manifest)).toBe(manifest);
});

test("a workload without duplicates is the same object", () => {
  const manifest = deployment({
    imagePullSecrets: [{ name: "a" }],
    containers: [{ name: "x", env: [{ name: "A", value: "1" }] }],
  });
  expect(withUniqueEntries(manifest)).toBe(manifest);
});
