import type { VerifySpec } from "../../../api/fleet-set.ts";
import type { Verification } from "../../../sets/check-answer.ts";
import { serving } from "../../support/component.ts";

/** What the set `fleet/prod` asks about a cluster that got its revision at the first second of 1970. */
export function about(cluster: string, spec: VerifySpec): Verification {
  return {
    set: { kind: "KnativeServingSet", namespace: "fleet", name: "prod" },
    revision: "prod-1",
    stage: "canary",
    cluster,
    stamp: "12:00:00",
    since: 0,
    spec,
    component: serving(),
  };
}
