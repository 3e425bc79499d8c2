import axe from "axe-core";
import type { Browser, Page } from "playwright-core";

/** A page in a browser, and what must not happen on it. */
export interface OpenPage extends AsyncDisposable {
  readonly page: Page;
  /** Errors of scripts and messages on the console, and requests to other hosts. Empty: all is well. */
  readonly troubles: readonly string[];
  /** What axe-core finds, one line a rule. */
  findProblems(): Promise<readonly string[]>;
}

/** Opens an address in a window of its own. */
export async function openPage(browser: Browser, url: string): Promise<OpenPage> {
  const context = await browser.newContext();
  const page = await context.newPage();
  const troubles: string[] = [];
  page.on("console", (message) => {
    troubles.push(`console: ${message.text()}`);
  });
  page.on("pageerror", (error) => troubles.push(`error: ${error.message}`));
  page.on("request", (request) => {
    if (new URL(request.url()).host !== new URL(url).host) troubles.push(`asks ${request.url()}`);
  });
  await page.goto(url);
  return {
    page,
    troubles,
    async findProblems() {
      // In a world of its own, which the policy of the page does not bind.
      const session = await context.newCDPSession(page);
      const { frameTree } = await session.send("Page.getFrameTree");
      const { executionContextId: contextId } = await session.send("Page.createIsolatedWorld", {
        frameId: frameTree.frame.id,
      });
      await session.send("Runtime.evaluate", { contextId, expression: axe.source });
      const { result } = await session.send("Runtime.evaluate", {
        contextId,
        awaitPromise: true,
        returnByValue: true,
        expression: `axe.run().then(({ violations }) => violations.map(({ impact, id, nodes }) => impact + " " + id + " " + nodes[0].html))`,
      });
      if (!Array.isArray(result.value)) throw new Error("axe-core has not run");
      return result.value.map(String);
    },
    [Symbol.asyncDispose]: () => context.close(),
  };
}
