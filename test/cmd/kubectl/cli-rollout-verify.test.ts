import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { sampleSet } from "./commands/rollout/sample-set.ts";
import { ownFormats, pipe, sectionOf, textFormats, textOf } from "./golden/looks.ts";
import { runText } from "./run-text.ts";
import { startStubHub } from "./stub-hub.ts";
import { startVerifiedFleet, type VerifiedFleet } from "./verified-fleet.ts";

const golden = join(import.meta.dirname, "../../golden/rollout");

let fleet: VerifiedFleet;
beforeAll(async () => {
  fleet = await startVerifiedFleet();
});
afterAll(() => fleet[Symbol.asyncDispose]());

async function verify(...args: readonly string[]) {
  const env = { LANG: "C.UTF-8", ...fleet.hub.env };
  const line = ["rollout", "verify", "kss/prod", "-n", "platform", "--spoke-timeout", "60s"];
  return await runText([...line, ...args], { env });
}

async function rowsOf(...args: readonly string[]): Promise<readonly string[]> {
  const { stdout } = await verify("--no-headers", ...args);
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => line.split(/ {2,}/).slice(0, 4).join(" | "));
}
const fields: [string, string] = [".cluster.name", ".answer"];

describe("rollout verify", () => {
  test("asks each cluster of the set the checks of its stage, and says what they answer", async () => {
    const { stdout, stderr, exitCode } = await verify();
    expect(stdout.split("\n").map((line) => line.replaceAll(/ {2,}/g, " | "))).toEqual([
      "CLUSTER | STAGE | CHECK | ANSWER | MESSAGE",
      "bad | canary | workloads | bad | 1 of 3 broke since the cluster got the revision: Trigger shop/mails (BrokerMissing)",
      "bad | canary | error-rate | bad | the query gives 0.25, more than 0.01",
      expect.stringMatching(
        /^mute \| rest \| workloads \| not asked \| The right to list triggers\.eventing\.knative\.dev.* is missing$/,
      ),
      "new | rest | workloads | good | <none>",
      "pulled | rest | workloads | not asked | Open Cluster Management brings the component to its cluster, to which the hub has no way",
      "",
    ]);
    expect(stderr).toContain("1 of 5 answers is good.");
    expect(stderr).toContain("1 of 4 clusters could not be read:");
    expect(exitCode).toBe(1);
  });

  test("exits with 3 where nothing is bad and something could not be asked, and with 0 where all is good", async () => {
    expect((await verify("--cluster", "mute")).exitCode).toBe(3);
    expect((await verify("--cluster", "pulled")).exitCode).toBe(3);
    expect((await verify("--cluster", "new")).exitCode).toBe(0);
  });

  test("asks only the clusters that flags select", async () => {
    const canary = ["bad | canary | workloads | bad", "bad | canary | error-rate | bad"];
    expect(await rowsOf("--on", "ring=0")).toEqual(canary);
    expect(await rowsOf("--stage", "canary")).toEqual(canary);
    expect(await rowsOf("--stage", "rest", "--cluster", "n*")).toEqual([
      "new | rest | workloads | good",
    ]);
  });

  test("writes nothing, neither on the hub nor on a cluster", async () => {
    await verify();
    const asked = [fleet.hub, ...fleet.clusters].flatMap(({ requests }) => requests);
    expect(asked.filter((request) => !request.startsWith("GET "))).toEqual([]);
  });

  test.each([
    { args: ["--stage", "none"], says: 'error: The set has no stage "none"', code: 2 },
    { args: ["--stage", "none"], says: "Its stages are canary, rest, unmatched.", code: 2 },
    { args: ["kes/other"], says: "Name one set, not several", code: 2 },
    { args: ["--on", "=="], says: "--on", code: 2 },
    { args: ["--bundle", "nowhere"], says: "rollout verify", code: 2 },
  ])("refuses $args", async ({ args, says, code }) => {
    const { stderr, exitCode, stdout } = await verify(...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: code, stdout: "" });
    expect(stderr).toContain(says);
  });

  test("keeps an answer that came where another never comes, and says that the other one is missing", async () => {
    const stop = new AbortController();
    await using silent = await startVerifiedFleet(({ path }) =>
      path.includes("/proxy/")
        ? { stream: () => setTimeout(() => stop.abort(), 3_000) }
        : undefined,
    );
    const line = ["rollout", "verify", "kss/prod", "-n", "platform", "--stage", "canary"];
    const options = { env: silent.hub.env, signal: stop.signal };
    const { stdout } = await runText([...line, "-o", "json"], options);
    expect(JSON.parse(stdout)).toMatchObject({
      complete: false,
      items: [
        { check: "workloads", answer: "bad" },
        { check: "error-rate", answer: "unasked", message: expect.stringContaining("interrupted") },
      ],
    });
  });

  test("of a set that does not exist says so with code 1, also in its document", async () => {
    const line = ["rollout", "verify", "kss/none", "-n", "platform", "-o", "json"];
    const { stdout, exitCode } = await runText(line, { env: fleet.hub.env });
    expect(exitCode).toBe(1);
    expect(JSON.parse(stdout)).toMatchObject({
      kind: "RolloutVerification",
      summary: null,
      items: [],
      errors: [{ reason: "NotFound" }],
    });
  });

  test("of a set without checks says that it has none", async () => {
    await using hub = await startStubHub([sampleSet()]);
    const line = ["rollout", "verify", "kss/prod", "-n", "platform"];
    const { stdout, stderr, exitCode } = await runText(line, { env: hub.env });
    expect({ stdout, exitCode }).toEqual({ stdout: "", exitCode: 0 });
    expect(stderr).toBe("No check is asked of these clusters: see rollout.verify of the set.\n");
  });

  test("of a selection that cannot be used says why, with code 3", async () => {
    const clusters = { from: "OCMPlacement", ocmPlacement: { name: "prod" } } as const;
    await using hub = await startStubHub([sampleSet({ spec: { clusters } })]);
    const line = ["rollout", "verify", "kss/prod", "-n", "platform"];
    const { stderr, exitCode } = await runText(line, { env: hub.env });
    expect(stderr).toContain("warning: the selection cannot be used: PlacementNotFound");
    expect(exitCode).toBe(3);
  });

  test("looks as agreed in every format", async () => {
    const sections: string[] = [];
    for (const [format] of textFormats({ fields, named: false })) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const said = await verify("-o", format);
      sections.push(sectionOf(["rollout", "verify", "kss/prod", "-o", format], pipe, said));
    }
    await expect(sections.join("\n")).toMatchFileSnapshot(join(golden, "verify.txt"));
    for (const format of ownFormats({ fields, named: false })) {
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      const said = textOf(await verify("-o", format));
      // oxlint-disable-next-line no-await-in-loop -- one line after another
      await expect(said).toMatchFileSnapshot(join(golden, `verify.${format}.txt`));
    }
  });
});
