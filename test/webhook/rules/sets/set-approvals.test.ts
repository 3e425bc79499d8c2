import { describe, expect, test } from "vitest";

import type { Attempt } from "../../../../webhook/reviews/access-review.ts";
import { linesOf } from "../../component-stage.ts";
import { approveProd, goodSpec, reviewSet, writtenSet } from "./set-stage.ts";

const spec = {
  ...goodSpec,
  rollout: {
    stages: [
      { name: "canary", selector: {} },
      { name: "a-before", selector: {} },
    ],
  },
};
const revision = "prod-0123456789";
const key = (gate: string) => `knfleet.dev/approve.${gate}`;
const approved = (gate: string, value: string, old: object = {}) =>
  writtenSet(spec, {
    before: spec,
    annotations: { ...old, [key(gate)]: value },
    oldAnnotations: old,
  });

const refusing = () => false;
const annotated = (annotations: object, oldAnnotations: object = {}) =>
  writtenSet(spec, { before: spec, annotations, oldAnnotations });
const told = (user: object) =>
  annotated({ "knfleet.dev/did.pause": JSON.stringify({ at: "2026-11-25T12:00:00Z", ...user }) });

describe("approvals", () => {
  test.each(["canary-before", "canary-after", "unmatched-before", "a-before-before"])(
    "%s is passed to who may approve",
    async (gate) => {
      const asked: Attempt[] = [];
      const request = approved(gate, `${revision} alice`);
      const may = (_user: string, attempt: Attempt) => asked.push(attempt) > 0;
      expect(await reviewSet(request, { may })).toEqual({ violations: [], warnings: [] });
      expect(asked).toEqual([approveProd]);
    },
  );

  test("who may not approve is refused, and an API that does not answer is never a yes", async () => {
    const request = approved("canary-after", `${revision} alice`);
    const field = 'metadata.annotations["knfleet.dev/approve.canary-after"]';
    expect(linesOf(await reviewSet(request, { may: () => false }))).toEqual([
      `403 ${field}: user "alice" may not "approve" stages of KnativeServingSet "platform/prod"`,
    ]);
    expect(linesOf(await reviewSet(request, { may: () => new Error("away") }))).toEqual([
      `500 ${field}: the SubjectAccessReview for the right to "approve" stages of KnativeServingSet "platform/prod" was not answered; try again`,
    ]);
  });

  test.each([
    ["another user", `${revision} bob`],
    ["no user", revision],
    ["a space too many", `${revision}  alice`],
    ["a revision of another set", "test-0123456789 alice"],
    ["no revision", "yes alice"],
    ["nothing", ""],
  ])("with %s are refused", async (_name, value) => {
    expect(linesOf(await reviewSet(approved("canary-after", value)))).toEqual([
      `422 metadata.annotations["knfleet.dev/approve.canary-after"]: must be "REVISION USER": a revision of the set and the user who approves, here "alice" (is ${JSON.stringify(value)})`,
    ]);
  });

  test.each([
    ["production-after", 'the set has no stage "production"'],
    ["canary", "the key must end with the name of a stage and -before or -after"],
    ["-after", "the key must end with the name of a stage and -before or -after"],
  ])("of %s are refused", async (gate, message) => {
    expect(linesOf(await reviewSet(approved(gate, `${revision} alice`)))).toEqual([
      `422 metadata.annotations["knfleet.dev/approve.${gate}"]: ${message}`,
    ]);
  });

  test.each(["knfleet.dev/skip-clusters", "knfleet.dev/skip-stages"])(
    "%s needs the right to approve, and its withdrawal does not",
    async (name) => {
      const skip = { [name]: `${revision} canary` };
      expect(linesOf(await reviewSet(annotated(skip), { may: refusing }))).toEqual([
        `403 metadata.annotations["${name}"]: user "alice" may not "approve" stages of KnativeServingSet "platform/prod"`,
      ]);
      expect(linesOf(await reviewSet(annotated(skip)))).toEqual([]);
      expect(linesOf(await reviewSet(annotated({}, skip), { may: refusing }))).toEqual([]);
      expect(linesOf(await reviewSet(annotated({ [name]: "test-0123456789 a" })))).toEqual([
        `422 metadata.annotations["${name}"]: must begin with a revision of the set (is "test-0123456789")`,
      ]);
    },
  );

  test("an end of a rollout needs a revision of the set, and no right of its own", async () => {
    const good = annotated({ "knfleet.dev/abort": `${revision} bad` });
    expect(linesOf(await reviewSet(good, { may: refusing }))).toEqual([]);
    expect(linesOf(await reviewSet(annotated({ "knfleet.dev/abort": "now" })))).toHaveLength(1);
  });

  test("what somebody did is told under the own name", async () => {
    expect(linesOf(await reviewSet(told({ user: "alice" })))).toEqual([]);
    expect(linesOf(await reviewSet(told({})))).toHaveLength(1);
    expect(linesOf(await reviewSet(told({ user: "bob" })))).toEqual([
      '422 metadata.annotations["knfleet.dev/did.pause"]: must name the user who writes it, here "alice" (is "bob")',
    ]);
  });

  test.each([
    ["2026-11-25T11:55:00Z", 0],
    ["2026-11-25T12:05:00Z", 0],
    ["2026-11-25T11:54:59Z", 1],
    ["2026-11-25T12:05:01Z", 1],
    ["2020-01-01T00:00:00Z", 1],
  ])("what somebody did is told when it is done: %s", async (at, problems) => {
    const lines = linesOf(await reviewSet(told({ at, user: "alice" })));
    expect(lines).toHaveLength(problems);
    expect(lines.join()).toMatch(problems === 0 ? /^$/ : /must have as "at" the time at which/);
  });

  test.each([
    ["did.pause", "now", 'must be JSON with "at", a time as in RFC 3339'],
    ["did.pause", '{"at":"yesterday"}', 'must be JSON with "at", a time as in RFC 3339'],
    ["did.pause", "[]", 'must be JSON with "at", a time as in RFC 3339'],
    ["did.sing", '{"at":"2026-11-25T12:00:00Z"}', "the key must end with one of pause, resume"],
  ])("%s: %s, which no record can have, is refused", async (name, value, says) => {
    const [line, ...more] = linesOf(await reviewSet(annotated({ [`knfleet.dev/${name}`]: value })));
    expect(line).toContain(`422 metadata.annotations["knfleet.dev/${name}"]: ${says}`);
    expect(more).toEqual([]);
  });

  test("a user with spaces in the name can approve", async () => {
    const request = writtenSet(spec, {
      user: "Jane Doe",
      before: spec,
      annotations: { [key("canary-after")]: `${revision} Jane Doe` },
    });
    expect(linesOf(await reviewSet(request))).toEqual([]);
  });

  test("what stays as it is, and what is taken away, needs nothing", async () => {
    const old = { [key("canary-after")]: `${revision} bob`, [key("gone-after")]: "x" };
    const kept = writtenSet(spec, {
      before: spec,
      annotations: { ...old, a: "b" },
      oldAnnotations: old,
    });
    const removed = writtenSet(spec, { before: spec, annotations: {}, oldAnnotations: old });
    const nobody = { may: () => false };
    expect(await reviewSet(kept, nobody)).toEqual({ violations: [], warnings: [] });
    expect(await reviewSet(removed, nobody)).toEqual({ violations: [], warnings: [] });
  });

  test("on a create they need the right, too, for every set where the name is yet to be made", async () => {
    const asked: Attempt[] = [];
    const annotations = { [key("canary-after")]: `${revision} alice` };
    const may = (_user: string, attempt: Attempt) => {
      if (attempt.verb === "approve") asked.push(attempt);
      return attempt.verb !== "approve";
    };
    const named = linesOf(await reviewSet(writtenSet(spec, { annotations }), { may }));
    const unnamed = linesOf(
      await reviewSet(writtenSet(spec, { annotations, name: undefined }), { may }),
    );
    expect([named.length, unnamed.length]).toEqual([1, 1]);
    expect(asked.map(({ name }) => name)).toEqual(["prod", undefined]);
  });

  test("one of many is enough to be asked once", async () => {
    const asked: Attempt[] = [];
    const annotations = {
      [key("canary-after")]: `${revision} alice`,
      [key("canary-before")]: `${revision} alice`,
    };
    const may = (_user: string, attempt: Attempt) => asked.push(attempt) > 0;
    await reviewSet(writtenSet(spec, { before: spec, annotations }), { may });
    expect(asked).toHaveLength(1);
  });
});
