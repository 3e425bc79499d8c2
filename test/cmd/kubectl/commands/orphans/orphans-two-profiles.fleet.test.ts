import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { operatorApiVersion } from "../../../../../api/component.ts";
import { builtInProviderFile, letControllerReadSecrets } from "../../../../e2e/built-in-access.ts";
import { componentOf, create, ready } from "../../../../e2e/installation.ts";
import { writeThinRelease } from "../../../../e2e/thin-release.ts";
import { conditionOf } from "../../../../fleet/json-record.ts";
import { useFleet } from "../../../../fleet/use-fleet.ts";
import { waitFor } from "../../../../fleet/wait-for.ts";
import {
  type ControllerProcess,
  startControllerProcess,
} from "../../../../support/controller-process.ts";
import { runHere } from "../../run-text.ts";

const fleet = useFleet({ spokes: 1 });
const kind = "KnativeEventing";
const [namespace, name] = ["teams", "second"];
const second = { apiVersion: operatorApiVersion, kind, namespace, name };

let providerFile: string;
let controller: ControllerProcess;
beforeAll(async () => {
  const { hub, folder } = fleet();
  providerFile = await builtInProviderFile(fleet(), { name: "two-profiles" });
  const spoke = fleet().spoke(0);
  const first = await fleet().addProfile(spoke, { plugin: "secretreader" });
  const again = await fleet().addProfile(spoke, { plugin: "secretreader", name: "again" });
  await letControllerReadSecrets(hub);
  controller = await startControllerProcess({
    kubeconfig: await fleet().controllerKubeconfig(),
    providerFile,
    releaseDir: await writeThinRelease(folder, 2),
  });
  await create(hub, { kind, on: first });
  await ready(hub, kind);
  await hub.admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const component = componentOf({ kind, on: again });
  await hub.admin.create({ ...component, metadata: { namespace, name } });
  await waitFor("the hub to refuse the second one", async () => {
    const found = conditionOf(await hub.admin.get(second), "InstallSucceeded");
    return found?.reason === "DuplicateComponent";
  });
}, 600_000);
afterAll(async () => controller[Symbol.asyncDispose]());

function knfleet(...args: readonly string[]) {
  return runHere(args, {
    KUBECONFIG: fleet().hub.adminKubeconfigPath,
    KNFLEET_PROVIDER_FILE: providerFile,
  });
}

test("orphans names the component whose cluster another ClusterProfile has, and counts the cluster once", async () => {
  const { stdout, stderr, exitCode } = await knfleet("orphans");
  expect(stdout).toMatch(/^<hub> +Collision +KnativeEventing +teams +second /m);
  const printed = `${stdout}${stderr}`;
  expect(printed).toContain("1 found, 2 components and 2 clusters looked at");
  expect(printed).toContain("kubectl delete knativeeventings second -n teams");
  expect(exitCode).toBe(1);
});

test("diagnose says it of the one that is refused, and not of the one that is installed", async () => {
  const refused = await knfleet("diagnose", "knativeeventing/second", "-n", "teams");
  expect(refused.stdout).toMatch(
    /^FAIL +one per cluster .*KnativeEventing knative-eventing\/knative-eventing is installed on the same cluster, which is ClusterProfile fleet\/spoke-1 too/m,
  );
  expect(refused.exitCode).toBe(1);
  const installed = await knfleet(
    "diagnose",
    "knativeeventing/knative-eventing",
    "-n",
    "knative-eventing",
  );
  expect(installed.stdout).toMatch(
    /^OK +one per cluster .*no other KnativeEventing is installed there/m,
  );
});

test("check says it of the fleet, and of a file before it is applied", async () => {
  const isInstalled =
    "one per cluster: KNF1013 KnativeEventing knative-eventing/knative-eventing is installed on the same cluster, which is ClusterProfile fleet/spoke-1 too";
  const whole = await knfleet("check", "-o", "short");
  expect(whole.stdout).toContain(`KnativeEventing teams/second ${isInstalled}`);
  const file = join(fleet().folder, "third.json");
  const { spec } = componentOf({ kind, on: { namespace: "fleet", name: "again" } });
  const third = { apiVersion: operatorApiVersion, kind, metadata: { namespace, name: "third" } };
  await writeFile(file, JSON.stringify({ ...third, spec }));
  const ofFile = await knfleet("check", "-f", file, "-o", "short");
  expect(ofFile.stdout).toContain(`KnativeEventing teams/third ${isInstalled}`);
});
