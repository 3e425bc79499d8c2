const all = { name: "all", selector: {} };
const stages = (...list: readonly object[]) => ({ rollout: { stages: list } });
const rate = {
  name: "rate",
  noData: "Fail",
  prometheus: {
    service: { namespace: "monitoring", name: "prometheus", port: 9090, scheme: "http" },
    query: "up",
    max: 1,
  },
};
const checked = (changes: object) => ({
  rollout: { verify: { checks: [{ ...rate, ...changes }] } },
});

const gate = { url: "https://checks.example/gate" };
const named = (webhook: object) => ({
  rollout: { verify: { checks: [{ name: "gate", noData: "Fail", webhook }] } },
});

/** Wrong specs of sets that the rule `verify` refuses, each with a part of its line. */
export const verifyCases: readonly (readonly [rule: string, spec: object, line: string])[] = [
  [
    "verify",
    { rollout: { verify: { workloads: { within: "9999h" } } } },
    "422 spec.rollout.verify.workloads.within: must be a duration",
  ],
  [
    "verify",
    checked({ name: "workloads" }),
    '422 spec.rollout.verify.checks[0].name: "workloads" is the name of the check of verify.workloads',
  ],
  [
    "verify",
    checked({ interval: "5s" }),
    "422 spec.rollout.verify.checks[0].interval: must be at least 10s",
  ],
  ["verify", checked({ for: "9999h" }), "422 spec.rollout.verify.checks[0].for: must be"],
  [
    "verify",
    checked({ prometheus: { ...rate.prometheus, min: 3 } }),
    "422 spec.rollout.verify.checks[0].prometheus.min: must not be more than max, which is 1",
  ],
  [
    "verify",
    stages({ ...all, verify: { checks: [{ ...rate, interval: "1s" }] } }),
    "422 spec.rollout.stages[0].verify.checks[0].interval: must be at least 10s",
  ],
  [
    "verify",
    named({ url: "https://checks.example/a/../b" }),
    "422 spec.rollout.verify.checks[0].webhook.url: is not allowed: its path has a part that leads elsewhere",
  ],
  [
    "verify",
    named({ url: "https://checks.example/a#b" }),
    "422 spec.rollout.verify.checks[0].webhook.url: must not have a fragment",
  ],
  [
    "verify",
    checked({ prometheus: { url: "https://checks.example/?a=b", query: "up", max: 1 } }),
    "422 spec.rollout.verify.checks[0].prometheus.url: must not have a query",
  ],
  [
    "verify",
    named({ ...gate, caBundle: "QUJD" }),
    "422 spec.rollout.verify.checks[0].webhook.caBundle: must be certificates in PEM",
  ],
  [
    "verify",
    named({ ...gate, timeout: "16s" }),
    "422 spec.rollout.verify.checks[0].webhook.timeout: must be at most 15s",
  ],
  [
    "check-source",
    named({ url: "https://elsewhere.example/gate" }),
    '403 spec.rollout.verify.checks[0].webhook.url: "https://elsewhere.example/gate" is not below a --check-source; ask the operator of the hub to add it',
  ],
  [
    "check-source",
    stages({
      ...all,
      verify: {
        checks: [
          {
            ...rate,
            prometheus: { url: "https://checks.example:8443", query: "up", max: 1 },
          },
        ],
      },
    }),
    "403 spec.rollout.stages[0].verify.checks[0].prometheus.url: ",
  ],
];
