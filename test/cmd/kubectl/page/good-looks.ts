import { expect } from "vitest";

import type { OpenPage } from "./open-page.ts";

const widths = [320, 360, 1280, 2560, 3840];
const schemes = ["light", "dark"] as const;

/** Looks at the page in every width, light and dark: nothing scrolls sideways, and axe-core finds nothing. */
export async function expectGoodLooks(open: OpenPage): Promise<void> {
  const { page } = open;
  for (const colorScheme of schemes) {
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    await page.emulateMedia({ colorScheme });
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    expect({ colorScheme, problems: await open.findProblems() }).toEqual({
      colorScheme,
      problems: [],
    });
  }
  for (const width of widths) {
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    await page.setViewportSize({ width, height: 900 });
    // oxlint-disable-next-line no-await-in-loop -- one look after another
    const wide = await page.evaluate("document.documentElement.scrollWidth");
    expect(wide, `at ${width} pixels`).toBeLessThanOrEqual(width);
  }
  await page.setViewportSize({ width: 360, height: 740 });
  expect(await open.findProblems()).toEqual([]);
  await page.setViewportSize({ width: 1280, height: 800 });
}
