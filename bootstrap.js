// Installs what is missing and goes on under the pinned Node 24. This file alone is read by the Node that a machine
// happens to have, from 20 on, before anything is installed: plain JavaScript, no dependencies.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { constants, tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL(".", import.meta.url));
const modules = join(root, "node_modules");
const bin = join(modules, ".bin");
const node24 = join(bin, "node");
const stamp = join(modules, ".knfleet-installed");

const quiet = ["--no-audit", "--no-fund", "--no-progress"];

const usage = `Usage: node bootstrap.js COMMAND [ARGUMENTS]

  install              dependencies, where they are missing or package-lock.json changed
  test                 installs, prepares releases, runs all tests; builds the test fleet meanwhile
  test ARGUMENTS       installs, prepares releases, runs vitest with these arguments
  demo [ARGUMENTS]     installs, runs test/demo/demo.ts
  bench [ARGUMENTS]    installs, runs test/performance/bench.ts
  faults [ARGUMENTS]   installs, runs test/faults/faults.ts
  run FILE [ARGUMENTS] installs, runs a file under the pinned Node
`;

/** A failure that the user is told in one message, without a stack. */
class Failure extends Error {}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof Failure)) throw error;
  say(`Error: ${error.message}`);
  process.exitCode = 1;
}

async function main([command, ...args]) {
  if (command === "--help" || command === "-h") {
    process.stdout.write(usage);
    return 0;
  }
  const start = commandNamed(command, args);
  refuseOldNode();
  await install();
  return start();
}

function commandNamed(command, args) {
  const run = (file, rest = args) => node([file, ...rest], process.cwd());
  if (command === "install") return () => 0;
  if (command === "test") return () => test(args);
  if (command === "demo") return () => run(join(root, "test", "demo", "demo.ts"));
  if (command === "bench") return () => run(join(root, "test", "performance", "bench.ts"));
  if (command === "faults") return () => run(join(root, "test", "faults", "faults.ts"));
  if (command === "run" && args.length > 0) return () => run(args[0], args.slice(1));
  throw new Failure(
    `${command === undefined ? "No command" : `Wrong command ${command}`}\n\n${usage}`,
  );
}

async function test(args) {
  // Whoever names some tests may not need a fleet; those that do build what they miss.
  const fleet = args.length === 0 ? prepareFleet() : undefined;
  const releases = await script(join("cmd", "releases.ts"));
  if (releases.code > 128) return releases.code;
  // Tests that need Knative's release files are left out then, for this reason (test/support/needs.ts).
  if (releases.code !== 0) process.env.KNFLEET_RELEASES_PROBLEM = lastErrorIn(releases.output);
  return withTestRecord(() => (fleet === undefined ? vitestAndAgain(args) : testAll(fleet)));
}

/** Builds the programs of the fleet beside the tests that do not need them. */
function prepareFleet() {
  return script(join("test", "fleet", "prepare.ts"), {
    onFirstOutput: () => say("The tests without a fleet run while its programs are built"),
  });
}

async function testAll(fleet) {
  const first = await vitest(["--project", "unit"], { KNFLEET_TESTS_FOLLOW: "1" });
  if (first > 128) return first;
  const { code, output } = await fleet;
  if (code > 128) return code;
  if (code !== 0) {
    say(`The tests that need the programs of the fleet did not run: ${lastErrorIn(output)}`);
    return code;
  }
  const others = ["--project", "!unit"];
  if (first === 0) return vitestAndAgain(others);
  // A unit test that failed is no accident of a busy machine.
  return Math.max(first, await vitest(others));
}

/** With KNFLEET_RETRY runs the test files that failed on real clusters once more, on clusters of their own; the count reporter decides which. */
async function vitestAndAgain(args) {
  const code = await vitest(args);
  const { files = [] } = JSON.parse(textOf(process.env.KNFLEET_TEST_RECORD) ?? "{}");
  if (!process.env.KNFLEET_RETRY || code !== 1 || files.length === 0) return code;
  say(`Trying again on fresh clusters: ${files.join(", ")}`);
  return vitest(["--project", "fleet", ...files]);
}

