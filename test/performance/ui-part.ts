import type { Page } from "playwright-core";

import { componentKinds, operatorApiVersion } from "../../api/component.ts";
import { timestampOf } from "../../api/conditions.ts";
import { pageScript, pageStyle } from "../../cmd/kubectl/page/page-code.ts";
import { buildDist } from "../build/dist-folder.ts";
import { startUi } from "../cmd/kubectl/commands/ui/ui-session.ts";
import { startBrowser } from "../cmd/kubectl/page/browser.ts";
import { openPage } from "../cmd/kubectl/page/open-page.ts";
import { builtInProviderFile } from "../e2e/built-in-access.ts";
import { type Fleet, startFleet } from "../fleet/fleet.ts";
import { kilobytes, medianOf, megabytes, seconds } from "./figures.ts";
import type { Goal } from "./goals.ts";
import { usageOf } from "./process-usage.ts";

/** `kubectl knfleet ui` as it is packed, with 1,000 installations, in a Chromium. */
export interface UiResult {
  /** From the request for the page until its rows are painted: median. */
  readonly firstPaintMs: number;
  /** From a change of the filter until the rows are painted: the slowest filter, median of the runs. */
  readonly filterMs: number;
  /** Script and style as they are served, uncompressed. */
  readonly pageBytes: number;
  /** The most memory that the command ever had, after every cluster was read and the page was open. */
  readonly residentBytes: number;
  /** From a write on the hub until the page shows it: the slowest run. */
  readonly changeMs: number;
  /** Rows whose cluster answered. */
  readonly answered: number;
}

const installations = 1_000;
const kinds = ["KnativeServing", "KnativeEventing"] as const;
const clusters = installations / kinds.length;
const namespace = "many";
const filters = ["n", "spoke-99", "reason:ApplyFailed", "cluster:spoke-1 version:1.23", "none", ""];

/** Builds the plugin, starts a hub and one spoke that 500 ClusterProfiles lead to, and measures the page of both components on each of them in a browser. */
export async function measureUi(runs: number, say: (line: string) => void): Promise<UiResult> {
  say("UI: building");
  await using dist = await buildDist();
  await using fleet = await startFleet({ spokes: [{ name: "spoke-1", kwok: false }], log: say });
  say(`UI: publishing ${clusters} spokes`);
  await publish(fleet);
  const env = {
    KUBECONFIG: fleet.hub.adminKubeconfigPath,
    KNFLEET_PROVIDER_FILE: await builtInProviderFile(fleet, { name: "ui" }),
    HOME: dist.path(".."),
  };
  await using browser = await startBrowser();
  await using ui = await startUi([], env, dist.path("kubectl-knfleet.js"));
  await using open = await openPage(browser, ui.url.href);
  const { page } = open;
  say("UI: reading every cluster");
  const wholeRound = `header :text-matches("clusters \\\\w+ ago")`;
  await page.waitForSelector(wholeRound, { timeout: 300_000 });
  const answered = await answeredIn(page);
  say("UI: first paint, filters and changes");
  const [paints, filtered, changes]: [number[], number[], number[]] = [[], [], []];
  for (let run = 0; run < runs; run += 1) {
    paints.push(await firstPaint(page, `http://${ui.url.host}/`));
    filtered.push(await slowestFilter(page));
    changes.push(await changeOf({ fleet, page }, run));
  }
  if (open.troubles.length > 0) throw new Error(open.troubles.join("\n"));
  return {
    firstPaintMs: medianOf(paints),
    filterMs: medianOf(filtered),
    pageBytes: Buffer.byteLength(pageScript) + Buffer.byteLength(pageStyle),
    residentBytes: (await usageOf(ui.pid)).peakResidentBytes,
    changeMs: Math.max(...changes),
    answered,
  };
}

