import { describe, expect, test } from "vitest";

import type { Attempt } from "../../../../webhook/reviews/access-review.ts";
import { linesOf } from "../../component-stage.ts";
import { goodSpec, reviewSet, writtenSet } from "./set-stage.ts";

const container = { name: "smoke", image: "example.com/smoke:1" };

function rolloutWith(job: object, changes: object = {}) {
  return { verify: { checks: [{ name: "smoke", noData: "Fail", job, ...changes }] } };
}

/** A Job whose pod has these fields besides. */
function jobOf(pod: object = {}, changes: object = {}) {
  const spec = { containers: [container], restartPolicy: "Never", ...pod };
  return { activeDeadlineSeconds: 60, backoffLimit: 0, template: { spec }, ...changes };
}

const withContainer = (fields: object) => jobOf({ containers: [{ ...container, ...fields }] });
const withSecurity = (securityContext: object) => withContainer({ securityContext });
const prefix = "422 spec.rollout.verify.checks[0]";
const pod = `${prefix}.job.template.spec`;
const inContainer = `${pod}.containers[0]`;

async function linesFor(job: object, changes: object = {}): Promise<readonly string[]> {
  const spec = { ...goodSpec, rollout: rolloutWith(job, changes) };
  return linesOf(await reviewSet(writtenSet(spec)));
}

test("a Job with all that it may have is taken", async () => {
  const securityContext = {
    allowPrivilegeEscalation: false,
    capabilities: { drop: ["ALL"] },
    privileged: false,
    readOnlyRootFilesystem: true,
    runAsNonRoot: true,
    runAsUser: 1_000,
    seccompProfile: { type: "RuntimeDefault" },
  };
  const full = {
    ...container,
    command: ["sh"],
    args: ["-c", "exit 0"],
    env: [{ name: "A", value: "b" }],
    resources: { limits: { cpu: "1" }, requests: { memory: "64Mi" } },
    volumeMounts: [{ name: "work", mountPath: "/work" }],
    securityContext,
  };
  const job = jobOf({
    containers: [full],
    automountServiceAccountToken: false,
    hostNetwork: false,
    imagePullSecrets: [{ name: "registry" }],
    nodeSelector: { pool: "small" },
    securityContext: { fsGroup: 1_000, runAsNonRoot: true },
    serviceAccountName: "default",
    tolerations: [{ key: "small", operator: "Exists" }],
    volumes: [{ name: "work", emptyDir: { sizeLimit: "1Mi" } }],
  });
  expect(await linesFor(job)).toEqual([]);
});

test.each([
  [
    "a ServiceAccount",
    jobOf({ serviceAccountName: "controller" }),
    `${pod}.serviceAccountName: must be one of default`,
  ],
  [
    "a token",
    jobOf({ automountServiceAccountToken: true }),
    `${pod}.automountServiceAccountToken: must be one of false`,
  ],
  [
    "the network of the node",
    jobOf({ hostNetwork: true }),
    `${pod}.hostNetwork: must be one of false`,
  ],
  ["the processes of the node", jobOf({ hostPID: true }), `${pod}.hostPID: must be one of false`],
  ["the IPC of the node", jobOf({ hostIPC: true }), `${pod}.hostIPC: must be one of false`],
  [
    "a folder of the node",
    jobOf({ volumes: [{ name: "a", hostPath: { path: "/" } }] }),
    `${pod}.volumes[0].emptyDir: is required`,
  ],
  [
    "a Secret as a volume",
    jobOf({ volumes: [{ name: "a", secret: { secretName: "b" } }] }),
    `${pod}.volumes[0].emptyDir: is required`,
  ],
  [
    "a projected token",
    jobOf({ volumes: [{ name: "a", projected: {} }] }),
    `${pod}.volumes[0].emptyDir: is required`,
  ],
  [
    "a Secret as a variable",
    withContainer({ env: [{ name: "A", valueFrom: { secretKeyRef: { name: "b", key: "c" } } }] }),
    `${inContainer}.env[0].value: is required`,
  ],
  [
    "a Secret as variables",
    withContainer({ envFrom: [{ secretRef: { name: "b" } }] }),
    `${inContainer}.envFrom: must NOT have more than 0 items`,
  ],
  [
    "privileges",
    withSecurity({ privileged: true }),
    `${inContainer}.securityContext.privileged: must be one of false`,
  ],
  [
    "more rights",
    withSecurity({ allowPrivilegeEscalation: true }),
    `${inContainer}.securityContext.allowPrivilegeEscalation: must be one of false`,
  ],
  [
    "capabilities",
    withSecurity({ capabilities: { add: ["NET_ADMIN"] } }),
    `${inContainer}.securityContext.capabilities.add: must NOT have more than 0 items`,
  ],
  [
    "all system calls",
    withSecurity({ seccompProfile: { type: "Unconfined" } }),
    `${inContainer}.securityContext.seccompProfile.type: must be one of RuntimeDefault`,
  ],
  [
    "another restart policy",
    jobOf({ restartPolicy: "OnFailure" }),
    `${pod}.restartPolicy: must be one of Never`,
  ],
  [
    "no container",
    jobOf({ containers: [] }),
    `${pod}.containers: must NOT have fewer than 1 items`,
  ],
  [
    "five containers",
    jobOf({ containers: Array.from({ length: 5 }, () => container) }),
    `${pod}.containers: must NOT have more than 4 items`,
  ],
  [
    "more than an hour",
    jobOf({}, { activeDeadlineSeconds: 3_601 }),
    `${prefix}.job.activeDeadlineSeconds: must be <= 3600`,
  ],
  ["many retries", jobOf({}, { backoffLimit: 7 }), `${prefix}.job.backoffLimit: must be <= 6`],
  ["no template", { activeDeadlineSeconds: 60 }, `${prefix}.job.template: is required`],
  [
    "more than 16 KiB",
    withContainer({ args: ["x".repeat(17_000)] }),
    `${prefix}.job: must not be larger than 16 KiB`,
  ],
])("a Job with %s is refused", async (_name, job, line) => {
  const lines = await linesFor(job);
  expect(lines).toEqual([expect.stringContaining(line)]);
});

