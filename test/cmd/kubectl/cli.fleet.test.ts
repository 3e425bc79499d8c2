// Servers of its own: the API server of a spoke is frozen.
import { beforeAll, describe, expect, test } from "vitest";

import { useFleet } from "../../fleet/use-fleet.ts";
import { waitFor } from "../../fleet/wait-for.ts";
import { testCompletionInShells } from "./completion-in-shells.ts";
import { testEventsThatCome } from "./events-that-come.ts";
import { testFileOfTheHub } from "./file-of-the-hub.ts";
import { setScene, wrongToken, type FleetScene } from "./fleet-scene.ts";
import { testHubFlagsAndChanges } from "./hub-flags-and-changes.ts";
import { testLogs } from "./logs-of-spokes.ts";
import { testManyObjects } from "./many-objects.ts";
import { testPageOfFleet } from "./page-of-fleet.ts";
import { testRightsOfSpokes } from "./rights-of-spokes.ts";
import { rowsOf, type Ran } from "./run-knfleet.ts";
import { testThroughKubectl } from "./through-kubectl.ts";
import { testTreesOfSpokes } from "./trees-of-spokes.ts";
import { testWaysIntoSpokes } from "./ways-into-spokes.ts";

const fleet = useFleet({ spokes: 2, hub: { kwok: true } });
let scene: FleetScene;
beforeAll(async () => {
  scene = await setScene(fleet());
});

function knfleet(...args: readonly string[]): Promise<Ran> {
  const env = { KUBECONFIG: scene.kubeconfig, KNFLEET_PROVIDER_FILE: scene.providerFile };
  return scene.knfleet(args, { env });
}

describe("status", () => {
  test("shows hub and spoke of the whole fleet, worst first, and fails", async () => {
    const { stdout, stderr, exitCode } = await knfleet("status", "-A");
    expect(rowsOf(stdout)).toMatchObject([
      {
        NAMESPACE: "team-a",
        KIND: "KnativeEventing",
        CLUSTER: "spoke-2",
        VERSION: "1.23.0",
        HUB: "Ready",
        LIVE: "1/3 not available",
        REASON: "DeploymentsNotReady",
      },
      { NAMESPACE: "team-b", CLUSTER: "spoke-gone", HUB: "Ready", LIVE: "Unreachable" },
      { NAMESPACE: "team-c", HUB: "Ready", LIVE: "Denied", REASON: "CredentialRejected" },
      { NAMESPACE: "team-a", CLUSTER: "spoke-1", HUB: "Ready", LIVE: "Ready", REASON: "<none>" },
      { NAMESPACE: "team-b", CLUSTER: "<hub>", HUB: "Ready", LIVE: "Ready" },
    ]);
    expect(stderr).toContain(
      "5 installations: 2 healthy, 3 not healthy. The clusters of 2 could not be read.",
    );
    expect(stderr).toContain("next: kubectl knfleet deployments ke/knative-eventing -n team-a");
    expect(`${stdout}${stderr}`).not.toContain(wrongToken);
    expect(exitCode).toBe(1);
  });

  test("of one healthy installation exits 0 and names the spoke's facts in wide output", async () => {
    const { stdout, exitCode } = await knfleet("status", "ks/knative-serving", "-o", "wide");
    const server = fleet().spoke("spoke-1").proxy.url;
    expect(rowsOf(stdout)).toMatchObject([
      { CLUSTER: "spoke-1", PROVIDER: "secretreader", KUBERNETES: "v1.36.3", SERVER: server },
    ]);
    expect(exitCode).toBe(0);
  });

  test("is about the namespace of the context unless told otherwise", async () => {
    const here = await knfleet("status", "--no-live");
    expect(rowsOf(here.stdout).map(({ NAMESPACE }) => NAMESPACE)).toEqual(["team-a", "team-a"]);
    const empty = await knfleet("status", "-n", "default");
    expect(empty).toMatchObject({ stdout: "", exitCode: 0 });
    expect(empty.stderr).toBe(
      "No Knative installations found in default namespace.\n" +
        "next: kubectl knfleet status -A\n",
    );
  });

  test("selects by label", async () => {
    const { stdout } = await knfleet("status", "-A", "--no-live", "-l", "env=prod");
    expect(rowsOf(stdout)).toMatchObject([{ CLUSTER: "spoke-1", LIVE: "<none>" }]);
  });

  test("of a name that does not exist exits 1", async () => {
    const { stderr, exitCode } = await knfleet("status", "ks/nothing");
    expect(stderr).toContain('knativeservings.operator.knative.dev "nothing" not found');
    expect(exitCode).toBe(1);
  });

  test("as JSON is one document and nothing else", async () => {
    const { stdout, stderr, exitCode } = await knfleet("status", "-A", "-o", "json");
    expect(JSON.parse(stdout)).toMatchObject({
      apiVersion: "knfleet.dev/v1",
      kind: "FleetStatus",
      complete: false,
      summary: { total: 5, healthy: 2, errors: 3, unread: 2 },
      errors: [
        { cluster: "fleet/spoke-denied", reason: "CredentialRejected" },
        { cluster: "fleet/spoke-gone", reason: "Unreachable" },
      ],
    });
    expect(stderr).toBe("");
    expect(exitCode).toBe(1);
  });

  test("without a provider file shows the hub's view, says so, and is incomplete", async () => {
    const env = { KUBECONFIG: scene.kubeconfig };
    const { stdout, stderr, exitCode } = await scene.knfleet(["status"], { env });
    expect(rowsOf(stdout)).toMatchObject([
      { HUB: "Ready", LIVE: "<unknown>", REASON: "NoProviderFile" },
      { HUB: "Ready", LIVE: "<unknown>", REASON: "NoProviderFile" },
    ]);
    expect(stderr).toContain("--clusterprofile-provider-file");
    expect(exitCode).toBe(3);
  });

  test("does not let a spoke that hangs delay the others", async () => {
    fleet().spoke("spoke-2").pause();
    try {
      const { stdout } = await knfleet("status", "--spoke-timeout", "30s");
      expect(rowsOf(stdout)).toMatchObject([
        // By the spoke's time or, earlier, by that of a connection.
        { CLUSTER: "spoke-2", LIVE: "Unreachable" },
        { CLUSTER: "spoke-1", LIVE: "Ready" },
      ]);
    } finally {
      fleet().spoke("spoke-2").resume();
    }
  });
});

