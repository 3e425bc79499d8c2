import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startUi } from "../commands/ui/ui-session.ts";
import { component } from "../fleet-facts.ts";
import { startStubHub } from "../stub-hub.ts";
import { answersTriggers, trigger } from "../user-triggers.ts";
import { startBrowser } from "./browser.ts";
import { expectGoodLooks } from "./good-looks.ts";
import { openPage } from "./open-page.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser.close());

const triggers = [
  trigger("orders", "True", "2026-11-23T12:00:05Z"),
  trigger("mails", "False", "2026-11-25T11:30:00Z"),
];

test.each([
  [
    "how many are ready, and the others",
    triggers,
    ["Workloads of its users 1/2", "Trigger shop/mails", "The Broker default of mails"],
  ],
  ["that all are ready", triggers.slice(0, 1), ["Workloads of its users 1/1"]],
  ["why they could not be read", undefined, ["The right to list triggers.eventing.knative.dev"]],
])("an installation shows of the workloads of its users %s", async (_, items, texts) => {
  const installed = component({ kind: "KnativeEventing", cluster: null });
  await using hub = await startStubHub([installed], answersTriggers(items));
  await using ui = await startUi([], hub.env);
  await using open = await openPage(browser, ui.url.href);
  const { page } = open;
  await page.click("table.fleet tbody a");
  await page.waitForSelector("h2:has-text('Workloads of its users')");
  for (const text of texts) {
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await page.waitForSelector(`text=${text}`);
  }
  expect(await page.locator("[aria-label='Workloads that are not ready'] tbody tr").count()).toBe(
    texts.length > 1 ? 1 : 0,
  );
  await expectGoodLooks(open);
});
