import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";

import { describe, expect, test, vi } from "vitest";
import { parse } from "yaml";

import { parseProviderFile, type ProviderFile } from "../../access/providers/provider-config.ts";
import { resolveAccess } from "../../access/spokes/resolved-access.ts";
import type { ClusterProfile } from "../../api/cluster-profile.ts";
import { FleetError } from "../../api/errors.ts";
import { protectionReasons, reasons } from "../../api/reasons.ts";
import { fleetSetFields } from "../../api/schema/fleet-set-spec.ts";
import { commandTable } from "../../cmd/kubectl/command-table.ts";
import { anyCaData } from "../access/builders.ts";
import { blocksOf, fileNameOf } from "../demo/page.ts";
import { isRecord, valueAt } from "../fleet/json-record.ts";
import {
  commandsOf,
  exceptionFor,
  followed,
  notRun,
  pages as commandPages,
  runnable,
} from "./page-commands.ts";
import { useHelm } from "./use-helm.ts";

// Programs start slowly on a busy machine.
vi.setConfig({ testTimeout: 120_000 });

const root = resolve(import.meta.dirname, "../..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const pagesIn = (folder: string) =>
  readdirSync(join(root, folder))
    .filter((name) => name.endsWith(".md"))
    .map((name) => `${folder}/${name}`);
const paths = [
  "README.md",
  "charts/knfleet/README.md",
  "docs/examples/README.md",
  ...pagesIn("docs"),
  ...pagesIn("docs/cli"),
];
const examples = ["docs/install.md", "docs/providers.md"].flatMap((path) =>
  blocksOf(read(path))
    .filter(({ language, text }) => language === "yaml" && text.includes("\nmulticluster:"))
    .map(({ text }) => ({ name: text.split("\n")[0]?.replace("# ", "") ?? "", text })),
);
const ways = examples.flatMap(({ name, text }) => {
  const config = valueAt(parse(text), "multicluster", "accessProvidersConfig");
  const file = parseProviderFile(JSON.stringify(config), { path: name, format: "json" });
  return file.providers.map((one) => ({ name, file, provider: one.name }));
});

/** A server for each that the provider lets in. */
function serversOf({ providers }: ProviderFile, provider: string): readonly string[] {
  const { servers = [] } = providers.find(({ name }) => name === provider)?.rules ?? {};
  return servers.map((one) => `https://${one.replace("*", "spoke-1")}`);
}

interface ProfileOptions {
  readonly name?: string;
  readonly namespace?: string;
  /** The cluster whose credential it asks for. */
  readonly cluster?: string;
  readonly server: string;
}

/** By provider: the cluster manager that offers it, and the namespace of its profiles. */
const managers: Partial<Record<string, string>> = {
  "open-cluster-management": "open-cluster-management",
  google: "gke-fleet",
};
const homes: Partial<Record<string, string>> = { google: "fleet-cluster-inventory" };

/** A healthy ClusterProfile with one way in. */
function profileFor(
  provider: string,
  {
    name = "spoke-1",
    namespace = homes[provider] ?? "fleet",
    cluster = name,
    server,
  }: ProfileOptions,
): ClusterProfile {
  const manager = managers[provider] ?? "by-hand";
  const labels = {
    "x-k8s.io/cluster-manager": manager,
    "open-cluster-management.io/cluster-name": name,
  };
  const config = provider.startsWith("kubeconfig")
    ? { name: cluster, key: "kubeconfig", namespace: "fleet-credentials" }
    : { clusterName: cluster };
  const extensions = [{ name: "client.authentication.k8s.io/exec", extension: config }];
  return {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ClusterProfile",
    metadata: { name, namespace, labels, uid: name, resourceVersion: "1" },
    spec: { displayName: name, clusterManager: { name: manager } },
    status: {
      conditions: [{ type: "ControlPlaneHealthy", status: "True" }],
      accessProviders: [
        {
          name: provider,
          cluster: { server, "certificate-authority-data": anyCaData, extensions },
        },
      ],
    },
  };
}

const helm = useHelm();

describe("the values in docs", () => {
  test.each(examples)("$name is taken by the chart", async ({ text }) => {
    const values: unknown = parse(text);
    if (!isRecord(values)) throw new Error("The block holds no values");
    for (const version of ["1.34.0", "1.36.0"]) {
      const { code, stderr } = await helm().template({ values }, "--kube-version", version);
      expect({ code, stderr }).toMatchObject({ code: 0 });
    }
  });

  test.each(examples)("$name has providers that can be used", ({ text }) => {
    const config = valueAt(parse(text), "multicluster", "accessProvidersConfig");
    const file = parseProviderFile(JSON.stringify(config), { path: "example", format: "json" });
    expect(file.warnings).toEqual([]);
    expect(file.providers.flatMap(({ problem }) => problem ?? [])).toEqual([]);
    expect(file.providers.length).toBeGreaterThan(0);
  });

  test.each(ways)(
    "$name: a profile of $provider gets its own token, and no rogue one does",
    (way) => {
      const { file, provider } = way;
      const [server = "https://spoke-1.example.com:6443"] = serversOf(file, provider);
      expect(resolveAccess(profileFor(provider, { server }), file, Date.now()).provider).toBe(
        provider,
      );
      const rogue = { name: "rogue", cluster: "spoke-1" };
      const elsewhere = profileFor(provider, { ...rogue, namespace: "team-rogue", server });
      expect(() => resolveAccess(elsewhere, file, Date.now())).toThrow(FleetError);
      const inside = profileFor(provider, { ...rogue, server: "https://rogue.example.net" });
      expect(() => resolveAccess(inside, file, Date.now())).toThrow(FleetError);
    },
  );

  test("are there for every way to log in", () => {
    expect(examples.map(({ name }) => name)).toEqual([
      "values.yaml",
      "secretreader.yaml",
      "ocm.yaml",
      "eks.yaml",
      "gke.yaml",
      "aks.yaml",
    ]);
  });
});

test("docs/troubleshooting.md has a row for every reason, and for no other", () => {
  const [text = ""] = read("docs/troubleshooting.md").split("\n## Helm\n");
  const named = [...text.matchAll(/^\| `(\w+)`/gm)].map(([, reason]) => reason);
  expect(named).toEqual([...new Set(named)]);
  const known = [...Object.keys(reasons), ...Object.keys(protectionReasons)];
  expect(new Set(named)).toEqual(new Set(known));
});

test("docs/sets.md begins with the set of docs/examples", () => {
  const [first] = blocksOf(read("docs/sets.md")).filter(({ language }) => language === "yaml");
  expect(parse(first?.text ?? "")).toEqual(parse(read("docs/examples/sets.yaml")));
});

test("docs/examples has the component of docs/install.md, and the provider of its values", () => {
  const named = (name: string): unknown => {
    const found = blocksOf(read("docs/install.md")).find((block) => fileNameOf(block) === name);
    return parse(found?.text ?? "");
  };
  expect(parse(read("docs/examples/knative-serving.yaml"))).toEqual(named("knative-serving.yaml"));
  const config = valueAt(named("values.yaml"), "multicluster", "accessProvidersConfig");
  expect(parse(read("docs/examples/providers.yaml"))).toEqual(config);
});

test("docs/examples/ocm has the values of docs/providers.md", () => {
  const block = examples.find(({ name }) => name === "ocm.yaml");
  expect(parse(read("docs/examples/ocm/values.yaml"))).toEqual(parse(block?.text ?? ""));
});

test("docs/examples/ocm brings the role of docs/spoke-role.yaml to a cluster", () => {
  const work: unknown = parse(read("docs/examples/ocm/access.yaml"));
  const role: unknown = parse(read("docs/spoke-role.yaml"));
  expect(valueAt(work, "spec", "workload", "manifests", 0)).toEqual(role);
});

test("docs/sets.md names every field of a set", () => {
  const [, below = ""] = read("docs/sets.md").split("\n## Every field\n");
  const [section = ""] = below.split("\n## ");
  const words = [...section.matchAll(/(?<=`)[a-z.]+\/[a-z]+(?=`)|[a-zA-Z]+/g)];
  const named = new Set(words.map(([word]) => word));
  expect(fieldsOf({ properties: fleetSetFields }).filter((field) => !named.has(field))).toEqual([]);
});

/** Names of the fields of a schema, at any depth. */
function fieldsOf(schema: unknown): readonly string[] {
  if (Array.isArray(schema) || !isRecord(schema)) return [];
  const { properties, items } = schema;
  const fields = isRecord(properties) ? properties : {};
  return [...Object.keys(fields), ...[...Object.values(fields), items].flatMap(fieldsOf)];
}

// Whoever makes the first release takes the sentence away, and this test.
test.each([
  "README.md",
  "charts/knfleet/README.md",
  "docs/install.md",
  "docs/plugin.md",
  "docs/upgrade.md",
])("%s says that nothing is released yet, and leads to what works", (path) => {
  const [, where = ""] =
    /\bNothing is released yet:.*\[From a checkout\]\((.*?)\)/.exec(read(path)) ?? [];
  expect(where).toMatch(/^(?:(?:\.\.\/)+README\.md)?#from-a-checkout$/);
});

test("docs name commands of kubectl knfleet that there are, and no others", () => {
  const known = commandTable().map(({ name }) => name.split(" ")[0]);
  const named = paths.flatMap((path) =>
    [...read(path).matchAll(/(?<![\w-])kubectl knfleet ([a-z][a-z-]*)/g)].map(([, name]) => name),
  );
  expect(named.length).toBeGreaterThan(20);
  expect(new Set(named).difference(new Set([...known, "help"]))).toEqual(new Set());
});

describe("the commands in docs", () => {
  test("are run by a test, or on the list with a reason, which holds nothing else", () => {
    const commands = commandPages.flatMap(commandsOf);
    const used = new Set(commands.map(exceptionFor));
    expect(notRun.filter((one) => !used.has(one))).toEqual([]);
    expect(commands.length).toBeGreaterThan(2 * notRun.length);
    const typed = new Set(
      followed.flatMap(({ page, heading }) => runnable(page, heading)).map(({ text }) => text),
    );
    const rest = commands.filter((one) => exceptionFor(one) === undefined && !typed.has(one.text));
    expect(rest).toEqual([]);
    for (const { by } of notRun) expect(by === undefined || existsSync(join(root, by))).toBe(true);
  });

  test.each(commandPages)("%s has none in a block that is not marked as a shell's", (page) => {
    const others = blocksOf(read(page)).filter(({ language }) => language !== "sh");
    const hidden = others.filter(({ text }) => /^(?:kubectl|helm|npm|npx|node) /m.test(text));
    expect(hidden).toEqual([]);
  });
});

test("values that docs name are values of the chart", () => {
  const sections = Object.keys(Object(parse(read("charts/knfleet/values.yaml"))));
  const values: unknown = parse(read("charts/knfleet/values.yaml"));
  const named = commandPages.flatMap((page) =>
    [...read(page).matchAll(/`([a-z]\w*(?:\.\w+)+)(?:=[^`]*)?`/g)].map(([, path = ""]) => path),
  );
  const ours = named.filter((path) => sections.includes(path.split(".")[0] ?? ""));
  expect(ours.length).toBeGreaterThan(15);
  expect(ours.filter((path) => valueAt(values, ...path.split(".")) === undefined)).toEqual([]);
});

test.each(paths)("%s links to nothing that is not there", (path) => {
  const links = [...read(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = ""]) => link);
  const local = links.filter((link) => !/^[a-z]+:/.test(link));
  const broken = local.filter((link) => {
    const [file = "", heading] = link.split("#");
    const target = file === "" ? join(root, path) : join(root, dirname(path), file);
    if (!existsSync(target)) return true;
    return heading !== undefined && !anchorsOf(readFileSync(target, "utf8")).has(heading);
  });
  expect(broken).toEqual([]);
});

/** The anchors that a page's headings have. */
function anchorsOf(text: string): ReadonlySet<string> {
  const headings = [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = ""]) => heading);
  return new Set(
    headings.map((heading) =>
      heading
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
