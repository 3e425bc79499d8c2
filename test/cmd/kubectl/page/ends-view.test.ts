import { expect, test } from "vitest";

import { checkItem } from "../../../../cmd/kubectl/commands/check/check-item.ts";
import { endsOf } from "../../../../cmd/kubectl/page/ends-view.ts";

const cluster = { namespace: "fleet", name: "eu-1" };
const expiry = { check: "expiry", cluster } as const;

test("what has ended or ends soon is in the order of time", () => {
  const items = [
    checkItem({ check: "reachable", cluster, state: "FAIL", message: "ends 2026-01-01T00:00:00Z" }),
    checkItem({ ...expiry, state: "OK", message: "the credential ends 2027-11-24T12:00:00Z" }),
    checkItem({ ...expiry, state: "WARN", message: "the credential ends 2026-11-24T12:00:00Z" }),
    checkItem({ ...expiry, state: "FAIL", message: "the certificate ended 2026-11-20T12:00:00Z" }),
    checkItem({ ...expiry, cluster: null, state: "WARN", message: "no time" }),
  ];
  expect(endsOf(items).map((end) => [end.cluster, end.key, end.tone, end.message])).toEqual([
    ["fleet/eu-1", "fleet/eu-1", "bad", "the certificate ended 2026-11-20T12:00:00Z"],
    ["fleet/eu-1", "fleet/eu-1", "warning", "the credential ends 2026-11-24T12:00:00Z"],
    ["hub", null, "warning", "no time"],
  ]);
});
