import { describe, expect, test } from "vitest";

import { providerFileReview } from "../../../webhook/reviews/provider-file-review.ts";
import { recordedRequest } from "../../vectors/recorded-reviews.ts";
import { factsOf, fileOf, profileOf, type Stage } from "../component-stage.ts";
import { provider, review, text } from "./provider-stage.ts";

describe("T-27 taking away a provider that a component needs", () => {
  const data = { "providers.json": text(provider()) };
  const ref = { namespace: "fleet", name: "spoke-1" };
  const stage: Stage = {
    profiles: [profileOf("spoke-1")],
    components: [{ kind: "KnativeServing", namespace: "team", name: "knative", ref }],
    files: [{ map: "providers", file: fileOf("secretreader") }],
  };
  const warning = expect.stringMatching(/^data: KnativeServing team\/knative needs a provider/);

  test.each([
    ["deleting the ConfigMap", { operation: "DELETE", before: data }],
    ["emptying it", { operation: "UPDATE", before: data, data: {} }],
    [
      "another provider in its place",
      {
        operation: "UPDATE",
        before: data,
        data: { "providers.json": text(provider({ name: "other" })) },
      },
    ],
  ] as const)("%s is allowed with a warning", async (_what, write) => {
    expect(await review(write, stage)).toEqual({ violations: [], warnings: [warning] });
  });

  test("is no matter where another file has it, or nobody needs it", async () => {
    const other = {
      ...stage,
      files: [...(stage.files ?? []), { map: "more", file: fileOf("secretreader") }],
    };
    const write = { operation: "DELETE", before: data } as const;
    expect((await review(write, other)).warnings).toEqual([]);
    expect((await review(write, { ...stage, components: [] })).warnings).toEqual([]);
  });
});

describe("what is no provider file", () => {
  test("other ConfigMaps pass", async () => {
    expect(await review({ labels: {}, data: { "a.json": "{" } })).toEqual({
      violations: [],
      warnings: [],
    });
  });

  test("the one that Helm created is known by its name", async () => {
    const stage = { providerFile: "helms" };
    expect(
      (await review({ labels: {}, name: "helms", data: { "a.json": "{" } }, stage)).violations,
    ).toHaveLength(1);
  });

  test("T-73 changes of metadata only pass, also of an object that is being deleted", async () => {
    const data = { "a.json": "{" };
    const metadata = { deletionTimestamp: "2026-01-01T00:00:00Z" };
    expect((await review({ operation: "UPDATE", data, before: data })).violations).toEqual([]);
    const deleted = { operation: "UPDATE", data, metadata } as const;
    expect((await review({ ...deleted, before: data })).violations).toEqual([]);
    expect((await review({ ...deleted, before: {} })).violations).toHaveLength(1);
  });

  test("data with another ending are named", async () => {
    const ruling = await review({ data: { "p.json": text(provider()), "README.md": "{" } });
    expect(ruling).toEqual({
      violations: [],
      warnings: [expect.stringContaining('data["README.md"]: is no provider file')],
    });
  });

  test.each(["configmap-create-anchor-serviceaccount", "namespace-delete-certificate"])(
    "the recorded %s passes",
    async (name) => {
      const decide = providerFileReview({ facts: factsOf({}) });
      expect(await decide(recordedRequest(name), AbortSignal.timeout(10_000))).toEqual({
        violations: [],
        warnings: [],
      });
    },
  );
});
