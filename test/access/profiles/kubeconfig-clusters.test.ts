import { expect, test } from "vitest";

import { kubeconfigClusters } from "../../../access/profiles/kubeconfig-clusters.ts";
import { anyCaData } from "../builders.ts";

type Fields = Readonly<Record<string, unknown>>;

const server = "https://api.example.com:6443";
const authority = anyCaData;
const cluster = { server, "certificate-authority-data": authority };
const user = { token: "T1" };

function kubeconfig(change: { user?: Fields; cluster?: Fields; top?: Fields } = {}): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "a",
    contexts: [
      { name: "a", context: { cluster: "c", user: "u" } },
      { name: "b", context: { cluster: "d", user: "u" } },
    ],
    clusters: [
      { name: "c", cluster: change.cluster ?? cluster },
      { name: "d", cluster: { ...cluster, server: "https://b.example.com" } },
    ],
    users: [{ name: "u", user: change.user ?? user }],
    ...change.top,
  });
}

test("only the current context counts, unless all are asked for", () => {
  expect(kubeconfigClusters(kubeconfig(), "current", Date.now())).toEqual([
    { context: "a", isCurrent: true, cluster },
  ]);
  expect(kubeconfigClusters(kubeconfig(), "all", Date.now())).toEqual([
    { context: "a", isCurrent: true, cluster },
    { context: "b", isCurrent: false, cluster: { ...cluster, server: "https://b.example.com" } },
  ]);
});

test("name and proxy of the server are kept", () => {
  const more = { "tls-server-name": "api", "proxy-url": "http://proxy:3128" };
  const text = kubeconfig({ cluster: { ...cluster, ...more, "disable-compression": true } });
  expect(kubeconfigClusters(text, "current", Date.now())).toMatchObject([
    { cluster: { ...cluster, ...more } },
  ]);
});

const pair = { "client-certificate": "/etc/cert", "client-key": "/etc/key" };

test.each<{ readonly name: string; readonly text: string; readonly why: RegExp }>([
  {
    name: "a program",
    text: kubeconfig({ user: { ...user, exec: { command: "/bin/sh" } } }),
    why: /exec/,
  },
  {
    name: "an auth-provider",
    text: kubeconfig({ user: { ...user, "auth-provider": { name: "gcp" } } }),
    why: /auth-provider/,
  },
  {
    name: "a token file",
    text: kubeconfig({ user: { ...user, tokenFile: "/var/run/secrets/token" } }),
    why: /tokenFile/,
  },
  { name: "files of a certificate", text: kubeconfig({ user: pair }), why: /client-certificate/ },
  {
    name: "a file of a key beside inline data",
    text: kubeconfig({ user: { ...user, "client-key": "/etc/key" } }),
    why: /client-key/,
  },
  {
    name: "a password",
    text: kubeconfig({ user: { username: "admin", password: "hunter2" } }),
    why: /password/,
  },
  { name: "impersonation", text: kubeconfig({ user: { ...user, as: "admin" } }), why: /\(as\)/ },
  { name: "no credential", text: kubeconfig({ user: {} }), why: /neither a token/ },
  {
    name: "a file of certificates",
    text: kubeconfig({ cluster: { server, "certificate-authority": "/etc/ca" } }),
    why: /certificate-authority/,
  },
  {
    name: "a server with a login",
    text: kubeconfig({ cluster: { ...cluster, server: "https://me:secret@host" } }),
    why: /user name/,
  },
  {
    name: "a server that is no URL",
    text: kubeconfig({ cluster: { ...cluster, server: "ftp://host" } }),
    why: /https/,
  },
  {
    name: "a proxy with a login",
    text: kubeconfig({ cluster: { ...cluster, "proxy-url": "http://me:secret@proxy" } }),
    why: /login/,
  },
  {
    name: "certificates that are none",
    text: kubeconfig({ cluster: { server, "certificate-authority-data": "bm9uZQ==" } }),
    why: /no PEM/,
  },
  { name: "a list of bytes", text: kubeconfig({ cluster: { server: 5 } }), why: /./ },
  { name: "extensions", text: kubeconfig({ top: { extensions: [{ name: "x" }] } }), why: /extens/ },
  { name: "no current context", text: kubeconfig({ top: { "current-context": "" } }), why: /curr/ },
  {
    name: "a current context that is missing",
    text: kubeconfig({ top: { "current-context": "z" } }),
    why: /does not have the context/,
  },
  {
    name: "another kind",
    text: kubeconfig({ top: { kind: "Secret" } }),
    why: /no.*kubeconfig|not a/,
  },
  { name: "no YAML", text: "a: [", why: /YAML/ },
  { name: "a giant", text: `a: ${"x".repeat(300_000)}`, why: /too large/ },
  {
    name: "a bomb of aliases",
    text: `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\nd: [*c,*c,*c,*c,*c,*c,*c,*c]\n`,
    why: /not a kubeconfig/,
  },
])("a kubeconfig with $name is refused without quoting it", ({ text, why }) => {
  const [one, ...others] = kubeconfigClusters(text, "current", Date.now());
  expect(others).toEqual([]);
  expect(one).toEqual({
    context: expect.any(String),
    isCurrent: true,
    why: expect.stringMatching(why),
  });
  expect(JSON.stringify(one)).not.toMatch(/hunter2|secret@|\/bin\/sh|T1/);
});

test("one refused context does not refuse the others, and hundreds are too many", () => {
  const contexts = [
    { name: "a", context: { cluster: "c", user: "u" } },
    { name: "b", context: { cluster: "none", user: "u" } },
  ];
  expect(kubeconfigClusters(kubeconfig({ top: { contexts } }), "all", Date.now())).toMatchObject([
    { context: "a", cluster },
    { context: "b", why: "does not have the cluster of the context" },
  ]);
  const many = Array.from({ length: 100 }, (_, at) => ({ name: `c${at}`, context: {} }));
  expect(
    kubeconfigClusters(kubeconfig({ top: { contexts: many } }), "all", Date.now()),
  ).toMatchObject([{ why: "has more than 50 contexts" }]);
});