/** Names a file in which each run of the tests leaves its counts for the next one, which counts all (test/support/count-reporter.ts). */
async function withTestRecord(run) {
  const folder = mkdtempSync(join(tmpdir(), "knfleet-test-"));
  process.env.KNFLEET_TEST_RECORD = join(folder, "record.json");
  try {
    return await run();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Runs a file of the project to its end, if this project has it, and gives its exit code and what it said, which is shown, too. */
async function script(file, { onFirstOutput = () => {} } = {}) {
  const output = [];
  if (!existsSync(join(root, file))) return { code: 0, output: "" };
  const code = await node([join(root, file)], root, {
    onOutput: (text) => {
      if (output.length === 0) onFirstOutput();
      output.push(text);
      process.stderr.write(text);
    },
  });
  return { code, output: output.join("") };
}

function lastErrorIn(output) {
  return (
    output
      .match(/^Error: (.*)$/gm)
      ?.at(-1)
      ?.slice("Error: ".length) ?? output.trim()
  );
}

function vitest(args, env) {
  return node([join(modules, "vitest", "vitest.mjs"), "run", ...args], root, { env });
}

function refuseOldNode() {
  if (Number(process.versions.node.split(".")[0]) >= 20) return;
  throw new Failure(
    `Node ${process.versions.node} is too old to start with; install Node 20 or newer (Node 24 itself comes with the dependencies)`,
  );
}

// --- installing

async function install() {
  const lock = readFileSync(join(root, "package-lock.json"), "utf8");
  const wanted = createHash("sha256")
    .update(`${process.platform} ${process.arch} ${lock}`)
    .digest("hex");
  if (textOf(stamp) === wanted) return;
  const present = isInstalled(JSON.parse(lock));
  if (!present || !existsSync(node24)) await installing(present ? bringNode : npmCi);
  writeFileSync(stamp, wanted);
}

/** True when npm's own record of node_modules has every package of the lock: somebody ran `npm ci` by hand. */
function isInstalled(lock) {
  const record = textOf(join(modules, ".package-lock.json"));
  if (record === undefined) return false;
  const present = JSON.parse(record).packages;
  return Object.entries(lock.packages).every(
    ([path, wanted]) =>
      path === "" ||
      wanted.optional === true ||
      wanted.devOptional === true ||
      present[path]?.version === wanted.version,
  );
}

async function npmCi() {
  // Flags win over what `npm test --silent`, NODE_ENV=production and a user's .npmrc would change.
  await npm(["ci", "--include=dev", "--loglevel=error", ...quiet]);
  if (!existsSync(node24)) await bringNode();
}

/**
 * .npmrc lets no package run a script of its own: a stolen package would run on the machine of everybody who installs. The package `node` is the exception, by its name: it holds no
 * Node, and its script installs the package with the one of this platform.
 */
async function bringNode() {
  const output = await npm([
    "rebuild",
    "node",
    "--ignore-scripts=false",
    "--loglevel=error",
    ...quiet,
  ]);
  if (existsSync(node24)) return;
  throw new Failure(
    `Node 24 was not installed with the dependencies by the script of the package \`node\`:\n${output}`,
  );
}

async function installing(work) {
  const startedAt = Date.now();
  const elapsed = () => `${Math.round((Date.now() - startedAt) / 1000)} s`;
  say(`Installing dependencies (npm ${work === npmCi ? "ci" : "rebuild node"})`);
  const ticker = setInterval(() => say(`Still installing dependencies, ${elapsed()}`), 5000);
  try {
    await work();
  } finally {
    clearInterval(ticker);
  }
  say(`Installed dependencies, ${elapsed()}`);
}

/** Runs npm to its end and gives what it said. */
async function npm(args) {
  const output = [];
  const [command, ...first] = npmCommand();
  const options = { cwd: root, onOutput: (text) => output.push(text) };
  const code = await runChild(command, [...first, ...args], options);
  const said = output.join("").trim();
  if (code > 128) throw new Failure("Interrupted while installing dependencies");
  if (code !== 0) throw new Failure(`\`npm ${args[0]}\` failed with exit code ${code}:\n${said}`);
  return said;
}

// Under `npm test` it is the npm that runs this, also where it is on no PATH.
function npmCommand() {
  const running = process.env.npm_execpath;
  return running !== undefined && basename(running) === "npm-cli.js"
    ? [process.execPath, running]
    : ["npm"];
}

// --- child processes

function node(args, cwd, options) {
  return runChild(node24, args, { cwd, ...options });
}

/**
 * Runs a command to its end and gives its exit code, 128 + n when a signal ended it. Signals to this process are passed on.
 * With `onOutput` its output goes there, else to the terminal.
 */
function runChild(command, args, { cwd, onOutput, env }) {
  const PATH = [bin, process.env.PATH].filter(Boolean).join(delimiter);
  const stdio = onOutput === undefined ? "inherit" : ["ignore", "pipe", "pipe"];
  const child = spawn(command, args, { cwd, stdio, env: { ...process.env, ...env, PATH } });
  if (onOutput !== undefined) {
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", onOutput);
  }
  const stopPassing = passSignalsTo(child);
  return new Promise((resolve, reject) => {
    child.once("error", (error) => {
      stopPassing();
      reject(new Failure(cannotStart(command, error)));
    });
    child.once("close", (code, signal) => {
      stopPassing();
      resolve(signal === null ? code : 128 + constants.signals[signal]);
    });
  });
}

function passSignalsTo(child) {
  const handlers = ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => {
    const pass = () => {
      // Ctrl-C in a terminal reaches every process of the group by itself; a second one would read as impatience.
      if (name !== "SIGINT" || process.stdin.isTTY !== true) child.kill(name);
    };
    process.on(name, pass);
    return () => process.off(name, pass);
  });
  return () => {
    for (const stop of handlers) stop();
  };
}

function cannotStart(command, error) {
  if (command === "npm" && error.code === "ENOENT") {
    return "npm is missing: install Node 20 or newer together with npm, and have `npm` on PATH";
  }
  return `Cannot start ${command}: ${error.message}`;
}

function textOf(path) {
  return existsSync(path) ? readFileSync(path, "utf8") : undefined;
}

function say(line) {
  process.stderr.write(`${line}\n`);
}