/** What the page may cost. */
export function uiGoals(result: UiResult): readonly Goal[] {
  const { firstPaintMs, filterMs, pageBytes, residentBytes, changeMs, answered } = result;
  return [
    {
      text: `The page of ${installations} installations: from the request to the painted rows`,
      value: firstPaintMs,
      limit: 1_000,
      show: milliseconds,
    },
    { text: "The same: the slowest filter", value: filterMs, limit: 100, show: milliseconds },
    { text: "A change on the hub shows", value: changeMs, limit: 2_000, show: seconds },
    { text: "Script and style", value: pageBytes, limit: 150_000, show: kilobytes },
    {
      text: "Memory of kubectl knfleet ui",
      value: residentBytes,
      limit: 250_000_000,
      show: megabytes,
    },
    {
      text: "Installations whose cluster did not answer it",
      value: installations - answered,
      limit: 0,
    },
  ];
}

function milliseconds(ms: number): string {
  return `${ms.toFixed(0)} ms`;
}

/** Every tenth installation says that it failed. */
async function publish(fleet: Fleet): Promise<void> {
  const { admin } = fleet.hub;
  await admin.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const batch = 20;
  for (let first = 0; first < clusters; first += batch) {
    const added = Array.from({ length: batch }, async (_, at) => {
      const name = `spoke-${first + at}`;
      await fleet.addProfile(fleet.spoke(0), { plugin: "secretreader", namespace, name });
      for (const offset of kinds.keys()) {
        const index = (first + at) * kinds.length + offset;
        const spec = { clusterProfileRef: { namespace, name } };
        await admin.apply({ ...keyOf(index), spec });
        await writeStatus(fleet, index, index % 10 === 0 ? "ApplyFailed" : undefined);
      }
    });
    await Promise.all(added);
  }
}

/** Of two installations in a row one is Serving and the other one Eventing, both on one cluster. */
function keyOf(index: number) {
  const kind = kinds[index % kinds.length] ?? kinds[0];
  const metadata = { namespace, name: `${componentKinds[kind].label}-${index}` };
  return { apiVersion: operatorApiVersion, kind, metadata };
}

/** Writes what a controller would say; a reason means that the installation is not ready. */
async function writeStatus(
  { hub }: Fleet,
  index: number,
  reason: string | undefined,
): Promise<void> {
  const ready = {
    type: "Ready",
    status: reason === undefined ? "True" : "False",
    ...(reason === undefined ? {} : { reason, message: `${reason} of installation ${index}` }),
    lastTransitionTime: timestampOf(new Date()),
  };
  const status = { version: `1.2${index % 4}.0`, observedGeneration: 1, conditions: [ready] };
  await hub.admin.apply({ ...keyOf(index), status }, { subresource: "status" });
}

/** Nothing is installed there: to say so a cluster has to answer. */
async function answeredIn(page: Page): Promise<number> {
  return await page.evaluate(
    `fetch("/api/v1/status").then((response) => response.json()).then(({ items }) => items.filter(({ live }) => live.state === "NotInstalled").length)`,
  );
}

async function firstPaint(page: Page, url: string): Promise<number> {
  await page.goto("about:blank");
  await page.goto(url, { waitUntil: "commit" });
  // The time of the page itself, which begins with the request.
  return await page.evaluate(`new Promise((done) => {
    const look = () => requestAnimationFrame(() => {
      if (document.querySelector("table.fleet tbody tr") === null) look();
      else setTimeout(() => done(performance.now()));
    });
    look();
  })`);
}

async function slowestFilter(page: Page): Promise<number> {
  const times: number[] = [];
  for (const text of filters) {
    times.push(
      await page.evaluate(`(async () => {
        const input = document.querySelector("#filter");
        const startedAt = performance.now();
        input.value = ${JSON.stringify(text)};
        input.dispatchEvent(new Event("input", { bubbles: true }));
        await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
        return performance.now() - startedAt;
      })()`),
    );
  }
  return Math.max(...times);
}

async function changeOf(
  { fleet, page }: { readonly fleet: Fleet; readonly page: Page },
  run: number,
): Promise<number> {
  // Not one that says something already, and always another one.
  const index = 10 * run + 1;
  await page.fill("#filter", keyOf(index).metadata.name);
  const reason = `Changed${run}`;
  const startedAt = performance.now();
  await writeStatus(fleet, index, reason);
  await page.waitForSelector(`table.fleet .badge:text-is("${reason}")`);
  return performance.now() - startedAt;
}
