import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { FleetError } from "../../../api/errors.ts";
import type { Manifest } from "../../../api/kubernetes.ts";
import { services } from "../../../render/features/named-objects.ts";
import type { WorkloadOverride } from "../../../render/workloads/pod-template.ts";
import { deprecatedResources, workloads } from "../../../render/workloads/workloads.ts";
import { runsOf } from "../../support/fuzz.ts";
import { workload } from "../workload-objects.ts";

const probe = { httpGet: { path: "/", port: 8080 } };
const manifest = workload("a", {
  containers: [
    { name: "c", readinessProbe: probe, livenessProbe: probe, env: [{ name: "A", value: "0" }] },
    { name: "d", resources: { limits: { cpu: "1" } }, readinessProbe: probe },
  ],
});

const texts = fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), fc.constantFrom("1", "2"));
const container = fc.constantFrom("c", "d");
const listOf = (fields: Readonly<Record<string, fc.Arbitrary<unknown>>>) =>
  fc.array(fc.record({ container, ...fields }), { maxLength: 3 });
const envVars = fc.array(
  fc.record({ name: fc.constantFrom("A", "B", "C"), value: fc.constantFrom("1", "2") }),
  { maxLength: 3 },
);
const probes = listOf({ periodSeconds: fc.nat(2), terminationGracePeriodSeconds: fc.nat(1) });
const override = fc.record(
  {
    name: fc.constantFrom("a", "b"),
    replicas: fc.nat(3),
    labels: texts,
    annotations: texts,
    nodeSelector: texts,
    tolerations: fc.array(fc.record({ key: fc.constantFrom("x", "y") }), { maxLength: 2 }),
    hostNetwork: fc.boolean(),
    env: listOf({ envVars }),
    resources: listOf({ limits: texts, requests: texts }),
    readinessProbes: probes,
    livenessProbes: probes,
  },
  { requiredKeys: ["name"] },
);

/** What comes out. Which of several impossible probes is named is a matter of order, so an error is an error. */
function outcome(work: () => Manifest): unknown {
  try {
    return work();
  } catch (error) {
    if (error instanceof FleetError) return error.reason;
    throw error;
  }
}

const many = 20_000;
const times = <Value>(make: (index: number) => Value): readonly Value[] =>
  Array.from({ length: many }, (_, index) => make(index));

describe("many overrides of one object", () => {
  test("do together what they do one after the other", () => {
    const property = fc.property(fc.array(override, { maxLength: 4 }), (overrides) => {
      const all: readonly WorkloadOverride[] = JSON.parse(JSON.stringify(overrides));
      const together = outcome(() => workloads(all)(manifest));
      const inTurn = outcome(() => all.reduce((so, one) => workloads([one])(so), manifest));
      expect(together).toEqual(inTurn);
    });
    fc.assert(property, { numRuns: runsOf(12_000) });
  }, 300_000);

  // Each takes less than a second, or minutes where the work grows with the square of their number.
  test.each<{ field: string; make: (index: number) => Partial<WorkloadOverride> }>([
    { field: "labels", make: (index) => ({ labels: { [`l${index}`]: "v" } }) },
    { field: "annotations", make: (index) => ({ annotations: { [`l${index}`]: "v" } }) },
    { field: "nodeSelector", make: (index) => ({ nodeSelector: { [`l${index}`]: "v" } }) },
    {
      field: "env",
      make: (index) => ({
        env: [{ container: "c", envVars: [{ name: `E${index}`, value: "v" }] }],
      }),
    },
    {
      field: "resources",
      make: (index) => ({ resources: [{ container: "c", limits: { [`r${index}`]: "1" } }] }),
    },
    {
      field: "probes",
      make: (index) => ({ livenessProbes: [{ container: "c", periodSeconds: index + 1 }] }),
    },
    { field: "replicas", make: (index) => ({ replicas: index, hostNetwork: index % 2 === 0 }) },
  ])(
    `${many} of $field are applied in one go`,
    ({ make }) => {
      const changed = workloads(times((index) => ({ name: "a", ...make(index) })))(manifest);
      expect(changed).not.toBe(manifest);
    },
    60_000,
  );

  test(`${many} variables of one container, and resources of one, are set in one go`, () => {
    const vars = times((index) => ({ name: `E${index}`, value: "v" }));
    const changed = workloads([{ name: "a", env: [{ container: "c", envVars: vars }] }])(manifest);
    expect(JSON.stringify(changed)).toContain(`E${many - 1}`);
    const resources = times((index) => ({ container: `c${index}`, limits: { cpu: "1" } }));
    expect(deprecatedResources(resources, [])(manifest)).toBe(manifest);
  }, 60_000);

  test(`${many} of a Service are applied in one go`, () => {
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: {} };
    const overrides = times((index) => ({
      name: "s",
      labels: { [`l${index}`]: "v" },
      annotations: { [`l${index}`]: "v" },
      selector: { [`l${index}`]: "v" },
    }));
    expect(JSON.stringify(services(overrides)(service))).toContain(`l${many - 1}`);
  }, 60_000);
});
