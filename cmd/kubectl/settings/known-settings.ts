import type { RawFlags } from "../flags.ts";

/** A flag that the settings file and the environment may also set. */
export interface Setting {
  readonly flag: keyof RawFlags;
  readonly is: "text" | "switch" | "path" | "paths";
  /** Older name of its environment variable. */
  readonly alias?: string;
}

/** Everything that the settings file or the environment may set. Credentials are not allowed. */
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
  "release-dir": { flag: "releaseDir", is: "path" },
  "request-timeout": { flag: "requestTimeout", is: "text" },
  "spoke-timeout": { flag: "spokeTimeout", is: "text" },
  timeout: { flag: "timeout", is: "text" },
};

/** The environment variable of a setting, for example `KNFLEET_SPOKE_TIMEOUT`. */
export function variableOf(name: string): string {
  return `KNFLEET_${name.toUpperCase().replaceAll("-", "_")}`;
}
