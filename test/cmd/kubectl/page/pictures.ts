import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import type { Browser, Page } from "playwright-core";

import { startBrowser } from "./browser.ts";
import { openPage } from "./open-page.ts";
import { sampleItems, samplePage } from "./sample-page.ts";

const usage = `Usage: npm run ui-pictures [-- --output DIR]

Draws the pictures of docs/ui.md: pages of a made-up fleet in a Chromium.

  --output DIR   default: docs/pictures
  --help
`;

/** Where the pictures are, relative to the project. */
export const pictureFolder = "docs/pictures";

const project = join(import.meta.dirname, "../../../..");
const size = { width: 1_200, height: 820 };
const quality = 85;

interface Picture {
  readonly name: string;
  readonly colorScheme: "light" | "dark";
  /** Goes from the page of the fleet to what is drawn. */
  readonly go: (page: Page) => Promise<unknown>;
}

const pictures: readonly Picture[] = [
  {
    name: "ui-fleet.webp",
    colorScheme: "light",
    go: (page) => page.waitForSelector("table.fleet tbody tr"),
  },
  {
    name: "ui-installation.webp",
    colorScheme: "light",
    async go(page) {
      await page.fill("#filter", "ke/knative-eventing");
      await page.click("table.fleet tbody th a");
      await page.waitForSelector("svg.graph");
      await page.evaluate(
        `[...document.querySelectorAll("h2")].find((one) => one.textContent === "Conditions").scrollIntoView()`,
      );
    },
  },
  {
    name: "ui-set.webp",
    colorScheme: "dark",
    async go(page) {
      await page.click("a:has-text('kss/prod')");
      await page.waitForSelector("ul.stages li");
    },
  },
];

/** Draws the pictures into a folder, and returns their names. */
export async function drawPictures(folder: string, browser: Browser): Promise<readonly string[]> {
  await mkdir(folder, { recursive: true });
  const temporary = await mkdtemp(join(tmpdir(), "knfleet-pictures-"));
  try {
    const path = join(temporary, "fleet.html");
    await writeFile(path, await samplePage(sampleItems(40, "some")));
    for (const picture of pictures) {
      // oxlint-disable-next-line no-await-in-loop -- one picture after another
      await writeFile(
        join(folder, picture.name),
        // oxlint-disable-next-line no-await-in-loop -- one picture after another
        await drawn(picture, pathToFileURL(path).href, browser),
      );
    }
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
  return pictures.map(({ name }) => name);
}

async function drawn({ colorScheme, go }: Picture, url: string, browser: Browser): Promise<Buffer> {
  await using open = await openPage(browser, url);
  const { page } = open;
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await go(page);
  // Nothing has the focus in a picture.
  await page.evaluate("document.activeElement?.blur()");
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send("Page.captureScreenshot", { format: "webp", quality });
  return Buffer.from(data, "base64");
}

if (import.meta.main) {
  const { output = join(project, pictureFolder), help = false } = parseArgs({
    options: { output: { type: "string" }, help: { type: "boolean", short: "h" } },
  }).values;
  if (help) process.stdout.write(usage);
  else {
    await using browser = await startBrowser();
    const names = await drawPictures(output, browser);
    process.stdout.write(`Drew ${names.join(", ")} into ${output}\n`);
  }
}
