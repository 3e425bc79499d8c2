import { beforeAll, describe, expect, test } from "vitest";

import type { Component } from "../../api/component.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { render } from "../../render/render.ts";
import { certificateDefinition, ingressStandIns } from "../controller/hand-made-installation.ts";
import { sampleVersions } from "../fixtures/sample/sample.ts";
import { useSpokes } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { eventing, serving } from "./components.ts";

const fleet = useSpokes([{ kwok: false }]);
const enabled = { enabled: true };
const off = { enabled: false };

beforeAll(async () => {
  for (const manifest of [...ingressStandIns, certificateDefinition]) {
    await fleet().spoke(0).admin.apply(manifest);
  }
});

/** With every ingress and source that the release has for the version. */
function everythingOf(version: string): readonly Component[] {
  const all = { kourier: enabled, istio: enabled, contour: enabled };
  const ingress = version.startsWith("1.23") ? { ...all, "gateway-api": enabled } : all;
  const source = { github: enabled, kafka: enabled, ceph: off, gitlab: off };
  const config = { features: { "transport-encryption": "strict" } };
  return [
    serving({ version, ingress }),
    eventing({ version, config, source: { ...source, rabbitmq: off, redis: off } }),
  ];
}

describe("the sample release", () => {
  const cases = sampleVersions
    .flatMap(everythingOf)
    .map((component) => ({ name: `${component.kind} ${component.spec?.version}`, component }));

  test.each(cases)(
    "$name is accepted object by object by a real API server",
    async ({ component }) => {
      const { admin } = fleet().spoke(0);
      const { manifests } = await render(component, await openReleases(sampleDirOf()));
      const namespaceFirst = manifests.toSorted(
        (a, b) => Number(b.kind === "Namespace") - Number(a.kind === "Namespace"),
      );
      for (const manifest of namespaceFirst) {
        const { kind, metadata } = manifest;
        // An object of a custom kind has to wait until its definition is served.
        const applied = await waitFor(`${kind} ${metadata.name}`, () => admin.apply(manifest));
        expect(applied.metadata.name).toBe(metadata.name);
      }
    },
  );
});
