import {
  type KnativeEventing,
  type KnativeServing,
  operatorApiVersion,
} from "../../api/component.ts";

interface Rest {
  readonly namespace?: string;
  /** `status.version`. */
  readonly installed?: string;
}

export function serving(spec: KnativeServing["spec"] = {}, rest: Rest = {}): KnativeServing {
  return { kind: "KnativeServing", ...common("knative-serving", rest), spec };
}

export function eventing(spec: KnativeEventing["spec"] = {}, rest: Rest = {}): KnativeEventing {
  return { kind: "KnativeEventing", ...common("knative-eventing", rest), spec };
}

function common(name: string, { namespace = name, installed }: Rest) {
  return {
    apiVersion: operatorApiVersion,
    metadata: { name, namespace, uid: "u-1", resourceVersion: "1" },
    ...(installed === undefined ? {} : { status: { version: installed } }),
  } as const;
}
