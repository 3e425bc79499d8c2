import { expect, test } from "vitest";

import { WriteRefusedError } from "../../../access/http/write-permit.ts";
import { ApiError } from "../../../access/kube/api-error.ts";
import {
  ChangedMeanwhileError,
  isRefusal,
  isWriteConflict,
  type NotTaken,
  sendAll,
} from "../../../controller/sets/send-writes.ts";
import { apiError } from "../../support/api-error.ts";

const { signal } = new AbortController();

/** What is noted of one write that fails. */
async function noted(error: Error, isRefusable: boolean): Promise<NotTaken> {
  const notTaken: NotTaken = { refused: new Map(), failed: new Map(), errors: [] };
  const send = async () => {
    throw error;
  };
  await sendAll([{ cluster: "fleet/a", isRefusable, send }], { atOnce: 4, notTaken }, signal);
  return notTaken;
}

test("a write to a component that went meanwhile has not failed, and the look is done again", async () => {
  const { refused, failed, errors } = await noted(apiError(404, "NotFound", "not found"), false);
  expect([refused.size, failed.size]).toEqual([0, 0]);
  expect(errors).toEqual([expect.any(ChangedMeanwhileError)]);
  expect(errors.map(isWriteConflict)).toEqual([true]);
});

test("a component that cannot be created because something else is missing has failed", async () => {
  const error = apiError(404, "NotFound", 'namespaces "fleet" not found');
  const { refused, failed, errors } = await noted(error, true);
  expect(refused.size).toBe(0);
  expect(failed).toEqual(new Map([["fleet/a", error.message]]));
  expect(errors).toEqual([error]);
});

test.each([400, 403, 422])("status %s refuses a component for good", async (status) => {
  const { refused, failed, errors } = await noted(apiError(status, "Invalid", "no"), true);
  expect(refused).toEqual(new Map([["fleet/a", { reason: "Refused", message: "no" }]]));
  expect([failed.size, errors.length]).toEqual([0, 0]);
});

test.each([401, 404, 409, 429, 500])(
  "a webhook or a policy that denies with status %s refuses a component for good",
  async (status) => {
    for (const message of [
      'admission webhook "w.example.com" denied the request: no',
      "ValidatingAdmissionPolicy 'p' with binding 'b' denied request: no",
    ]) {
      const error = apiError(status, "Odd", message);
      const { refused, errors } = await noted(error, true);
      expect(refused).toEqual(new Map([["fleet/a", { reason: "Refused", message }]]));
      expect(errors).toEqual([]);
      expect(isWriteConflict(error)).toBe(false);
    }
  },
);

test("what can never be right is refused for good, and a webhook that does not answer is told", async () => {
  const bad = apiError(500, "", "failed to create typed patch object (x)");
  expect((await noted(bad, true)).refused.size).toBe(1);
  const large = apiError(500, "InternalError", "etcdserver: request is too large");
  expect((await noted(large, true)).refused.size).toBe(1);
  expect(isRefusal(large)).toBe(true);
  const silent = apiError(500, "InternalError", 'failed calling webhook "w.example.com": no');
  const { refused, failed } = await noted(silent, true);
  expect([refused.size, failed.get("fleet/a")]).toEqual([0, silent.message]);
});

test("a quota that is not counted yet refuses nothing for good", async () => {
  const text = 'knativeservings "a" is forbidden: status unknown for quota: q, resources: x';
  const { refused, failed } = await noted(apiError(403, "Forbidden", text), true);
  expect([refused.size, failed.get("fleet/a")]).toEqual([0, text]);
});

test.each([400, 404, 403, 422])("status %s refuses no deletion for good", async (status) => {
  const { refused, errors } = await noted(apiError(status, "Invalid", "no"), false);
  expect([refused.size, errors.length]).toEqual([0, 1]);
});

test.each([
  { reasons: ["FieldManagerConflict"], isRefused: true },
  { reasons: ["Other", "FieldManagerConflict"], isRefused: true },
  { reasons: ["Other"], isRefused: false },
])("409 with the causes $reasons refuses a component: $isRefused", async (row) => {
  const causes = row.reasons.map((reason) => ({ reason }));
  const facts = { status: 409, reason: "Conflict", message: "owned", isStatus: true };
  const { refused, errors } = await noted(
    new ApiError({ ...facts, causes, request: "PATCH /memory" }),
    true,
  );
  const diverged = new Map([["fleet/a", { reason: "Diverged", message: "owned" }]]);
  expect(refused).toEqual(row.isRefused ? diverged : new Map());
  expect(errors).toHaveLength(row.isRefused ? 0 : 1);
});

test("a conflict of versions is no failure, and the look is done again", async () => {
  const { refused, failed, errors } = await noted(apiError(409, "Conflict", "changed"), true);
  expect([refused.size, failed.size]).toEqual([0, 0]);
  expect(errors.map(isWriteConflict)).toEqual([true]);
});

test("an error that is no answer is told as an error, and not as the words of the hub", async () => {
  const bug = new TypeError("bug");
  expect(await noted(bug, true)).toEqual({ refused: new Map(), failed: new Map(), errors: [bug] });
  expect(isWriteConflict(bug)).toBe(false);
});

test("an error of one write does not keep the others back", async () => {
  const sent: string[] = [];
  const notTaken: NotTaken = { refused: new Map(), failed: new Map(), errors: [] };
  const error = apiError(500, "InternalError", "no");
  const sendings = ["a", "b", "c", "d", "e"].map((cluster) => ({
    cluster,
    isRefusable: true,
    send: async () => {
      sent.push(cluster);
      if (cluster === "b") throw error;
    },
  }));
  await sendAll(sendings, { atOnce: 2, notTaken }, signal);
  expect(sent.toSorted()).toEqual(["a", "b", "c", "d", "e"]);
  expect([...notTaken.failed.keys()]).toEqual(["b"]);
});

test("as many writes are under way at once as allowed", async () => {
  let [now, most] = [0, 0];
  const notTaken: NotTaken = { refused: new Map(), failed: new Map(), errors: [] };
  const send = async () => {
    most = Math.max(most, (now += 1));
    await Promise.resolve();
    now -= 1;
  };
  const sendings = ["a", "b", "c", "d", "e"].map((cluster) => ({
    cluster,
    isRefusable: true,
    send,
  }));
  await sendAll(sendings, { atOnce: 3, notTaken }, signal);
  expect(most).toBe(3);
});

test("a process that may not write any more ends at once", async () => {
  const refusal = new WriteRefusedError();
  await expect(noted(refusal, true)).rejects.toBe(refusal);
});

test("nothing more is sent after the signal, and its error is not that of a write", async () => {
  const ended = new AbortController();
  const notTaken: NotTaken = { refused: new Map(), failed: new Map(), errors: [] };
  const sent: string[] = [];
  const sendings = ["a", "b"].map((cluster) => ({
    cluster,
    isRefusable: true,
    send: async () => {
      sent.push(cluster);
      ended.abort(new Error("stop"));
      throw new Error("cut off");
    },
  }));
  await expect(sendAll(sendings, { atOnce: 1, notTaken }, ended.signal)).rejects.toThrow("cut off");
  expect([sent, notTaken.errors]).toEqual([["a"], []]);
});
