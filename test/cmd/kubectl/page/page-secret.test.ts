import { once } from "node:events";
import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import { join } from "node:path";

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";

import { pageScript } from "../../../../cmd/kubectl/page/page-code.ts";
import { servedPage } from "../../../../cmd/kubectl/page/page-html.ts";
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
  return { url: await urlOf(server), heard, [Symbol.dispose]: () => end(server) };
}

async function urlOf(server: Server): Promise<string> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("There is no port");
  return `http://127.0.0.1:${address.port}/`;
}

function end(server: Server): void {
  server.close();
  server.closeAllConnections();
}

/** A server of the page whose stream has a message that cannot be read, and does not end by itself. */
async function startBrokenServer() {
  const streams = { ended: 0 };
  const server = createServer(({ url = "" }, response) => {
    response.setHeader("Content-Type", url === "/page.js" ? "text/javascript" : "text/html");
    if (url !== "/api/v1/stream") return response.end(url === "/page.js" ? pageScript : servedPage);
    response.on("close", () => (streams.ended += 1));
    return response.write("data: not JSON\n\n");
  });
  const url = await urlOf(server);
  return { url: `${url}#token=x`, streams, [Symbol.dispose]: () => end(server) };
}

function rowsOf(page: Page): Promise<unknown> {
  return page.waitForSelector("table.fleet tbody tr");
}

/** Opens the page without the secret, and then the printed address in the same tab: the browser asks for nothing, only what is behind # changes. */
async function openInLockedTab(page: Page): Promise<void> {
  await page.goto(`http://${ui.url.host}/`);
  await page.waitForSelector("[role=status]:has-text('open the address that kubectl knfleet ui')");
  await page.goto(ui.url.href);
  await rowsOf(page);
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
  await openInLockedTab(page);
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
  await openInLockedTab(page);
  expect(page.url()).toBe(`http://${ui.url.host}/`);
});

test("a tab whose secret is refused does not ask again and again", async () => {
  await using context = await browser.newContext();
  const page = await context.newPage();
  await page.clock.install();
  let asked = 0;
  await page.route("**/api/v1/status", (route) => {
    asked += 1;
    return route.fulfill({ status: 401, body: "{}" });
  });
  await page.goto(ui.url.href);
  await page.waitForSelector("[role=status]:has-text('open the address that kubectl knfleet ui')");
  await page.clock.runFor(10_000);
  expect(await page.textContent("[role=status]")).toContain("open the address");
  expect(asked).toBe(1);
});

test("a stream with a message that cannot be read is let go before the next one", async () => {
  await using context = await browser.newContext();
  const page = await context.newPage();
  using broken = await startBrokenServer();
  await page.goto(broken.url);
  await expect.poll(() => broken.streams).toMatchObject({ ended: 1 });
});
