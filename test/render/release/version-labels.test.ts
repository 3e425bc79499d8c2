import { expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { assertVersionLabels } from "../../../render/release/version.ts";

function labelled(version: string | undefined): readonly Manifest[] {
  const labels: Record<string, string> =
    version === undefined ? {} : { "app.kubernetes.io/version": version };
  return [{ apiVersion: "v1", kind: "Service", metadata: { name: "a", labels } }];
}

test.each([
  { label: undefined, target: "1.23.0" },
  { label: "1.23.4", target: "1.23.0" },
  { label: "v1.23.4", target: "1.23.0" },
  { label: "1.20.0", target: "latest" },
])("an object labelled $label belongs to $target", ({ label, target }) => {
  expect(assertVersionLabels(labelled(label), target)).toBeUndefined();
});

test.each(["1.22.0", "v1.24.0", "nonsense"])("an object labelled %s does not belong", (label) => {
  expect(() => assertVersionLabels(labelled(label), "1.23.0")).toThrow(
    expect.objectContaining({
      reason: "ManifestInvalid",
      message: expect.stringContaining("of the component a does not match the target version"),
    }),
  );
});
