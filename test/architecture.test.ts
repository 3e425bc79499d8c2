import { readdirSync, readFileSync, statSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, relative, resolve } from "node:path";

import { describe, expect, test } from "vitest";

/** The law: a folder of the house and the folders that it may import, also for types and with `import()`. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  api: [],
  render: ["api"],
  installation: ["render", "api"],
  sets: ["render", "api"],
  access: ["api"],
  controller: ["render", "installation", "sets", "access", "api"],
  webhook: ["render", "installation", "sets", "access", "api"],
  cmd: ["webhook", "controller", "render", "installation", "sets", "access", "api"],
};

/** The law inside controller/: a room and the rooms that it may import. Files directly in controller/ may import every room. */
const controllerRooms: Readonly<Record<string, readonly string[]>> = {
  queue: [],
  leader: ["queue"],
  metrics: ["queue"],
  target: [],
  observe: ["target", "queue"],
  apply: ["observe", "target", "queue"],
  guard: ["apply", "target", "queue"],
  status: ["guard", "apply", "observe", "target"],
  reconcile: ["status", "guard", "apply", "observe", "target", "metrics", "queue"],
  verify: ["apply", "observe", "target", "queue"],
  uninstall: ["reconcile", "status", "guard", "apply", "observe", "target", "queue"],
  pull: ["uninstall", "reconcile", "status", "observe", "queue"],
  sets: ["verify", "queue"],
  discovery: ["queue"],
};

/** Folders without I/O, and the modules of Node that they may import all the same. */
const pureModules: Readonly<Record<string, readonly string[]>> = {
  api: [],
  render: ["node:crypto", "node:timers/promises"],
  installation: ["node:crypto"],
  sets: ["node:crypto"],
};

/** Files of a folder that another folder may not import although the law allows the folder. */
const withheld: readonly { from: string; file: RegExp; why: string }[] = [
  {
    from: "webhook",
    file: /^access\/(?:spokes\/spokes|plugins\/exec-[a-z-]+)\.ts$/,
    why: "an admission answer does not wait for a child process",
  },
  ...["access", "controller", "webhook"].map((from) => ({
    from,
    file: /^access\/time\/system-clock\.ts$/,
    why: "the clock is handed in; only cmd/ chooses that of this machine",
  })),
];

/** Packages that only these folders may import at run time; a package that is not listed is free for none. */
const packages: Readonly<Record<string, readonly string[]>> = {
  "@kubernetes/client-node": ["access"],
  undici: ["access"],
  ajv: ["access", "webhook", "cmd"],
  yaml: ["access", "render", "cmd"],
  rfc6902: ["render"],
  semver: ["render"],
  croner: ["sets"],
  commander: ["cmd"],
  diff: ["cmd"],
  picocolors: ["cmd"],
  "string-width": ["cmd"],
  "tar-stream": ["cmd"],
  ink: ["cmd"],
  "@modelcontextprotocol/sdk": ["cmd"],
  react: ["cmd"],
  preact: ["cmd"],
  htm: ["cmd"],
  rolldown: ["cmd"],
  pino: ["cmd"],
  "prom-client": ["controller", "webhook"],
  express: ["webhook"],
  "@peculiar/x509": ["webhook"],
  "reflect-metadata": ["webhook"],
};

/** Packages that may be imported for types anywhere in the given folders; they are gone at run time. */
const typePackages: Readonly<Record<string, readonly string[]>> = {
  "json-schema-to-ts": ["api", "access"],
};

