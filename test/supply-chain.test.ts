import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { isRecord, valueAt } from "./fleet/json-record.ts";

const root = resolve(import.meta.dirname, "..");
const read = (path: string) => readFileSync(join(root, path), "utf8");
const lock: unknown = JSON.parse(read("package-lock.json"));
const dockerfile = read("Dockerfile");
const npmrc = read(".npmrc").split("\n");
const workflows = readdirSync(join(root, ".github/workflows")).map((name) => ({
  name,
  text: read(join(".github/workflows", name)),
}));

function entriesAt(value: unknown, ...path: readonly string[]): readonly [string, unknown][] {
  const found = valueAt(value, ...path);
  return isRecord(found) ? Object.entries(found) : [];
}

const packages = entriesAt(lock, "packages").filter(([path]) => path !== "");
const runtime = packages.filter(([, entry]) => valueAt(entry, "dev") !== true);

describe("packages", () => {
  test("every one that is always installed has a SHA-512, and none an address of its own", () => {
    // Of what other platforms need for development npm notes no hash on this one.
    const always = packages.filter(([, entry]) => valueAt(entry, "optional") !== true);
    const unproven = always.filter(
      ([, entry]) => !String(valueAt(entry, "integrity")).startsWith("sha512-"),
    );
    expect(unproven.map(([path]) => path)).toEqual([]);
    expect(runtime.filter(([, entry]) => valueAt(entry, "integrity") === undefined)).toEqual([]);
    // Whoever writes the lock file could name another server here.
    const placed = packages.filter(([, entry]) => valueAt(entry, "resolved") !== undefined);
    expect(placed.map(([path]) => path)).toEqual([]);
    expect(runtime.length).toBeGreaterThan(100);
  });

  test("none of those that run in the image has an install script", () => {
    const scripted = runtime.filter(([, entry]) => valueAt(entry, "hasInstallScript") === true);
    expect(scripted.map(([path]) => path)).toEqual([]);
  });

  test("of all others one alone has an install script, and npm runs none by itself", () => {
    const scripted = packages.filter(([, entry]) => valueAt(entry, "hasInstallScript") === true);
    expect(scripted.map(([path]) => path)).toEqual(["node_modules/node"]);
    expect(npmrc).toContain("ignore-scripts=true");
  });

  test("none is younger than a day, in which most bad ones are found out", () => {
    expect(npmrc.find((line) => line.startsWith("min-release-age="))).toMatch(/=[1-9]\d*$/);
  });

  test("exact versions are asked for, 25 at most at run time", () => {
    const { dependencies, devDependencies } = JSON.parse(read("package.json"));
    const wanted = Object.values({ ...dependencies, ...devDependencies });
    expect(wanted.filter((version) => !/^\d+\.\d+\.\d+$/.test(String(version)))).toEqual([]);
    expect(Object.keys(dependencies).length).toBeLessThanOrEqual(25);
  });

  test("licences of what runs in the image ask for nothing but a notice", () => {
    // The author of one lets us choose.
    const free =
      /^(?:0BSD|\(MIT OR CC0-1\.0\)|Apache-2\.0|BSD-[23]-Clause|ISC|MIT|PSF-2\.0|Unlicense)$/;
    const others = runtime.filter(([, entry]) => !free.test(String(valueAt(entry, "license"))));
    expect(others.map(([path]) => path)).toEqual([]);
  });
});

describe("the Dockerfile", () => {
  test("copies every top folder that what it builds is made of, and the context has them all", () => {
    const entries = [...topFoldersOf("cmd")];
    const copied = [...dockerfile.matchAll(/^COPY (\w+) \.\/\1$/gm)].map(([, name = ""]) => name);
    const allowed = read(".dockerignore").matchAll(/^!([\w]+)(?:\/.*)?$/gm);
    const inContext = new Set([...allowed].map(([, name = ""]) => name));
    expect(entries.length).toBeGreaterThan(6);
    expect(entries.filter((name) => !copied.includes(name))).toEqual([]);
    expect(copied.filter((name) => !inContext.has(name))).toEqual([]);
  });

  test("begins each stage with an image that is pinned by its digest", () => {
    const bases = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(\S+)/gm)].map(
      ([, base]) => base,
    );
    expect(bases).toHaveLength(3);
    for (const base of bases) expect(base).toMatch(/@sha256:[0-9a-f]{64}$/);
  });

  test("runs no script of a package, and nothing at all in the last stage", () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf("\nFROM "));
    expect(last).not.toMatch(/^(?:RUN|ADD|SHELL) /m);
    expect(last).toContain("/distroless/");
    expect(dockerfile).toMatch(/^RUN npm ci --ignore-scripts /m);
  });

  test("verifies the release files, and does not run as root", () => {
    expect(dockerfile).toContain("cmd/releases.ts --check --release-dir /releases");
    expect(dockerfile).toMatch(/^USER 65532:65532$/m);
  });

  test("has the Node that is tested with", () => {
    const bases = [...dockerfile.matchAll(/^FROM (?:--platform=\S+ )?(node:\S+)/gm)];
    expect(new Set(bases.map(([, base]) => base)).size).toBe(1);
    const [, version] = /^FROM node:([\d.]+)-/m.exec(dockerfile) ?? [];
    expect(version).toBe(JSON.parse(read("package.json")).devDependencies.node);
  });
});

