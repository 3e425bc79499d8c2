import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Component } from "../../../../api/component.ts";
import type { KubeObject } from "../../../../api/kubernetes.ts";
import { startApiStub, type ApiStub, type StubAnswer } from "../../../access/api-stub.ts";
import { authority, serverIdentity } from "../../../access/loopback.ts";
import { startComparingHub, type ComparingHub } from "../commands/diff/comparing-hub.ts";
import { recordedBinding } from "../controller-binding.ts";
import { component } from "../fleet-facts.ts";
import { runKnfleet, type Ran } from "../run-knfleet.ts";
import { runText } from "../run-text.ts";
import { type Answer, forbidden } from "../stub-hub.ts";

const extra = `apiVersion: v1
kind: ConfigMap
metadata: {name: own-config}
data: {a: b}
`;

const userInfo = { username: "me", groups: ["system:authenticated"] };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "knfleet-manifest-reader-"));
  await writeFile(join(folder, "ca.pem"), authority.certificatePem);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

function files(answer: StubAnswer = { body: extra }): Promise<ApiStub> {
  return startApiStub({ identity: serverIdentity, http1: true, answer: () => answer });
}

interface HubPlan {
  /** Arguments of the controller; absent: there is none. */
  readonly args?: readonly string[] | undefined;
  /** Namespace of the controller. */
  readonly namespace?: string;
  /** Another Deployment may be the controller, too. */
  readonly hasRival?: boolean;
  /** The rights to see it are missing. */
  readonly isDenied?: boolean;
}

function list(items: readonly KubeObject[]) {
  const metadata = { resourceVersion: "7" };
  return { body: { kind: "List", apiVersion: "v1", metadata, items } };
}

/** What a hub says of its controller. */
function controller({ args, hasRival = false, isDenied = false, ...plan }: HubPlan): Answer {
  const { namespace = "knfleet-system" } = plan;
  const metadata = { namespace, name: "knfleet-controller", uid: "c", resourceVersion: "7" };
  const container = { name: "controller", image: "knfleet", args: args ?? [] };
  const deployment = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata,
    spec: { template: { spec: { containers: [container] } } },
  };
  const rival = { ...deployment, metadata: { ...metadata, name: "rival", uid: "r" } };
  const binding = recordedBinding("knfleet", "knfleet-system");
  return ({ method, path }) => {
    if (path.endsWith("/selfsubjectreviews")) return { body: { status: { userInfo } } };
    if (method !== "GET") return undefined;
    if (path === "/apis/apps/v1/deployments") {
      if (isDenied) return forbidden();
      if (args === undefined) return list([]);
      return list(hasRival ? [deployment, rival] : [deployment]);
    }
    return path.endsWith("/clusterrolebindings") ? list([binding]) : undefined;
  };
}

/** Arguments with the address of the server of files in the place of SERVER. */
function at({ server }: ApiStub): (arg: string) => string {
  return (arg) => arg.replace("SERVER", server);
}

function bringing(url: string): Component {
  const plain = component({ kind: "KnativeEventing", cluster: null, wanted: "1.23" });
  return {
    ...plain,
    kind: "KnativeEventing",
    spec: { version: "1.23", additionalManifests: [{ URL: url }] },
  };
}

async function withHub<Result>(
  url: string,
  plan: HubPlan,
  use: (hub: ComparingHub) => Promise<Result>,
): Promise<Result> {
  await using hub = await startComparingHub(
    {},
    { installed: bringing(url), answer: controller(plan) },
  );
  return await use(hub);
}

/** Runs a command in a process that trusts the test's authority. */
function ran(hub: ComparingHub, args: readonly string[]): Promise<Ran> {
  const env = { ...hub.env, LANG: "C.UTF-8", NODE_EXTRA_CA_CERTS: join(folder, "ca.pem") };
  return runKnfleet([...args, "--release-dir", hub.releaseDir], { env });
}

