import { describe, expect, test } from "vitest";

import { binding, configMap, fileOf } from "../../hub-file.ts";
import { runText } from "../../run-text.ts";
import { startStubHub, type Answer } from "../../stub-hub.ts";
import { fleetOf, secret, startSpoke } from "../../stub-spoke.ts";

const serviceAccountName = "knfleet-controller";
const userInfo = { username: "me", groups: ["system:authenticated"] };
const answer: Answer = ({ path }) => {
  if (path.endsWith("/selfsubjectreviews")) return { body: { status: { userInfo } } };
  return undefined;
};

describe("diagnose by the hub's provider file", () => {
  test("leads diagnose to the controller's Secrets, also where it names an official plugin (D10, D11)", async () => {
    await using spoke = await startSpoke();
    const provider = { name: "tokens", command: "/access-plugins/secretreader" };
    await using hub = await startStubHub(
      [
        ...fleetOf(spoke.url, "tokens", { clusterName: "eu-1" }),
        binding,
        configMap({ data: { "config.json": fileOf(provider) } }),
        secret("knfleet-system", "eu-1", { token: "t-4" }),
      ],
      answer,
    );
    const { stdout } = await runText(["diagnose", "fleet/eu-1", "-o", "json"], { env: hub.env });
    expect(JSON.parse(stdout)).toMatchObject({
      items: [
        {
          hops: expect.arrayContaining([
            expect.objectContaining({
              id: "file",
              state: "OK",
              evidence: expect.arrayContaining([
                "a built-in reader stands for /access-plugins/secretreader",
              ]),
            }),
            expect.objectContaining({ id: "plugin", state: "OK" }),
          ]),
        },
      ],
    });
    expect(hub.requests).toContain("GET /api/v1/namespaces/knfleet-system/secrets/eu-1");
  });

  test("leads diagnose to no Secret that the controller does not read, and a file that nobody vouches for to none (T-16)", async () => {
    await using spoke = await startSpoke();
    const config = { namespace: "kube-system", name: "eu-1", key: "kubeconfig" };
    const provider = { name: "files", command: "builtin:kubeconfig-secretreader" };
    const map = configMap({ data: { "config.json": fileOf(provider) } });
    const mount = { name: "file", mountPath: "/etc/knfleet" };
    const args = ["--clusterprofile-provider-file=/etc/knfleet/config.json"];
    const container = { name: "controller", image: "knfleet", args, volumeMounts: [mount] };
    const volumes = [{ name: "file", configMap: { name: "knfleet-providers" } }];
    const controller = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        namespace: "knfleet-system",
        name: "knfleet-controller",
        uid: "c",
        resourceVersion: "7",
      },
      spec: { template: { spec: { serviceAccountName, containers: [container], volumes } } },
    };
    const refused = { id: "plugin", state: "WARN", code: "KNF3013" };
    // Without its binding the Deployment is not the controller's either.
    const unfound = { id: "file", state: "WARN", code: "KNF3001" };
    for (const [vouching, expected] of [
      [[binding], refused],
      [[], unfound],
    ] as const) {
      // oxlint-disable-next-line no-await-in-loop -- one hub after the other
      await using hub = await startStubHub(
        [...fleetOf(spoke.url, "files", config), ...vouching, map, controller],
        answer,
      );
      // oxlint-disable-next-line no-await-in-loop -- one hub after the other
      const { stdout } = await runText(["diagnose", "fleet/eu-1", "-o", "json"], hub);
      expect(JSON.parse(stdout)).toMatchObject({
        items: [
          {
            hops: expect.arrayContaining([expect.objectContaining(expected)]),
          },
        ],
      });
      expect(hub.requests.filter((request) => request.includes("/secrets/"))).toEqual([]);
    }
    expect(spoke.tokens).toEqual([]);
  });

  test("is read by whoever asks, where the controller's identity may not read it (issue 8)", async () => {
    await using spoke = await startSpoke();
    const provider = { name: "tokens", command: "builtin:secretreader" };
    const controller = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: {
        namespace: "knfleet-system",
        name: "knfleet-controller",
        uid: "c",
        resourceVersion: "7",
      },
      spec: { template: { spec: { serviceAccountName } } },
    };
    const forbidden = { kind: "Status", status: "Failure", code: 403, message: "no" };
    const mayNot = /\/(?:configmaps|clusterrolebindings|deployments|leases)$/;
    await using hub = await startStubHub(
      [
        ...fleetOf(spoke.url, "tokens", { clusterName: "eu-1" }),
        binding,
        configMap({ data: { "config.json": fileOf(provider) } }),
        secret("knfleet-system", "eu-1", { token: "t-5" }),
        controller,
      ],
      (request) => {
        const { path, actor = "" } = request;
        if (actor !== "" && mayNot.test(path)) return { status: 403, body: forbidden };
        return answer(request);
      },
    );
    const args = ["diagnose", "fleet/eu-1", "--from", "controller-identity", "-o", "json"];
    const { stdout } = await runText(args, { env: hub.env });
    expect(JSON.parse(stdout)).toMatchObject({
      items: [
        {
          vantage: "controller-identity",
          hops: expect.arrayContaining([
            expect.objectContaining({ id: "file", state: "OK" }),
            expect.objectContaining({ id: "plugin", state: "OK" }),
          ]),
        },
      ],
    });
    expect(hub.requests).toContain("GET /api/v1/namespaces/knfleet-system/secrets/eu-1");
  });

  const refused = { state: "FAIL", code: "KNF3003" };
  test.each([
    { of: "a shell", command: "/bin/sh", hop: refused, says: "not a shell" },
    {
      of: "a plugin elsewhere",
      command: "/elsewhere/secretreader",
      hop: refused,
      says: "below a folder of plugins",
    },
    {
      of: "a plugin of its folder",
      command: "/access-plugins/secretreader",
      hop: { state: "OK" },
      says: "has tokens",
    },
  ])("is judged as the controller reads it, with $of", async ({ command, hop, says }) => {
    await using spoke = await startSpoke();
    const map = configMap({ data: { "config.json": fileOf({ name: "tokens", command }) } });
    const args = [
      "--clusterprofile-provider-file=/etc/knfleet/config.json",
      "--plugin-root=/access-plugins",
    ];
    const mount = { name: "file", mountPath: "/etc/knfleet" };
    const container = { name: "controller", image: "knfleet", args, volumeMounts: [mount] };
    const volumes = [{ name: "file", configMap: { name: "knfleet-providers" } }];
    const metadata = {
      namespace: "knfleet-system",
      name: "knfleet-controller",
      uid: "c",
      resourceVersion: "7",
    };
    await using hub = await startStubHub(
      [
        ...fleetOf(spoke.url, "tokens", { clusterName: "eu-1" }),
        binding,
        map,
        secret("knfleet-system", "eu-1", { token: "t-6" }),
        {
          apiVersion: "apps/v1",
          kind: "Deployment",
          metadata,
          spec: { template: { spec: { serviceAccountName, containers: [container], volumes } } },
        },
      ],
      answer,
    );
    for (const more of [[], ["--exec", "--plugin-root", "/nowhere"]]) {
      // oxlint-disable-next-line no-await-in-loop -- one walk after the other
      const { stdout } = await runText(["diagnose", "fleet/eu-1", "-o", "json", ...more], hub);
      const [item] = JSON.parse(stdout).items;
      const file = item.hops.find(({ id }: { id: string }) => id === "file");
      expect(file).toMatchObject(hop);
      expect(JSON.stringify(file)).toContain(says);
    }
  });

  test("is not read, and both are named, where two Deployments may be the controller (T-16)", async () => {
    await using spoke = await startSpoke();
    const provider = { name: "tokens", command: "builtin:secretreader" };
    const deployments = ["knfleet-controller", "rival"].map((name) => ({
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { namespace: "knfleet-system", name, uid: name, resourceVersion: "7" },
      spec: { template: { spec: { serviceAccountName } } },
    }));
    await using hub = await startStubHub(
      [
        ...fleetOf(spoke.url, "tokens", { clusterName: "eu-1" }),
        binding,
        configMap({ data: { "config.json": fileOf(provider) } }),
        secret("knfleet-system", "eu-1", { token: "t-7" }),
        ...deployments,
      ],
      answer,
    );
    const { stdout } = await runText(["diagnose", "fleet/eu-1", "-o", "json"], hub);
    const message = expect.stringContaining(
      "2 Deployments of the hub may be the controller of knfleet: Deployment knfleet-system/knfleet-controller, Deployment knfleet-system/rival",
    );
    const [item] = JSON.parse(stdout).items;
    expect(item.hops).toMatchObject(
      expect.arrayContaining([
        expect.objectContaining({
          id: "controller",
          findings: expect.arrayContaining([expect.objectContaining({ code: "KNF1027", message })]),
        }),
        expect.objectContaining({ id: "file", state: "WARN", code: "KNF3001", message }),
      ]),
    );
    expect(hub.requests.filter((request) => request.includes("/secrets/"))).toEqual([]);
  });
});