test.each([["for"], ["interval"]])("%s does not go with a Job", async (field) => {
  expect(await linesFor(jobOf(), { [field]: "30s" })).toEqual([
    `${prefix}.${field}: does not go with a job`,
  ]);
});

/** Whether the right to run Jobs is asked for, as `verb resource.group namespace/name`. */
async function askedFor(spec: object, before?: object): Promise<readonly string[]> {
  const asked: string[] = [];
  const may = (_user: string, { verb, resource, group, namespace, name }: Attempt) => {
    asked.push(`${verb} ${resource}.${group} ${namespace}/${name}`);
    return true;
  };
  const request = before === undefined ? writtenSet(spec) : writtenSet(spec, { before });
  await reviewSet(request, { may });
  return asked.filter((one) => one.startsWith("run-jobs"));
}

describe("the right to run Jobs", () => {
  const right = "run-jobs knativeservingsets.knfleet.dev platform/prod";

  const plain = { ...goodSpec, rollout: { order: "Name" } };
  const withJob = { ...goodSpec, rollout: rolloutWith(jobOf()) };
  const stage = { name: "all", selector: {} };
  const inStage = { ...goodSpec, rollout: { stages: [{ ...stage, ...rolloutWith(jobOf()) }] } };

  test.each([
    ["a new set", withJob, undefined, [right]],
    ["a new set with one in a stage", inStage, undefined, [right]],
    ["a set that gets one", withJob, plain, [right]],
    [
      "another Job",
      { ...goodSpec, rollout: rolloutWith(jobOf({ nodeSelector: { a: "b" } })) },
      withJob,
      [right],
    ],
    [
      "other clusters",
      { ...withJob, clusters: { from: "Selector", selector: {} } },
      withJob,
      [right],
    ],
    [
      "other clusters of a stage",
      {
        ...goodSpec,
        rollout: {
          stages: [{ ...stage, selector: { matchLabels: { a: "b" } }, ...rolloutWith(jobOf()) }],
        },
      },
      inStage,
      [right],
    ],
    ["a template", { ...withJob, template: {} }, withJob, []],
    [
      "another part of the rollout",
      { ...goodSpec, rollout: { ...rolloutWith(jobOf()), paused: true } },
      withJob,
      [],
    ],
    ["a set without one", plain, undefined, []],
    ["a set that loses one", plain, withJob, []],
  ])("%s", async (_name, spec, before, expected) => {
    expect(await askedFor(spec, before)).toEqual(expected);
  });

  test.each([
    [
      false,
      'user "alice" may not "run-jobs" on the clusters of KnativeServingSet "platform/prod"',
      "403",
    ],
    [new Error("no answer"), 'the SubjectAccessReview for the right to "run-jobs" on', "500"],
  ])("without it (%s) the set is refused", async (answer, said, code) => {
    const may = (_user: string, { verb }: Attempt) => (verb === "run-jobs" ? answer : true);
    expect(linesOf(await reviewSet(writtenSet(withJob), { may }))).toEqual([
      expect.stringContaining(`${code} spec.rollout.verify.checks[0].job: ${said}`),
    ]);
  });
});
