import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { ConnectionError } from "../../../access/kube/api-error.ts";
import { knownResource } from "../../../api/resources.ts";
import { firstLists } from "../../../controller/apply/observe-objects.ts";
import type { Observation } from "../../../controller/observe/observation.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { apiError, observeScripted, ScriptedWatches } from "./scripted-watches.ts";

const { signal } = new AbortController();
const configMaps = knownResource("v1", "ConfigMap");
const deployments = knownResource("apps/v1", "Deployment");
const images = {
  apiVersion: "caching.internal.knative.dev/v1alpha1",
  kind: "Image",
  plural: "images",
  namespaced: true,
};

let watches: ScriptedWatches;
let observation: Observation;

beforeEach(() => {
  watches = new ScriptedWatches();
  observation = observeScripted(watches);
});

afterEach(async () => {
  await observation[Symbol.asyncDispose]();
});

describe("waitForSync", () => {
  test("does not wait for a kind that is not served, which is tried again", async () => {
    watches.unserved.add("Image");
    observation.watchKinds([configMaps, images]);
    await watches.opening("ConfigMap");
    watches.listed("ConfigMap", []);
    await observation.waitForSync(signal);
    watches.unserved.clear();
    await watches.waitFor(() => expect(watches.opened("Image").length).toBeGreaterThan(1));
    expect(watches.isOpen("Image")).toBe(true);
  });

  test("does not wait for a server in whose place something else answers", async () => {
    observation.watchKinds([configMaps]);
    const error = new ConnectionError("standIn", "https://spoke.example answered 404");
    watches.send("ConfigMap", error);
    await expect(observation.waitForSync(signal)).rejects.toBe(error);
    observation.watchKinds([configMaps]);
    await watches.opening("ConfigMap");
    watches.listed("ConfigMap", []);
    await observation.waitForSync(signal);
  });

  test("waits for every list", async () => {
    observation.watchKinds([configMaps, deployments]);
    await watches.opening("ConfigMap");
    watches.listed("ConfigMap", []);
    let isSynced = false;
    const synced = observation.waitForSync(signal).then(() => (isSynced = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(isSynced).toBe(false);
    watches.listed("Deployment", []);
    await synced;
    expect(isSynced).toBe(true);
  });

  test("does not wait for a kind that may not be watched, and says which that is", async () => {
    observation.watchKinds([configMaps]);
    watches.send("ConfigMap", apiError(403, "configmaps is forbidden: User x cannot list"));
    await observation.waitForSync(signal);
    expect([...observation.refused().values()]).toEqual(["Watching configmaps is not allowed"]);
    expect(observation.live()).toEqual([]);
    observation.watchKinds([configMaps]);
    await watches.opening("ConfigMap");
    watches.listed("ConfigMap", []);
    await observation.waitForSync(signal);
    expect([...observation.refused()]).toEqual([]);
  });

  test("lists a kind anew that was refused for a moment, although its watch goes on", async () => {
    observation.watchKinds([configMaps]);
    await watches.opening("ConfigMap");
    watches.listed("ConfigMap", []);
    await observation.waitForSync(signal);
    watches.send("ConfigMap", apiError(403, "configmaps is forbidden: User x cannot watch"));
    await watches.waitFor(() => expect(observation.refused().size).toBe(1));
    await watches.waitFor(() => expect(watches.isOpen("ConfigMap")).toBe(true));
    const metadata = { namespace: "a", name: "b", uid: "c", resourceVersion: "101" };
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata };
    watches.send("ConfigMap", { type: "ADDED", object });
    await watches.waitFor(() => expect(observation.objects().size).toBe(1));
    observation.watchKinds([configMaps]);
    await watches.opening("ConfigMap");
    watches.listed("ConfigMap", [object], "102");
    await observation.waitForSync(signal);
    expect([...observation.refused()]).toEqual([]);
  });

  test.each([
    { status: 503, text: "service unavailable" },
    // A conversion webhook that is dead.
    { status: 500, text: "conversion webhook failed" },
  ])(
    "does not wait for a kind whose API answers $status while others do, and names it",
    async ({ status, text }) => {
      observation.watchKinds([configMaps, images]);
      await watches.opening("ConfigMap");
      watches.listed("ConfigMap", []);
      const synced = observation.waitForSync(signal);
      for (const attempt of [1, 2, 3]) {
        await watches.waitFor(() => expect(watches.opened("Image")).toHaveLength(attempt));
        watches.send("Image", apiError(status, text));
      }
      await synced;
      expect([...observation.refused().values()]).toEqual([
        `Watching images is not possible: the API server answers with status ${status}`,
      ]);
      observation.watchKinds([configMaps, images]);
      await watches.opening("Image");
      watches.listed("Image", []);
      await observation.waitForSync(signal);
      expect([...observation.refused()]).toEqual([]);
    },
  );

  test("waits for a server that answers for no kind at all", async () => {
    observation.watchKinds([images]);
    let isSynced = false;
    void observation.waitForSync(signal).then(() => (isSynced = true));
    for (const attempt of [1, 2, 3]) {
      await watches.waitFor(() => expect(watches.opened("Image")).toHaveLength(attempt));
      watches.send("Image", apiError(503, "service unavailable"));
    }
    await watches.waitFor(() => expect(watches.opened("Image")).toHaveLength(4));
    expect(isSynced).toBe(false);
    watches.listed("Image", []);
    await watches.waitFor(() => expect(isSynced).toBe(true));
  });

  test("is waited for a minute in an installation, and then said with the kinds", async () => {
    const clock = new FakeClock();
    observation.watchKinds([configMaps, images]);
    const first = firstLists(observation, clock, signal).catch((error: unknown) => error);
    watches.listed("ConfigMap", []);
    await watches.waitFor(() => expect(observation.live()).toHaveLength(1));
    await clock.advance(60_000);
    expect(await first).toMatchObject({
      reason: "ApplyFailed",
      message: expect.stringMatching(/what there is of images$/),
    });
    const next = firstLists(observation, clock, signal);
    watches.listed("Image", []);
    await expect(next).resolves.toBeUndefined();
  });

  test("is the loss of the spoke in an installation where nothing is listed for a minute", async () => {
    const clock = new FakeClock();
    observation.watchKinds([configMaps, images]);
    const first = firstLists(observation, clock, signal).catch((error: unknown) => error);
    await clock.advance(60_000);
    expect(await first).toMatchObject({ reason: "SpokeUnreachable" });
    const gone = new AbortController();
    const second = firstLists(observation, clock, gone.signal);
    gone.abort(new Error("Nobody waits"));
    await expect(second).rejects.toThrow("Nobody waits");
  });

  test("fails when the server stays out of reach, and succeeds after the next watch()", async () => {
    const broken = new ConnectionError("refused", "https://spoke.example refused");
    observation.watchKinds([configMaps]);
    watches.send("ConfigMap", broken);
    await watches.waitFor(() => expect(watches.opened("ConfigMap")).toHaveLength(2));
    watches.send("ConfigMap", broken);
    await expect(observation.waitForSync(signal)).rejects.toBe(broken);
    observation.watchKinds([configMaps]);
    await watches.opening("ConfigMap");
    watches.listed("ConfigMap", []);
    await expect(observation.waitForSync(signal)).resolves.toBeUndefined();
  });

  test("ends when the signal is aborted", async () => {
    observation.watchKinds([configMaps]);
    const impatient = new AbortController();
    const synced = observation.waitForSync(impatient.signal);
    impatient.abort(new Error("enough"));
    await expect(synced).rejects.toThrow("enough");
  });

  test("ends when the observation is closed", async () => {
    observation.watchKinds([configMaps]);
    const synced = observation.waitForSync(signal);
    await observation[Symbol.asyncDispose]();
    await expect(synced).rejects.toThrow("The observation was closed");
  });
});

test("an observation that was closed watches nothing any more", async () => {
  observation.watchKinds([configMaps]);
  await observation[Symbol.asyncDispose]();
  const anchor = { resource: configMaps, namespace: "a", name: "b" };
  expect(() => observation.watchKinds([configMaps, deployments])).toThrow(
    "The observation was closed",
  );
  expect(() => observation.watchSingles([anchor])).toThrow("The observation was closed");
  await watches.waitFor(() => expect(watches.openCount()).toBe(0));
});
