import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import type { StatusItem } from "../../../../cmd/kubectl/fleet/status-item.ts";
import { fleetStatusOf } from "../../../../cmd/kubectl/fleet/status.ts";
import { queryOf } from "../../../../cmd/kubectl/page/installation-view.ts";
import { statusHtml } from "../../../../cmd/kubectl/page/status-html.ts";
import { startBrowser } from "./browser.ts";
import { expectGoodLooks } from "./good-looks.ts";
import { type OpenPage, openPage } from "./open-page.ts";
import { itemOf } from "./sample-items.ts";
import { sampleItems, samplePage } from "./sample-page.ts";

const stamp = { generatedAt: "2026-11-22T01:58:19Z", cliVersion: "0.1.0" };
const message =
  "ClusterProfile fleet/spoke-2: https://a-name-that-is-rather-long.region-eu-west-1.clusters.example.com:6443/api/v1/namespaces/knative-serving refused the connection (ECONNREFUSED), and so did https://spoke-2.example:6443; the controller tries again";

let browser: Browser;
let folder: string;
beforeAll(async () => {
  browser = await startBrowser();
  folder = await mkdtemp(join(tmpdir(), "knfleet-layout-"));
});
afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
});

async function openText(text: string, width: number): Promise<OpenPage> {
  const path = join(folder, "fleet.html");
  await writeFile(path, text);
  const open = await openPage(browser, pathToFileURL(path).href);
  await open.page.setViewportSize({ width, height: width === 1_280 ? 800 : 1_440 });
  await open.page.waitForSelector("table.fleet tbody tr");
  return open;
}

/** The page of an installation in trouble as a file. */
function troubledPage(): string {
  const condition = (type: string) => {
    const bad = { status: "False", reason: "ClusterUnreachable", code: null, since: null };
    return { type, ...bad, message };
  };
  const item: StatusItem = {
    ...itemOf({ severity: "error", reason: "Unreachable", message, cluster: "spoke-2" }),
    detail: {
      conditions: ["Ready", "InstallSucceeded", "DeploymentsAvailable"].map(condition),
      deployments: ["activator", "net-kourier-controller", "autoscaler-hpa"].map((name) => {
        const state = { available: false, state: "notAvailable", ready: 0, desired: 1 } as const;
        const at = { kind: "Deployment", namespace: "knative-serving", name } as const;
        return { ...at, ...state, progress: message };
      }),
      missing: [],
      anchor: null,
      events: [],
    },
  };
  const query = queryOf(item);
  const from = { recordedAt: undefined, kubectl: "kubectl", knfleet: "kubectl knfleet" };
  const documents = { [`status?${query}`]: fleetStatusOf([item], [], stamp) };
  return statusHtml(fleetStatusOf([item], [], stamp), { ...from, documents });
}

const box = async (page: Page, selector: string) => {
  const found = await page.locator(selector).first().boundingBox();
  if (found === null) throw new Error(`${selector} is not seen`);
  return found;
};

/** On how many lines a name stands, the first time that it occurs. */
const linesOf = async (page: Page, place: string, name: string): Promise<unknown> =>
  await page.evaluate(`(() => {
    const [place, name] = ${JSON.stringify([place, name])};
    const texts = document.createTreeWalker(document.querySelector(place), NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const at = texts.currentNode.data.indexOf(name);
      if (at < 0) continue;
      const range = document.createRange();
      range.setStart(texts.currentNode, at);
      range.setEnd(texts.currentNode, at + name.length);
      return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
    }
  })()`);

test.each([1_280, 2_560])("messages are never cut: %i pixels", async (width) => {
  await using open = await openText(troubledPage(), width);
  const { page } = open;
  await page.click("table.fleet th a");
  for (const name of ["Conditions", "Deployments"]) {
    await page.waitForSelector(`[aria-label=${name}]`);
    // oxlint-disable-next-line no-await-in-loop -- one table after another
    const cut = await page.evaluate(`(() => {
      const { scrollWidth, clientWidth } = document.querySelector("[aria-label=${name}]");
      return scrollWidth - clientWidth;
    })()`);
    expect({ name, cut }).toEqual({ name, cut: 0 });
  }
  // One cause of three conditions is one sentence, and has the width.
  const cells = page.locator("[aria-label=Conditions] td[data-label=Message]");
  expect(await cells.allTextContents()).toEqual([expect.stringContaining("tries again")]);
  const { width: wide } = await box(page, "[aria-label=Conditions] td[data-label=Message]");
  expect(wide).toBeGreaterThan(500);
  await expectGoodLooks(open);
});

