/** What is known of our own process. */
export interface ProcessFacts {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Options that Node itself was given on the command line. */
  readonly execArgv: readonly string[];
  /** Address of a debugger that listens, if one does. */
  readonly inspectorUrl: string | undefined;
}

// They show memory with everybody's credentials, run foreign code in it, or take the verification of servers away.
const openOptions =
  /^--?(?:inspect|heapsnapshot|heap-?prof|cpu-?prof|diagnostic-dir|report-|abort-on-uncaught|tls-keylog|trace-tls|require$|r$|import$|loader$|experimental-loader$|openssl-|insecure-http-parser)/;

/**
 * Why a process with credentials must not run like this, as a sentence; undefined when it may. Debuggers and the like are refused in
 * a pod alone: on somebody's own machine they are how bugs are found. Spec: security.md T-13, T-46.
 */
export function processProblem(facts: ProcessFacts): string | undefined {
  const { environment, execArgv, inspectorUrl } = facts;
  if ((environment["NODE_TLS_REJECT_UNAUTHORIZED"] ?? "") !== "") {
    return "NODE_TLS_REJECT_UNAUTHORIZED is set; API servers have to be verified, so unset it";
  }
  if ((environment["KUBERNETES_SERVICE_HOST"] ?? "") === "") return undefined;
  const given = [...execArgv, ...(environment["NODE_OPTIONS"] ?? "").split(/\s+/)];
  const [name] = given
    .map((option) => option.replaceAll(/["']/g, "").split("=", 1)[0] ?? "")
    .filter((option) => openOptions.test(option.replaceAll("_", "-")));
  if (name !== undefined) {
    return `Node was given ${name}, which opens a process with credentials; take it out of NODE_OPTIONS and the command`;
  }
  return inspectorUrl === undefined
    ? undefined
    : "A debugger listens in a process with credentials";
}
