import type { ComponentKey } from "../../api/component.ts";
import { operatorApiVersion } from "../../api/component.ts";
import type { ObjectKey } from "../../api/kubernetes.ts";

/** A component of the main job: where it goes, and the file that a person would write. */
export interface DemoComponent {
  readonly key: ComponentKey & ObjectKey;
  /** `kubectl get` name: type/name. */
  readonly argument: string;
  readonly spoke: string;
  readonly file: string;
  readonly yaml: string;
}

/** Knative Serving with Kourier, on the first spoke. */
export const serving: DemoComponent = {
  key: keyOf("KnativeServing", "knative-serving"),
  argument: "knativeserving/knative-serving",
  spoke: "spoke-1",
  file: "serving.yaml",
  yaml: `apiVersion: operator.knative.dev/v1beta1
kind: KnativeServing
metadata: { name: knative-serving, namespace: knative-serving }
spec:
  version: "1.23"
  clusterProfileRef: { name: spoke-1, namespace: fleet }
  ingress: { kourier: { enabled: true } }
  config:
    network: { ingress-class: kourier.ingress.networking.knative.dev }
`,
};

/** Knative Eventing, on the second spoke. */
export const eventing: DemoComponent = {
  key: keyOf("KnativeEventing", "knative-eventing"),
  argument: "knativeeventing/knative-eventing",
  spoke: "spoke-2",
  file: "eventing.yaml",
  yaml: `apiVersion: operator.knative.dev/v1beta1
kind: KnativeEventing
metadata: { name: knative-eventing, namespace: knative-eventing }
spec:
  version: "1.23"
  clusterProfileRef: { name: spoke-2, namespace: fleet }
`,
};

function keyOf(kind: ComponentKey["kind"], name: string): ComponentKey & ObjectKey {
  return { apiVersion: operatorApiVersion, kind, namespace: name, name };
}
