import { expect, test } from "vitest";

import type { Manifest } from "../../../api/kubernetes.ts";
import { keptImages } from "../../../render/remarks/kept-images.ts";
import { eventing } from "../components.ts";

function deployment(name: string, ...adapters: readonly string[]): Manifest {
  const env = adapters.map((value, at) => ({ name: `A${at}_IMAGE`, value }));
  const containers = [{ name, image: `gcr.io/k/${name}@sha256:${"0".repeat(64)}`, env }];
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { namespace: "n", name },
    spec: { template: { spec: { containers } } },
  };
}

const adapters = ["gcr.io/kafka/receive_adapter:v1", "gcr.io/github/receive_adapter:v1"];
const objects = [deployment("kept"), deployment("sources", ...adapters)];

/** What is said where the default reaches nothing. */
function saidOf(override: Readonly<Record<string, string>>): readonly string[] {
  const component = eventing({ registry: { default: "r.test/${NAME}", override } });
  return keptImages(component, objects, objects).map(({ message }) => message);
}

function reachesNot(...names: readonly (string | undefined)[]): string {
  return `does not reach ${names.join(", ")}; name them in spec.registry.override`;
}

test("names each image that the default does not reach, but for those that an empty override keeps on purpose", () => {
  const [kept, sources] = objects.map(
    ({ metadata }) =>
      `gcr.io/k/${metadata.name}@sha256:${"0".repeat(64)} of Deployment n/${metadata.name}`,
  );
  const rest = `${adapters[1]} of Deployment n/sources`;
  expect(saidOf({})).toEqual([
    reachesNot(kept, sources, `${adapters[0]} of Deployment n/sources`, rest),
  ]);
  expect(saidOf({ kept: "", "sources/sources": "", A0_IMAGE: "" })).toEqual([reachesNot(rest)]);
  expect(saidOf({ kept: "", sources: "", A0_IMAGE: "", A1_IMAGE: "" })).toEqual([]);
});
