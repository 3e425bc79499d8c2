const names =
  /^(?:PATH|HOME|USER|LOGNAME|LANG|LC_.*|TZ|TMPDIR|XDG_.*|KUBECONFIG|KUBERNETES_SERVICE_.*|NAMESPACE|POD_NAMESPACE|AWS_.*|AZURE_.*|CLOUDSDK_.*|GOOGLE_.*|(?:HTTPS?|NO|ALL)_PROXY|(?:https?|no|all)_proxy|SSL_CERT_(?:FILE|DIR)|SYSTEMROOT)$/;

/**
 * What exec plugins see of our own environment: where programs and configuration are, in-cluster configuration, workload
 * identity, proxies. Everything else, such as secrets of our process, stays here. Spec: security.md T-41.
 */
export function pluginEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const passed = Object.entries(environment).flatMap(([name, value]) =>
    value !== undefined && names.test(name) ? [[name, value] as const] : [],
  );
  return Object.freeze(Object.fromEntries(passed));
}
