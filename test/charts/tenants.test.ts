import { describe, expect, test, vi } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import type { Values } from "./helm.ts";
import { argumentsOf, listAt, objectIn, podsIn } from "./rendered.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const helm = useHelm();

const grants = [{ fromNamespace: "team-a", toNamespace: "fleet", names: ["spoke-1"] }];
const access = {
  enabled: true,
  accessProvidersConfig: {
    providers: [
      {
        name: "secretreader",
        execConfig: {
          apiVersion: "client.authentication.k8s.io/v1",
          command: "builtin:secretreader",
          provideClusterInfo: true,
        },
      },
    ],
  },
};

function argumentsFor(objects: readonly Manifest[], start: string): readonly string[] {
  return podsIn(objects).flatMap((pod) =>
    argumentsOf(pod)
      .filter((one) => one.startsWith(start))
      .map((one) => `${pod.program} ${one}`),
  );
}

async function isWarned(values: Values): Promise<boolean> {
  const notes = await helm().notes(values);
  return notes.includes("WARNING: a component may name a ClusterProfile of any namespace");
}

/** From where the port for reviews is reached. */
async function webhookIngress(apiServerCIDRs: readonly string[]): Promise<readonly unknown[]> {
  const networkPolicy = { enabled: true, apiServerCIDRs };
  const objects = await helm().objects({ values: { networkPolicy } });
  const policy = objectIn(objects, "NetworkPolicy", "knfleet-webhook");
  expect(listAt(policy, "spec", "policyTypes")).toContain("Ingress");
  return listAt(policy, "spec", "ingress").filter(
    (rule) => valueAt(rule, "ports", 0, "port") === "webhook",
  );
}

describe("T-04, T-20 who may use which ClusterProfile", () => {
  test("without values a component may name any, and the notes warn of that", async () => {
    const objects = await helm().objects({ values: { multicluster: access } });
    expect(argumentsFor(objects, "--reference")).toEqual([
      "controller --reference-mode=Any",
      "webhook --reference-mode=Any",
    ]);
    expect(await isWarned({ multicluster: access })).toBe(true);
    expect(await isWarned({ multicluster: access, references: { mode: "Same" } })).toBe(false);
    expect(await isWarned({})).toBe(false);
  });

  test("grants are a file that both programs follow", async () => {
    const references = {
      mode: "Granted",
      grants,
      trustedInventoryNamespaces: ["fleet"],
      trustedClusterManagers: ["ocm"],
    };
    const objects = await helm().objects({ values: { multicluster: access, references } });
    const map = objectIn(objects, "ConfigMap", "knfleet-references");
    expect(JSON.parse(String(valueAt(map, "data", "grants.json")))).toEqual({ grants });
    for (const pod of podsIn(objects)) {
      if (pod.program === "uninstall-check") continue;
      expect(argumentsOf(pod)).toEqual(
        expect.arrayContaining([
          "--reference-grants=/etc/knfleet/references/grants.json",
          "--trusted-inventory-namespace=fleet",
          "--trusted-cluster-manager=ocm",
        ]),
      );
      const volume = { name: "references", configMap: { name: "knfleet-references" } };
      expect(listAt(pod.spec, "volumes")).toContainEqual(volume);
      // A folder: a file that is mounted by itself would never change.
      expect(listAt(pod.spec, "containers", 0, "volumeMounts")).toContainEqual({
        name: "references",
        mountPath: "/etc/knfleet/references",
        readOnly: true,
      });
    }
  });

  test("grants without the mode are refused", async () => {
    const { code, stderr } = await helm().template({ values: { references: { grants } } });
    expect(code).not.toBe(0);
    expect(stderr).toContain("references.grants: have no effect without references.mode=Granted");
  });
});

describe("T-72 forged reviews", () => {
  test("only the addresses of API servers reach the webhook, when they are given", async () => {
    const ports = [{ port: "webhook", protocol: "TCP" }];
    expect(await webhookIngress(["10.0.0.1/32", "10.0.0.2/32"])).toEqual([
      {
        ports,
        from: [{ ipBlock: { cidr: "10.0.0.1/32" } }, { ipBlock: { cidr: "10.0.0.2/32" } }],
      },
    ]);
    expect(await webhookIngress([])).toEqual([{ ports }]);
  });

  test("client certificates are asked for where their authority is named", async () => {
    const clientCertificates = { configMap: "api-servers", names: ["a b"] };
    const objects = await helm().objects({ values: { webhook: { clientCertificates } } });
    expect(argumentsFor(objects, "--client")).toEqual([
      "webhook --client-ca-file=/etc/knfleet/clients/ca.crt",
      "webhook --client-name=a b",
    ]);
    const [webhook] = podsIn(objects).filter(({ program }) => program === "webhook");
    expect(listAt(webhook?.spec, "volumes")).toContainEqual({
      name: "clients",
      configMap: { name: "api-servers" },
    });
    const alone = { webhook: { clientCertificates: { names: ["a"] } } };
    const { code, stderr } = await helm().template({ values: alone });
    expect(code).not.toBe(0);
    expect(stderr).toContain("webhook.clientCertificates.names: have no effect without");
  });

  test("a review has no effect, so that one that is sent again has none either", async () => {
    const objects = await helm().objects({ values: { guard: { controllerUser: "hub" } } });
    const webhooks = listAt(
      objectIn(objects, "ValidatingWebhookConfiguration", "knfleet-webhook"),
      "webhooks",
    );
    expect(webhooks.length).toBeGreaterThan(2);
    for (const webhook of webhooks) expect(valueAt(webhook, "sideEffects")).toBe("None");
    expect(objects.map(({ kind }) => kind)).not.toContain("MutatingWebhookConfiguration");
  });
});
