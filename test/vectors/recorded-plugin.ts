import { chmod, mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { fieldsOf, listOf, textOf, type AccessCase } from "./access-cases.ts";

/** What a run of the plugin got. */
export interface PluginInput {
  readonly args: readonly string[];
  readonly environ: readonly string[];
  readonly cwd: string;
  readonly program: string;
  readonly stdin: string;
}

/** The test plugin of a case: folders `/p`, `/w/cwd` and what it was asked so far, all below `root`. */
export interface RecordedPlugin {
  readonly root: string;
  readonly inputs: () => Promise<readonly PluginInput[]>;
  readonly runs: () => Promise<number>;
  /** Moves the clock that `{{NOW+3}}` is read from. */
  readonly setOffset: (ms: number) => Promise<void>;
}

// Takes the next of the prepared runs each time, and writes down what it got.
const program = (node: string, state: string): string => `#!${node}
const fs = require("fs");
const state = ${JSON.stringify(state)};
let number = 0;
for (;; number += 1) {
  try { fs.mkdirSync(state + "/run" + number); break; } catch (error) { if (error.code !== "EEXIST") throw error; }
}
const environ = fs.readFileSync("/proc/self/environ", "utf8").split("\\0").slice(0, -1);
const seen = { args: process.argv.slice(2), environ, cwd: process.cwd(), program: __filename, stdin: fs.readlinkSync("/proc/self/fd/0") };
fs.writeFileSync(state + "/run" + number + "/input.json", JSON.stringify(seen));
const { runs, pems } = JSON.parse(fs.readFileSync(state + "/runs.json", "utf8"));
const offset = Number(fs.readFileSync(state + "/offset", "utf8"));
const run = runs[Math.min(number, runs.length - 1)] || {};
const info = process.env.KUBERNETES_EXEC_INFO || "{}";
const inJson = (text) => JSON.stringify(text).slice(1, -1);
const config = () => ((JSON.parse(info).spec || {}).cluster || {}).config || {};
const filled = (text) => text
  .replace(/{{NOW([+-]\\d+(?:\\.\\d+)?)}}/g, (_, seconds) => new Date(Date.now() + offset + Number(seconds) * 1000).toISOString())
  .replace(/{{(CERT|KEY)(64)?:(\\w+)}}/g, (_, kind, base64, name) => base64 ? Buffer.from(pems[kind + ":" + name]).toString("base64") : inJson(pems[kind + ":" + name]))
  .replace(/{{CONFIG\\.(\\w+)}}/g, (_, key) => String(config()[key]))
  .replace(/{{REPEAT:(.+?):(\\d+)}}/g, (_, text, times) => text.repeat(Number(times)))
  .replace(/{{EXECINFO}}/g, () => info);
const out = Buffer.concat([
  run.stdoutBase64 === undefined ? Buffer.from(filled(run.stdout || "")) : Buffer.from(run.stdoutBase64, "base64"),
  Buffer.alloc(run.padBytes || 0, 32),
]);
setTimeout(() => {
  if (run.holdStdoutMs) require("child_process").spawn("/bin/sleep", [String(run.holdStdoutMs / 1000)], { stdio: ["ignore", "inherit", "ignore"] }).unref();
  process.stderr.write(run.stderr || "");
  process.stdout.write(out, () => {
    if (run.signal) process.kill(process.pid, run.signal);
    else process.exit(run.exit || 0);
  });
}, run.sleepMs || 0);
`;

/** Puts the plugin of a case into an empty folder. `pems` has the certificates by `CERT:c1` and `KEY:c1`. */
export async function prepareRecordedPlugin(
  { input }: AccessCase,
  { root, pems, command }: PluginPlace,
): Promise<RecordedPlugin> {
  const state = join(root, "state");
  const cwd = join(root, "w", "cwd");
  await mkdir(state, { recursive: true });
  await mkdir(join(root, "p", "other"), { recursive: true });
  await mkdir(cwd, { recursive: true });
  await writeFile(join(state, "runs.json"), JSON.stringify({ runs: input["pluginRuns"], pems }));
  await writeFile(join(state, "offset"), "0");
  const special = textOf(input["pluginFile"]);
  const script = program(process.execPath, state);
  const usual = join(root, "p", "plugin");
  const here = join(cwd, command.includes("/") && !command.startsWith("/") ? command : "plugin");
  const place = special === "in the working directory" ? here : usual;
  if (special !== "missing") {
    await mkdir(dirname(place), { recursive: true });
    const content = { "empty file": "", "no interpreter line": "exit 0\n" }[special] ?? script;
    await writeFile(place, content);
    await chmod(place, special === "not executable" ? 0o644 : 0o755);
  }
  const other = join(root, "p", "other", "plugin");
  await writeFile(other, script);
  await chmod(other, 0o755);
  const runs = async (): Promise<readonly string[]> =>
    (await readdir(state)).filter((name) => name.startsWith("run") && !name.endsWith(".json"));
  return {
    root,
    runs: async () => (await runs()).length,
    setOffset: (ms) => writeFile(join(state, "offset"), String(ms)),
    inputs: async () =>
      Promise.all(
        (await runs()).toSorted().map(async (name) => inputOf(join(state, name, "input.json"))),
      ),
  };
}

interface PluginPlace {
  readonly root: string;
  readonly pems: Readonly<Record<string, string>>;
  /** As the provider file has it. */
  readonly command: string;
}

async function inputOf(file: string): Promise<PluginInput> {
  const seen = fieldsOf(JSON.parse(await readFile(file, "utf8")));
  return {
    args: listOf(seen["args"]).map(textOf),
    environ: listOf(seen["environ"]).map(textOf),
    cwd: textOf(seen["cwd"]),
    program: textOf(seen["program"]),
    stdin: textOf(seen["stdin"]),
  };
}
