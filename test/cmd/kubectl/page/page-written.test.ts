import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

import type { Browser } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { mostInstallations } from "../../../../cmd/kubectl/commands/ui/written-documents.ts";
import { fleetStatusOf } from "../../../../cmd/kubectl/fleet/status.ts";
import { queryOf } from "../../../../cmd/kubectl/page/installation-view.ts";
import { statusHtml } from "../../../../cmd/kubectl/page/status-html.ts";
import { startUi } from "../commands/ui/ui-session.ts";
import { component } from "../fleet-facts.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { runText } from "../run-text.ts";
import { fleetSet } from "../set-facts.ts";
import { startStubHub } from "../stub-hub.ts";
import { startBrowser } from "./browser.ts";
import { expectGoodLooks } from "./good-looks.ts";
import { type OpenPage, openPage } from "./open-page.ts";
import { itemOf } from "./sample-items.ts";
import { heldIn } from "./sample-page.ts";

const bundle = ["--bundle", join(recordedFolder, "whole")];
let browser: Browser;
let folder: string;
beforeAll(async () => {
  browser = await startBrowser();
  folder = await mkdtemp(join(tmpdir(), "knfleet-written-"));
});
afterAll(async () => {
  await browser.close();
  await rm(folder, { recursive: true, force: true });
});

describe("the file of --once", () => {
  let path: string;
  beforeAll(async () => {
    path = join(folder, "whole.html");
    await runText(["ui", "--once", path, ...bundle]);
  });

  test("has the documents of each installation that the server would answer with", async () => {
    const { status, documents } = heldIn(await readFile(path, "utf8"));
    await using ui = await startUi(bundle);
    const served = async (name: string) => JSON.parse((await ui.read(`/api/v1/${name}`)).text);
    for (const item of status.items) {
      const query = queryOf(item);
      for (const name of [`tree?${query}`, `events?${query}`]) {
        // oxlint-disable-next-line no-await-in-loop -- one after the other
        const { items } = await served(name);
        expect({ name, items: documents[name]?.items }).toEqual({ name, items });
      }
      const told = `events?${query}`;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const { errors } = await served(told);
      const held = documents[told]?.errors ?? [];
      // Those of its own cluster; the server adds their codes.
      expect(errors).toHaveLength(held.length);
      expect({ told, errors }).toMatchObject({ told, errors: held });
      const name = `status?${query}`;
      // oxlint-disable-next-line no-await-in-loop -- one after the other
      const [one] = (await served(name)).items;
      // Events have a document of their own.
      const items = [{ ...one, detail: { ...one.detail, events: null } }];
      expect({ name, items: documents[name]?.items }).toEqual({ name, items });
    }
    expect(documents["clusters"]?.items).toEqual((await served("clusters")).items);
  });

  test("shows conditions, graph and Events, and filters by labels", async () => {
    await using open = await openPage(browser, pathToFileURL(path).href);
    const { page } = open;
    await page.click("table.fleet th a");
    await page.waitForSelector("[aria-label=Conditions] tbody tr");
    await page.waitForSelector("svg.graph");
    await page.waitForSelector("ol.events li");
    expect(await page.getByText("Run the diagnosis").count()).toBe(0);
    await expectGoodLooks(open);
    await page.goBack();
    await page.fill("#filter", "label:no-such-label");
    await expect.poll(() => page.locator("table.fleet tbody tr").count()).toBe(0);
    expect(open.troubles).toEqual([]);
  });
});

test("the file has the stages of fleet sets", async () => {
  await using hub = await startStubHub([component({ cluster: null }), fleetSet()]);
  const path = join(folder, "sets.html");
  await runText(["ui", "--no-live", "--once", path], { env: hub.env });
  await using open = await openPage(browser, pathToFileURL(path).href);
  await open.page.click("a:has-text('kss/prod')");
  await open.page.waitForSelector("ul.stages li");
  expect(open.troubles).toEqual([]);
});

test("a file of many installations says what it does not have", async () => {
  const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };
  const many = Array.from({ length: mostInstallations + 1 }, (_, at) =>
    component({ name: `n-${at}`, cluster: null }),
  );
  await using hub = await startStubHub(many);
  const path = join(folder, "many.html");
  await runText(["ui", "--no-live", "--once", path], { env: hub.env });
  expect(Object.keys(heldIn(await readFile(path, "utf8")).documents)).toEqual(["sets", "clusters"]);
  const bare = statusHtml(fleetStatusOf([itemOf({})], [], stamp), {
    recordedAt: undefined,
    kubectl: "kubectl",
    knfleet: "kubectl knfleet",
  });
  await writeFile(path, bare);
  await using open = await openPage(browser, pathToFileURL(path).href);
  await open.page.click("table.fleet th a");
  await open.page.waitForSelector("text=This file has no conditions, graph and Events");
  expect(open.troubles).toEqual([]);
});

