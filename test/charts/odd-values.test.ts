import { describe, expect, test, vi } from "vitest";

import { controllersAmong } from "../../cmd/kubectl/hub/find-controller.ts";
import { valueAt } from "../fleet/json-record.ts";
import { manifestsIn } from "../fleet/manifest-files.ts";
import { chartFolder } from "./helm.ts";
import { argumentsOf, podsIn } from "./rendered.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const plugin = (mountPath: string) => [
  "--set=multicluster.enabled=true",
  `--set-json=multicluster.plugins=[{"name":"a","image":"i","mountPath":"${mountPath}"}]`,
  `--set-json=multicluster.accessProvidersConfig={"providers":[{"name":"a","execConfig":{"command":"${mountPath}/c"}}]}`,
  "--kube-version=1.36.0",
];
const helm = useHelm();

/** What `helm template` makes of a release of a name with these flags. */
async function rendered(release: string, ...flags: readonly string[]) {
  return manifestsIn(await helm().must("template", release, chartFolder, ...flags), "The chart");
}

describe("values that a person writes by mistake are refused in words", () => {
  test.each([
    { flags: ["--set=networkPolicy=null"], says: "missing property 'networkPolicy'" },
    { flags: ["--set=webhook.certificates=null"], says: "missing property 'certificates'" },
    { flags: ["--set=controller.concurrency=null"], says: "missing property 'concurrency'" },
    { flags: ["--set-string=controller.replicas=3"], says: "got string, want integer" },
    { flags: ["--set=image.tag=1"], says: "at '/image/tag': got number, want string" },
    { flags: ["--set=multicluster.enabled=yes"], says: "got string, want boolean" },
    { flags: ["--set=image.pullSecrets[0]=registry"], says: "got string, want object" },
    { flags: ["--set=guard.only=true"], says: "guard.hubs: name at least one hub" },
    {
      flags: ["--set=controller.enabled=false", "--set=webhook.enabled=false"],
      says: "controller.enabled, webhook.enabled: one of them must be true",
    },
    {
      flags: ["--set=sets.enabled=true", "--set=webhook.enabled=false"],
      says: "sets.enabled: needs webhook.enabled=true",
    },
    {
      flags: ["--set=controller.delivery=Auto"],
      says: "controller.pullNamespaces: name the namespaces where Open Cluster Management alone",
    },
    {
      flags: ["--set=discovery.producers={cluster-api}"],
      says: "discovery.producers: needs multicluster.enabled=true",
    },
    {
      flags: [...plugin("/p"), "--set=discovery.producers={registered,cluster-api}"],
      says: "discovery.sourceNamespaces: name the namespaces",
    },
    {
      flags: [String.raw`--set=commonLabels.app\.kubernetes\.io/name=x`],
      says: 'commonLabels: the label "app.kubernetes.io/name" is the chart\'s own',
    },
    {
      flags: ["--set=multicluster.enabled=true", "--set=multicluster.accessProvidersConfig.a=b"],
      says: "accessProvidersConfig.providers: must have at least one provider",
    },
    {
      flags: [
        "--set=multicluster.enabled=true",
        "--set=multicluster.accessProvidersConfig.providers[0].execConfig.command=5",
      ],
      says: 'providers[0].execConfig.command: must be below the mountPath of one of multicluster.plugins, or builtin:secretreader or builtin:kubeconfig-secretreader (is "5")',
    },
    { flags: plugin("/etc"), says: '"/etc/cluster-inventory", which is the container\'s own' },
    { flags: plugin("/app/cmd"), says: '"/app", which is the container\'s own' },
    { flags: plugin("/a b"), says: "at '/multicluster/plugins/0/mountPath'" },
    { flags: ["--kube-version=1.29.0"], says: "chart requires kubeVersion: >=1.30.0-0" },
  ])("$flags", async ({ flags, says }) => {
    const answer = await helm().run("template", "knfleet", chartFolder, ...flags);
    expect(answer.stderr).toContain(says);
    expect(answer).toMatchObject({ code: 1 });
  });
});

