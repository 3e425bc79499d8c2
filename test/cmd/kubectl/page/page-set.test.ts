import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startChangingCluster } from "../changing-cluster.ts";
import { startUi, type UiSession } from "../commands/ui/ui-session.ts";
import { recordedObjects } from "../recorded-hub.ts";
import { runText } from "../run-text.ts";
import { fleetSet, phased } from "../set-facts.ts";
import { startStubHub } from "../stub-hub.ts";
import { answersTables } from "../stub-tables.ts";
import { startBrowser } from "./browser.ts";
import { expectGoodLooks } from "./good-looks.ts";
import { type OpenPage, openPage } from "./open-page.ts";

// Foreign text: it would turn the direction of writing.
const answer = "Check gate: \u202Enot now";
const halted = phased("Halted", { stage: "early", waitingFor: "1 cluster failed" });
const message = "The API server refused Deployment <b>activator</b>";
const notable = [
  { cluster: "fleet/eu-1", state: "Failed", reason: "ApplyFailed", message },
  { cluster: "fleet/eu-2", state: "Failed", reason: "CheckFailed", message: answer },
];
const prod = fleetSet({ status: { ...halted, notable } });
const verify = { workloads: { maxNewlyBroken: 0, within: "3m" } };
const sets = [
  { ...prod, spec: { ...prod.spec, rollout: { ...prod.spec.rollout, verify } } },
  fleetSet({ name: "waits", status: phased("AwaitingApproval", { stage: "canary" }) }),
  fleetSet({ name: "new", status: {} }),
];

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

describe("of a recorded fleet with sets", () => {
  let folder: string;
  let ui: UiSession;
  let open: OpenPage;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "knfleet-sets-page-"));
    const path = join(folder, "fleet.tgz");
    const objects = [...recordedObjects, ...sets];
    await using hub = await startStubHub(objects, answersTables(objects));
    const gather = ["gather", "-A", "--no-live", "--tail", "0", "-o", path];
    await runText(gather, { env: hub.env });
    ui = await startUi(["--bundle", path]);
    open = await openPage(browser, ui.url.href);
  });
  afterAll(async () => {
    await open[Symbol.asyncDispose]();
    await ui[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  test("a set is one click away, with stages as bars and what is not well", async () => {
    const { page } = open;
    await page.click("a:has-text('kss/prod')");
    await page.waitForSelector("h1:has-text('kss/prod')");
    await page.waitForSelector("ul.stages li");
    const main = (await page.textContent("main")) ?? "";
    for (const text of [
      "Halted",
      "Waiting: 1 cluster failed",
      "3 done",
      "1 failed",
      "verified 3 of 10",
      message,
    ]) {
      expect(main).toContain(text);
    }
    expect(main).toMatch(/Check gate: [^\u202E]*not now/);
    expect(await page.locator(".stage-bar .bad").count()).toBe(1);
    await expectGoodLooks(open);
    await page.click("[aria-label='Clusters that are not well'] a");
    await page.waitForSelector("h1:has-text('fleet/eu-1')");
    await page.goBack();
    await page.waitForSelector("ul.stages li");
  });

  test("a set without a status says so, and one that is gone is not found", async () => {
    const { page } = open;
    await page.goto(`http://${ui.url.host}/#/set/KnativeServingSet/team-a/new`);
    await page.waitForSelector("text=No controller has written a status yet");
    await page.goto(`http://${ui.url.host}/#/set/KnativeServingSet/team-a/gone`);
    await page.waitForSelector("text=The fleet has no such set now");
    expect(open.troubles).toEqual([]);
  });
});

test("a change of a set on the hub comes to its page", async () => {
  await using hub = await startChangingCluster(...recordedObjects, ...sets);
  await using ui = await startUi(["--no-live"], hub.env);
  await using open = await openPage(browser, ui.url.href);
  await open.page.click("a:has-text('kss/waits')");
  await open.page.waitForSelector("code:has-text('rollout approve kss/waits -n team-a')");
  await expect
    .poll(async () => {
      hub.put(fleetSet({ name: "waits", status: phased("Complete") }));
      return await open.page.locator(".why-box").textContent();
    })
    .toContain("Complete");
  expect(open.troubles).toEqual([]);
});
