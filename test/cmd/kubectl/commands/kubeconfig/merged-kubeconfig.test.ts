import { describe, expect, test } from "vitest";
import { parse } from "yaml";

import { Secret } from "../../../../../access/plugins/credential.ts";
import { mergedKubeconfig } from "../../../../../cmd/kubectl/commands/kubeconfig/merged-kubeconfig.ts";
import { kubeconfigOf, spokeEntry } from "../../../../../cmd/kubectl/spokes/exec-user.ts";

const exec = {
  apiVersion: "client.authentication.k8s.io/v1",
  command: "kubectl-knfleet",
  args: ["credential", "fleet/eu-1"],
  env: null,
  interactiveMode: "Never",
  provideClusterInfo: true,
} as const;

const entry = spokeEntry("fleet/eu-1", { server: "https://eu-1:6443", caPem: "PEM" }, exec);

describe("a merge", () => {
  test.each([
    { name: "an empty file", text: "" },
    { name: "a kubeconfig with empty lists", text: "kind: Config\nclusters: []\nusers: null\n" },
    { name: "a kubeconfig without a kind", text: "apiVersion: v1\n" },
    { name: "a kubeconfig in JSON", text: '{"kind": "Config", "contexts": []}' },
  ])("into $name adds cluster, context and user", ({ text }) => {
    const merged = mergedKubeconfig(text, [entry], "file");
    expect(merged.changes).toEqual([{ name: "fleet/eu-1", change: "added" }]);
    const { clusters, contexts, users } = kubeconfigOf([entry]);
    expect(parse(merged.text)).toMatchObject({ clusters, contexts, users });
  });

  test("keeps comments, order, unknown fields and the current context", () => {
    const mine =
      "# mine\nkind: Config\ncurrent-context: a # first\ncontexts:\n  - name: a\n    context:\n      cluster: a\n      user: a\npreferences:\n  colors: true\n";
    const { text } = mergedKubeconfig(mine, [entry], "file");
    const [before, after] = text.split("  - name: fleet/eu-1\n    context:\n");
    expect(mine.startsWith(before ?? "none")).toBe(true);
    expect(after).toContain("preferences:\n  colors: true\n");
  });

  test("changes only what an earlier merge wrote: the namespace of a context stays", () => {
    const first = mergedKubeconfig("", [entry], "file").text;
    const named = first.replace(
      "      user: fleet/eu-1\n",
      "      user: fleet/eu-1\n      namespace: a\n",
    );
    const moved = { ...entry, cluster: { server: "https://new:6443" } };
    const second = mergedKubeconfig(named, [moved], "file");
    expect(second.changes).toEqual([{ name: "fleet/eu-1", change: "changed" }]);
    expect(parse(second.text)).toMatchObject({
      clusters: [{ cluster: { server: "https://new:6443" } }],
      contexts: [{ context: { namespace: "a" } }],
    });
    expect(second.text).not.toContain("certificate-authority-data");
    const third = mergedKubeconfig(second.text, [moved], "file");
    expect(third.changes).toEqual([{ name: "fleet/eu-1", change: "unchanged" }]);
    expect(third.text).toBe(second.text);
  });

  test.each([
    {
      name: "a user with a token",
      text: "kind: Config\nusers: [{name: fleet/eu-1, user: {token: a}}]",
    },
    {
      name: "a cluster",
      text: "kind: Config\nclusters: [{name: fleet/eu-1, cluster: {server: a}}]",
    },
    {
      name: "a user with another plugin",
      text: "kind: Config\nusers: [{name: fleet/eu-1, user: {exec: {command: aws, args: [eks]}}}]",
    },
  ])("refuses to overwrite $name of somebody else", ({ text }) => {
    expect(() => mergedKubeconfig(text, [entry], "file")).toThrow("something else of the name");
  });

  test.each([
    { name: "something else", text: "kind: Pod\n" },
    { name: "a list", text: "- a\n" },
    { name: "no YAML", text: "a: [\n" },
    { name: "two documents", text: "kind: Config\n---\nkind: Config\n" },
    { name: "lists that are none", text: "kind: Config\nusers: {a: b}\n" },
  ])("refuses $name", ({ text }) => {
    expect(() => mergedKubeconfig(text, [entry], "file")).toThrow(/is no (?:kubeconfig|list)/);
  });
});

describe("an entry", () => {
  test("has what the profile says of the server, and no more", () => {
    const endpoint = {
      server: "https://[::1]:6443/a",
      caPem: "PEM",
      tlsServerName: "eu-1",
      proxy: { protocol: "socks5:", host: "::1", port: 1080 },
    } as const;
    expect(spokeEntry("fleet/eu-1", endpoint, exec).cluster).toEqual({
      server: "https://[::1]:6443/a",
      "certificate-authority-data": "UEVN",
      "tls-server-name": "eu-1",
      "proxy-url": "socks5://[::1]:1080",
    });
  });

  test("is refused for a proxy whose password would be written", () => {
    const login = { user: new Secret("me"), password: new Secret("pass") };
    const proxy = { protocol: "http:", host: "proxy", port: 80, login } as const;
    expect(() => spokeEntry("fleet/eu-1", { server: "https://a", proxy }, exec)).toThrow(
      "wants a password",
    );
  });
});