/** The platforms that executables are made for. */
function matrixOf(workflow: unknown): readonly { readonly platform: string }[] {
  const include = valueAt(workflow, "jobs", "executable", "strategy", "matrix", "include");
  if (!Array.isArray(include)) throw new Error("The workflow makes no executables");
  return include;
}

describe.each(workflows)("$name", ({ text }) => {
  const workflow: unknown = parse(text);

  test("pins every action by its commit", () => {
    const used = [...text.matchAll(/uses: (\S+)/g)].map(([, action]) => action);
    expect(used.length).toBeGreaterThan(5);
    for (const action of used) expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40}$/);
  });

  test("gives rights to single jobs only, and leaves no token in the checkout", () => {
    expect(valueAt(workflow, "permissions")).toEqual({});
    for (const [, job] of entriesAt(workflow, "jobs")) {
      expect(valueAt(job, "permissions")).toBeDefined();
      expect(valueAt(job, "timeout-minutes")).toBeDefined();
    }
    const checkouts = text.split("uses: actions/checkout@").slice(1);
    for (const rest of checkouts)
      expect(rest.split("- uses")[0]).toContain("persist-credentials: false");
  });

  test("puts nothing into a shell but by way of the environment", () => {
    const steps = entriesAt(workflow, "jobs").flatMap(([, job]) => entriesAt(job, "steps"));
    const scripts = steps.map(([, step]) => JSON.stringify(valueAt(step, "run") ?? ""));
    expect(scripts.filter((script) => script.includes("${{"))).toEqual([]);
  });

  test("runs no script of a package where it may sign and publish", () => {
    const publish = JSON.stringify(valueAt(workflow, "jobs", "publish"));
    expect(publish).toContain("npm ci --ignore-scripts");
    expect(publish).not.toMatch(/npm (?:ci(?! --ignore-scripts)|install|run|test)/);
  });

  test("checks first, signs image and chart, and says where they come from", () => {
    expect(valueAt(workflow, "jobs", "publish", "needs")).toEqual(["check", "executable"]);
    expect(valueAt(workflow, "jobs", "executable", "needs")).toBe("check");
    expect(text.match(/cosign sign --yes/g)).toHaveLength(2);
    expect(text.match(/actions\/attest-build-provenance@/g)).toHaveLength(3);
    expect(text).toContain("--type cyclonedx");
    expect(text).toContain("npm audit --omit=dev --audit-level=high");
    // The plugin has the name that krew's manifest and docs/plugin.md give it.
    expect(text).toContain('mv kubectl-knfleet-*.tgz "kubectl-knfleet-$GITHUB_REF_NAME.tar.gz"');
    expect(read("docs/plugin.md")).toContain("`kubectl-knfleet-vVERSION.tar.gz`");
    // The executables have the names that krew's manifest, Homebrew's formula and docs/plugin.md give them.
    expect(text).toContain('"kubectl-knfleet-$GITHUB_REF_NAME-$PLATFORM.tar.gz"');
    for (const { platform } of matrixOf(workflow)) {
      const name = `kubectl-knfleet-{{ .TagName }}-${platform}.tar.gz`;
      expect(read(".krew.yaml")).toContain(name);
      expect(read("docs/plugin.md")).toContain(platform);
    }
  });
});

/** The top folders that a top folder's sources import, and those that they import in turn. */
function topFoldersOf(first: string): ReadonlySet<string> {
  const found = new Set([first]);
  // The loop also visits what is added to the set meanwhile.
  for (const folder of found) {
    for (const file of readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })) {
      if (!file.endsWith(".ts")) continue;
      for (const [, path = ""] of read(join(folder, file)).matchAll(/from "(\.[^"]+)"/g)) {
        const [top = ""] = relative(root, resolve(root, folder, dirname(file), path)).split("/");
        if (!top.includes(".")) found.add(top);
      }
    }
  }
  return found;
}
