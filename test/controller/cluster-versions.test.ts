import { expect, test } from "vitest";

import { ApiError, ConnectionError } from "../../access/api-error.ts";
import type { KubeClient } from "../../access/kube-client.ts";
import { ClusterVersions } from "../../controller/cluster-versions.ts";

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

test("a cluster that does not tell is not the same as one that does not answer", async () => {
  const request = "GET /version";
  const denied = new ApiError({
    status: 403,
    reason: "Forbidden",
    message: "",
    causes: [],
    isStatus: true,
    request,
  });
  const away = new ConnectionError("refused", "https://a:6443 refused the connection");
  const versions = new ClusterVersions();
  await expect(versions.of(failing(denied), signal)).resolves.toBeUndefined();
  await expect(versions.of(failing(away), signal)).rejects.toBe(away);
});
