import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { beforeAll, describe, expect, test, vi } from "vitest";

import type { Manifest } from "../../api/kubernetes.ts";
import { readControllerFlags } from "../../cmd/service/flags.ts";
import { readWebhookFlags } from "../../cmd/service/webhook-flags.ts";
import { guardTargets, matchConditionOf } from "../../controller/guard/policy.ts";
import { valueAt } from "../fleet/json-record.ts";
import { readManifests } from "../fleet/manifest-files.ts";
import { imageArguments } from "../support/image-environment.ts";
import { matchConditions } from "../webhook/match-conditions.ts";
import { chartFolder } from "./helm.ts";
import { argumentsOf, containersOf, listAt, objectIn, podsIn, rulesOf } from "./rendered.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const files = readdirSync(join(chartFolder, "ci"));
const docs = join(chartFolder, "../../docs");
const helm = useHelm();
const rendered = new Map<string, readonly Manifest[]>();

beforeAll(async () => {
  for (const file of files) rendered.set(file, await helm().objects({ file }));
}, 600_000);

function of(file: string): readonly Manifest[] {
  return rendered.get(`${file}-values.yaml`) ?? [];
}

function texts(roles: readonly Manifest[]): ReadonlySet<string> {
  return new Set(roles.flatMap(rulesOf).map((rule) => JSON.stringify(rule)));
}

function plain(text: unknown): string {
  return String(text).replaceAll(/\s+/g, " ");
}

function read(path: string): string {
  return readFileSync(join(chartFolder, path), "utf8");
}

function kindsOf(objects: readonly Manifest[]): ReadonlySet<string> {
  return new Set(objects.map(({ kind }) => kind));
}

function isForController(binding: Manifest): boolean {
  const names = listAt(binding, "subjects").map((subject) => valueAt(subject, "name"));
  return names.includes("knfleet-controller");
}

describe("every set of values", () => {
  test.each(files)("%s passes helm lint --strict", async (file) => {
    const flags = await helm().flagsOf({ file });
    const { code, stdout } = await helm().run("lint", "--strict", chartFolder, ...flags);
    expect({ code, stdout }).toMatchObject({ code: 0 });
  });

  test.each(files)("%s: no object is there twice", (file) => {
    const ids = (rendered.get(file) ?? []).map(
      ({ apiVersion, kind, metadata }) =>
        `${apiVersion} ${kind} ${metadata.namespace} ${metadata.name}`,
    );
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(ids.length).toBeGreaterThan(5);
  });

  test.each(files)("%s: pods are restricted, bounded and read-only", (file) => {
    const pods = podsIn(rendered.get(file) ?? []);
    expect(pods.length).toBeGreaterThan(0);
    for (const pod of pods) {
      expect(pod.spec["securityContext"]).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 65_532,
        seccompProfile: { type: "RuntimeDefault" },
      });
      for (const key of ["hostNetwork", "hostPID", "hostIPC"])
        expect(pod.spec).not.toHaveProperty(key);
      for (const container of containersOf(pod)) {
        expect(container["securityContext"]).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          runAsNonRoot: true,
          capabilities: { drop: ["ALL"] },
        });
        expect(valueAt(container, "resources", "requests", "cpu")).toBeDefined();
        expect(valueAt(container, "resources", "limits", "memory")).toBeDefined();
        expect(valueAt(container, "resources", "limits", "cpu")).toBeUndefined();
      }
      for (const volume of listAt(pod.spec, "volumes")) {
        const isScratch = valueAt(volume, "emptyDir") !== undefined;
        expect(valueAt(volume, "emptyDir", "sizeLimit") !== undefined).toBe(isScratch);
        expect(volume).not.toHaveProperty("hostPath");
      }
    }
  });

  test.each(files)(
    "%s: the programs take the arguments that they are given, T-46 with no way for a debugger",
    (file) => {
      for (const pod of podsIn(rendered.get(file) ?? [])) {
        const [node, ...nodeFlags] = listAt(pod.spec, "containers", 0, "command").map(String);
        const program = nodeFlags.pop() ?? "";
        // What is measured is what runs.
        expect([node, ...nodeFlags]).toEqual(["/usr/local/bin/node", ...imageArguments()]);
        expect(program).toMatch(/^\/app\/knfleet-(?:controller|webhook|uninstall-check)\.js$/);
        // T-46: nobody opens a debugger in a process with credentials.
        expect(nodeFlags).toEqual(
          expect.arrayContaining(["--disable-sigusr1", "--disable-proto=delete"]),
        );
        const readFlags = pod.program === "webhook" ? readWebhookFlags : readControllerFlags;
        expect(Object.keys(readFlags(argumentsOf(pod), "1.2.3"))).not.toContain("exitCode");
      }
    },
  );

  test.each(files)(
    "%s: only pods that talk to the API have a token, each with its own account",
    (file) => {
      const objects = rendered.get(file) ?? [];
      const accounts = objects.filter(({ kind }) => kind === "ServiceAccount");
      for (const account of accounts) expect(account["automountServiceAccountToken"]).toBe(false);
      const used = podsIn(objects).map(({ spec }) => spec["serviceAccountName"]);
      expect(new Set(used)).toEqual(new Set(accounts.map(({ metadata }) => metadata.name)));
      expect(new Set(used).size).toBe(used.length);
    },
  );

  test.each(files)(
    "%s: no role has a wildcard, and `escalate` only installations on the hub",
    (file) => {
      const roles = (rendered.get(file) ?? []).filter(({ kind }) =>
        /^(?:Cluster)?Role$/.test(kind),
      );
      expect(roles.length).toBeGreaterThan(0);
      for (const role of roles) {
        const isHub = role.metadata.name === "knfleet-controller-hub-installations";
        const rules = rulesOf(role);
        const words = rules.flatMap(({ apiGroups, resources, verbs }) => [
          ...apiGroups,
          ...resources,
          ...verbs,
        ]);
        expect(words).not.toContain("*");
        expect(words.includes("escalate")).toBe(isHub);
        // Secrets in one namespace, or one Secret.
        expect(words.includes("secrets") && role.kind === "ClusterRole").toBe(isHub);
      }
    },
  );

  test.each(files)("%s: a webhook that ends has time for its drain", (file) => {
    for (const { spec, program } of podsIn(rendered.get(file) ?? [])) {
      if (program !== "webhook") continue;
      const drain = argumentsOf({ of: "", program, spec }).find((one) => one.startsWith("--drain"));
      const seconds = Number(/=(\d+)s$/.exec(drain ?? "")?.[1]);
      expect(spec["terminationGracePeriodSeconds"]).toBeGreaterThanOrEqual(seconds + 10 + 5);
    }
  });
});

