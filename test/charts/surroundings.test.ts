import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, describe, expect, test, vi } from "vitest";
import { parse } from "yaml";

import type { Manifest } from "../../api/kubernetes.ts";
import { valueAt } from "../fleet/json-record.ts";
import { chartFolder } from "./helm.ts";
import { listAt, objectIn } from "./rendered.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const files = readdirSync(join(chartFolder, "ci"));
const rendered = new Map<string, readonly Manifest[]>();
const helm = useHelm();

beforeAll(async () => {
  for (const file of files) rendered.set(file, await helm().objects({ file }));
}, 600_000);

function of(file: string, kind: string): readonly Manifest[] {
  return (rendered.get(file) ?? []).filter((one) => one.kind === kind);
}

function read(path: string): string {
  return readFileSync(join(chartFolder, path), "utf8");
}

/** Whether everything that a selector asks for is among labels. */
function selects(selector: unknown, labels: unknown): boolean {
  return Object.entries(Object(selector)).every(([name, value]) => valueAt(labels, name) === value);
}

/** The address ranges that a NetworkPolicy lets in or out. */
function cidrsOf(policy: Manifest, way: "ingress" | "egress"): readonly unknown[] {
  return listAt(policy, "spec", way).flatMap((rule) =>
    listAt(rule, way === "ingress" ? "from" : "to").map((peer) => valueAt(peer, "ipBlock", "cidr")),
  );
}

describe.each(files)("%s: every Deployment", (file) => {
  test("has two pods at least, on different hosts and zones where there are some, and a budget that leaves all but one", () => {
    expect(of(file, "Deployment").length).toBeGreaterThan(0);
    for (const deployment of of(file, "Deployment")) {
      expect(valueAt(deployment, "spec", "replicas")).toBeGreaterThanOrEqual(2);
      const pod = valueAt(deployment, "spec", "template", "spec");
      const spread = listAt(pod, "topologySpreadConstraints");
      expect(
        spread.map((one) => [valueAt(one, "topologyKey"), valueAt(one, "whenUnsatisfiable")]),
      ).toEqual([
        ["kubernetes.io/hostname", "ScheduleAnyway"],
        ["topology.kubernetes.io/zone", "ScheduleAnyway"],
      ]);
      const apart = [
        "affinity",
        "podAntiAffinity",
        "preferredDuringSchedulingIgnoredDuringExecution",
      ];
      expect(listAt(pod, ...apart)).toHaveLength(1);
      const labels = valueAt(deployment, "spec", "template", "metadata", "labels");
      const budgets = of(file, "PodDisruptionBudget").filter((budget) =>
        selects(valueAt(budget, "spec", "selector", "matchLabels"), labels),
      );
      expect(budgets.map((budget) => valueAt(budget, "spec", "maxUnavailable"))).toEqual([1]);
    }
  });

  test("is asked whether it started, lives and is ready", () => {
    for (const deployment of of(file, "Deployment")) {
      const [container] = listAt(deployment, "spec", "template", "spec", "containers");
      for (const probe of ["startupProbe", "livenessProbe", "readinessProbe"]) {
        expect(valueAt(container, probe, "httpGet", "port")).toBe("health");
      }
    }
  });

  test("has one Service for its metrics, which a ServiceMonitor finds and no other", () => {
    const services = of(file, "Service");
    for (const monitor of of(file, "ServiceMonitor")) {
      const port = valueAt(monitor, "spec", "endpoints", 0, "port");
      // The namespace of a component is not that of the pod that tells of it.
      expect(valueAt(monitor, "spec", "endpoints", 0, "honorLabels")).toBe(true);
      const selector = valueAt(monitor, "spec", "selector", "matchLabels");
      const found = services
        .filter(({ metadata }) => selects(selector, metadata.labels))
        .filter((service) =>
          listAt(service, "spec", "ports").some((one) => valueAt(one, "name") === port),
        );
      expect(found.map(({ metadata }) => metadata.name)).toEqual([
        `${monitor.metadata.name}-metrics`,
      ]);
    }
    expect(services.filter(({ metadata }) => metadata.name?.endsWith("-metrics"))).toHaveLength(
      of(file, "Deployment").length,
    );
  });
});

describe("NetworkPolicies", () => {
  const everywhere = ["0.0.0.0/0", "::/0"];

  test("let API servers ask the webhook, monitoring read metrics, and out what is named", () => {
    const file = "full-values.yaml";
    const webhook = objectIn(rendered.get(file) ?? [], "NetworkPolicy", "knfleet-webhook");
    expect(valueAt(webhook, "spec", "policyTypes")).toEqual(["Ingress", "Egress"]);
    expect(listAt(webhook, "spec", "ingress")).toMatchObject([
      { ports: [{ port: "webhook" }], from: [{ ipBlock: { cidr: "10.0.0.1/32" } }] },
      { ports: [{ port: "health" }], from: [{ namespaceSelector: {} }] },
    ]);
    expect(cidrsOf(webhook, "egress")).toEqual(["10.0.0.1/32"]);
    const controller = objectIn(rendered.get(file) ?? [], "NetworkPolicy", "knfleet-controller");
    expect(listAt(controller, "spec", "ingress")).toHaveLength(1);
    expect(cidrsOf(controller, "egress")).toEqual(["10.0.0.1/32", "10.1.0.0/16"]);
  });

  test("keep from the machine's own metadata where nothing is named", () => {
    const policies = of("companion-values.yaml", "NetworkPolicy");
    expect(policies).toHaveLength(1);
    for (const policy of policies) {
      expect(cidrsOf(policy, "egress")).toEqual(everywhere);
      expect(JSON.stringify(policy["spec"])).toContain("169.254.0.0/16");
    }
  });
});

test("alerts and dashboard are those of the files, where Prometheus and Grafana look for them", () => {
  const all = rendered.get("full-values.yaml") ?? [];
  const rule = objectIn(all, "PrometheusRule", "knfleet");
  expect(rule["spec"]).toEqual(parse(read("files/alerts.yaml")).spec);
  const dashboard = objectIn(all, "ConfigMap", "knfleet-dashboard");
  expect(dashboard.metadata.labels).toMatchObject({ grafana_dashboard: "1" });
  const text = valueAt(dashboard, "data", "knfleet.json");
  expect(JSON.parse(String(text))).toEqual(JSON.parse(read("files/dashboards/knfleet.json")));
});

test("what Artifact Hub shows is there", () => {
  const { annotations, appVersion } = parse(read("Chart.yaml"));
  expect(parse(annotations["artifacthub.io/images"])).toEqual([
    { name: "knfleet", image: `ghcr.io/knfleet/knfleet:${appVersion}` },
  ]);
  for (const change of parse(annotations["artifacthub.io/changes"])) {
    expect(change).toEqual({
      kind: expect.stringMatching(/^(?:added|changed|deprecated|removed|fixed|security)$/),
      description: expect.stringMatching(/./),
    });
  }
  expect(annotations["artifacthub.io/containsSecurityUpdates"]).toMatch(/^(?:true|false)$/);
});
