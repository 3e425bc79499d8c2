import { isAllowedUrl, plainUrlOf } from "../../../access/urls/allowed-source.ts";
import { isSameJson, recordAt } from "../../../api/fields.ts";
import { type CheckSpec, fleetSetKinds, type VerifySpec } from "../../../api/fleet-set.ts";
import { goDurationMs } from "../../../api/go-duration.ts";
import { leastIntervalMs, mostWebhookMs, workloadsCheck } from "../../../sets/verify.ts";
import { below, elementsOf, type Fields, type Problem, problemIf, quoteValue } from "../rule.ts";
import { durationProblems } from "./set-rollout.ts";
import type { NeededRight, SetCheck, SetSubject } from "./set-rule.ts";

const at = below("spec", "rollout");
const maxJobBytes = 16 * 1_024;

/** All `verify` of a spec, each with its path. */
function verifiesOf({ rollout }: SetSubject["spec"]): readonly (readonly [VerifySpec, string])[] {
  const { verify: ofAll, stages = [] } = rollout ?? {};
  const all: readonly (readonly [VerifySpec | undefined, string])[] = [
    [ofAll, below(at, "verify")],
    ...stages.map(({ verify: own }, index) => [own, below(at, "stages", index, "verify")] as const),
  ];
  return all.flatMap(([one, path]) => (one === undefined ? [] : [[one, path] as const]));
}

/** All checks of a spec, each with its path. */
function checksIn(spec: SetSubject["spec"]): readonly (readonly [CheckSpec, string])[] {
  return verifiesOf(spec).flatMap(([{ checks = [] }, path]) =>
    checks.map((check, index) => [check, below(path, "checks", index)] as const),
  );
}

/** The servers behind URLs that a check names, each with its path. */
function serversOf({ prometheus, webhook }: CheckSpec, path: string) {
  const named = [
    [prometheus, below(path, "prometheus")],
    [webhook, below(path, "webhook")],
  ] as const;
  return named.flatMap(([server, where]) => {
    if (server?.url === undefined) return [];
    const { url, caBundle, secretName } = server;
    return [{ url, caBundle, secretName, where, isPrometheus: server === prometheus }];
  });
}

/** Refuses checks of a rollout that can never be good, and a name that is taken. */
export const verify: SetCheck = ({ spec }) => [
  ...verifiesOf(spec).flatMap(([{ workloads }, path]) =>
    durationProblems(workloads?.within, below(path, "workloads", "within")),
  ),
  ...checksIn(spec).flatMap(([check, where]) => checkProblems(check, where)),
];

function checkProblems(check: CheckSpec, where: string): readonly Problem[] {
  const { min = -Infinity, max = Infinity } = check.prometheus ?? {};
  const timeout = below(where, "webhook", "timeout");
  const intervalMs = goDurationMs(check.interval ?? "") ?? leastIntervalMs;
  return [
    ...durationProblems(check.for, below(where, "for")),
    ...durationProblems(check.interval, below(where, "interval")),
    ...durationProblems(check.webhook?.timeout, timeout),
    ...problemIf(
      intervalMs < leastIntervalMs,
      below(where, "interval"),
      `must be at least ${leastIntervalMs / 1_000}s`,
    ),
    ...problemIf(
      (goDurationMs(check.webhook?.timeout ?? "") ?? 0) > mostWebhookMs,
      timeout,
      `must be at most ${mostWebhookMs / 1_000}s`,
    ),
    ...problemIf(
      check.name === workloadsCheck,
      below(where, "name"),
      `${quoteValue(workloadsCheck)} is the name of the check of verify.workloads`,
    ),
    ...problemIf(
      min > max,
      below(where, "prometheus", "min"),
      `must not be more than max, which is ${max}`,
    ),
    ...serversOf(check, where).flatMap(serverProblems),
    ...(check.job === undefined ? [] : jobProblems(check, where)),
  ];
}

