import { join } from "node:path";

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startChangingCluster } from "../changing-cluster.ts";
import { startUi, type UiSession } from "../commands/ui/ui-session.ts";
import { recordedBinding } from "../controller-binding.ts";
import { component } from "../fleet-facts.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { sceneNames } from "../golden/scenes.ts";
import { lease } from "../hub/lease-facts.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { startStubHub } from "../stub-hub.ts";
import { startBrowser } from "./browser.ts";
import { expectGoodLooks } from "./good-looks.ts";
import { type OpenPage, openPage } from "./open-page.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

describe.each(sceneNames)("of the recorded fleet %s", (scene) => {
  let ui: UiSession;
  let open: OpenPage;
  beforeAll(async () => {
    ui = await startUi(["--bundle", join(recordedFolder, scene)]);
    open = await openPage(browser, ui.url.href);
    await open.page.waitForSelector("table.fleet tbody tr");
  });
  afterAll(async () => {
    await open[Symbol.asyncDispose]();
    await ui[Symbol.asyncDispose]();
  });

  test("the fleet is well to look at", async () => {
    expect(open.page.url()).toBe(`http://${ui.url.host}/`);
    await expectGoodLooks(open);
  });

  test("an installation is one click away, with conditions, graph and Events", async () => {
    const { page } = open;
    await page.click("table.fleet tbody a");
    await page.waitForSelector("h1 .dim");
    await expect.poll(() => page.evaluate("document.activeElement.tagName")).toBe("H1");
    await page.waitForSelector("text=From the hub to the pods");
    await expect.poll(() => page.getByText("Reading…").count()).toBe(0);
    await page.click("text=Run the diagnosis");
    await page.waitForSelector("[aria-label='Steps of the walk'] tbody tr");
    await expectGoodLooks(open);
    await page.goBack();
    await page.waitForSelector("table.fleet");
  });

  test("its cluster is one click further, with its installations", async () => {
    const { page } = open;
    await page.click("table.fleet tbody td a");
    await page.waitForSelector("h1:has-text('cluster')");
    await page.waitForSelector("table.fleet tbody tr");
    // A bundle has the walks to installations alone.
    expect(await page.getByText("Run the diagnosis").count()).toBe(0);
    await expectGoodLooks(open);
    await page.goBack();
    await page.waitForSelector("#filter");
  });

  test("nothing is on the console, and no other host is asked", () => {
    expect(open.troubles).toEqual([]);
  });
});

