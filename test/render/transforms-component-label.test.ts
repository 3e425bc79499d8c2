import { expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { componentLabel } from "../../render/transforms.ts";

test("the component label is set on every object, over any other value", () => {
  const manifest: Manifest = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "a", labels: { "app.kubernetes.io/name": "mine", b: "c" } },
  };
  expect(componentLabel("knative-serving")(manifest).metadata.labels).toEqual({
    "app.kubernetes.io/name": "knative-serving",
    b: "c",
  });
});
