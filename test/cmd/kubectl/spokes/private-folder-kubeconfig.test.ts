import { readFile, stat } from "node:fs/promises";
import { dirname } from "node:path";

import { describe, expect, test } from "vitest";

import { writePluginKubeconfig } from "../../../../cmd/kubectl/spokes/private-folder.ts";

const config = {
  context: "hub",
  namespace: "team-a",
  cluster: { server: "https://hub.example.com" },
  user: { token: "secret" },
  files: ["/home/me/.kube/config"],
};

describe("the kubeconfig for exec plugins", () => {
  test("T-86 is the hub's context alone, readable by nobody else, and gone afterwards", async () => {
    let path = "";
    {
      await using file = await writePluginKubeconfig(config, undefined);
      path = file.path;
      expect(JSON.parse(await readFile(path, "utf8"))).toMatchObject({
        "current-context": "hub",
        contexts: [{ name: "hub", context: { namespace: "team-a" } }],
        clusters: [{ cluster: config.cluster }],
        users: [{ user: config.user }],
      });
      expect((await stat(path)).mode & 0o777).toBe(0o600);
      expect((await stat(dirname(path))).mode & 0o777).toBe(0o700);
    }
    await expect(stat(path)).rejects.toThrow("ENOENT");
  });

  test("names the plugins' namespace when there is one", async () => {
    await using file = await writePluginKubeconfig(config, "knfleet-system");
    expect(await readFile(file.path, "utf8")).toContain('"namespace":"knfleet-system"');
  });
});
