import { expect, test } from "vitest";

import { openReleases } from "../../cmd/open-releases.ts";
import { sampleDirOf } from "../../cmd/release-files.ts";
import { render } from "../../render/render.ts";
import { eventing, serving } from "./components.ts";
import { accountsWithoutPods, podsOf } from "./pull-secrets.ts";

const registry = { imagePullSecrets: [{ name: "mirror" }] };
const kafka = { kafka: { enabled: true } };

test.each([serving({ registry, ingress: { kourier: { enabled: true } } }), eventing({ registry })])(
  "all pods of $kind get the pull secrets, also those that its controllers scale and change",
  async (component) => {
    const { manifests } = await render(component, await openReleases(sampleDirOf()));
    const pods = podsOf(manifests);
    expect(pods.filter(({ secrets }) => !secrets.includes("mirror"))).toEqual([]);
    expect(pods.map(({ name }) => name)).toEqual(
      expect.arrayContaining(
        component.kind === "KnativeServing"
          ? ["activator", "3scale-kourier-gateway"]
          : ["pingsource-mt-adapter", "imc-dispatcher", "mt-broker-ingress", "job-sink"],
      ),
    );
  },
);

test("no account of Eventing is for pods that only its controllers make", async () => {
  const component = eventing({ registry, source: kafka });
  const { manifests } = await render(component, await openReleases(sampleDirOf()));
  // mt-broker-ingress-oidc is a name that events carry.
  expect(accountsWithoutPods(manifests)).toEqual(["mt-broker-ingress-oidc"]);
});
