import { describe, expect, test } from "vitest";

import type { Component } from "../../api/component.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { render } from "../../render/render.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { eventing, serving } from "./components.ts";

const fleet = useFleet({ spokes: 0 });
const kourier = { kourier: { enabled: true } };

describe("the sample release", () => {
  test.each<{ name: string; component: Component }>([
    { name: "Serving 1.22", component: serving({ version: "1.22", ingress: kourier }) },
    { name: "Serving 1.23", component: serving({ version: "1.23", ingress: kourier }) },
    { name: "Eventing 1.22", component: eventing({ version: "1.22" }) },
    { name: "Eventing 1.23", component: eventing({ version: "1.23" }) },
  ])("$name is accepted object by object by a real API server", async ({ component }) => {
    const { admin } = fleet().hub;
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
  });
});
