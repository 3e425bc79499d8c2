// @module-tag release-files
import { describe, expect, test } from "vitest";

import type { Component } from "../../api/component.ts";
import { openReleases } from "../../cmd/open-releases.ts";
import { remarksOn } from "../../render/remarks/remarks.ts";
import { render } from "../../render/render.ts";
import { releaseDir } from "../e2e/release-dir.ts";
import { eventing, serving } from "./components.ts";
import { accountsWithoutPods, podsOf } from "./pull-secrets.ts";

const registry = { default: "mirror.example.com/k/${NAME}:v1" };
const enabled = { enabled: true };
const all: readonly Component[] = [
  serving({
    registry,
    ingress: { istio: enabled, kourier: enabled, contour: enabled, "gateway-api": enabled },
    security: { securityGuard: enabled },
  }),
  eventing({
    registry,
    source: {
      ceph: enabled,
      github: enabled,
      gitlab: enabled,
      kafka: enabled,
      rabbitmq: enabled,
      redis: enabled,
    },
  }),
];

describe.each(all)("a registry for all images of $kind", (component) => {
  test("reaches every image of every version of Knative, or names the image", async () => {
    const releases = await openReleases(await releaseDir());
    for (const version of releases.versionsOf(component.kind)) {
      const wanted: Component =
        component.kind === "KnativeServing"
          ? { ...component, spec: { ...component.spec, version } }
          : { ...component, spec: { ...component.spec, version } };
      const { manifests } = await render(wanted, releases);
      const objects = manifests.filter(({ kind }) => kind !== "CustomResourceDefinition");
      const left = objects.flatMap((one) =>
        [
          ...JSON.stringify(withoutExamples(one)).matchAll(
            /"((?:gcr|ghcr|docker|quay|registry\.k8s)\.io\/[^"]*)"/g,
          ),
        ].map(([, image]) => image),
      );
      const remarks = await remarksOn(wanted, { releases, version });
      // Several sources have an image of one name for the pods that they make: none of them becomes that of another one.
      expect(
        new Set(
          left.map((image = "") =>
            image
              .replace(/[@:][^/]*$/, "")
              .split("/")
              .at(-1),
          ),
        ),
      ).toEqual(new Set(left.length === 0 ? [] : ["receive_adapter"]));
      expect(remarks.map(({ path }) => path)).toEqual(
        left.length === 0 ? [] : ["spec.registry.default"],
      );
    }
  });
});

describe.each(all)("pull secrets of $kind", (component) => {
  test("reach all pods of every version of Knative; for the others a remark names who makes them", async () => {
    const releases = await openReleases(await releaseDir());
    const secrets = { imagePullSecrets: [{ name: "mirror" }] };
    for (const version of releases.versionsOf(component.kind)) {
      const wanted: Component =
        component.kind === "KnativeServing"
          ? { ...component, spec: { ...component.spec, version, registry: secrets } }
          : { ...component, spec: { ...component.spec, version, registry: secrets } };
      const { manifests } = await render(wanted, releases);
      expect(podsOf(manifests).filter((one) => !one.secrets.includes("mirror"))).toEqual([]);
      const remarks = await remarksOn(wanted, { releases, version });
      const isEventing = component.kind === "KnativeEventing";
      // Accounts that no pods have: a name that events carry, one of which only rights are left, and that of the guard's readers. Any other could be of pods that a controller makes.
      expect(new Set(accountsWithoutPods(manifests))).toEqual(
        new Set(isEventing ? ["mt-broker-ingress-oidc", "redis-webhook"] : ["guardian-reader"]),
      );
      const named = remarks.map(
        ({ message }) => /; (\S+), .* make pods in the /.exec(message)?.[1],
      );
      expect(named).toEqual(isEventing ? ["eventing-controller"] : []);
    }
  });
});

function withoutExamples(value: object): unknown {
  return JSON.parse(
    JSON.stringify(value, (key, field: unknown) => (key === "_example" ? undefined : field)),
  );
}
