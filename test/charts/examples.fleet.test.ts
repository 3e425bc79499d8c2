// Servers of its own: the API server calls webhooks through an egress proxy.
import { cp, readFile, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { afterAll, beforeAll, expect, test, vi } from "vitest";

import type { ComponentKind } from "../../api/component.ts";
import type { KubeObject } from "../../api/kubernetes.ts";
import { blocksOf, fileNameOf } from "../demo/page.ts";
import type { Cluster } from "../fleet/fleet.ts";
import { conditionOf, valueAt } from "../fleet/json-record.ts";
import { useFleet } from "../fleet/use-fleet.ts";
import { waitFor } from "../fleet/wait-for.ts";
import { commandsOf } from "./page-commands.ts";
import { Player } from "./player.ts";
import { Reader } from "./reader.ts";

vi.setConfig({ testTimeout: 900_000 });

const docs = resolve(import.meta.dirname, "../../docs");
// One of each stage; at the addresses of the others nobody answers.
const real = ["eu-1", "eu-2", "us-2"];
const ten = ["eu-1", "eu-2", "us-1", "ap-1", "eu-3", "eu-4", "us-2", "us-3", "us-4", "ap-2"];
const fleet = useFleet({
  hub: { egress: true },
  spokes: real.map((name) => ({ name })),
});
const opened = new AsyncDisposableStack();
let hub: Cluster;
let reader: Reader;
let player: Player;

beforeAll(async () => {
  hub = fleet().hub;
  reader = await Reader.start([hub, ...fleet().spokes], []);
  player = opened.use(new Player(hub));
  await cp(docs, join(reader.folder, "docs"), { recursive: true });
  await fillIn("credentials.yaml", async (text, name) => {
    return text.replace("replace-me", real.includes(name) ? await tokenOf(name) : "unused");
  });
  await fillIn("cluster-profiles.yaml", async (text, name) => {
    const spoke = real.includes(name) ? fleet().spoke(name) : fleet().spoke(0);
    const server = real.includes(name) ? spoke.server : "https://127.0.0.1:1";
    const ca = Buffer.from(spoke.caPem).toString("base64");
    return text.replace(`https://${name}.example.com:6443`, server).replace("cmVwbGFjZS1tZQ==", ca);
  });
  const blocks = blocksOf(await readFile(join(docs, "install.md"), "utf8"));
  const values = blocks.find((block) => fileNameOf(block) === "values.yaml");
  await reader.save("values.yaml", values?.text ?? "");
}, 600_000);

afterAll(() => opened.disposeAsync());

/** Puts what is the reader's own into each document of an example, which says for which cluster it is. */
async function fillIn(
  file: string,
  filled: (text: string, cluster: string) => Promise<string>,
): Promise<void> {
  const path = join(reader.folder, "docs/examples", file);
  const documents = (await readFile(path, "utf8")).split("\n---\n").map(async (text) => {
    const cluster = /^ {2}name: (\S+)$/m.exec(text)?.[1];
    return cluster === undefined ? text : filled(text, cluster);
  });
  await writeFile(path, (await Promise.all(documents)).join("\n---\n"));
}

async function tokenOf(name: string): Promise<string> {
  const identity = { namespace: "knfleet", name: "knfleet-hub", clusterRoles: ["knfleet-spoke"] };
  return (await fleet().spoke(name).serviceAccountToken(identity)).token;
}

function componentsOf(kind: ComponentKind): Promise<readonly KubeObject[]> {
  return hub.admin.list({ apiVersion: "operator.knative.dev/v1beta1", kind });
}

/** Waits until the components of a kind are what they are to be, by cluster: the version that runs there, or the reason why none does. */
async function become(
  kind: ComponentKind,
  wanted: Readonly<Record<string, string>>,
): Promise<void> {
  let found: Record<string, string> = {};
  await waitFor(
    `${kind} everywhere`,
    async () => {
      const components = await componentsOf(kind);
      found = Object.fromEntries(components.map((one) => [one.metadata.name, stateOf(one)]));
      return ten.every((name) => (found[name] ?? "") === (wanted[name] ?? ""));
    },
    { timeoutMs: 300_000 },
  ).catch(() => undefined);
  expect(found).toEqual(wanted);
}

function stateOf(component: KubeObject): string {
  const { generation } = component.metadata;
  if (valueAt(component, "status", "observedGeneration") !== generation) return "not seen yet";
  if (conditionOf(component, "Ready")?.status === "True") {
    return String(valueAt(component, "status", "version"));
  }
  return String(conditionOf(component, "TargetClusterResolved")?.reason);
}

// More than 15 s: the files of a whole fleet are used in their order, and Knative gets ready on one cluster after the other.
test("the ten clusters of docs/examples: where there is one Knative becomes ready in the version of its stage, the early ones follow the canary, and a set takes all of them over", async () => {
  const [install = ""] = commandsOf("docs/install.md")
    .map(({ text }) => text.split("\n").find((line) => line.startsWith("helm install ")))
    .filter((line) => line !== undefined);
  const [apply, follow, takeOver, approve, ...more] = commandsOf("docs/examples/README.md");
  expect(more).toEqual([]);
  await reader.type("kubectl apply -f docs/examples/namespaces.yaml");
  // The fleet brings the definitions along.
  await reader.type(`${install} --take-ownership --force-conflicts --set sets.enabled=true`);
  await player.follow();
  // All of them can be repeated, which is for a busy hub that did not answer the webhook in time.
  const typed = (text = "") =>
    waitFor(`the commands\n${text}`, async () => (await reader.type(text)) !== "", {
      timeoutMs: 90_000,
    });
  await typed(apply?.text);
  const dead = Object.fromEntries(ten.map((name) => [name, "RemoteClientCreationFailed"]));
  await become("KnativeServing", { ...dead, "eu-1": "1.23.1", "eu-2": "1.22.1", "us-2": "1.22.1" });
  const { "eu-3": third = "", "eu-4": fourth = "" } = dead;
  const eventing = { "eu-1": "1.23.1", "eu-2": "1.22.1", "eu-3": third, "eu-4": fourth };
  await become("KnativeEventing", eventing);
  await typed(follow?.text);
  await become("KnativeServing", { ...dead, "eu-1": "1.23.1", "eu-2": "1.23.1", "us-2": "1.22.1" });
  await become("KnativeEventing", { ...eventing, "eu-2": "1.23.1" });
  await typed(takeOver?.text);
  // Most clusters of the example do not answer.
  const patience = JSON.stringify({ spec: { rollout: { maxUnreachable: "100%" } } });
  await reader.type(`kubectl patch kss serving -n knative-serving --type=merge -p '${patience}'`);
  await typed(approve?.text);
  await become("KnativeServing", { ...dead, "eu-1": "1.23.1", "eu-2": "1.23.1", "us-2": "1.23.1" });
  const status = await reader.type("kubectl knfleet status -A -o json || true");
  expect(ten.filter((name) => !status.includes(`"${name}"`))).toEqual([]);
});
