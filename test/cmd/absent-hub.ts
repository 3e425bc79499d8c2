/** A kubeconfig whose hub refuses every connection: port 1 is nobody's. */
export function absentHubKubeconfig(token: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "hub",
    contexts: [{ name: "hub", context: { cluster: "hub", user: "hub" } }],
    clusters: [{ name: "hub", cluster: { server: "https://127.0.0.1:1" } }],
    users: [{ name: "hub", user: { token } }],
  });
}
