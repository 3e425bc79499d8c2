import { join } from "node:path";

import { expect, test, vi } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { discoverySettings, readControllerFlags } from "../../cmd/service/flags.ts";
import { readManifests } from "../fleet/manifest-files.ts";
import { chartFolder, type Values } from "./helm.ts";
import { argumentsOf, podsIn, rulesOf } from "./rendered.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const helm = useHelm();

const execConfig = { command: "builtin:kubeconfig-secretreader" };
const providers = [{ name: "kubeconfig-secretreader", execConfig }];
const multicluster = { enabled: true, accessProvidersConfig: { providers } };

function withDiscovery(discovery: Values): Promise<readonly Manifest[]> {
  return helm().objects({ values: { multicluster, discovery } });
}

function isOfDiscovery({ kind, metadata }: Manifest): boolean {
  return kind.endsWith("Role") && /-discovery-/.test(metadata.name ?? "");
}

/** `namespace name`, and each rule. */
function rightsIn(objects: readonly Manifest[]): readonly (readonly [string, unknown])[] {
  return objects
    .filter(isOfDiscovery)
    .map((role) => [
      `${role.metadata.namespace ?? ""} ${role.metadata.name?.replace(/^.*-discovery-/, "") ?? ""}`,
      rulesOf(role).map(({ resources, verbs }) => `${resources.join()}: ${verbs.join()}`),
    ]);
}

test("the rights of discovery are those of discovery-role.yaml in docs", async () => {
  const documented = await readManifests(join(chartFolder, "../../docs/discovery-role.yaml"));
  const producers = ["kubeconfig-secrets", "cluster-api"];
  const places = { namespace: "fleet", sourceNamespaces: ["fleet-credentials"] };
  const charted = await withDiscovery({ producers, ...places });
  expect(rightsIn(charted)).toEqual(rightsIn(documented.filter(isOfDiscovery)));
});

const own = "clusterprofiles: create,patch,delete";
const status = "clusterprofiles/status: patch";

test.each<{ readonly name: string; readonly values: Values; readonly rights: readonly unknown[] }>([
  { name: "nothing is granted by default", values: {}, rights: [] },
  {
    name: "registered profiles need a status only",
    values: { producers: ["registered"] },
    rights: [[" registered", [status]]],
  },
  {
    name: "Cluster API needs no list of Secrets, and profiles stand beside their sources",
    values: { producers: ["cluster-api"], sourceNamespaces: ["a", "b"] },
    rights: [
      ["a sources", ["secrets: get", "clusters: list,watch"]],
      ["b sources", ["secrets: get", "clusters: list,watch"]],
      ["a profiles", [own, status]],
      ["b profiles", [own, status]],
    ],
  },
])("$name", async ({ values, rights }) => {
  expect(rightsIn(await withDiscovery(values))).toEqual(rights);
});

test("the controller gets the values as flags", async () => {
  const values = {
    producers: ["kubeconfig-secrets"] as const,
    namespace: "fleet",
    sourceNamespaces: ["a", "b"],
    selector: "env in (prod, dev)",
    kubeconfigLabel: "example.com/kubeconfig",
    kubeconfigKey: "value",
  };
  const pods = podsIn(await withDiscovery(values));
  const [given = []] = pods.filter(({ program }) => program === "controller").map(argumentsOf);
  const flags = readControllerFlags(given, "1.0.0");
  if ("text" in flags) throw new Error(flags.text);
  expect(discoverySettings(flags)).toEqual(values);
});