describe("manifests by URL", () => {
  test("are fetched by diff, plan and check -f from where the controller may fetch", async () => {
    await using server = await files();
    const url = `${server.server}/files/\${VERSION}/extra.yaml`;
    const args = [`--manifest-source=${server.server}/files/`];
    const file = join(folder, "component.yaml");
    await writeFile(file, JSON.stringify(bringing(url)));
    await withHub(url, { args }, async (hub) => {
      const diffed = await ran(hub, ["diff", "-A", "-o", "json"]);
      expect(diffed.stdout).toContain('"name": "own-config"');
      expect(diffed.exitCode).toBe(1);
      const planned = await ran(hub, ["plan", "-f", file, "-o", "name"]);
      expect(planned.stdout).toMatch(/configmap\/own-config/);
      const checked = await ran(hub, ["check", "-f", file, "-o", "wide"]);
      expect(checked.stdout).toMatch(/^OK .* version +<none> +1\.23\.0, 5 objects/m);
    });
    const paths = new Set(server.requests.map(({ path }) => path));
    expect([...paths]).toEqual(["/files/1.23.0/extra.yaml"]);
    expect(server.requests.map(({ authorization }) => authorization)).toEqual(
      server.requests.map(() => undefined),
    );
  });

  test.each<[string, HubPlan, readonly string[], string, string]>([
    [
      "are not fetched from elsewhere (T-31)",
      { args: ["--manifest-source", "https://files.example.com/"] },
      [],
      "ManifestSourceNotAllowed",
      "it is not below a --manifest-source of the controller",
    ],
    [
      "are not fetched where the controller wants a digest (T-34)",
      { args: ["--reference-mode=Granted", "--manifest-source=SERVER/files/"] },
      [],
      "ManifestSourceNotAllowed",
      "it does not end in #sha256=",
    ],
    [
      "are not fetched where nothing is known of a controller",
      {},
      [],
      "ManifestSourceUnavailable",
      "the hub has no controller of knfleet that says so",
    ],
    [
      "are not fetched because a Deployment of anybody's says so (T-16)",
      { args: ["--manifest-source=SERVER/files/"], namespace: "team-a" },
      [],
      "ManifestSourceUnavailable",
      "the hub has no controller of knfleet that says so",
    ],
    [
      "are not fetched where the controller may not be seen",
      { isDenied: true },
      [],
      "ManifestSourceUnavailable",
      "the right to list Deployments or ClusterRoleBindings of the hub is missing",
    ],
    [
      "are not fetched from a place that is not the one of --manifest-source",
      {},
      ["--manifest-source=SERVER/other/"],
      "ManifestSourceNotAllowed",
      "it is not below a --manifest-source",
    ],
  ])("%s", async (...[, plan, more, reason, message]) => {
    await using server = await files();
    const url = `${server.server}/files/extra.yaml?signature=s3cr3t`;
    await withHub(url, { ...plan, args: plan.args?.map(at(server)) }, async (hub) => {
      const args = ["diff", "-A", "-o", "json", "--release-dir", hub.releaseDir];
      const { exitCode, stdout } = await runText([...args, ...more.map(at(server))], hub);
      expect(JSON.parse(stdout)).toMatchObject({
        complete: false,
        errors: [{ reason, message: expect.stringContaining(message) }],
      });
      expect(exitCode).toBe(3);
    });
    expect(server.connections).toBe(0);
  });

  test("are not fetched, and both are named, where two Deployments may be the controller", async () => {
    await using server = await files();
    const url = `${server.server}/files/extra.yaml`;
    const args = [`--manifest-source=${server.server}/files/`];
    const both =
      "2 Deployments of the hub may be the controller of knfleet: Deployment knfleet-system/knfleet-controller, Deployment knfleet-system/rival";
    await withHub(url, { args, hasRival: true }, async (hub) => {
      const line = ["diff", "-A", "-o", "json", "--release-dir", hub.releaseDir];
      const { stdout, stderr } = await runText(line, hub);
      expect(stderr).toContain(
        `warning: ${both}. Nothing is rendered by the environment of one of them\n`,
      );
      expect(JSON.parse(stdout).errors).toEqual([
        expect.objectContaining({ message: expect.stringContaining(both) }),
      ]);
    });
    expect(server.connections).toBe(0);
  });

  test("that cannot be fetched make a plan incomplete, and a check warn", async () => {
    await using server = await files({ status: 404 });
    const url = `${server.server}/files/extra.yaml`;
    const file = join(folder, "gone.yaml");
    await writeFile(file, JSON.stringify(bringing(url)));
    const source = ["--manifest-source", `${server.server}/files/`];
    await withHub(url, {}, async (hub) => {
      const planned = await ran(hub, ["plan", "-f", file, ...source]);
      expect(planned.stderr).toContain("ManifestSourceUnavailable");
      expect(planned.stderr).toContain("answered 404");
      expect(planned.exitCode).toBe(3);
      const checked = await ran(hub, ["check", "-f", file, "-o", "short", ...source]);
      expect(checked.stdout).toMatch(/^WARN .*version: ManifestSourceUnavailable .*answered 404/m);
    });
    // Once a command.
    expect(server.requests).toHaveLength(2);
  });

  test("from a source that is none are a mistake on the command line", async () => {
    await withHub("https://files.example.com/extra.yaml", {}, async (hub) => {
      const args = [
        "diff",
        "-A",
        "--release-dir",
        hub.releaseDir,
        "--manifest-source",
        "http://x/",
      ];
      const { exitCode, stderr } = await runText(args, hub);
      expect(stderr).toContain('Invalid value "http://x/" for --manifest-source');
      expect(exitCode).toBe(2);
    });
  });
});
