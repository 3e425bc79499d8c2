import { describe, expect, test } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { namespaceLabels } from "../../render/namespace.ts";

const namespace = (metadata: Manifest["metadata"] = {}): Manifest => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "a", ...metadata },
});

describe("labels and annotations of the namespace", () => {
  test("are set over those of the manifest, spec.namespace over its alias", () => {
    const set = namespaceLabels([
      { labels: { a: "alias", b: "alias" } },
      { labels: { a: "user" }, annotations: { note: "x" } },
    ]);
    expect(set(namespace({ labels: { a: "manifest", c: "manifest" } }))).toEqual(
      namespace({ labels: { a: "user", b: "alias", c: "manifest" }, annotations: { note: "x" } }),
    );
  });

  test("do not touch anything without settings, nor other kinds", () => {
    const manifest = namespace();
    expect(namespaceLabels([undefined, {}])(manifest)).toBe(manifest);
    const other: Manifest = { ...manifest, kind: "ConfigMap" };
    expect(namespaceLabels([{ labels: { a: "b" } }])(other)).toBe(other);
  });
});
