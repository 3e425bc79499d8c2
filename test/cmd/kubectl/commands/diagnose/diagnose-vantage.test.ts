import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expect, onTestFinished, test } from "vitest";

import { binding, configMap, fileOf } from "../../hub-file.ts";
import { runText } from "../../run-text.ts";
import { type Answer, startStubHub } from "../../stub-hub.ts";
import { fleetOf, startSpoke } from "../../stub-spoke.ts";

const answer: Answer = ({ path }) => {
  const userInfo = { username: "me", groups: ["system:authenticated"] };
  return path.endsWith("/selfsubjectreviews") ? { body: { status: { userInfo } } } : undefined;
};

/** The command lines of the lines `next:`. */
function commandsIn(stderr: string): readonly string[] {
  return Array.from(stderr.matchAll(/^next: (.+)$/gm), ([, line = ""]) => line);
}

async function diagnose(args: readonly string[], more: Parameters<typeof startStubHub>[0] = []) {
  await using spoke = await startSpoke();
  const objects = fleetOf(spoke.url, "tokens", { clusterName: "eu-1" });
  await using hub = await startStubHub([...objects, ...more], answer);
  return await runText(["diagnose", ...args], { env: hub.env });
}

test.each([
  "fleet/eu-1",
  "ks/knative-serving -n team-a",
  "ks/a fleet/eu-1 -n team-a",
  "-A -l env=prod --failed",
  "-A -n team-a --cluster eu-1 --on region=eu --reason NotReady",
])("without a controller to walk as, the next command of `%s` selects the same", async (line) => {
  const { exitCode, stderr } = await diagnose([
    ...line.split(" "),
    "--from",
    "controller-identity",
  ]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain("There is no Deployment of a controller on the hub");
  expect(commandsIn(stderr)).toEqual([
    `kubectl knfleet diagnose ${line.replace("-A -n team-a", "-A")}`,
  ]);
});

test("without a controller to walk as, the next command keeps the file", async () => {
  const folder = await mkdtemp(join(tmpdir(), "knfleet-vantage-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, "serving.yaml");
  await writeFile(
    file,
    "apiVersion: operator.knative.dev/v1beta1\nkind: KnativeServing\nmetadata: { name: a, namespace: b }\n",
  );
  const { stderr } = await diagnose(["-f", file, "--from", "controller"]);
  expect(commandsIn(stderr)).toEqual([`kubectl knfleet diagnose -f ${file}`]);
});

test("of several walks as the controller, the next command walks as the controller, too", async () => {
  const provider = { name: "tokens", command: "builtin:secretreader" };
  const metadata = { namespace: "knfleet-system", name: "knfleet-controller" };
  const { stderr } = await diagnose(
    ["fleet/eu-1", "fleet/eu-2", "--from", "controller-identity"],
    [
      binding,
      configMap({ data: { "config.json": fileOf(provider) } }),
      {
        apiVersion: "apps/v1",
        kind: "Deployment",
        metadata: { ...metadata, uid: "c", resourceVersion: "7" },
        spec: { template: { spec: { serviceAccountName: "knfleet-controller" } } },
      },
    ],
  );
  expect(commandsIn(stderr)).toEqual([
    expect.stringMatching(
      /^kubectl knfleet diagnose clusterprofile\/\S+ -n fleet --from controller-identity$/,
    ),
  ]);
});
