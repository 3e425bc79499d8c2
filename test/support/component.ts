import {
  operatorApiVersion,
  type ComponentStatus,
  type KnativeServing,
} from "../../api/component.ts";
import type { ObjectMeta } from "../../api/kubernetes.ts";

interface ServingOptions {
  readonly metadata?: Partial<ObjectMeta>;
  readonly spec?: KnativeServing["spec"];
  readonly status?: ComponentStatus;
}

/** A KnativeServing as the hub stores it. */
export function serving({ metadata = {}, spec = {}, status }: ServingOptions = {}): KnativeServing {
  const { namespace = "knative-serving", name = "knative-serving" } = metadata;
  const { uid = "c0ffee00-0000-4000-8000-000000000001", resourceVersion = "1" } = metadata;
  return {
    apiVersion: operatorApiVersion,
    kind: "KnativeServing",
    metadata: {
      generation: 1,
      creationTimestamp: "2026-01-01T00:00:00Z",
      ...metadata,
      namespace,
      name,
      uid,
      resourceVersion,
    },
    spec,
    ...(status === undefined ? {} : { status }),
  };
}