describe("the fleet with many causes", () => {
  let ui: UiSession;
  let open: OpenPage;
  const rows = () => open.page.locator("table.fleet tbody tr");
  beforeAll(async () => {
    ui = await startUi(["--bundle", join(recordedFolder, "whole")]);
    open = await openPage(browser, ui.url.href);
    await rows().first().waitFor();
  });
  afterAll(async () => {
    await open[Symbol.asyncDispose]();
    await ui[Symbol.asyncDispose]();
  });

  test("is filtered by words, by a number, by a cause and by a version", async () => {
    const { page } = open;
    const all = await rows().count();
    await page.fill("#filter", "reason:knf4002");
    await expect.poll(() => rows().count()).toBe(2);
    await page.fill("#filter", "");
    await page.click("button:has-text('Healthy') >> nth=-1");
    await expect.poll(() => rows().count()).toBe(4);
    await page.click("ul.causes li:has-text('CredentialRejected') button.link");
    await expect.poll(() => rows().count()).toBe(1);
    await page.click("ul.bars button");
    await expect.poll(() => rows().count()).toBe(all);
    await page.fill("#filter", "");
  });

  test("keeps its filter in the address, and comes back to it", async () => {
    const { page } = open;
    await page.fill("#filter", "reason:knf4002");
    await page.waitForURL("**/#/?filter=reason%3Aknf4002");
    const address = page.url();
    await page.click("button:has-text('Unreachable') >> nth=0");
    await page.waitForURL("**&state=unreachable");
    await page.click("table.fleet tbody a");
    await page.waitForSelector("h1 .dim");
    expect(await page.title()).toContain(" · Knative fleet");
    const left = new URL(page.url()).hash;
    await page.goBack();
    // The reader is where they left the fleet.
    await expect
      .poll(() => page.evaluate("document.activeElement.getAttribute('href')"))
      .toBe(left);
    expect(await page.inputValue("#filter")).toBe("reason:knf4002");
    await page.goBack();
    await expect.poll(() => page.url()).toBe(address);
    await expect
      .poll(() => page.locator(".counts [aria-pressed=true]").textContent())
      .toContain("Installations");
    await page.goForward();
    await page.waitForSelector("button[aria-pressed=true]:has-text('Unreachable')");
    await page.goto(address);
    await expect.poll(() => rows().count()).toBe(2);
    await page.fill("#filter", "");
  });

  test("is filtered by what ClusterProfiles say, which the page of a cluster shows", async () => {
    const { page } = open;
    const all = await rows().count();
    await page.click("table.fleet tbody td a");
    await page.waitForSelector("h1:has-text('cluster')");
    await page.click("a.trait >> nth=0");
    await page.waitForSelector("#filter");
    expect(await page.inputValue("#filter")).toMatch(/^(?:label|property):/);
    await expect.poll(() => rows().count()).toBeGreaterThan(0);
    await page.fill("#filter", "label:no-such-label");
    await expect.poll(() => rows().count()).toBe(0);
    await page.fill("#filter", "");
    await expect.poll(() => rows().count()).toBe(all);
  });

  test("says what ends soon when it is asked", async () => {
    await open.page.click("text=Check tokens and certificates");
    const said = open.page.locator("p[role=status]:has-text('clusters were asked')");
    await expect.poll(() => said.count()).toBe(1);
    await expectGoodLooks(open);
  });

  test("tells its keys, goes back with Escape, and says when a filter has no rows", async () => {
    const { page } = open;
    await page.keyboard.press("?");
    await page.waitForSelector("dialog[open]:has-text('goes to the filter')");
    await page.keyboard.press("Escape");
    await expect.poll(() => page.locator("dialog[open]").count()).toBe(0);
    await page.fill("#filter", "no-such-thing");
    await page.waitForSelector("text=No installation matches the filter.");
    await page.click("text=Show all installations");
    await expect.poll(() => rows().count()).toBeGreaterThan(0);
    await page.click("table.fleet th a");
    await page.waitForSelector("h1 .dim");
    await page.keyboard.press("?");
    await page.keyboard.press("Escape");
    expect(await page.locator("#filter").count()).toBe(0);
    await page.keyboard.press("?");
    await page.click("text=Close");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#filter");
    // Back where the reader left it, which takes a moment.
    await page.waitForSelector("table.fleet th a:focus");
  });

  test("is read with the keyboard alone", async () => {
    const { page } = open;
    await page.keyboard.press("Escape");
    await page.keyboard.press("/");
    await page.keyboard.type("spoke-gone");
    await expect.poll(() => rows().count()).toBe(1);
    await page.keyboard.press("Escape");
    await page.keyboard.press("j");
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1:has-text('ks/knative-serving')");
    expect(await page.textContent("h1")).toContain("team-b");
  });
});

// The goal is two seconds; how long it takes on a busy machine is no matter of a test.
test("a change on the hub comes to the page, and moves no row", async () => {
  await using hub = await startChangingCluster(...recordedObjects);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  await open.page.waitForSelector("table.fleet tbody tr");
  const names = () => open.page.locator("table.fleet tbody th").allTextContents();
  const before = await names();
  const ready = { status: "False", reason: "ApplyFailed", message: "Because" } as const;
  // The watch of the hub may just be starting.
  await expect
    .poll(async () => {
      hub.put(component({ namespace: "team-z", name: "late", cluster: null, ready }));
      return await names();
    })
    .toEqual([...before, "ks/late team-z"]);
  await open.page.click("text=The order has changed");
  await expect.poll(names).not.toEqual([...before, "ks/late team-z"]);
  expect(open.troubles).toEqual([]);
});

