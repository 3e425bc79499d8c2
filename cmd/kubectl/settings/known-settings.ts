import type { RawFlags } from "../flags.ts";

/** A flag that can be set once and for all, as it is written in the file, in the environment, and on the command line. */
export interface Setting {
  readonly flag: keyof RawFlags;
  readonly is: "text" | "switch" | "path" | "paths";
  /** Its older name in the environment. */
  readonly alias?: string;
}

/** Everything that a file or the environment may set. No credential is among them. */
export const settings: Readonly<Record<string, Setting>> = {
  "absolute-time": { flag: "absoluteTime", is: "switch" },
  "clusterprofile-provider-file": {
    flag: "clusterprofileProviderFile",
    is: "path",
    alias: "KNFLEET_PROVIDER_FILE",
  },
  color: { flag: "color", is: "text" },
  concurrency: { flag: "concurrency", is: "text" },
  context: { flag: "context", is: "text" },
  kubeconfig: { flag: "kubeconfig", is: "path" },
  namespace: { flag: "namespace", is: "text" },
  "plugin-namespace": { flag: "pluginNamespace", is: "text" },
  "plugin-root": { flag: "pluginRoot", is: "paths" },
  "request-timeout": { flag: "requestTimeout", is: "text" },
  "spoke-timeout": { flag: "spokeTimeout", is: "text" },
  timeout: { flag: "timeout", is: "text" },
};

/** The variable of the environment for a setting: `KNFLEET_SPOKE_TIMEOUT`. */
export function variableOf(name: string): string {
  return `KNFLEET_${name.toUpperCase().replaceAll("-", "_")}`;
}