describe("what is written in the templates is said elsewhere, too", () => {
  test("every rule of a role has its reason beside it", async () => {
    const { stdout } = await helm().template({ file: "full-values.yaml" });
    const roles = stdout.split("\n---\n").filter((text) => /^kind: (?:Cluster)?Role$/m.test(text));
    expect(roles.length).toBeGreaterThan(4);
    for (const role of roles) {
      // In docs/spoke-role.yaml a reason may stand above several rules.
      if (role.includes("hub-installations")) continue;
      const [, rules = ""] = role.split("\nrules:\n");
      const lines = rules.split("\n");
      const bare = lines.filter(
        (line, index) =>
          line.startsWith("  - apiGroups") && !/^ {2}# \S/.test(lines[index - 1] ?? ""),
      );
      expect(bare).toEqual([]);
    }
  });

  test.each([
    {
      pages: ["hub-role.yaml", "spoke-role.yaml", "sets-role.yaml", "pull-role.yaml"],
      names: [
        "knfleet-controller",
        "knfleet-controller-hub-installations",
        "knfleet-controller-sets",
        "knfleet-controller-pull",
      ],
    },
    { pages: ["webhook-role.yaml"], names: ["knfleet-webhook"] },
  ])("the cluster-wide rules of $names are those of $pages in docs", async ({ pages, names }) => {
    const documents = (
      await Promise.all(pages.map((page) => readManifests(join(docs, page))))
    ).flat();
    const charted = names.map((name) => objectIn(of("full"), "ClusterRole", name));
    const documented = documents.filter(({ kind }) => kind === "ClusterRole");
    expect(texts(charted)).toEqual(texts(documented));
  });

  test.each(["anchor-guard", "namespace-guard", "crd-guard"] as const)(
    "the %s looks at what the policy of that name looks at",
    async (guard) => {
      const id = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";
      const hubs = [{ id, user: "hub" }];
      const objects = await helm().objects({ values: { guard: { only: true, crds: true, hubs } } });
      const configuration = objectIn(objects, "ValidatingWebhookConfiguration", "knfleet-webhook");
      const webhook = listAt(configuration, "webhooks").find(
        (one) => valueAt(one, "name") === `${guard}.${id}.knfleet.dev`,
      );
      const expression = valueAt(webhook, "matchConditions", 0, "expression");
      expect(plain(expression)).toBe(plain(valueAt(matchConditionOf(guard, id), "expression")));
      expect(valueAt(webhook, "rules")).toEqual([guardTargets[guard]]);
    },
  );

  test.each([
    [0, 3],
    [5, 5],
  ])("upstream's operator_webhook.replicas of %i gives %i webhook pods", async (theirs, pods) => {
    const values = { webhook: { replicas: 3 }, operator_webhook: { replicas: theirs } };
    const deployment = objectIn(await helm().objects({ values }), "Deployment", "knfleet-webhook");
    expect(valueAt(deployment, "spec", "replicas")).toBe(pods);
  });

  test("a hub that is named once for each of its users has each webhook once", async () => {
    const id = "0c3f6f52-1d3b-4f6e-9a44-0f0a4ad11c0e";
    const hubs = ["a", "b"].map((user) => ({ id, user }));
    const objects = await helm().objects({ values: { guard: { only: true, hubs } } });
    const configuration = objectIn(objects, "ValidatingWebhookConfiguration", "knfleet-webhook");
    const names = listAt(configuration, "webhooks").map((one) => valueAt(one, "name"));
    expect(names).toEqual([`anchor-guard.${id}.knfleet.dev`, `namespace-guard.${id}.knfleet.dev`]);
    const given = podsIn(objects).flatMap(argumentsOf);
    expect(given.filter((one) => one.startsWith("--guard="))).toEqual([
      `--guard=${id}=a`,
      `--guard=${id}=b`,
    ]);
  });

  test.each([
    ["default", ["components"]],
    ["full", ["components", "sets"]],
  ])(
    "C27: the webhook is asked about components and sets that are being deleted only when their spec changes, so that they can go while it is away (%s)",
    (file, asked) => {
      const configuration = objectIn(of(file), "ValidatingWebhookConfiguration", "knfleet-webhook");
      const about = listAt(configuration, "webhooks").filter((one) =>
        /^(?:components|sets)\./.test(String(valueAt(one, "name"))),
      );
      expect(about.map((one) => valueAt(one, "name"))).toEqual(
        asked.map((name) => `${name}.knfleet.dev`),
      );
      for (const [index, one] of about.entries()) {
        expect(valueAt(one, "clientConfig", "service", "path")).toBe(`/validate/${asked[index]}`);
        expect(valueAt(one, "failurePolicy")).toBe("Fail");
        expect(valueAt(one, "matchConditions")).toEqual(matchConditions);
      }
    },
  );

  test("the version is that of the program", () => {
    const { version } = JSON.parse(read("../../package.json"));
    const chart = read("Chart.yaml");
    expect(chart).toContain(`\nversion: ${version}\n`);
    expect(chart).toContain(`\nappVersion: ${version}\n`);
    expect(chart).toContain(`:${version}\n`);
  });
});

