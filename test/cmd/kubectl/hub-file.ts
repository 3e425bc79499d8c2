import type { KubeObject } from "../../../api/kubernetes.ts";
import { recordedBinding } from "./controller-binding.ts";

const label = "knfleet.dev/access-providers";

/** A provider of a provider file, as far as it matters here. */
export interface Provider {
  readonly name: string;
  readonly command: string;
  readonly args?: readonly string[];
  readonly maxConcurrency?: number;
  readonly env?: readonly { readonly name: string; readonly value: string }[];
}

/** A provider file whose servers may be plain HTTP. */
export function fileOf(...providers: readonly Provider[]): string {
  const list = providers.map(({ name, command, args = [], env = [], maxConcurrency }) => ({
    name,
    maxConcurrency,
    allowInsecure: true,
    execConfig: {
      apiVersion: "client.authentication.k8s.io/v1",
      command,
      args,
      env,
      provideClusterInfo: true,
    },
  }));
  return JSON.stringify({ providers: list });
}

interface MapPlan {
  readonly name?: string;
  readonly namespace?: string;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly data?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
}

/** The ConfigMap in which the chart keeps it. */
export function configMap({ data = {}, ...plan }: MapPlan): KubeObject {
  const { name = "knfleet-providers", namespace = "knfleet-system" } = plan;
  const { annotations = {}, labels = { [label]: "" } } = plan;
  const metadata = { name, namespace, labels, annotations, uid: name, resourceVersion: "7" };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, data };
}

/** What the chart makes for its controller. */
export const binding = recordedBinding("knfleet", "knfleet-system", "knfleet-controller");
