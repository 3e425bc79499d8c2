import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { KubeObject } from "../../../../api/kubernetes.ts";
import { startUi, type UiSession } from "../commands/ui/ui-session.ts";
import { component } from "../fleet-facts.ts";
import { startStubHub, type StubHub } from "../stub-hub.ts";
import { startBrowser } from "./browser.ts";
import { expectGoodLooks } from "./good-looks.ts";
import { type OpenPage, openPage } from "./open-page.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

function profile(name: string, healthy: "True" | "False"): KubeObject {
  const condition = { type: "ControlPlaneHealthy", status: healthy, message: `${name} is away` };
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { namespace: "fleet", name, uid: name, resourceVersion: "1" },
    status: {
      conditions: [condition],
      version: { kubernetes: "1.36.1" },
      accessProviders: [{ name: "secretreader", cluster: { server: `https://${name}:6443` } }],
    },
  };
}

describe("a cluster that does not answer", () => {
  const message = "Because of this";
  const failed = component({
    cluster: null,
    ready: { status: "False", reason: "ApplyFailed", message },
  });
  const { apiVersion, kind, metadata } = failed;
  const told = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { ...metadata, name: "told", uid: "told" },
    involvedObject: { apiVersion, kind, ...metadata },
    reason: "ToldByTheHub",
    lastTimestamp: "2026-11-21T11:58:10Z",
  };
  let hub: StubHub;
  let ui: UiSession;
  let open: OpenPage;
  beforeAll(async () => {
    hub = await startStubHub([failed, told], ({ path }) =>
      path.endsWith("/deployments") ? { stream: () => undefined } : undefined,
    );
    ui = await startUi([], hub.env);
    open = await openPage(browser, ui.url.href);
  });
  afterAll(async () => {
    await open[Symbol.asyncDispose]();
    await ui[Symbol.asyncDispose]();
    await hub[Symbol.asyncDispose]();
  });

  test("keeps nothing of what the hub knows waiting", async () => {
    const { page } = open;
    await page.click("table.fleet th a");
    await page.waitForSelector(`[aria-label=Conditions] td:has-text('${message}')`);
    await page.waitForSelector("ol.events li:has-text('ToldByTheHub')");
    const waits = page.locator("section:has(h2:text-is('Deployments')) [role=status]");
    expect(await waits.textContent()).toBe("Reading…");
  });

  test("keeps no read of the hub waiting for its turn", async () => {
    const query = "names=ks/knative-serving&namespace=team-a";
    const slow = Array.from({ length: 8 }, () => ui.read(`/api/v1/status?${query}`));
    const first = await Promise.race([
      ...slow.map((one) => one.then(() => "cluster")),
      ui.read(`/api/v1/status?${query}&live=false`).then(() => "hub"),
    ]);
    expect(first).toBe("hub");
    // The others end with the command.
  });
});

test("the diagnosis of what is in trouble stands first, and begins at once", async () => {
  const bad = component({
    name: "bad",
    cluster: null,
    ready: { status: "False", reason: "ApplyFailed", message: "Because" },
  });
  await using hub = await startStubHub([component({ name: "well", cluster: null }), bad]);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  const { page } = open;
  const titles = () => page.locator("h2").allTextContents();
  await page.click("a:has-text('ks/bad')");
  await page.waitForSelector("[aria-label='Steps of the walk'] tbody tr");
  expect((await titles())[0]).toBe("Diagnosis");
  // What found nothing is folded.
  const steps = page.locator("[aria-label='Steps of the walk'] tbody tr");
  const found = await steps.count();
  expect(await steps.filter({ hasText: /\bOK\b/ }).count()).toBe(0);
  await page.click("text=/Show all \\d+ steps/");
  expect(await steps.count()).toBeGreaterThan(found);
  await page.goBack();
  await page.click("a:has-text('ks/well')");
  await page.waitForSelector("button:text-is('Run the diagnosis')");
  expect((await titles()).at(-1)).toBe("Diagnosis");
  expect(open.troubles).toEqual([]);
});

test("clusters are listed, also those without installations", async () => {
  await using hub = await startStubHub([
    component({ cluster: "spoke-1" }),
    profile("spoke-1", "True"),
    profile("spare", "False"),
  ]);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  const { page } = open;
  await page.click("header a:text-is('Clusters')");
  await page.waitForSelector("[aria-label=Clusters] tr:has-text('fleet/spare')");
  expect(await page.locator("[aria-label=Clusters] tbody tr").allTextContents()).toEqual([
    "fleet/spareNot healthynonesecretreader1.36.1https://spare:6443",
    "fleet/spoke-1Healthy1secretreader1.36.1https://spoke-1:6443",
  ]);
  expect(await page.title()).toBe("Clusters · Knative fleet");
  await expectGoodLooks(open);
  await page.click("a:has-text('fleet/spare')");
  await page.waitForSelector("h1:has-text('fleet/spare')");
  const main = (await page.textContent("main")) ?? "";
  const said = ["spare is away", "Not healthy", "https://spare:6443", "Nothing is installed here"];
  expect(said.filter((text) => !main.includes(text))).toEqual([]);
  await page.goto(`${ui.url.origin}/#/cluster/fleet/none`);
  await page.waitForSelector("h1:text-is('Not found')");
  expect(open.troubles).toEqual([]);
});

test("an empty fleet says what to do next", async () => {
  await using hub = await startStubHub([profile("spare", "True")]);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  await open.page.waitForSelector("code:has-text('kubectl knfleet diagnose fleet/spare')");
  await open.page.waitForSelector("pre:has-text('{ name: spare, namespace: fleet }')");
  await expectGoodLooks(open);
  expect(open.troubles).toEqual([]);
});