describe("values that are unusual and right", () => {
  test("the longest name of a release, or one with dots, gives names that Kubernetes takes", async () => {
    const flags = ["--set=multicluster.enabled=true", ...plugin("/plugins/a")];
    for (const release of ["a".repeat(53), `${"b".repeat(39)}.c`, "my.fleet"]) {
      const objects = await rendered(release, ...flags);
      const names = objects
        .map(({ kind, metadata: { name = "" } }) => ({ kind, name }))
        .filter(({ kind }) => kind !== "CustomResourceDefinition");
      expect(names.length).toBeGreaterThan(15);
      for (const { name } of names) expect(name).toMatch(/^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$/);
    }
  });

  test("lists and maps that are emptied with null leave them out", async () => {
    const emptied = ["env", "podLabels", "tolerations", "affinity", "resources", "nodeSelector"];
    const flags = emptied.map((name) => `--set=controller.${name}=null`);
    const objects = await rendered("knfleet", ...flags, "--set=extraObjects=null");
    const pod = podsIn(objects).find(({ program }) => program === "controller");
    expect(pod?.spec).not.toHaveProperty("tolerations");
    expect(valueAt(pod?.spec, "containers", 0, "resources") ?? {}).toEqual({});
  });

  test("a label of pods wins over the label of everything, and is there once", async () => {
    const flags = ["--set=commonLabels.team=all", "--set=controller.podLabels.team=ours"];
    const objects = await rendered("knfleet", ...flags);
    const labelOf = (name: string, ...path: readonly string[]) =>
      valueAt(
        objects.find(({ kind, metadata }) => kind === "Deployment" && metadata.name === name),
        ...path,
        "metadata",
        "labels",
        "team",
      );
    expect(labelOf("knfleet-controller")).toBe("all");
    expect(labelOf("knfleet-controller", "spec", "template")).toBe("ours");
    expect(labelOf("knfleet-webhook", "spec", "template")).toBe("all");
  });

  test("names, pull secrets, priority and tolerations come where they belong", async () => {
    const objects = await rendered(
      "knfleet",
      "--set=nameOverride=fleet,fullnameOverride=acme,image.pullSecrets[0].name=registry",
      "--set=webhook.priorityClassName=high,webhook.tolerations[0].operator=Exists",
    );
    const [webhook] = podsIn(objects).filter(({ program }) => program === "webhook");
    if (webhook === undefined) throw new Error("There is no webhook");
    expect(webhook).toMatchObject({
      of: "Deployment acme-webhook",
      spec: {
        imagePullSecrets: [{ name: "registry" }],
        priorityClassName: "high",
        tolerations: [{ operator: "Exists" }],
      },
    });
    expect(argumentsOf(webhook)).toContain("--service-name=acme-webhook");
    const selectors = objects.flatMap((one) => valueAt(one, "spec", "selector", "matchLabels"));
    expect(selectors).toContainEqual(
      expect.objectContaining({ "app.kubernetes.io/name": "fleet" }),
    );
  });

  test.each([
    ["knfleet", []],
    ["prod.eu", []],
    ["prod", ["--set=nameOverride=fleet,fullnameOverride=acme", "--set=commonLabels.team=all"]],
  ])("the controller of release %s, and nothing else, is found with %j", async (name, flags) => {
    const objects = (await rendered(name, "--namespace=any", ...flags)).map(
      ({ metadata, ...one }) => ({
        ...one,
        metadata: { ...metadata, name: metadata.name ?? "", uid: "u", resourceVersion: "1" },
      }),
    );
    const of = (kind: string) => objects.filter((one) => one.kind === kind);
    const found = controllersAmong(of("Deployment"), of("ClusterRoleBinding"));
    expect(of("Deployment")).toHaveLength(2);
    expect(found).toMatchObject([{ flavour: "knfleet", namespace: "any" }]);
    expect(found[0]?.name).toMatch(/-controller$/);
  });
});
