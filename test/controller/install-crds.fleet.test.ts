import { resolve } from "node:path";

import { expect, test } from "vitest";

import { connectHub } from "../../access/hub/hub.ts";
import { systemClock } from "../../access/time/system-clock.ts";
import { installCrds } from "../../controller/install-crds.ts";
import { isRecord, valueAt } from "../fleet/json-record.ts";
import { useSpokes } from "../fleet/use-fleet.ts";
import { ControllerProcess, startControllerProcess } from "../support/controller-process.ts";
import { silentLog } from "../support/silent-log.ts";

const releaseDir = resolve(import.meta.dirname, "../fixtures/release");
const fleet = useSpokes([{ kwok: false }]);
const serving = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  name: "knativeservings.operator.knative.dev",
};
const eventing = { ...serving, name: "knativeeventings.operator.knative.dev" };
const components = "/apis/operator.knative.dev/v1beta1/knativeservings";
const started = (): ConstructorParameters<typeof ControllerProcess>[0] => ({
  kubeconfig: fleet().spoke(0).adminKubeconfigPath,
  releaseDir,
  flags: ["--install-crds"],
});

/** Installs the CRDs as a version of the program does. */
async function installAs(version: string): Promise<void> {
  await using hub = await connectHub({
    clock: systemClock,
    kubeconfig: fleet().spoke(0).adminKubeconfigPath,
    environment: {},
    userAgent: "test",
  });
  const options = { client: hub.client, version, clock: systemClock, log: silentLog };
  await installCrds(options, AbortSignal.timeout(30_000));
}

async function stateOf(key: typeof serving): Promise<readonly unknown[]> {
  const live = await fleet().spoke(0).admin.get(key);
  const annotations = valueAt(live, "metadata", "annotations");
  const version = isRecord(annotations) ? annotations["knfleet.dev/crd-version"] : undefined;
  return [version, valueAt(live, "metadata", "resourceVersion")];
}

test("a controller brings the CRDs to a cluster without them, and serves the components", async () => {
  await using controller = await startControllerProcess(started());
  expect(controller.logLines({ msg: "The CRD is there" })).toHaveLength(2);
  const list = await fleet().spoke(0).admin.request("GET", components);
  expect(valueAt(list, "items")).toEqual([]);
});

test("a CRD that is right is not written, and one of an older version is", async () => {
  await installAs("1.2.0");
  const first = await stateOf(serving);
  expect(first[0]).toBe("1.2.0");
  await installAs("1.2.0");
  expect(await stateOf(serving)).toEqual(first);
  await installAs("1.10.0");
  expect(await stateOf(serving)).toEqual(["1.10.0", expect.not.stringMatching(String(first[1]))]);
});

test("a CRD of a newer version stays", async () => {
  const before = await stateOf(serving);
  await installAs("1.9.0");
  expect(await stateOf(serving)).toEqual(before);
});

test("a CRD that somebody else has changed ends the controller with one line that names both", async () => {
  const { admin } = fleet().spoke(0);
  const live = await admin.get(eventing);
  const spec = isRecord(live?.["spec"]) ? live["spec"] : {};
  const versions = Array.isArray(spec["versions"]) ? spec["versions"] : [];
  const changed = versions.map((one: unknown) => ({
    ...(isRecord(one) ? one : {}),
    additionalPrinterColumns: [],
  }));
  await admin.patch(eventing, { spec: { versions: changed } });
  // Ours once more, so that nothing is newer than the program.
  await admin.patch(eventing, {
    metadata: { annotations: { "knfleet.dev/crd-version": "0.0.1" } },
  });
  await using controller = new ControllerProcess(started());
  expect(await controller.exited).toMatchObject({ code: 1 });
  expect(controller.stderr).toMatch(
    /^Error: --install-crds: the CRD knativeeventings\S+ cannot be written: .*conflict[^\n]*\n$/,
  );
});

test("a CRD that somebody else brought stays as it is", async () => {
  const { admin } = fleet().spoke(0);
  await admin.patch(serving, { metadata: { annotations: { "knfleet.dev/crd-version": null } } });
  await admin.patch(eventing, { metadata: { annotations: { "knfleet.dev/crd-version": null } } });
  const before = await stateOf(eventing);
  await installAs("99.0.0");
  expect(await stateOf(eventing)).toEqual(before);
});
