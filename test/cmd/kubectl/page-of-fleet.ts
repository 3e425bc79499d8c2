import { describe, expect, test } from "vitest";

import { componentKinds, operatorApiVersion } from "../../../api/component.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { startUi } from "./commands/ui/ui-session.ts";
import { createComponent, type FleetScene } from "./fleet-scene.ts";
import { startBrowser } from "./page/browser.ts";
import { openPage } from "./page/open-page.ts";

const kind = "KnativeServing";
// Its namespace stays, and must not look like the teams of other tests.
const added = { kind, namespace: "shown", profile: "spoke-1" } as const;

/** Tests of `ui` in a browser, on the fleet of the file that calls it. */
export function testPageOfFleet(fleet: () => Fleet, scene: () => FleetScene): void {
  describe("ui", () => {
    // The goal is two seconds, which the bench measures; a test only waits.
    test("shows hub and spokes in a browser, and follows what changes on the hub", async () => {
      const { hub } = fleet();
      const { kubeconfig: KUBECONFIG, providerFile: KNFLEET_PROVIDER_FILE } = scene();
      await using browser = await startBrowser();
      await using ui = await startUi([], { KUBECONFIG, KNFLEET_PROVIDER_FILE });
      await using open = await openPage(browser, ui.url.href);
      const { page } = open;
      const rows = page.locator("table.fleet tbody tr");
      const spoke = (text: string) => rows.filter({ hasText: text });
      await expect.poll(() => rows.count()).toBe(5);
      await expect.poll(() => spoke("1 of 3 not available").count()).toBe(1);
      await expect.poll(() => spoke("CredentialRejected").count()).toBe(1);

      await page.click("tr:has-text('DeploymentsNotReady') th a");
      await page.waitForSelector("[aria-label=Conditions] tbody tr");
      await page.waitForSelector("[aria-label=Deployments] tr:has-text('Not available')");
      await page.waitForSelector("svg.graph .fail");
      await page.waitForSelector("ol.events li");
      await page.click("text=Run the diagnosis");
      await page.waitForSelector("[aria-label='Steps of the walk'] tbody tr");
      await page.goBack();
      await page.click("tr:has-text('DeploymentsNotReady') td a");
      await page.waitForSelector("h1:has-text('fleet/spoke-2')");
      await page.click("text=Run the diagnosis");
      await page.waitForSelector("[aria-label='Steps of the walk'] tbody tr");
      await page.goBack();

      await createComponent(hub, { ...added, ready: "False", reason: "PageWaits" });
      await page.click("tr:has-text('PageWaits') th a");
      await createComponent(hub, { ...added, ready: "False", reason: "PageTold" });
      await page.waitForSelector(".why-box:has-text('Because of PageTold')");
      const { label: name } = componentKinds[kind];
      await hub.admin.remove({
        apiVersion: operatorApiVersion,
        kind,
        namespace: added.namespace,
        name,
      });
      await page.waitForSelector("text=The fleet has no such installation now");
      expect(open.troubles).toEqual([]);
    });
  });
}
