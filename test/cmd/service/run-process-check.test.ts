import { expect, test } from "vitest";

import { processProblem } from "../../../cmd/service/run.ts";

const pod = { KUBERNETES_SERVICE_HOST: "10.0.0.1" };
const plain = { environment: pod, execArgv: [], inspectorUrl: undefined };

test.each([
  "--inspect",
  "--inspect=0.0.0.0:9229",
  "--inspect-brk",
  "--inspect-wait=1",
  "--heapsnapshot-signal=SIGUSR2",
  "--heapsnapshot_near_heap_limit=3",
  "--heap-prof",
  "--cpu-prof-dir=/tmp",
  "--report-on-signal",
  "--abort-on-uncaught-exception",
  "--tls-keylog=/tmp/keys",
  "--require=/tmp/a.js",
  "-r /tmp/a.js",
  "--import /tmp/a.js",
  "'--import' /tmp/a.js",
  "--openssl-config=/tmp/a",
])("in a pod the process does not start with NODE_OPTIONS %s (T-46)", (option) => {
  const environment = { ...pod, NODE_OPTIONS: `--max-old-space-size=256 ${option}` };
  expect(processProblem({ ...plain, environment })).toContain("Node was given -");
  expect(processProblem({ ...plain, execArgv: option.split(" ") })).toContain("Node was given -");
  // On somebody's own machine it is how bugs are found.
  expect(processProblem({ ...plain, environment: { NODE_OPTIONS: option } })).toBeUndefined();
});

test("in a pod a debugger that listens however it began is refused (T-46)", () => {
  const inspectorUrl = "ws://127.0.0.1:9229/1";
  expect(processProblem({ ...plain, inspectorUrl })).toContain("debugger");
  expect(processProblem({ ...plain, environment: {}, inspectorUrl })).toBeUndefined();
});

test.each(["", "--max-old-space-size=256", "--disable-sigusr1", "--enable-source-maps"])(
  "ordinary options are fine: %s",
  (options) => {
    const environment = { ...pod, NODE_OPTIONS: options };
    expect(processProblem({ ...plain, environment })).toBeUndefined();
  },
);

test.each(["0", "1"])("NODE_TLS_REJECT_UNAUTHORIZED=%s is refused everywhere (T-13)", (value) => {
  const environment = { NODE_TLS_REJECT_UNAUTHORIZED: value };
  expect(processProblem({ ...plain, environment })).toContain("unset it");
});