describe("parts that are left out", () => {
  test("controller.enabled=false: the webhook alone, for the upstream operator", () => {
    const pods = podsIn(of("companion"));
    expect(pods.map(({ program }) => program)).toEqual(["webhook"]);
    const [webhook] = pods;
    if (webhook === undefined) throw new Error("There is no webhook");
    expect(argumentsOf(webhook)).toEqual(
      expect.arrayContaining(["--companion-of=upstream", "--release-dir="]),
    );
    expect(kindsOf(of("companion"))).not.toContain("CustomResourceDefinition");
    expect(kindsOf(of("companion"))).not.toContain("Job");
  });

  test("guard.only=true: anchors of the named hubs, and no right to anything of Knative", () => {
    expect(podsIn(of("guard")).map(({ program }) => program)).toEqual(["webhook"]);
    const configuration = objectIn(
      of("guard"),
      "ValidatingWebhookConfiguration",
      "knfleet-webhook",
    );
    const paths = listAt(configuration, "webhooks").map((one) =>
      valueAt(one, "clientConfig", "service", "path"),
    );
    expect(new Set(paths)).toEqual(new Set(["/validate/anchor"]));
    const rules = rulesOf(objectIn(of("guard"), "ClusterRole", "knfleet-webhook"));
    expect(rules.flatMap(({ resources }) => resources)).toEqual([
      "subjectaccessreviews",
      "namespaces",
      "validatingwebhookconfigurations",
    ]);
  });

  test("with cert-manager the webhook may read no Secret and change no configuration", () => {
    const roles = of("cert-manager").filter(({ metadata }) => metadata.name === "knfleet-webhook");
    const rules = roles.filter(({ kind }) => kind.endsWith("Role")).flatMap(rulesOf);
    const resources = rules.flatMap((rule) => rule.resources);
    expect(resources).not.toContain("secrets");
    expect(resources).not.toContain("validatingwebhookconfigurations");
    expect(kindsOf(of("cert-manager"))).toContain("Certificate");
  });

  test("nothing but the chosen namespaces has Secrets that the controller may read", () => {
    const objects = of("full");
    const bound = objects.filter(isForController).flatMap((binding) => {
      const name = String(valueAt(binding, "roleRef", "name"));
      if (name.endsWith("hub-installations")) return [];
      const role = objectIn(objects, String(valueAt(binding, "roleRef", "kind")), name);
      return rulesOf(role)
        .filter(({ resources }) => resources.includes("secrets"))
        .map(({ verbs }) => ({ namespace: binding.metadata.namespace, verbs }));
    });
    const namespace = "fleet-credentials";
    expect(bound).toEqual([
      { namespace, verbs: ["get", "list", "watch"] },
      { namespace, verbs: ["get"] },
    ]);
  });
});
