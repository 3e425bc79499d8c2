import { expect, test } from "vitest";

import { kubeconfigUser } from "../../../access/plugins/kubeconfig-user.ts";

const kubeconfig = (more: string): string => `
current-context: a
contexts: [{ name: a, context: { user: b } }]
users: [{ name: b, user: { token: T1 } }]
${more}`;

test("a kubeconfig may hold much that is of no interest", () => {
  const more = `clusters: [{ cluster: { certificate-authority-data: ${"A".repeat(200 * 1024)} } }]`;
  expect(kubeconfigUser(kubeconfig(more), "")).toEqual({ token: "T1" });
});

test.each([
  ["is too long", `more: ${"A".repeat(256 * 1024)}`],
  ["would hold the parser up", '"'.repeat(100_000)],
])("a kubeconfig that %s is refused at once", (_what, more) => {
  const before = process.threadCpuUsage();
  expect(() => kubeconfigUser(kubeconfig(more), "")).toThrow(/^is too large$/);
  expect(process.threadCpuUsage(before).user).toBeLessThan(500_000);
});
