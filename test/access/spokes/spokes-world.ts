import { chmod, mkdir, mkdtemp, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { createKubeClient } from "../../../access/kube/create-kube-client.ts";
import type { KubeClient } from "../../../access/kube/kube-client.ts";
import { createAuthority } from "../../fleet/certificates.ts";
import { type ProfileHub, startProfileHub } from "../../support/profile-hub.ts";
import { type ApiStub, startApiStub, type StubAnswer, type StubRequest } from "../api-stub.ts";
import { entryOf, profileOf, rawProvider } from "../builders.ts";
import { authority, requesterOf, serverIdentity } from "../loopback.ts";

export const namespace = "fleet";
export const names = ["a", "b", "c"] as const;

const otherAuthority = createAuthority("other");
const identities = [
  serverIdentity,
  otherAuthority.issue({ commonName: "api", usage: "server", hosts: ["127.0.0.1"] }),
] as const;
const authorities = [authority, otherAuthority] as const;

type One = 0 | 1;

/** Something that happens to the hub, the provider file or a spoke. */
export type Happening =
  | { readonly kind: "profile"; readonly name: string; readonly to: ProfileFacts | "deleted" }
  | { readonly kind: "recreated"; readonly name: string }
  | { readonly kind: "hub"; readonly does: "cut" | "compact" }
  | { readonly kind: "file"; readonly is: FileContent; readonly by: "write" | "swap" }
  | { readonly kind: "spoke"; readonly which: One; readonly does: SpokeFault }
  | { readonly kind: "token"; readonly does: "revoked" | "renewed" }
  | { readonly kind: "pause"; readonly ms: number };

export interface ProfileFacts {
  readonly ready: boolean;
  readonly at: One;
  /** Whose certificate authority it names. */
  readonly ca: One;
}

type FileContent =
  | "plain"
  | "with arguments"
  | "that fails"
  | "of another provider"
  | "invalid"
  | "gone";
type SpokeFault = "stops" | "starts" | "starts with another CA" | "hangs" | "resets" | "works";

/** A hub on real sockets, a provider file on disk, a real plugin, and two spokes that can be stopped. */
export class SpokesWorld implements AsyncDisposable {
  readonly file: string;
  readonly hub: KubeClient;
  readonly #folder: string;
  readonly #played: ProfileHub;
  readonly #ended: AsyncDisposableStack;
  readonly #spokes: [PlayedSpoke, PlayedSpoke];
  readonly #uids = new Map<string, number>();
  readonly #facts = new Map<string, ProfileFacts>();
  #versions = 0;
  #token = 1;
  #content: FileContent = "plain";
  #good: FileContent = "plain";

  private constructor(folder: string, played: ProfileHub, parts: Parts) {
    this.#folder = folder;
    this.file = join(folder, "providers.json");
    this.#played = played;
    this.hub = parts.hub;
    this.#ended = parts.ended;
    this.#spokes = parts.spokes;
  }

  static async start(): Promise<SpokesWorld> {
    const folder = await mkdtemp(join(tmpdir(), "knfleet-world-"));
    await using ended = new AsyncDisposableStack();
    ended.defer(() => rm(folder, { recursive: true }));
    const played = ended.use(await startProfileHub({ identity: serverIdentity }));
    const requester = ended.use(requesterOf(played.server));
    const spokes: [PlayedSpoke, PlayedSpoke] = [new PlayedSpoke(), new PlayedSpoke()];
    for (const spoke of spokes) await ended.use(spoke).start(0);
    const hub = createKubeClient(requester);
    const world = new SpokesWorld(folder, played, { hub, spokes, ended: ended.move() });
    await world.#writePlugin();
    await world.#writeFile("plain", "swap");
    for (const name of names) world.#profileIs(name, { ready: true, at: 0, ca: 0 });
    return world;
  }

  get isFileInvalid(): boolean {
    return this.#content === "invalid" || this.#content === "gone";
  }

  async take(happening: Happening): Promise<void> {
    switch (happening.kind) {
      case "profile":
        if (happening.to === "deleted") this.#deleted(happening.name);
        else this.#profileIs(happening.name, happening.to);
        return;
      case "recreated":
        this.#recreated(happening.name);
        return;
      case "hub":
        this.#played[happening.does]();
        return;
      case "file":
        await this.#writeFile(happening.is, happening.by);
        return;
      case "spoke":
        await this.#spokes[happening.which].suffer(happening.does);
        return;
      case "token":
        await this.#tokenIs(happening.does);
        return;
      case "pause":
        await new Promise((done) => setTimeout(done, happening.ms));
    }
  }

  /** Brings back the last good file, when it is not there. */
  async mendFile(): Promise<void> {
    if (this.isFileInvalid) await this.#writeFile(this.#good, "write");
  }

  /** Ends what only passes by: a server that hangs forever is one that stopped. */
  async calm(): Promise<void> {
    for (const spoke of this.#spokes) await spoke.suffer("works");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#ended.disposeAsync();
  }

  #profileIs(name: string, facts: ProfileFacts): void {
    if (!this.#facts.has(name)) this.#uids.set(name, (this.#uids.get(name) ?? 0) + 1);
    this.#facts.set(name, facts);
    const ca = authorities[facts.ca].certificatePem;
    const cluster = {
      server: this.#spokes[facts.at].server,
      "certificate-authority-data": Buffer.from(ca).toString("base64"),
    };
    const status = facts.ready ? "True" : "False";
    const conditions = [{ type: "ControlPlaneHealthy", status } as const];
    const profile = profileOf({ conditions, accessProviders: [entryOf("sr", cluster)] });
    const uid = `${name}-${this.#uids.get(name)}`;
    this.#played.put({ ...profile, metadata: { namespace, name, uid, resourceVersion: "" } });
  }

  #deleted(name: string): void {
    this.#facts.delete(name);
    this.#played.remove(namespace, name);
  }

  #recreated(name: string): void {
    const facts = this.#facts.get(name) ?? { ready: true, at: 0, ca: 0 };
    this.#deleted(name);
    this.#profileIs(name, facts);
  }

  async #tokenIs(does: "revoked" | "renewed"): Promise<void> {
    if (does === "revoked") {
      this.#token += 1;
      for (const spoke of this.#spokes) spoke.token = `T${this.#token}`;
    } else await this.#writeToken();
  }

  async #writePlugin(): Promise<void> {
    const apiVersion = "client.authentication.k8s.io/v1";
    const output = `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":"%s","expirationTimestamp":"2099-01-01T00:00:00Z"}}`;
    const text = `#!/bin/sh\nsleep 0.02\n[ "$1" = --fail ] && exit 3\nprintf '${output}' "$(cat ${this.#folder}/token)"\n`;
    await writeFile(this.#command, text);
    await chmod(this.#command, 0o755);
    await this.#writeToken();
  }

  #writeToken(): Promise<void> {
    return writeFile(join(this.#folder, "token"), `T${this.#token}`);
  }

  get #command(): string {
    return join(this.#folder, "plugin");
  }

  async #writeFile(content: FileContent, by: "write" | "swap"): Promise<void> {
    this.#content = content;
    if (!this.isFileInvalid) this.#good = content;
    if (content === "gone") return rm(this.file, { force: true });
    const text = this.#textOf(content);
    if (by === "write") {
      // Not through the link of an earlier swap: that folder belongs to its version.
      await rm(this.file, { force: true });
      return writeFile(this.file, text);
    }
    // As the kubelet does with a mounted ConfigMap.
    this.#versions += 1;
    const version = `v${this.#versions}`;
    await mkdir(join(this.#folder, version));
    await writeFile(join(this.#folder, version, "providers.json"), text);
    await symlink(version, join(this.#folder, "..tmp"));
    await rename(join(this.#folder, "..tmp"), join(this.#folder, "..data"));
    await rm(this.file, { force: true });
    await symlink("..data/providers.json", this.file);
  }

  #textOf(content: FileContent): string {
    if (content === "invalid") return '{"providers": [';
    const name = content === "of another provider" ? "other" : "sr";
    const args = argumentsOf(content);
    return JSON.stringify({ providers: [rawProvider(name, {}, { command: this.#command, args })] });
  }
}

interface Parts {
  readonly hub: KubeClient;
  readonly ended: AsyncDisposableStack;
  readonly spokes: [PlayedSpoke, PlayedSpoke];
}

class PlayedSpoke implements AsyncDisposable {
  token = "T1";
  server = "";
  #port = 0;
  #stub: ApiStub | undefined;
  #fault: StubAnswer = {};

  async start(identity: One): Promise<void> {
    await this.#stub?.[Symbol.asyncDispose]();
    this.#stub = await startApiStub({
      identity: identities[identity],
      answer: (request) => this.#answer(request),
      port: this.#port,
    });
    this.#port = this.#stub.port;
    this.server = this.#stub.server;
  }

  async suffer(fault: SpokeFault): Promise<void> {
    if (fault === "stops") await this.#stub?.[Symbol.asyncDispose]();
    else if (fault === "starts") await this.start(0);
    else if (fault === "starts with another CA") await this.start(1);
    else if (fault === "hangs") this.#fault = { hang: true };
    else if (fault === "resets") this.#fault = { reset: true };
    else this.#fault = {};
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#stub?.[Symbol.asyncDispose]();
  }

  #answer({ authorization }: StubRequest): StubAnswer {
    return authorization === `Bearer ${this.token}` ? this.#fault : { status: 401 };
  }
}

function argumentsOf(content: FileContent): readonly string[] {
  if (content === "with arguments") return ["--other"];
  return content === "that fails" ? ["--fail"] : [];
}
