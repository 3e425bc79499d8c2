import { existsSync } from "node:fs";

import sparticuz from "@sparticuz/chromium";
import { type Browser, chromium } from "playwright-core";

const ofTheSystem = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** Starts a Chromium: one of the system when there is one, else that of the package. */
export async function startBrowser(): Promise<Browser> {
  const own = ofTheSystem.find((path) => existsSync(path));
  const executablePath = own ?? (await sparticuz.executablePath());
  // The arguments of the package put all windows into one process, which ends with the first of them.
  const args = ["--no-sandbox", "--disable-gpu"];
  try {
    return await chromium.launch({ executablePath, args, headless: true });
  } catch (cause) {
    throw new Error("There is no Chromium that starts: install the package chromium", { cause });
  }
}