/** The one file that makes signals with a time limit, or of several signals. Everything else calls its `withTimeout` and `Follower`. */
const timeLimits = "access/time/deadline.ts";
const ownTimeLimit =
  /\bAbortSignal\.(?:timeout|any)\(|\bnew DOMException\([^;]*["']TimeoutError["']/;

/** Ways to the clock, the timers and the chance of the platform. A socket's own `setTimeout` is none: it counts the silence of that socket, inside Node. */
const platformTime =
  /(?<![.\w])(?:set|clear)(?:Timeout|Interval)\(|\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|["']node:timers(?:\/promises)?["']|\bAbortSignal\.timeout\b|\bMath\.random\b/;

/** Where the law of time holds: everything there takes a Clock. The command line is not there yet. */
const timed = /^(?:access|controller|webhook|cmd\/service)\/|^cmd\/[^/]+$/;

/** The only files below the law of time that use the platform themselves, and why. */
const ownTime: Readonly<Record<string, string>> = {
  "access/time/system-clock.ts": "is the clock of this machine",
  "cmd/service/logger.ts": "writes the time of the machine into each line of the log",
  "cmd/service/run.ts": "ends a process that hangs, also one whose clock stands still",
  "controller/sets/selections.ts": "lets other work go on (setImmediate), and waits for no time",
  "webhook/rules/rendered/rendered-problems.ts":
    "lets other reviews go on (setImmediate), and waits for no time",
  "webhook/rules/rights/author-rights.ts":
    "lets other reviews go on (setImmediate), and waits for no time",
};

/** What several commands need, and the only file that has it. */
const writtenOnce: readonly { readonly what: RegExp; readonly file: string }[] = [
  { what: /"GET", "\/version"/, file: "cmd/kubectl/spokes/kubernetes-version.ts" },
  { what: /"pod-template-hash"/, file: "cmd/kubectl/spokes/live-view.ts" },
  { what: /\(\\d\{1,\d\}\)d\$/, file: "cmd/kubectl/output/duration.ts" },
  { what: /spec: \{ \.\.\.component\.spec/, file: "cmd/kubectl/compare/render-component.ts" },
  { what: /function isAborted\(/, file: "access/time/deadline.ts" },
  { what: /from "string-width"/, file: "cmd/kubectl/output/text-width.ts" },
];

const closets = /^(?:index|types|utils?|common|helpers?|shared|lib)(?:\.ts)?$/;
const root = resolve(import.meta.dirname, "..");
const folders = Object.keys(mayImport);

interface Import {
  readonly specifier: string;
  readonly typeOnly: boolean;
}

function filesBelow(folder: string): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
}

function importsOf(source: string): Import[] {
  const text = source.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, "");
  const statements = text.matchAll(
    /^\s*(?:import|export)\s+(type\s+)?(?:[\w$*{},\s]+?\s+from\s+)?["']([^"']+)["']/gm,
  );
  const dynamic = text.matchAll(/\bimport\s*\(\s*["']([^"']+)["']/g);
  return [
    ...Array.from(statements, (match) => ({
      specifier: match[2] ?? "",
      typeOnly: match[1] !== undefined,
    })),
    ...Array.from(dynamic, (match) => ({ specifier: match[1] ?? "", typeOnly: false })),
  ];
}

function violationsOf(file: string, source: string): string[] {
  const folder = file.split("/")[0] ?? "";
  return importsOf(source).flatMap(({ specifier, typeOnly }) => {
    if (specifier.startsWith(".")) return wrongFile(file, folder, specifier);
    return wrongPackage(file, folder, { specifier, typeOnly });
  });
}

function wrongFile(file: string, folder: string, specifier: string): string[] {
  const target = relative(root, resolve(root, dirname(file), specifier));
  // The version that a program reports has one home.
  if (folder === "cmd" && /^(?:package\.json|docs\/schemas\/.*)$/.test(target)) return [];
  const targetFolder = target.split("/")[0] ?? "";
  const refusal = withheld.find((rule) => rule.from === folder && rule.file.test(target));
  if (refusal !== undefined) return [`${file} imports ${specifier}: ${refusal.why}`];
  if (isWrongRoom(file, target)) return [`${file} imports ${specifier}`];
  if (targetFolder === folder || (mayImport[folder] ?? []).includes(targetFolder)) return [];
  return [`${file} imports ${specifier}`];
}

function isWrongRoom(file: string, target: string): boolean {
  const [from, to] = [file, target].map((path) => /^controller\/([^/]+)\//.exec(path)?.[1]);
  if (from === undefined || to === undefined || from === to) return false;
  return !(controllerRooms[from] ?? []).includes(to);
}

function wrongPackage(file: string, folder: string, { specifier, typeOnly }: Import): string[] {
  if (specifier.startsWith("node:")) {
    const allowed = pureModules[folder];
    return allowed === undefined || allowed.includes(specifier)
      ? []
      : [`${file} imports ${specifier}: ${folder}/ does no I/O`];
  }
  if (builtinModules.includes(specifier)) return [`${file} imports ${specifier} without node:`];
  const name = specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/");
  const allowed = [...(packages[name] ?? []), ...(typeOnly ? (typePackages[name] ?? []) : [])];
  return allowed.includes(folder) ? [] : [`${file} imports package ${specifier}`];
}

function cyclesOf(files: readonly string[]): string[] {
  const edges = new Map(
    files.map((file) => [
      file,
      importsOf(readFileSync(join(root, file), "utf8"))
        .filter(({ specifier }) => specifier.startsWith("."))
        .map(({ specifier }) => relative(root, resolve(root, dirname(file), specifier))),
    ]),
  );
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file);
    if (start >= 0) cycles.push([...path.slice(start), file].join(" -> "));
    if (start >= 0 || done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) visit(file, []);
  return cycles;
}

describe("the house", () => {
  const files = folders
    .filter((folder) => statSync(join(root, folder), { throwIfNoEntry: false })?.isDirectory())
    .flatMap(filesBelow);

  test("has files to check", () => expect(files.length).toBeGreaterThan(10));

  test("imports point one way, and packages stay in their rooms", () => {
    expect(
      files.flatMap((file) => violationsOf(file, readFileSync(join(root, file), "utf8"))),
    ).toEqual([]);
  });

  test("has no import cycles, also none of types", () => expect(cyclesOf(files)).toEqual([]));

  test.each(writtenOnce)("has $what in $file alone", ({ what, file }) => {
    const owners = files.filter(
      (one) => /^(?:access|cmd)\//.test(one) && what.test(readFileSync(join(root, one), "utf8")),
    );
    expect(owners).toEqual([file]);
  });

  test("has no closets and no barrels", () => {
    expect(files.filter((file) => file.split("/").some((part) => closets.test(part)))).toEqual([]);
  });

  test("reads the environment and the arguments in cmd/ only", () => {
    const readers = files.filter(
      (file) =>
        !file.startsWith("cmd/") &&
        /\bprocess\.(?:env|argv)\b/.test(readFileSync(join(root, file), "utf8")),
    );
    expect(readers).toEqual([]);
  });

  test("takes a Clock for all that waits, measures time or takes chances, but in the files that say why", () => {
    const users = files.filter(
      (file) => timed.test(file) && platformTime.test(readFileSync(join(root, file), "utf8")),
    );
    expect(users.toSorted()).toEqual(Object.keys(ownTime).toSorted());
  });

  test(`makes signals with a time limit in ${timeLimits} only`, () => {
    const makers = files.filter((file) =>
      ownTimeLimit.test(readFileSync(join(root, file), "utf8")),
    );
    expect(makers).toEqual([timeLimits]);
  });
});

describe("the law itself", () => {
  test.each([
    "const timer = setTimeout(end, 5);",
    "clearTimeout(this.#timer);",
    "const timer = setInterval(look, 5);",
    "const age = Date.now() - before;",
    "const day = new Date();",
    "const began = performance.now();",
    'import { setTimeout as delay } from "node:timers/promises";',
    "const limit = AbortSignal.timeout(5);",
    "const ms = 5 * Math.random();",
  ])("refuses the clock of the platform in %j", (source) => expect(source).toMatch(platformTime));

  test.each([
    "socket.setTimeout(5, end);",
    "const day = new Date(timeMs);",
    "const began = clock.now();",
    "clock.after(5, end);",
  ])("allows in any file %j", (source) => expect(source).not.toMatch(platformTime));

  test("refuses the clock of this machine below cmd/", () => {
    const source = 'import { systemClock } from "../access/time/system-clock.ts";';
    expect(violationsOf("controller/x.ts", source)).toHaveLength(1);
    expect(violationsOf("cmd/x.ts", source)).toEqual([]);
  });

  test.each([
    ['import { a } from "../webhook/server.ts";', "controller/x.ts imports ../webhook/server.ts"],
    [
      'import type { A } from "../cmd/service/run.ts";',
      "controller/x.ts imports ../cmd/service/run.ts",
    ],
    ['const a = await import("../webhook/app.ts");', "controller/x.ts imports ../webhook/app.ts"],
    ['import { Pool } from "undici";', "controller/x.ts imports package undici"],
    ['export { a } from "../cmd/a.ts";', "controller/x.ts imports ../cmd/a.ts"],
    ['import {\n  a,\n  b,\n} from "../cmd/a.ts";', "controller/x.ts imports ../cmd/a.ts"],
    ['import fs from "fs";', "controller/x.ts imports fs without node:"],
  ])("refuses %j in the controller", (source, violation) => {
    expect(violationsOf("controller/x.ts", source)).toEqual([violation]);
  });

  test.each([
    ["controller/x.ts", 'import { a } from "../access/kube/kube-client.ts";'],
    ["cmd/x.ts", 'import { a } from "../controller/controller.ts";'],
    ["api/x.ts", 'import type { FromSchema } from "json-schema-to-ts";'],
  ])("allows in %s %j", (file, source) => expect(violationsOf(file, source)).toEqual([]));

  test.each([
    ["queue/x.ts", "../reconcile/reconcile.ts"],
    ["reconcile/x.ts", "../uninstall/uninstall.ts"],
    ["apply/anchor/x.ts", "../../guard/guards.ts"],
    ["room/x.ts", "../queue/delays.ts"],
  ])("refuses in controller/%s the room of %s", (name, specifier) => {
    const file = `controller/${name}`;
    const source = `import { a } from "${specifier}";`;
    expect(violationsOf(file, source)).toEqual([`${file} imports ${specifier}`]);
  });

  test("allows in a room of the controller the rooms below and the files beside the rooms", () => {
    const source = 'import { a } from "../queue/delays.ts";\nimport { b } from "../log.ts";';
    expect(violationsOf("controller/reconcile/x.ts", source)).toEqual([]);
    expect(violationsOf("controller/x.ts", 'import { a } from "./apply/apply.ts";')).toEqual([]);
  });

  test.each([
    "const limit = AbortSignal.timeout(5_000);",
    "const end = AbortSignal.any([signal, stop]);",
    'stop.abort(new DOMException("Too late", "TimeoutError"));',
  ])("refuses the time limit %j", (source) => expect(source).toMatch(ownTimeLimit));

  test.each([
    "using end = new Follower(signal, stop);",
    "// Not AbortSignal.any: it loses aborts.",
    'if (error instanceof DOMException && error.name === "TimeoutError") return;',
  ])("allows %j", (source) => expect(source).not.toMatch(ownTimeLimit));

  test("refuses child processes to the webhook", () => {
    expect(violationsOf("webhook/x.ts", 'import { a } from "../access/spokes/spokes.ts";')).toEqual(
      [
        "webhook/x.ts imports ../access/spokes/spokes.ts: an admission answer does not wait for a child process",
      ],
    );
  });
});
