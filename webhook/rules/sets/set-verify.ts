import { isAllowedUrl, plainUrlOf } from "../../../access/urls/allowed-source.ts";
import type { CheckSpec, VerifySpec } from "../../../api/fleet-set.ts";
import { goDurationMs } from "../../../api/go-duration.ts";
import { leastIntervalMs, mostWebhookMs, workloadsCheck } from "../../../sets/verify.ts";
import { below, type Problem, problemIf, quoteValue } from "../rule.ts";
import { durationProblems } from "./set-rollout.ts";
import type { NeededRight, SetCheck, SetSubject } from "./set-rule.ts";

const at = below("spec", "rollout");

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
