import { expect, test } from "vitest";

import { checkItem } from "../../../../cmd/kubectl/findings/checks/check-item.ts";
import { endsOf } from "../../../../cmd/kubectl/page/ends-view.ts";

const cluster = { namespace: "fleet", name: "eu-1" };
const expiry = { check: "expiry", cluster } as const;

test("what has ended or ends soon is in the order of time", () => {
  const ends = (endsAt: string) => ({ ...expiry, endsAt, message: "ends some day" });
  const items = [
    checkItem({ check: "reachable", cluster, state: "FAIL", message: "ends 2026-01-01T00:00:00Z" }),
    checkItem({ ...ends("2027-11-24T12:00:00Z"), state: "OK" }),
    checkItem({ ...expiry, cluster: null, state: "WARN", message: "no time" }),
    checkItem({ ...ends("2026-11-24T12:00:00Z"), state: "WARN" }),
    checkItem({ ...ends("2026-11-20T12:00:00Z"), state: "FAIL" }),
  ];
  expect(endsOf(items).map((end) => [end.cluster, end.key, end.tone, end.message])).toEqual([
    ["fleet/eu-1", "fleet/eu-1", "bad", "ends some day"],
    ["fleet/eu-1", "fleet/eu-1", "warning", "ends some day"],
    ["hub", null, "warning", "no time"],
  ]);
});
