import { describe, expect, test } from "vitest";

import { WriteRefusedError } from "../../../access/http/write-permit.ts";
import { recordAt } from "../../../api/fields.ts";
import { apiError } from "../../support/api-error.ts";
import { anchor, asks, container, forbidden, specOf, Spoke } from "./job-spoke.ts";

const unasked = (part: string) => ({ kind: "unasked", message: expect.stringContaining(part) });

describe("the Job of a check", () => {
  test("is made once, goes with the anchor, and has nothing of its namespace and node", async () => {
    const spoke = new Spoke();
    const { asked } = asks(spoke);
    expect(await asked()).toEqual(unasked("has not ended yet"));
    await asked();
    const job = spoke.job();
    expect(job.metadata).toMatchObject({
      name: expect.stringMatching(/^knfleet-smoke-[0-9a-f]{10}$/),
      namespace: "knative-serving",
      labels: { "knfleet.dev/check": "smoke", "knfleet.dev/set-uid": "set-uid" },
      ownerReferences: [{ apiVersion: "v1", kind: "ConfigMap", name: anchor, uid: "anchor-uid" }],
    });
    expect(job["spec"]).toEqual({
      activeDeadlineSeconds: 60,
      backoffLimit: 0,
      ttlSecondsAfterFinished: 2_678_400,
      template: {
        metadata: {},
        spec: {
          restartPolicy: "Never",
          automountServiceAccountToken: false,
          securityContext: { seccompProfile: { type: "RuntimeDefault" } },
          containers: [
            {
              ...container,
              securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ["ALL"] } },
            },
          ],
        },
      },
    });
  });

  test("is found again by the next process, and its good end is final", async () => {
    const spoke = new Spoke();
    await asks(spoke).asked();
    const { uid } = spoke.job().metadata;
    const { asked } = asks(spoke);
    expect(await asked()).toEqual(unasked("has not ended yet"));
    spoke.ends("Complete");
    expect(await asked()).toEqual({ kind: "good", message: "", isFinal: true });
    expect(spoke.job().metadata.uid).toBe(uid);
  });

  test("that two processes make at the same time is made once", async () => {
    const spoke = new Spoke();
    await Promise.all([asks(spoke).asked(), asks(spoke).asked()]);
    expect(spoke.jobs()).toHaveLength(1);
  });

  test("fails with its exit code and its last 20 lines, clean and without secrets", async () => {
    const spoke = new Spoke();
    const { asked, looked } = asks(spoke);
    await asked();
    spoke.ends("Failed");
    spoke.lines = [
      ...Array.from({ length: 40 }, (_, at) => `line ${at}`),
      `password=hunter2 \u001b[31m${"x".repeat(9_999)}`,
      "the end",
    ];
    const { kind, message } = await looked();
    const start =
      /^Job knfleet-smoke-\w+ failed \(BackoffLimitExceeded\): container smoke ended with 3: /;
    expect([kind, message]).toEqual(["bad", expect.stringMatching(start)]);
    const lines = message.replace(start, "").split(" | ");
    expect([lines.length, lines[0], lines.at(-1)]).toEqual([20, "line 22", "the end"]);
    expect(lines.at(-2)).toMatch(/^password=\[redacted\] x{100,200}$/);
    // The status of a set has no room for more.
    const brief = await asked();
    expect(brief).toMatchObject({ kind: "bad", isFinal: true });
    expect(brief.message).toMatch(/: …x{100,160} \| the end$/);
    expect(brief.message.length).toBeLessThan(280);
  });

  test.each([
    ["logs", "get pods/log", ": container smoke ended with 3: The right to get pods/log in"],
    ["list pods", "list pods", " (BackoffLimitExceeded): The right to list pods in"],
  ])("stays failed where %s is denied, and says so", async (what, right, said) => {
    const spoke = new Spoke();
    const { asked } = asks(spoke);
    await asked();
    spoke.ends("Failed");
    spoke.denied.set(what, forbidden(right));
    const { kind, message } = await asked();
    expect([kind, message]).toEqual(["bad", expect.stringContaining(said)]);
  });

  test("is asked again while its log does not come, and stays failed without one", async () => {
    const spoke = new Spoke();
    const { asked } = asks(spoke);
    await asked();
    spoke.ends("Failed", "DeadlineExceeded");
    spoke.drop("Pod", "smoke-pod");
    expect(await asked()).toMatchObject({
      kind: "bad",
      message: expect.stringMatching(/ failed \(DeadlineExceeded\)$/),
    });
  });

  test("of whose reason the cluster lies says none", async () => {
    const spoke = new Spoke();
    const { asked } = asks(spoke);
    await asked();
    spoke.ends("Failed", "All is well, (really)");
    spoke.drop("Pod", "smoke-pod");
    expect((await asked()).message).toMatch(/ failed$/);
  });

  test("that no pod may be made for says what refuses them", async () => {
    const spoke = new Spoke();
    const { asked } = asks(spoke);
    await asked();
    const message = 'pods "a" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot';
    spoke.edit("Event", "e", { reason: "FailedCreate", message });
    spoke.edit("Job", spoke.job().metadata.name, {
      spec: { selector: { matchLabels: { a: "b" } } },
    });
    expect(await asked()).toEqual(unasked(": PodSecurity restricted:latest forbids its pods"));
    spoke.denied.set("list events", forbidden("list events"));
    expect(await asked()).toEqual(unasked(": The right to list events in"));
  });
});