test("names do not break", async () => {
  await using open = await openText(troubledPage(), 1_280);
  const { page } = open;
  await page.click("table.fleet th a");
  await page.waitForSelector("[aria-label=Deployments]");
  // In the middle of a sentence a browser breaks behind `-` and `/`: at some of these widths there.
  const names = [
    ["[aria-label=Deployments]", "net-kourier-controller"],
    ["[aria-label=Deployments]", "knative-serving"],
    ["[aria-label=Deployments]", "fleet/spoke-2"],
    [".why-box", "fleet/spoke-2"],
    [".why-box", "https://spoke-2.example:6443"],
  ] as const;
  for (let width = 780; width <= 1_280; width += 20) {
    // oxlint-disable-next-line no-await-in-loop -- one width after another
    await page.setViewportSize({ width, height: 800 });
    for (const [place, name] of names) {
      // oxlint-disable-next-line no-await-in-loop -- one name after another
      expect({ width, name, lines: await linesOf(page, place, name) }).toEqual({
        width,
        name,
        lines: 1,
      });
    }
  }
});

test("names of clusters of a set do not break", async () => {
  await using open = await openText(await samplePage(sampleItems(40, "some")), 1_280);
  const { page } = open;
  await page.click("a:has-text('kss/prod')");
  await page.waitForSelector(".wide a:has-text('fleet/eu-north-1')");
  expect(await linesOf(page, ".wide", "fleet/eu-north-1")).toBe(1);
});

test("what a box of the graph has no room for stands below the graph", async () => {
  await using open = await openText(await samplePage(sampleItems(40, "some")), 1_280);
  const { page } = open;
  await page.fill("#filter", "ke/knative-eventing");
  await page.click("table.fleet tbody th a");
  await page.waitForSelector("svg.graph");
  expect(await page.locator("[aria-label=Graph]").textContent()).toContain(
    "Deployment imc-dispatcher: 0/1 available: Deployment does not have minimum availability.",
  );
});

test("at 1280 pixels the table begins above the fold, however much is wrong", async () => {
  await using open = await openText(await samplePage(sampleItems(400, "half")), 1_280);
  const { page } = open;
  const shown = await page.locator("ul.causes li").count();
  const row = await box(page, "table.fleet tbody tr");
  expect(row.y + row.height).toBeLessThan(800);
  await page.click("section:has-text('What is wrong') button:has-text('Show all')");
  expect(await page.locator("ul.causes li").count()).toBeGreaterThan(shown);
  await expectGoodLooks(open);
});

test("at 2560 pixels the width is used", async () => {
  await using open = await openText(await samplePage(sampleItems(400, "half")), 2_560);
  const { page } = open;
  const [causes, table, versions] = [
    await box(page, "ul.causes"),
    await box(page, "table.fleet"),
    await box(page, "ul.bars"),
  ];
  expect(causes.width).toBeGreaterThan(2_400);
  // Versions are beside the table, and not below it.
  expect(versions.y).toBeLessThan(table.y);
  expect(versions.x + versions.width).toBeGreaterThan(2_400);
  await page.fill("#filter", "ke/knative-eventing");
  await page.click("table.fleet tbody th a");
  await page.waitForSelector("[aria-label=Deployments]");
  const [conditions, deployments, commands] = [
    await box(page, "[aria-label=Conditions]"),
    await box(page, "[aria-label=Deployments]"),
    await box(page, ".commands"),
  ];
  expect(deployments.y).toBe(conditions.y);
  expect(deployments.x + deployments.width).toBeGreaterThan(2_400);
  expect(commands.width).toBeGreaterThan(2_400);
});