describe("the file of a status", () => {
  const stamp = { generatedAt: "2026-11-21T12:00:00Z", cliVersion: "1.0.0" };

  async function openFile(items: Parameters<typeof fleetStatusOf>[0]): Promise<OpenPage> {
    const path = join(folder, "fleet.html");
    const from = { recordedAt: undefined, kubectl: "kubectl", knfleet: "kubectl knfleet" };
    await writeFile(path, statusHtml(fleetStatusOf(items, [], stamp), from));
    return await openPage(browser, pathToFileURL(path).href);
  }

  test("shows text of clusters as text, whatever it holds", async () => {
    const attack = `</script><script>document.title="x"</script><img src=http://127.0.0.1:9/ onerror='document.title="x"'>"'&lt;\u202e\u001b[2J`;
    const hostile = { severity: "error", reason: attack, message: attack } as const;
    await using open = await openFile([itemOf({ ...hostile, name: attack, version: attack })]);
    const { page, troubles } = open;
    await page.waitForSelector("table.fleet tbody tr");
    expect(await page.textContent("table.fleet th a")).toContain("</script><script>");
    expect(await page.title()).toBe("Knative fleet");
    expect(await page.locator("img").count()).toBe(0);
    const shown = (await page.textContent("main")) ?? "";
    expect(["\u202e", "\u001b"].filter((one) => shown.includes(one))).toEqual([]);
    await page.click("table.fleet th a");
    await page.waitForSelector("h1:has-text('<img')");
    expect(await page.locator("img").count()).toBe(0);
    expect(troubles).toEqual([]);
  });

  test("says where no script may run that it needs one", async () => {
    const path = join(folder, "no-script.html");
    const status = fleetStatusOf([itemOf({ name: "<b>" })], [], stamp);
    await writeFile(
      path,
      statusHtml(status, { recordedAt: undefined, kubectl: "kubectl", knfleet: "kubectl" }),
    );
    const context = await browser.newContext({ javaScriptEnabled: false });
    const page = await context.newPage();
    await page.goto(pathToFileURL(path).href);
    expect(await page.textContent("noscript")).toContain("open the file in a browser");
    await context.close();
  });

  test("breaks long names, and no word beside them", async () => {
    const long = "a-name-that-somebody-gave-to-it-with-the-whole-region-in-it-and-more";
    const unwell = { severity: "error", reason: "CredentialRejected" } as const;
    const hub = { state: "NotReady" } as const;
    await using open = await openFile([
      itemOf({ ...unwell, hub, name: long, cluster: "eu-1" }),
      itemOf({ ...unwell, hub, name: "a", cluster: long }),
    ]);
    const { page } = open;
    await page.setViewportSize({ width: 1_280, height: 800 });
    const lines = (text: string) =>
      page.evaluate(`
        const range = document.createRange();
        range.selectNodeContents(document.evaluate("//table//*[text()='${text}']", document).iterateNext());
        range.getClientRects().length`);
    for (const text of ["1.23.0", "NotReady", "CredentialRejected", "Version", "Since"]) {
      // oxlint-disable-next-line no-await-in-loop -- one look after another
      expect({ text, lines: await lines(text) }).toEqual({ text, lines: 1 });
    }
    await expectGoodLooks(open);
  });

  test("of an empty fleet says so", async () => {
    await using open = await openFile([]);
    await open.page.waitForSelector("table.fleet");
    expect(await open.page.textContent("[role=status]")).toBe("0 of 0");
  });

  test("of a thousand installations shows the first, and all when asked", async () => {
    const many = Array.from({ length: 1_000 }, (_, at) =>
      itemOf({ name: `n-${at}`, cluster: `c-${at}`, version: `1.2${at % 4}.0` }),
    );
    await using open = await openFile(many);
    const rows = open.page.locator("table.fleet tbody tr");
    await rows.first().waitFor();
    expect(await rows.count()).toBe(200);
    await open.page.click("text=Show all 1000");
    await expect.poll(() => rows.count()).toBe(1_000);
    await open.page.fill("#filter", "n-99");
    await expect.poll(() => rows.count()).toBe(11);
  });
});
