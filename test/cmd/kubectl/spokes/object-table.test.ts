import { describe, expect, test } from "vitest";

import { ApiError } from "../../../../access/kube/api-error.ts";
import { listTable } from "../../../../cmd/kubectl/spokes/object-table.ts";

const kind = {
  apiVersion: "v1",
  group: "",
  version: "v1",
  kind: "ConfigMap",
  plural: "configmaps",
  namespaced: true,
  words: ["configmaps", "configmap", "cm"],
  categories: [],
};

const where = { namespace: "a", labelSelector: undefined, fieldSelector: undefined };

/** A server with so many objects, which answers in pages as the API server does; and the limits that it was asked with. */
function serverWith(total: number) {
  const limits: (string | null)[] = [];
  const request = (_: string, path: string): Promise<unknown> => {
    const { searchParams } = new URL(path, "http://server");
    const limit = searchParams.get("limit");
    limits.push(limit);
    const begin = Number(searchParams.get("continue") ?? 0);
    const end = Math.min(total, begin + Number(limit ?? total));
    const rows = Array.from({ length: end - begin }, (_each, at) => ({
      cells: [`cm-${begin + at}`],
      object: { kind: "ConfigMap", metadata: { name: `cm-${begin + at}` } },
    }));
    const metadata = end < total ? { continue: String(end) } : {};
    return Promise.resolve({ columnDefinitions: [{ name: "Name", priority: 0 }], metadata, rows });
  };
  return { limits, client: { server: "http://server", request } };
}

const expired = new ApiError({
  status: 410,
  reason: "Expired",
  message: "The provided continue parameter is too old",
  causes: [],
  isStatus: true,
  request: "GET /api/v1/configmaps",
});

describe("a list of more objects than one answer holds", () => {
  test.each([
    { total: 1_203, pageSize: undefined, asked: ["500", "500", "500"] },
    { total: 1_000, pageSize: undefined, asked: ["500", "500"] },
    { total: 501, pageSize: 200, asked: ["200", "200", "200"] },
    { total: 501, pageSize: 0, asked: [null] },
    { total: 0, pageSize: undefined, asked: ["500"] },
  ])("of $total in pages of $pageSize is whole, each once", async ({ total, pageSize, asked }) => {
    const { client, limits } = serverWith(total);
    const size = pageSize === undefined ? {} : { pageSize };
    const { rows } = await listTable(
      client,
      { kind, ...where, ...size },
      new AbortController().signal,
    );
    const names = new Set(rows.map(({ cells }) => cells[0]));
    expect({ rows: rows.length, names: names.size }).toEqual({ rows: total, names: total });
    expect(limits).toEqual(asked);
  });

  test("whose begun list the server forgot is read anew, each object once", async () => {
    const { client, limits } = serverWith(1_203);
    let asked = 0;
    const request = (method: string, path: string): Promise<unknown> => {
      asked += 1;
      return asked === 3 ? Promise.reject(expired) : client.request(method, path);
    };
    const forgetful = { ...client, request };
    const { rows } = await listTable(forgetful, { kind, ...where }, new AbortController().signal);
    expect(new Set(rows.map(({ cells }) => cells[0])).size).toBe(1_203);
    expect(rows).toHaveLength(1_203);
    expect(limits).toEqual(["500", "500", null]);
  });

  test("that never ends is refused", async () => {
    const rows = Array.from({ length: 200_000 }, () => ({ cells: [], object: {} }));
    const answer = { columnDefinitions: [], metadata: { continue: "more" }, rows };
    const client = { server: "http://server", request: () => Promise.resolve(answer) };
    const list = listTable(client, { kind, ...where }, new AbortController().signal);
    await expect(list).rejects.toThrow("more than 1000000 objects");
  });
});
