import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { join } from "node:path";

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startUi, type UiSession } from "../commands/ui/ui-session.ts";
import { recordedFolder } from "../golden/record-scene.ts";
import { startBrowser } from "./browser.ts";

let browser: Browser;
let ui: UiSession;
beforeAll(async () => {
  browser = await startBrowser();
  ui = await startUi(["--bundle", join(recordedFolder, "fine")]);
});
afterAll(async () => {
  await browser.close();
  await ui[Symbol.asyncDispose]();
});

/** A server of somebody else on another port of this computer, and the headers that it was sent. */
async function startOtherServer() {
  const heard: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    heard.push(request.headers);
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>other</title>");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("There is no port");
  return {
    url: `http://127.0.0.1:${address.port}/`,
    heard,
    [Symbol.dispose]: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function rowsOf(page: Page): Promise<unknown> {
  return page.waitForSelector("table.fleet tbody tr");
}

test("a server on another port of this computer is sent no secret, and cannot read the page", async () => {
  using other = await startOtherServer();
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(ui.url.href);
  await rowsOf(page);
  expect(await context.cookies()).toEqual([]);
  await page.goto(other.url);
  await expect.poll(() => other.heard.length).toBeGreaterThan(0);
  expect(other.heard.filter(({ cookie, authorization }) => cookie ?? authorization)).toEqual([]);
  const read = (path: string, secret: string): Promise<unknown> =>
    page.evaluate(
      `fetch("http://${ui.url.host}${path}", ${secret}).then((answer) => answer.text()).catch((error) => error.name)`,
    );
  const authorization = `Bearer ${ui.url.hash.slice("#token=".length)}`;
  const withSecret = JSON.stringify({ headers: { authorization } });
  expect(await read("/", "{}")).toBe("TypeError");
  expect(await read("/api/v1/status", `{ credentials: "include" }`)).toBe("TypeError");
  expect(await read("/api/v1/status", withSecret)).toBe("TypeError");
});

test("the address bar does not show the secret, and a reload needs no address", async () => {
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(ui.url.href);
  await rowsOf(page);
  expect(page.url()).toBe(`http://${ui.url.host}/`);
  await page.reload();
  await rowsOf(page);
});

test("another tab says that it needs the address, and takes it", async () => {
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://${ui.url.host}/`);
  await page.waitForSelector("[role=status]:has-text('open the address that kubectl knfleet ui')");
  // The browser asks for nothing: only what is behind # changes.
  await page.goto(ui.url.href);
  await rowsOf(page);
  expect(page.url()).toBe(`http://${ui.url.host}/`);
});

test("a tab with the secret of a command that has ended says what it needs", async () => {
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(`http://${ui.url.host}/#token=${"x".repeat(43)}`);
  const said = () => page.textContent("[role=status]");
  await expect.poll(said).toContain("open the address that kubectl knfleet ui printed");
});

test("a tab whose browser blocks the data of sites takes the address, also in an open tab", async () => {
  await using context = await browser.newContext();
  await context.addInitScript(`Object.defineProperty(window, "sessionStorage", {
    get() { throw new DOMException("Access is denied for this document", "SecurityError"); },
  })`);
  const page = await context.newPage();
  await page.goto(`http://${ui.url.host}/`);
  await page.waitForSelector("[role=status]:has-text('open the address that kubectl knfleet ui')");
  await page.goto(ui.url.href);
  await rowsOf(page);
  expect(page.url()).toBe(`http://${ui.url.host}/`);
});