describe("an interrupted status", () => {
  test("prints what it knows and exits 130", async () => {
    const { proxy } = fleet().spoke("spoke-2");
    await proxy.setMode("blackhole");
    try {
      const before = proxy.counts.connections;
      const { stdout, exitCode } = await scene.knfleet(["status"], {
        env: { KUBECONFIG: scene.kubeconfig, KNFLEET_PROVIDER_FILE: scene.providerFile },
        during: async (child) => {
          await waitFor("spoke-2 to be dialled", () => proxy.counts.connections > before);
          child.kill("SIGINT");
        },
      });
      expect(rowsOf(stdout)).toHaveLength(2);
      expect(rowsOf(stdout)).toContainEqual(
        expect.objectContaining({ CLUSTER: "spoke-2", LIVE: "<unknown>", REASON: "Interrupted" }),
      );
      expect(exitCode).toBe(130);
    } finally {
      await proxy.setMode("open");
    }
  });
});

describe("exec plugins", () => {
  test("ask the hub of --kubeconfig and --context, in the namespace they are given", async () => {
    const other = await fleet().hub.writeKubeconfig("other.kubeconfig", {
      identity: { token: "none" },
      server: "https://127.0.0.1:9",
    });
    const args = ["status", "ks", "--clusterprofile-provider-file", scene.bareProviderFile];
    const pinned = ["--plugin-namespace", "fleet-credentials", "--kubeconfig", scene.kubeconfig];
    const env = { KUBECONFIG: other };
    const wrong = await scene.knfleet([...args, "--kubeconfig", scene.kubeconfig], { env });
    expect(rowsOf(wrong.stdout)).toMatchObject([{ LIVE: "NoAccess", REASON: "PluginFailed" }]);
    const right = await scene.knfleet([...args, ...pinned], { env });
    expect(rowsOf(right.stdout)).toMatchObject([{ LIVE: "Ready" }]);
    expect(right.exitCode).toBe(0);
  });
});

describe("deployments", () => {
  test("lists the Knative deployments of every spoke and names the unread one", async () => {
    const { stdout, stderr, exitCode } = await knfleet("deployments", "-A");
    expect(rowsOf(stdout).map(({ CLUSTER, NAME, READY }) => [CLUSTER, NAME, READY])).toEqual([
      ["<hub>", "eventing-controller", "1/1"],
      ["spoke-1", "activator", "1/1"],
      ["spoke-1", "controller", "1/1"],
      ["spoke-2", "eventing-controller", "1/1"],
      ["spoke-2", "eventing-webhook", "1/1"],
      ["spoke-2", "imc-dispatcher", "0/1"],
    ]);
    expect(stderr).toContain("2 of 5 clusters could not be read:");
    expect(stderr).toContain("fleet/spoke-gone: KNF4002 Unreachable:");
    expect(exitCode).toBe(3);
  });

  test("shows images in wide output", async () => {
    const { stdout, exitCode } = await knfleet("deployments", "ks", "-o", "wide");
    expect(rowsOf(stdout)[0]).toMatchObject({
      IMAGES: "example.com/activator:1.23.0",
      INSTALLATION: "KnativeServing team-a/knative-serving",
    });
    expect(exitCode).toBe(0);
  });
});

