/** Versions of `ExecCredential` that exec plugins and logins of a kubeconfig may speak. */
export const execApiVersions = [
  "client.authentication.k8s.io/v1",
  "client.authentication.k8s.io/v1beta1",
] as const;

/** One of `execApiVersions`. */
export type ExecApiVersion = (typeof execApiVersions)[number];
