import { type Component, operatorApiVersion } from "../../../api/component.ts";
import type { VerifySpec } from "../../../api/fleet-set.ts";
import { spokeNamespaceAnnotation } from "../../../installation/installation-namespace.ts";
import type { Verification } from "../../../sets/check-answer.ts";

const component: Component = {
  apiVersion: operatorApiVersion,
  kind: "KnativeServing",
  metadata: {
    namespace: "fleet",
    name: "prod-a",
    uid: "component-uid",
    resourceVersion: "1",
    annotations: { [spokeNamespaceAnnotation]: "knative-serving" },
  },
  spec: { clusterProfileRef: { namespace: "fleet", name: "a" } },
};

/** What the set `fleet/prod` asks about a cluster that got its revision at the first second of 1970. */
export function about(cluster: string, spec: VerifySpec): Verification {
  return {
    set: { kind: "KnativeServingSet", namespace: "fleet", name: "prod" },
    revision: "prod-1",
    stage: "canary",
    cluster,
    stamp: "12:00:00",
    since: 0,
    component,
    setUid: "set-uid",
    spec,
  };
}
