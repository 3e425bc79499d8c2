import { expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../../access/kube/api-error.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { ClusterVersions } from "../../../controller/reconcile/cluster-facts.ts";

const { signal } = new AbortController();

function cluster(answer: () => unknown) {
  const paths: string[] = [];
  const request: KubeClient["request"] = async (_method, path) => {
    paths.push(path);
    return answer();
  };
  return { request, paths };
}

function failing(error: Error) {
  return cluster(() => {
    throw error;
  });
}

test("a cluster is asked once, until it is forgotten", async () => {
  const versions = new ClusterVersions();
  const client = cluster(() => ({ gitVersion: "v1.35.2" }));
  expect(await versions.of(client, signal)).toBe("v1.35.2");
  expect(await versions.of(client, signal)).toBe("v1.35.2");
  expect(client.paths).toEqual(["/version"]);
  versions.forget(client);
  expect(await versions.of(client, signal)).toBe("v1.35.2");
  expect(client.paths).toHaveLength(2);
});

test.each([undefined, null, "v1.35.2", {}, { gitVersion: 1 }])(
  "the answer %j tells nothing",
  async (answer) => {
    expect(
      await new ClusterVersions().of(
        cluster(() => answer),
        signal,
      ),
    ).toBeUndefined();
  },
);

function refusalOf(status: number): ApiError {
  const facts = { status, reason: "", message: "", causes: [], isStatus: true };
  return new ApiError({ ...facts, request: "GET /version" });
}

test.each([403, 404])("a cluster that answers %i does not tell", async (status) => {
  const client = failing(refusalOf(status));
  await expect(new ClusterVersions().of(client, signal)).resolves.toBeUndefined();
});

test.each([
  { name: "429", error: refusalOf(429) },
  { name: "500", error: refusalOf(500) },
  { name: "503", error: refusalOf(503) },
  {
    name: "nothing",
    error: new ConnectionError("refused", "https://a:6443 refused the connection"),
  },
])("a cluster that answers $name is to be asked again", async ({ error }) => {
  await expect(new ClusterVersions().of(failing(error), signal)).rejects.toBe(error);
});