describe("version", () => {
  test("shows this program, the hub, the installations and what their clusters have", async () => {
    const { stdout, stderr, exitCode } = await knfleet("version", "--spoke-timeout", "50s");
    const [head = "", table = ""] = stdout.split("\n\n");
    // Other tests may have left a controller on the hub.
    expect(head).toMatch(
      /^Client Version: \S+\nRelease Files: .+\n(?:(?:Controller Version|Replica): .+\n)*Hub Version: v1\.36\.3$/,
    );
    expect(rowsOf(table)).toContainEqual(
      expect.objectContaining({
        CLUSTER: "spoke-1",
        INSTALLED: "1.23.0",
        LIVE: "1.23.0",
        KUBERNETES: "v1.36.3",
        SKEW: "<none>",
      }),
    );
    expect(rowsOf(table)).toContainEqual(
      expect.objectContaining({ CLUSTER: "spoke-gone", LIVE: "<unknown>" }),
    );
    expect(stderr).toContain("2 of 5 clusters could not be read:");
    expect(exitCode).toBe(3);
    expect(await knfleet("version", "--no-live", "--strict")).toMatchObject({ exitCode: 0 });
  });

  test("says what it knows when the hub cannot be reached, and fails", async () => {
    const kubeconfig = await fleet().hub.writeKubeconfig("gone.kubeconfig", {
      identity: { token: "none" },
      server: "https://127.0.0.1:9",
    });
    const { stdout, stderr, exitCode } = await knfleet("version", "--kubeconfig", kubeconfig);
    expect(stdout).toMatch(/^Client Version: \S+\nRelease Files: .+\n$/);
    expect(stderr).toMatch(/^error: The hub cannot be reached/);
    expect(exitCode).toBe(2);
  });
});

describe("a person without rights", () => {
  test("is told what is forbidden, and the exit code is 2", async () => {
    const { hub } = fleet();
    const { token } = await hub.serviceAccountToken({ namespace: "team-a", name: "nobody" });
    const kubeconfig = await hub.writeKubeconfig("nobody.kubeconfig", { identity: { token } });
    const ran = await knfleet("status", "-A", "--kubeconfig", kubeconfig);
    expect(ran).toMatchObject({ stdout: "", exitCode: 2 });
    expect(ran.stderr).toContain('cannot list resource "knative');
    expect(ran.stderr).not.toContain(token);
  });
});

describe("get", () => {
  test("shows what the API servers of all clusters say in their own columns", async () => {
    const { stdout, stderr, exitCode } = await knfleet("get", "deploy", "-A", "-o", "wide");
    expect(rowsOf(stdout)).toContainEqual(
      expect.objectContaining({
        CLUSTER: "fleet/spoke-1",
        NAMESPACE: "team-a",
        NAME: "activator",
        READY: "1/1",
        IMAGES: "example.com/activator:1.23.0",
      }),
    );
    expect(rowsOf(stdout).map(({ CLUSTER }) => CLUSTER)).toContain("<hub>");
    expect(stderr).toContain("2 of 5 clusters could not be read:");
    expect(exitCode).toBe(3);
  });

  test("finds kinds by short names and selects spokes by the ClusterProfile", async () => {
    const names = await knfleet("get", "cm,ns", "-A", "--cluster", "spoke-2", "-o", "name");
    expect(names.stdout).toContain(
      "fleet/spoke-2/team-a/configmap/knativeeventing-knative-eventing-root-owner\n",
    );
    expect(names.stdout).toContain("fleet/spoke-2/namespace/team-a\n");
    expect(names.stdout).not.toContain("spoke-1");
    expect(names.exitCode).toBe(0);
  });
});

describe("events", () => {
  test("of a spoke stand on one time line with those of the hub", async () => {
    const { hub } = fleet();
    const about = { kind: "KnativeEventing", namespace: "team-a", name: "knative-eventing" };
    const owner = await hub.admin.get({ apiVersion: "operator.knative.dev/v1beta1", ...about });
    await hub.admin.apply({
      apiVersion: "v1",
      kind: "Event",
      metadata: { namespace: "team-a", name: "told" },
      type: "Warning",
      reason: "InternalError",
      message: "The plugin failed",
      involvedObject: { ...about, uid: owner?.metadata.uid },
    });
    await waitFor("the Event of the pod that cannot be scheduled", async () => {
      const { stdout } = await knfleet("events", "ke", "--types", "Warning");
      return rowsOf(stdout).some(({ CLUSTER }) => CLUSTER === "fleet/spoke-2");
    });
    const { stdout, stderr, exitCode } = await knfleet("events", "ke", "--types", "Warning");
    expect(rowsOf(stdout)).toContainEqual(
      expect.objectContaining({ CLUSTER: "<hub>", REASON: "InternalError" }),
    );
    expect(stderr).toContain("next: kubectl knfleet explain InternalError");
    expect(exitCode).toBe(0);
  });
});

testHubFlagsAndChanges(fleet, () => scene);
testRightsOfSpokes(fleet, () => scene);
testTreesOfSpokes(() => scene);

testWaysIntoSpokes(fleet, () => scene);

testLogs(fleet, () => scene);

testEventsThatCome(fleet, () => scene);

testFileOfTheHub(fleet, () => scene);
testPageOfFleet(fleet, () => scene);
testThroughKubectl(fleet, () => scene);
testCompletionInShells(fleet, () => scene);
testManyObjects(fleet, () => scene);