test("a clock that is behind the data makes no invalid ages", async () => {
  await using hub = await startChangingCluster(...recordedObjects);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  const { page } = open;
  await page.clock.setFixedTime("2020-01-01T00:00:00Z");
  await page.reload();
  await page.waitForSelector("table.fleet tbody tr");
  expect(await page.textContent("header")).toContain("Hub read 0s ago");
  expect(await page.textContent("main")).not.toContain("<invalid>");
});

test("ten Events are shown, and all when that is asked", async () => {
  const about = component({ cluster: null });
  const { apiVersion, kind, metadata } = about;
  const events = Array.from({ length: 12 }, (_, at) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: { ...metadata, name: `told-${at}`, uid: `told-${at}` },
    involvedObject: { apiVersion, kind, ...metadata },
    reason: `Reason${at}`,
    lastTimestamp: `2026-11-21T11:58:${10 + at}Z`,
  }));
  await using hub = await startStubHub([about, ...events]);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  const { page } = open;
  await page.click("table.fleet th a");
  const lines = page.locator("ol.events li");
  await expect.poll(() => lines.count()).toBe(10);
  await page.click("text=Show all 12");
  await expect.poll(() => lines.count()).toBe(12);
  expect(open.troubles).toEqual([]);
});

test("a page that nobody sees holds no connection", async () => {
  await using hub = await startChangingCluster(...recordedObjects);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  const names = () => open.page.locator("table.fleet tbody th").allTextContents();
  const see = (state: "hidden" | "visible") =>
    open.page.evaluate(`
      Object.defineProperty(document, "visibilityState", { value: "${state}", configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));`);
  await open.page.waitForSelector("table.fleet tbody tr");
  const streamEnds = open.page.waitForEvent("requestfailed");
  await see("hidden");
  expect((await streamEnds).url()).toContain("/api/v1/stream");
  const before = await names();
  const ready = { status: "False", reason: "ApplyFailed", message: "Because" } as const;
  hub.put(component({ namespace: "team-z", name: "late", cluster: null, ready }));
  await see("visible");
  await expect.poll(names).toEqual([...before, "ks/late team-z"]);
  expect(open.troubles).toEqual([]);
});

// More than 2 s: the page looks at the hub every ten seconds.
test("the page says that no controller works, and that the hub is gone, in place of that all is well", async () => {
  const old = [lease("knfleet-controller", { holder: "pod-a", age: 113 })];
  const binding = recordedBinding("knfleet", "knfleet-system");
  const well = component({ cluster: null });
  await using hub = await startChangingCluster(well, ...old, binding);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  const ended = "No controller works since 2026-11-21T11:58:22Z: Lease";
  await open.page.waitForSelector(`.verdict.bad:has-text('${ended}')`);
  hub.setAway(true);
  await open.page.waitForSelector(".verdict.unknown:has-text('ago')", { timeout: 60_000 });
  expect(open.troubles).toEqual([]);
});

test("the page says when the command has ended", async () => {
  await using ui = await startUi(["--bundle", join(recordedFolder, "fine")]);
  await using open = await openPage(browser, ui.url.href);
  await open.page.waitForSelector("table.fleet tbody tr");
  await ui.interrupt();
  await open.page.waitForSelector("[role=alert]:has-text('does not answer')");
  // What was well may not be any more: no green.
  await open.page.waitForSelector(".verdict.unknown:has-text('as of')");
  expect(await open.page.locator(".verdict.healthy").count()).toBe(0);
  expect(await open.page.locator("table.fleet tbody tr").count()).toBeGreaterThan(0);
});
