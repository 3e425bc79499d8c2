// Servers of its own: the API server calls webhooks through an egress proxy.
import { readFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { parse, stringify } from "yaml";

import { blocksOf, fileNameOf } from "../demo/page.ts";
import { ensureBinaries, ensureModuleFiles } from "../fleet/binaries.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { valueAt } from "../fleet/json-record.ts";
import { credentialNamespace } from "../fleet/profiles.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { followed, type PageCommand, runnable } from "./page-commands.ts";
import { Player } from "./player.ts";
import { Reader } from "./reader.ts";
import { writeUpstreamChart } from "./upstream-chart.ts";

vi.setConfig({ testTimeout: 900_000 });

const fleet = useFleet({ hub: { egress: true, kwok: true }, spokes: 1 });
const root = resolve(import.meta.dirname, "../..");
const crdType = { apiVersion: "apiextensions.k8s.io/v1", kind: "CustomResourceDefinition" };
const eventing = {
  apiVersion: "operator.knative.dev/v1beta1",
  kind: "KnativeEventing",
  metadata: { namespace: "knative-eventing", name: "knative-eventing" },
};
const typed = new Set<string>();
const opened = new AsyncDisposableStack();
let hub: Cluster;
let reader: Reader;
let player: Player;
/** Where the pages take the CRD of ClusterProfiles from, and the same on this machine. */
const inventoryUrl = /https:\/\/raw\.githubusercontent\.com\/\S+clusterprofiles\.yaml/g;
let inventoryCrds: string;

beforeAll(async () => {
  hub = fleet().hub;
  const checkout = ["cmd", "docs", "charts", "test", "package.json", "bootstrap.js"];
  reader = await Reader.start([hub, fleet().spoke(0)], checkout);
  player = opened.use(new Player(hub));
  inventoryCrds = join(
    await ensureModuleFiles("inventory-crds"),
    "multicluster.x-k8s.io_clusterprofiles.yaml",
  );
  // The fleet brings ours along; a hub has none, and a spoke no role.
  await removeDefinitions();
  for (const page of ["docs/install.md", "docs/airgap.md"]) {
    for (const block of blocksOf(await readFile(resolve(root, page), "utf8"))) {
      const name = fileNameOf(block);
      if (name !== undefined) await reader.save(name, filledIn(block.text));
    }
  }
});

afterAll(() => opened.disposeAsync());

/** A file that allows the addresses of the real spoke, which are of no use to a pod. */
function filledIn(text: string): string {
  const rule = "allowedNamespaces: [fleet]";
  return text.replace(rule, `${rule}\n        allowedServers: [127.0.0.0/8]`);
}

async function isBare(): Promise<boolean> {
  return (await definitions()).length === 0;
}

async function definitions(): Promise<readonly string[]> {
  const names = (await hub.admin.list(crdType)).map(({ metadata }) => metadata.name);
  return names.filter((name) => name.endsWith(".operator.knative.dev"));
}

/** `register` refuses a cluster whose namespace for the identity is still being deleted. */
async function unregister(environment = ":"): Promise<void> {
  await reader.type(`${environment}; kubectl knfleet unregister fleet/spoke-1 --yes`);
  const namespace = { apiVersion: "v1", kind: "Namespace", name: "knfleet" };
  const { admin } = fleet().spoke(0);
  await waitFor("its namespace to go", async () => (await admin.get(namespace)) === undefined);
}

async function removeDefinitions(): Promise<void> {
  for (const name of await definitions()) await hub.admin.remove({ ...crdType, name });
  await waitFor("the definitions to be gone", isBare);
}

/** Types a command as it stands there, and lets the pods follow, also while it waits for them. */
async function follow(command: PageCommand | undefined): Promise<string> {
  if (command === undefined) throw new Error("A command is missing");
  typed.add(identityOf(command));
  let printed = "";
  for (const line of linesOf(command.text)) printed += await followLine(line);
  return printed;
}

async function followLine(line: string): Promise<string> {
  const printed = await reader.typePatiently(filledInNames(line));
  await player.follow();
  return printed;
}

function identityOf({ page, text }: PageCommand): string {
  return `${page}: ${text}`;
}

/** The lines of a block, those that go on with a backslash together. */
function linesOf(text: string): readonly string[] {
  return text.replaceAll("\\\n", " ").split("\n");
}

function filledInNames(text: string): string {
  return text
    .replaceAll(inventoryUrl, inventoryCrds)
    .replaceAll(/\bNAMESPACE\b/g, "fleet")
    .replaceAll(/\bNAME\b/g, "spoke-1")
    .replaceAll(/\bCLUSTER\b/g, "fleet/spoke-1")
    .replaceAll(/\bSPOKE\b/g, "spoke-1");
}

/** The same for several, of which there must be some; returns what they printed. */
async function followAll(commands: readonly PageCommand[]): Promise<string> {
  expect(commands.length).toBeGreaterThan(0);
  let printed = "";
  for (const command of commands) printed += await follow(command);
  return printed;
}

const serving = "knativeserving/knative-serving --namespace knative-serving";

test("README.md leads from a checkout to a KnativeServing that is ready on a spoke", async () => {
  const blocks = runnable("README.md", "From a checkout");
  const [prepare = "", control = "", install = "", ...more] = blocks.map(({ text }) => text);
  expect(more).toEqual([]);
  // What the block that is not typed here sets. It must not stay for the other pages.
  const set =
    'KNFLEET_PROVIDER_FILE="$PWD/docs/examples/providers.yaml"; export KNFLEET_PROVIDER_FILE';
  await using undo = new AsyncDisposableStack();
  undo.defer(removeDefinitions);
  expect(await reader.type(`${set}\n${prepare}`)).toContain("fleet/spoke-1 is registered");
  undo.defer(() => unregister(set));
  // Somebody else may use its own port.
  undo.use(reader.start(`${set}; exec ${control} --health-address 127.0.0.1:0`));
  undo.defer(async () => {
    await reader.type(`kubectl delete --ignore-not-found ${serving} --timeout=5m`);
  });
  const status = await reader.type(`${set}\n${install}`);
  expect(status).toMatch(/knative-serving.*spoke-1.*1\.23.*Ready {3}Ready/);
  for (const block of blocks) typed.add(identityOf(block));
});

test("README.md leads from nothing to a KnativeServing that is ready on a spoke, in five commands", async () => {
  const [block, ...others] = runnable("README.md", "Install");
  expect(others).toEqual([]);
  const commands = linesOf(block?.text ?? "");
  expect(commands.length).toBeLessThanOrEqual(5);
  const begin = performance.now();
  let said = "";
  for (const text of commands.slice(0, -1)) said += await followLine(text);
  expect(said).toContain("ClusterProfile fleet/spoke-1 is registered");
  const status = await waitFor(
    "the status to be fine",
    async () => {
      const printed = await reader.type(commands.at(-1) ?? "").catch(() => "");
      return printed.includes("Ready   Ready") ? printed : undefined;
    },
    { timeoutMs: 120_000 },
  );
  // A minute on a machine that does nothing else; here other tests run beside.
  expect(performance.now() - begin).toBeLessThan(120_000);
  expect(status).toMatch(/knative-serving.*spoke-1.*1\.23.*Ready {3}Ready/);
  if (block !== undefined) typed.add(identityOf(block));
});

/** What one page made must not hide what the next one lacks. */
async function takeAway(): Promise<void> {
  await reader.typePatiently(`kubectl delete ${serving} --timeout=5m`);
  await unregister();
  await reader.type("helm uninstall knfleet --namespace knfleet-system --no-hooks --wait");
  await player.follow();
  await removeDefinitions();
}

test("docs/airgap.md leads to the same without the internet", async () => {
  await takeAway();
  const said = await followAll(runnable("docs/airgap.md"));
  expect(said).toMatch(/knative-serving.*spoke-1.*1\.23.*Ready {3}Ready/);
  expect(said).toContain("registry.example.com/knative/activator:v1.23");
  expect(said).toContain("test/fixtures/release");
});

test("docs/install.md leads to the same", async () => {
  await takeAway();
  await followAll(runnable("docs/install.md"));
  expect(await definitions()).toHaveLength(2);
});

test("docs/upgrade.md plans the upgrade of a fleet", async () => {
  const said = await followAll(runnable("docs/upgrade.md", "Upgrade Knative on the fleet"));
  expect(said).toContain("knative-serving");
});

test("the commands of docs/troubleshooting.md answer", async () => {
  const said = await followAll(runnable("docs/troubleshooting.md"));
  expect(said).toContain("ControlPlaneHealthy");
  await followAll(runnable("README.md", "Documentation"));
});

test("docs/upgrade.md does what it says about upgrades, rollbacks and uninstalling", async () => {
  await followAll(runnable("docs/upgrade.md", "Upgrade"));
  const [uninstall, leave, clear, ...more] = runnable("docs/upgrade.md", "Uninstall");
  expect(more).toEqual([]);
  await follow(uninstall);
  expect(await definitions()).toHaveLength(2);
  await reader.type("helm install knfleet oci://ghcr.io/knfleet/charts/knfleet -n knfleet-system");
  await follow(leave);
  expect(await definitions()).toHaveLength(2);
  await follow(clear);
  expect(await definitions()).toEqual([]);
});

test("docs/migrate.md: the release of upstream's chart becomes ours, with its values, its definitions and its components", async () => {
  const chart = await writeUpstreamChart(reader.folder);
  await reader.save("upstream.yaml", stringify(await upstreamValues()));
  const place = "--namespace knative-operator --create-namespace";
  await reader.type(`helm install knative-operator ${chart} ${place} --values upstream.yaml`);
  const ref = { namespace: "fleet", name: "spoke-1" };
  const spec = { version: "1.23", clusterProfileRef: ref };
  const { metadata } = await waitFor("the definitions to be served", () =>
    hub.admin.create({ ...eventing, spec }),
  );
  const [stop, values, install, uninstall, forget, ...more] = runnable("docs/migrate.md", "There");
  expect(more).toEqual([]);
  await follow(stop);
  const theirs: unknown = parse(await follow(values));
  const multicluster = valueAt(theirs, "knative_operator", "multicluster");
  const credentialsNamespace = "fleet-credentials";
  const moved = { multicluster: { ...Object(multicluster), credentialsNamespace } };
  await reader.save("values.yaml", stringify(moved));
  await follow(install);
  for (const command of [uninstall, forget]) {
    await follow(command);
    expect(await definitions()).toHaveLength(2);
    const key = { ...eventing, ...eventing.metadata };
    expect((await hub.admin.get(key))?.metadata.uid).toBe(metadata.uid);
  }
  for (const name of await definitions()) {
    expect(await hub.admin.get({ ...crdType, name })).toMatchObject({
      metadata: { annotations: { "meta.helm.sh/release-name": "knfleet" } },
      // Upstream's has a webhook for this, which is away now.
      spec: { conversion: { strategy: "None" } },
    });
  }
  const left = await hub.admin.list({
    apiVersion: "apps/v1",
    kind: "Deployment",
    namespace: "knative-operator",
  });
  expect(left).toEqual([]);
});

/** What somebody had set for upstream's chart: the official plugin, from an image. */
async function upstreamValues(): Promise<object> {
  const plugin = (await ensureBinaries(["secretreader"]))("secretreader");
  const { token } = await hub.serviceAccountToken({
    namespace: credentialNamespace,
    name: "exec-plugins",
    namespaceRules: [{ apiGroups: [""], resources: ["secrets"], verbs: ["get"] }],
  });
  const KUBECONFIG = await hub.writeKubeconfig("plugin.kubeconfig", {
    identity: { token },
    namespace: credentialNamespace,
  });
  const execConfig = {
    apiVersion: "client.authentication.k8s.io/v1",
    command: plugin,
    env: [{ name: "KUBECONFIG", value: KUBECONFIG }],
    provideClusterInfo: true,
  };
  return {
    knative_operator: {
      kubernetes_min_version: "v1.25.0",
      multicluster: {
        enabled: true,
        remoteDeploymentsPollInterval: "30s",
        plugins: [{ name: "reader", image: "example.org/a:1", mountPath: dirname(plugin) }],
        accessProvidersConfig: { providers: [{ name: "secretreader", execConfig }] },
      },
    },
  };
}

test("no command of these pages is left that nobody typed", () => {
  const all = followed.flatMap(({ page, heading }) => runnable(page, heading)).map(identityOf);
  expect(all.filter((command) => !typed.has(command))).toEqual([]);
});
