import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { operatorApiVersion } from "../../../../../api/component.ts";
import { contentText, setAnnotations, setLabels } from "../../../../../api/fleet-set.ts";
import { openReleases } from "../../../../../cmd/open-releases.ts";
import { waitsForStageMessage } from "../../../../../controller/status/progress.ts";
import { contentOf } from "../../../../../render/content.ts";
import { runText } from "../../run-text.ts";
import { startComparingHub } from "../diff/comparing-hub.ts";

test.each([
  { rendered: "0123456789", says: true },
  { rendered: undefined, says: false },
])(
  "plan warns that a component of a set waits for its stage, while that promises another rendering",
  async ({ rendered, says }) => {
    await using hub = await startComparingHub({});
    const folder = await mkdtemp(join(tmpdir(), "knfleet-plan-held-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const releases = await openReleases(hub.releaseDir);
    const spec = { version: "1.23.0" };
    const own = await contentOf({ kind: "KnativeEventing", spec }, releases, {});
    const stamped = contentText({ ...own, rendered: rendered ?? own.rendered });
    const labels = { [setLabels.set]: "prod", [setLabels.stage]: "early" };
    const annotations = { [setAnnotations.content]: stamped };
    const metadata = { name: "knative-eventing", namespace: "team-a", labels, annotations };
    const path = join(folder, "component.yaml");
    await writeFile(
      path,
      JSON.stringify({ apiVersion: operatorApiVersion, kind: "KnativeEventing", metadata, spec }),
    );
    const args = ["plan", "-f", path, "--release-dir", hub.releaseDir];
    const { stdout } = await runText(args, { env: hub.env });
    expect(stdout.includes(`warning: ${waitsForStageMessage("early")}`)).toBe(says);
  },
);