/** A Job runs once, so that nothing is asked again. */
function jobProblems(check: CheckSpec, where: string): readonly Problem[] {
  const bytes = Buffer.byteLength(JSON.stringify(check.job));
  return [
    ...(["for", "interval"] as const).flatMap((field) =>
      problemIf(check[field] !== undefined, below(where, field), "does not go with a job"),
    ),
    ...problemIf(
      bytes > maxJobBytes,
      below(where, "job"),
      `must not be larger than 16 KiB (is ${bytes} bytes)`,
    ),
  ];
}

function serverProblems({
  url,
  caBundle,
  where,
  isPrometheus,
}: ReturnType<typeof serversOf>[number]): readonly Problem[] {
  const plain = plainUrlOf(url);
  const path = below(where, "url");
  const pem = Buffer.from(caBundle ?? "", "base64").toString();
  return [
    ...(typeof plain === "string" ? [{ path, message: `is not allowed: ${plain}` }] : []),
    ...problemIf(url.includes("#"), path, "must not have a fragment"),
    ...problemIf(isPrometheus && url.includes("?"), path, "must not have a query"),
    ...problemIf(
      caBundle !== undefined && !pem.includes("-----BEGIN CERTIFICATE-----"),
      below(where, "caBundle"),
      "must be certificates in PEM, base64-encoded",
    ),
  ];
}

/** Checks ask servers that the operator of the hub allows. Security: T-31. */
export const checkSource: SetCheck = ({ spec }, { checkSources }) => {
  if (checkSources === undefined) return [];
  return checksIn(spec)
    .flatMap(([check, path]) => serversOf(check, path))
    .flatMap(({ url, where }) =>
      problemIf(
        typeof plainUrlOf(url) !== "string" && !isAllowedUrl(url, checkSources),
        below(where, "url"),
        `${quoteValue(url)} is not below a --check-source; ask the operator of the hub to add it`,
      ),
    );
};

/** The right to read each Secret that a check uses: else the controller would send it for somebody who may not see it. All of them, because another URL is another receiver. */
export function rightsToUseSecrets({ spec, namespace }: SetSubject): readonly NeededRight[] {
  const place = { group: "", resource: "secrets", namespace };
  const needed = checksIn(spec)
    .flatMap(([check, path]) => serversOf(check, path))
    .flatMap(({ secretName: name, where }): readonly NeededRight[] => {
      if (name === undefined) return [];
      const deed = `get Secret ${quoteValue(name)} in namespace ${quoteValue(namespace)}`;
      return [{ path: below(where, "secretName"), attempt: { verb: "get", ...place, name }, deed }];
    });
  return [...new Map(needed.map((right) => [right.attempt.name, right])).values()];
}

/** The right to run the Jobs of checks, for a change of the checks or of the clusters that are asked them: the controller runs them with its own rights on the clusters. Security: T-33. */
export function rightsToRunJobs({
  kind,
  namespace,
  name,
  spec,
  before,
  changed,
}: SetSubject): readonly NeededRight[] {
  const first = checksIn(spec).find(([{ job }]) => job !== undefined);
  if (first === undefined) return [];
  const isSame = before !== undefined && isSameJson(questionsIn(before), questionsIn(spec));
  if (isSame && !changed.clusters) return [];
  const resource = fleetSetKinds[kind].plural;
  const place = { group: "knfleet.dev", resource, namespace };
  return [
    {
      path: below(first[1], "job"),
      attempt: { verb: "run-jobs", ...place, ...(name === "" ? {} : { name }) },
      deed: `"run-jobs" on the clusters of ${kind} ${quoteValue(`${namespace}/${name}`)}`,
    },
  ];
}

/** What a spec asks, and of which clusters. */
function questionsIn(spec: Fields): unknown {
  const { verify: ofAll = null, stages } = recordAt(spec, "rollout");
  const ofStages = elementsOf(stages, "").map(
    ([{ selector = null, decisionGroup = null, verify: own = null }]) => [
      selector,
      decisionGroup,
      own,
    ],
  );
  return [ofAll, ofStages];
}