describe("another Job", () => {
  test("comes with another template, stamp or revision, and takes the place of the one before", async () => {
    const spoke = new Spoke();
    const names = new Set<string>();
    for (const { asked } of [
      asks(spoke),
      asks(spoke, specOf("example.com/smoke:2")),
      asks(spoke, specOf("example.com/smoke:2"), { stamp: "13:00" }),
      asks(spoke, specOf("example.com/smoke:2"), { stamp: "13:00", revision: "2" }),
    ]) {
      // oxlint-disable-next-line no-await-in-loop -- one after another
      await asked();
      names.add(spoke.job().metadata.name);
    }
    expect(names.size).toBe(4);
  });

  test("of another check of the revision stays, and one whose check is gone goes with the next revision", async () => {
    const spoke = new Spoke();
    const { checks } = specOf();
    const other = { checks: checks.map((one) => ({ ...one, name: "other" })) };
    await asks(spoke).asked();
    await asks(spoke, other).asked();
    expect(spoke.jobs()).toHaveLength(2);
    await asks(spoke, other, { stamp: "13:00" }).asked();
    expect(spoke.job().metadata.labels?.["knfleet.dev/check"]).toBe("other");
  });

  test("that was there under its name is not believed", async () => {
    const spoke = new Spoke();
    await asks(spoke).asked();
    const { metadata } = spoke.job();
    for (const labels of [{}, { ...metadata.labels, "knfleet.dev/set-uid": "another" }]) {
      spoke.edit("Job", metadata.name, { metadata: { ...metadata, labels } });
      spoke.ends("Complete");
      // oxlint-disable-next-line no-await-in-loop -- one after another
      expect(await asks(spoke).asked()).toEqual(unasked("belongs to somebody else"));
    }
  });

  test("that somebody puts in its place is not believed, and a deleted one is not run again", async () => {
    const spoke = new Spoke();
    const { asked } = asks(spoke);
    await asked();
    const { metadata } = spoke.job();
    spoke.edit("Job", metadata.name, { metadata: { ...metadata, uid: "another" } });
    spoke.ends("Complete");
    expect(await asked()).toEqual(unasked("was made anew by somebody else"));
    spoke.drop("Job", metadata.name);
    expect(await asked()).toEqual(unasked("somebody deleted its Job"));
    expect(spoke.jobs()).toEqual([]);
  });

  test("that is going is no answer", async () => {
    const spoke = new Spoke();
    await asks(spoke).asked();
    const { metadata } = spoke.job();
    const deletionTimestamp = "2026-11-30T12:00:00Z";
    spoke.edit("Job", metadata.name, { metadata: { ...metadata, deletionTimestamp } });
    spoke.ends("Complete");
    expect(await asks(spoke).asked()).toEqual(unasked("is being deleted"));
  });
});

describe("a retry", () => {
  const retriedAt = "2026-11-30T12:00:00Z";

  test("runs a failed Job again, once", async () => {
    const spoke = new Spoke();
    await asks(spoke).asked();
    const first = spoke.job().metadata;
    spoke.ends("Failed");
    const { asked } = asks(spoke, specOf(), { retriedAt });
    expect(await asked()).toEqual(unasked("is run again"));
    expect(await asked()).toEqual(unasked("has not ended yet"));
    expect(spoke.job().metadata.name).toBe(first.name);
    expect(spoke.job().metadata.uid).not.toBe(first.uid);
    spoke.ends("Failed");
    expect(await asked()).toMatchObject({ kind: "bad" });
    expect(await asks(spoke, specOf(), { retriedAt }).asked()).toMatchObject({ kind: "bad" });
  });

  test("leaves a Job that ended well", async () => {
    const spoke = new Spoke();
    await asks(spoke).asked();
    spoke.ends("Complete");
    expect(await asks(spoke, specOf(), { retriedAt }).asked()).toMatchObject({ kind: "good" });
  });
});

describe("a Job that cannot be made", () => {
  test.each([
    [
      "a right is missing",
      forbidden("create jobs"),
      "The right to create jobs in namespace knative-serving is missing",
    ],
    [
      "the cluster refuses it",
      apiError(422, "Invalid", "no such\u001b[2J volume, token: abc"),
      "the Job was refused: 422 no such volume, token: [redacted]",
    ],
  ])("says why when %s", async (_name, error, said) => {
    const spoke = new Spoke();
    spoke.denied.set("create", error);
    expect(await asks(spoke).asked()).toEqual({ kind: "unasked", message: said });
  });

  test("is no answer when another replica runs the Jobs by now", async () => {
    const spoke = new Spoke();
    spoke.denied.set("create", new WriteRefusedError());
    expect(await asks(spoke).asked()).toEqual(unasked("this process does not hold the Lease"));
  });

  test("without the anchor of the component there is none", async () => {
    const spoke = new Spoke("another");
    expect(await asks(spoke).asked()).toEqual(unasked(`ConfigMap ${anchor}`));
    expect(spoke.jobs()).toEqual([]);
  });

  test("where old Jobs may not be deleted, the new one is the answer all the same", async () => {
    const spoke = new Spoke();
    spoke.denied.set("list jobs", forbidden("list jobs"));
    const { asked } = asks(spoke);
    expect(await asked()).toEqual(unasked("has not ended yet"));
    spoke.ends("Complete");
    expect(await asked()).toMatchObject({ kind: "good" });
  });
});

test("whoever only looks makes no Job, and reads the answer of the one that is there", async () => {
  const spoke = new Spoke();
  const { asked, looked } = asks(spoke);
  expect(await looked()).toEqual(unasked("only a rollout runs its Job"));
  expect(spoke.jobs()).toEqual([]);
  await asked();
  spoke.ends("Complete");
  expect(await looked()).toMatchObject({ kind: "good" });
  const retried = asks(spoke, specOf(), { retriedAt: "2026-11-30T12:00:00Z" });
  spoke.ends("Failed");
  expect(await retried.looked()).toMatchObject({ kind: "bad" });
  expect(recordAt(spoke.job(), "status")).not.toEqual({});
});
