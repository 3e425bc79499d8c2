import { describe, expect, test } from "vitest";

import type { Unblocked } from "../../../controller/apply/unblock.ts";
import { systemClock } from "../../../controller/clock.ts";
import { valueAt } from "../../fleet/json-record.ts";
import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { openInstaller, serving } from "./installer.ts";
import { writtenTo } from "./spoke-view.ts";

const fleet = useFleet({ spokes: [{ kwok: false, admissionWebhooks: true }] });

const configuration = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "config.webhook.serving.knative.dev",
};

/** A clock that is ahead of the machine's. */
function ahead(ms: number) {
  return { ...systemClock, now: () => systemClock.now() + ms };
}

describe("Serving whose webhook has rules but no pods (engine-facts 1)", () => {
  test("has its Deployments in any case, and its ConfigMaps once the rules are emptied, which happens once", async () => {
    const spoke = fleet().spoke(0);
    const component = serving({ version: "1.23.0" });
    await using opened = await openInstaller(spoke, { component });
    const { installer } = opened;
    const rendered = await installer.rendered();
    const own = rendered.manifests.filter(
      ({ kind, metadata }) =>
        kind.endsWith("Configuration") ||
        (/^(?:config-logging|controller)$/.test(metadata.name ?? "") && kind !== "ServiceAccount"),
    );
    await installer.install({ rendered: { ...rendered, manifests: own, hash: "own" } });
    await installer.observation.synced(AbortSignal.timeout(60_000));

    // What the webhook's pod writes when it runs.
    const live = await spoke.admin.get(configuration);
    const rule = {
      apiGroups: [""],
      apiVersions: ["v1"],
      operations: ["CREATE", "UPDATE"],
      resources: ["configmaps/*", "configmaps"],
      scope: "Namespaced",
    };
    const webhooks = [{ ...Object(valueAt(live, "webhooks", 0)), rules: [rule] }];
    await spoke.admin.patch(configuration, { webhooks });
    const path = "/api/v1/namespaces/knative-serving/configmaps?dryRun=All";
    const probe = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "probe",
        labels: {
          "app.kubernetes.io/name": "knative-serving",
          "app.kubernetes.io/component": "logging",
        },
      },
    };
    await waitFor("the webhook to be in force", () =>
      spoke.admin.request("POST", path, probe).then(
        () => false,
        () => true,
      ),
    );

    const manifests = own.map((manifest) =>
      ["ConfigMap", "Deployment"].includes(manifest.kind)
        ? {
            ...manifest,
            metadata: { ...manifest.metadata, annotations: { changed: "yes" } },
          }
        : manifest,
    );
    const changed = { ...rendered, manifests, hash: "changed" };
    const unblocked: Unblocked[] = [];
    const options = { rendered: changed, onUnblocked: (one: Unblocked) => unblocked.push(one) };
    const first = await installer.install(options);
    expect(first.applied).toMatchObject([{ kind: "Deployment", name: "controller" }]);
    expect(first.parked).toMatchObject([
      { key: { name: "config-logging" }, message: `Waiting for webhook ${configuration.name}` },
    ]);
    await installer.install({ ...options, clock: ahead(2 * 60_000) });
    expect(unblocked).toEqual([]);

    await installer.install({ ...options, clock: ahead(3 * 60_000 + 1_000) });
    expect(unblocked).toEqual([
      {
        webhook: configuration.name,
        configuration: `${configuration.kind} ${configuration.name}`,
      },
    ]);
    await installer.install({ ...options, clock: ahead(4 * 60_000) });
    expect(unblocked).toHaveLength(1);
    await waitFor("the ConfigMap to be accepted", async () => {
      const { parked } = await installer.install({ ...options, clock: ahead(5 * 60_000) });
      return parked.length === 0;
    });
    const since = new Date();
    await installer.install(options);
    expect(await writtenTo(spoke, since)).toEqual([]);
    expect(unblocked).toHaveLength(1);
    const after = await spoke.admin.get(configuration);
    expect(valueAt(after, "webhooks", 0, "rules")).toBeUndefined();
    expect(
      after?.metadata.managedFields?.filter(({ operation }) => operation === "Apply"),
    ).toHaveLength(1);
  });
});
