import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { recordedBinding } from "../../controller-binding.ts";
import { component, deployment } from "../../fleet-facts.ts";
import { lease } from "../../hub/lease-facts.ts";
import { runText } from "../../run-text.ts";
import { startStubHub } from "../../stub-hub.ts";
import { answersTables } from "../../stub-tables.ts";

test.each([[["-A"]], [["-n", "team-a"]]])(
  "a bundle of %s tells a controller from a Deployment of its name",
  async (selection) => {
    const folder = await mkdtemp(join(tmpdir(), "knfleet-gathered-controllers-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const objects = [
      component({ kind: "KnativeEventing", cluster: null }),
      component({ cluster: null }),
      lease("knfleet-controller", { holder: "pod-a" }),
      recordedBinding("knfleet", "knfleet-system"),
      deployment({ name: "own", namespace: "knfleet-system", owner: null }),
      deployment({ name: "knfleet-controller", owner: null }),
    ];
    await using hub = await startStubHub(objects, answersTables(objects));
    const path = join(folder, "fleet.tgz");
    const args = ["--no-live", "--tail", "0", "-o", path, ...selection];
    expect(await runText(["gather", ...args], { env: hub.env })).toMatchObject({ exitCode: 0 });
    const { stdout } = await runText(["version", "--bundle", path, "-o", "json"]);
    expect(JSON.parse(stdout)).toMatchObject({
      summary: { controllers: [{ flavour: "knfleet", namespace: "knfleet-system", name: "own" }] },
    });
  },
);
