import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { Agent } from "node:https";

import { anchorAnnotations, guardLabels } from "../../../installation/anchor.ts";
import { ensureBinaries } from "../../fleet/binaries.ts";
import type { Cluster } from "../../fleet/cluster.ts";
import { exchange } from "../../fleet/https-exchange.ts";
import { valueAt } from "../../fleet/json-record.ts";
import type { TokenOptions } from "../../fleet/service-accounts.ts";
import { waitFor } from "../../fleet/wait-for.ts";

/** Who sends a request of the truth table. Spec: anchor-guard.md 4. */
export type User =
  | "controller"
  | "secondController"
  | "otherController"
  | "tenant"
  | "editor"
  | "breaker"
  | "clusterAdmin"
  | "masters"
  | "garbageCollector"
  | "namespaceController";

export interface Reply {
  readonly status: number;
  /** The last line of what the server says: the text of the rule that refused. */
  readonly message: string;
  readonly body: unknown;
}

/** An object on the guarded cluster. */
export interface Place {
  readonly path: string;
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

const patchTypes = {
  merge: "application/merge-patch+json",
  json: "application/json-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

export type PatchType = keyof typeof patchTypes;

/** A cluster with the users of the truth table, and short ways to what its rows need. */
export interface GuardStage {
  readonly hubId: string;
  readonly otherHubId: string;
  /** The users of the hub, `controller` and `secondController`. */
  readonly hubUsers: readonly string[];
  readonly otherHubUsers: readonly string[];
  /** Namespace without the guard's label, for anchors. */
  readonly namespace: string;
  send(user: User, method: string, path: string, body?: unknown): Promise<Reply>;
  patch(user: User, type: PatchType, path: string, body: unknown): Promise<Reply>;
  kubectl(args: readonly string[], input?: unknown): Promise<Reply>;
  /** An anchor that the controller made, with the annotations and metadata given beside its own. */
  anchor(metadata?: object, namespace?: string): Promise<Place>;
  /** A namespace with the guard's label, or without. */
  guardedNamespace(label?: string): Promise<Place>;
  plainNamespace(): Promise<Place>;
  /** The annotations that make an anchor of this hub. */
  markers(hubId?: string): Readonly<Record<string, string>>;
  newName(): string;
  /** Waits until an object is gone. */
  gone(path: string): Promise<void>;
}

const accounts = "guard-users";

export async function openGuardStage(cluster: Cluster, hubId: string): Promise<GuardStage> {
  const tokens = await userTokens(cluster);
  const agent = new Agent({ ca: cluster.caPem, keepAlive: true, maxSockets: 4 });
  const masters = new Agent({
    ca: cluster.caPem,
    cert: cluster.adminIdentity.certificatePem,
    key: cluster.adminIdentity.keyPem,
    keepAlive: true,
    maxSockets: 4,
  });
  const impersonated: Partial<Record<User, string>> = {
    garbageCollector: "system:serviceaccount:kube-system:generic-garbage-collector",
    namespaceController: "system:serviceaccount:kube-system:namespace-controller",
  };
  const request = async (user: User, method: string, call: Call): Promise<Reply> => {
    const token = tokens[user];
    const identity =
      token === undefined
        ? impersonation(impersonated[user])
        : { authorization: `Bearer ${token}` };
    const answer = await exchange({
      url: `${cluster.server}${call.path}`,
      method,
      agent: token === undefined ? masters : agent,
      headers: { ...identity, "content-type": call.type ?? "application/json" },
      ...(call.body === undefined ? {} : { body: JSON.stringify(call.body) }),
    });
    const said = valueAt(answer.json, "message");
    return {
      status: answer.status,
      message: typeof said === "string" ? said : answer.text,
      body: answer.json,
    };
  };
  const send: GuardStage["send"] = (...[user, method, path, body]) =>
    request(user, method, { path, body });
  const otherHubId = randomUUID();
  const namespace = "guard-plain";
  await send("masters", "POST", "/api/v1/namespaces", { metadata: { name: namespace } });
  // The role `admin` is empty until the controller manager has put it together.
  await waitFor("the role of the tenants", async () => {
    const path = `/api/v1/namespaces/${namespace}/configmaps?dryRun=All`;
    const users = ["tenant", "editor", "breaker"] as const;
    const metadata = { name: "may-i" };
    const replies = await Promise.all(users.map((user) => send(user, "POST", path, { metadata })));
    return replies.every(({ status }) => status === 201);
  });
  let count = 0;
  const newName = () => `row-${(count += 1)}`;
  const markers = (hub = hubId) => ({
    [anchorAnnotations.anchor]: "true",
    [anchorAnnotations.protected]: "true",
    [anchorAnnotations.componentUid]: "cr-1",
    [anchorAnnotations.hubId]: hub,
  });
  const namespaceWith = async (labels: object) => {
    const object = { metadata: { name: newName(), labels } };
    return made(
      "/api/v1/namespaces",
      await send("controller", "POST", "/api/v1/namespaces", object),
    );
  };
  return {
    hubId,
    otherHubId,
    hubUsers: [userNameOf("controller"), userNameOf("secondController")],
    otherHubUsers: [userNameOf("otherController")],
    namespace,
    newName,
    markers,
    send,
    patch: (...[user, type, path, body]) =>
      request(user, "PATCH", {
        path: type === "apply" ? `${path}?fieldManager=row&force=true` : path,
        body,
        type: patchTypes[type],
      }),
    kubectl: (args, input) => runKubectl(cluster.adminKubeconfigPath, args, input),
    async anchor(metadata = {}, where = namespace) {
      const path = `/api/v1/namespaces/${where}/configmaps`;
      const object = {
        metadata: { name: newName(), annotations: markers(), ...metadata },
        data: { note: "anchor" },
      };
      return made(path, await send("controller", "POST", path, object));
    },
    guardedNamespace: (label = hubId) => namespaceWith({ [guardLabels.namespace]: label }),
    plainNamespace: () => namespaceWith({}),
    gone: async (path) => {
      await waitFor(
        `${path} to go`,
        async () => (await send("masters", "GET", path)).status === 404,
      );
    },
  };
}

function made(path: string, { status, message, body }: Reply): Place {
  if (status !== 201) throw new Error(`${path}: ${status} ${message}`);
  const text = (key: string, absent = "") => {
    const found = valueAt(body, "metadata", key);
    return typeof found === "string" ? found : absent;
  };
  const name = text("name");
  return { path: `${path}/${name}`, name, namespace: text("namespace", name), uid: text("uid") };
}

interface Call {
  readonly path: string;
  readonly body: unknown;
  readonly type?: string;
}

function impersonation(user: string | undefined): Readonly<Record<string, string>> {
  return user === undefined
    ? {}
    : { "impersonate-user": user, "impersonate-group": "system:masters" };
}

function userNameOf(user: User): string {
  return `system:serviceaccount:${accounts}:${user.toLowerCase()}`;
}

const namespaceRights = [
  {
    apiGroups: [""],
    resources: ["namespaces", "namespaces/finalize", "namespaces/status"],
    verbs: ["*"],
  },
];
const unprotect = [
  { apiGroups: ["operator.knative.dev"], resources: ["anchors"], verbs: ["unprotect"] },
];

interface Wanted extends Pick<TokenOptions, "clusterRoles" | "rules"> {
  readonly user: User;
}

async function userTokens(cluster: Cluster): Promise<Readonly<Partial<Record<User, string>>>> {
  const wanted = [
    { user: "controller", clusterRoles: ["cluster-admin"] },
    { user: "secondController", clusterRoles: ["cluster-admin"] },
    { user: "otherController", clusterRoles: ["cluster-admin"] },
    { user: "clusterAdmin", clusterRoles: ["cluster-admin"] },
    { user: "tenant", clusterRoles: ["admin"] },
    { user: "editor", clusterRoles: ["admin"], rules: namespaceRights },
    { user: "breaker", clusterRoles: ["admin"], rules: [...namespaceRights, ...unprotect] },
  ] as const satisfies readonly Wanted[];
  const tokens: Partial<Record<User, string>> = {};
  for (const { user, ...rights } of wanted) {
    const account = { namespace: accounts, name: user.toLowerCase(), ...rights };
    tokens[user] = (await cluster.serviceAccountToken(account)).token;
  }
  return tokens;
}

/** Status is the exit code. */
async function runKubectl(
  kubeconfig: string,
  args: readonly string[],
  input: unknown,
): Promise<Reply> {
  const binary = await ensureBinaries(["kubectl"]);
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const child = execFile(
    binary("kubectl"),
    ["--kubeconfig", kubeconfig, ...args],
    { timeout: 30_000 },
    (error, stdout, stderr) => {
      const status = error === null ? 0 : Number(error.code ?? 1);
      resolve({ status, message: `${stdout}${stderr}`.trimEnd(), body: undefined });
    },
  );
  child.stdin?.end(input === undefined ? "" : JSON.stringify(input));
  return promise;
}
