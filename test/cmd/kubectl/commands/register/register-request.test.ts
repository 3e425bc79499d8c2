import { describe, expect, test } from "vitest";

import {
  type RegisterFlags,
  registerRequest,
} from "../../../../../cmd/kubectl/commands/register/register-request.ts";
import { UsageError } from "../../../../../cmd/kubectl/errors.ts";

const request = (args: readonly string[], options: RegisterFlags = {}, namespace?: string) =>
  registerRequest(args, { namespace }, options);

describe("register", () => {
  test.each([
    { args: ["eu-1"], namespace: "fleet", name: "eu-1", context: "eu-1" },
    { args: ["edge/eu-1"], namespace: "edge", name: "eu-1", context: "eu-1" },
    { args: ["eu-1"], options: { fromContext: "kind-eu-1" }, name: "eu-1", context: "kind-eu-1" },
    { args: ["kind-eu-1"], options: { name: "eu-1" }, name: "eu-1", context: "kind-eu-1" },
    {
      args: ["arn:aws:eks:eu-west-1:1:cluster/eu_1"],
      options: { name: "eu-1" },
      name: "eu-1",
      context: "arn:aws:eks:eu-west-1:1:cluster/eu_1",
    },
  ])("$args with $options is profile $name of context $context", (row) => {
    const { args, options, namespace = "fleet", name, context } = row;
    const found = request(args, options);
    expect(found).toMatchObject({ profile: { namespace, name }, context });
    expect(found.account).toBeUndefined();
    expect(found.ttlSeconds).toBeUndefined();
  });

  test("the namespace is that of -n", () =>
    expect(request(["eu-1"], {}, "edge").profile.namespace).toBe("edge"));

  test.each([
    [["region=eu,tier=prod"], { region: "eu", tier: "prod" }, []],
    [["example.com/a=1", "b="], { "example.com/a": "1", b: "" }, []],
    [["region-", "a-b=c"], { "a-b": "c" }, ["region"]],
  ])("--labels %j", (labels, set, removed) =>
    expect(request(["eu-1"], { labels })).toMatchObject({ labels: set, removedLabels: removed }),
  );

  test.each([
    ["0", 0],
    ["10m", 600],
    ["24h", 86_400],
    ["30d", 2_592_000],
  ])("--ttl %s is %i seconds", (ttl, seconds) =>
    expect(request(["eu-1"], { ttl }).ttlSeconds).toBe(seconds),
  );

  test.each([
    { name: "no cluster", args: [] },
    { name: "two clusters", args: ["eu-1", "eu-2"] },
    { name: "a name that Kubernetes refuses", args: ["EU_1"] },
    { name: "a path", args: ["a/b/c"] },
    { name: "a wrong name", args: ["eu-1"], options: { name: "EU_1" } },
    { name: "a label without a value", args: ["eu-1"], options: { labels: ["region"] } },
    { name: "a wrong label", args: ["eu-1"], options: { labels: ["a b=c"] } },
    { name: "a token for a minute", args: ["eu-1"], options: { ttl: "1m" } },
    { name: "a token for 140 years", args: ["eu-1"], options: { ttl: "51100d" } },
    { name: "a token for ever", args: ["eu-1"], options: { ttl: `${"9".repeat(400)}h` } },
    { name: "a time that is none", args: ["eu-1"], options: { ttl: "soon" } },
    { name: "a wrong account", args: ["eu-1"], options: { account: "a/b" } },
  ])("$name is refused", ({ args, options }) =>
    expect(() => request(args, options)).toThrow(UsageError),
  );

  test.each(["1m", "51100d", `${"9".repeat(400)}s`])("--ttl %s is told the limits", (ttl) =>
    expect(() => request(["eu-1"], { ttl })).toThrow(
      "for --ttl: want a duration from 10m to 49710d",
    ),
  );
});
