import type { KubeObject } from "../../api/kubernetes.ts";
import { LinePace, type Log } from "../log.ts";
import type { ProviderFile } from "../providers/provider-config.ts";
import type { ResolvedAccess } from "./resolved-access.ts";
import type { SpokeState } from "./spokes.ts";

/** Where the life of the connections is told. */
export type SpokeLog = Pick<Log, "info" | "warn">;

/** Tells a log of the spokes: what is new, and no more of one spoke than anybody would read. */
export class SpokeTeller {
  readonly #log: SpokeLog | undefined;
  readonly #pace = new LinePace();
  /** Profiles, by uid, whose deprecated list was told of. */
  readonly #noticed = new Set<string>();

  constructor(log: SpokeLog | undefined) {
    this.#log = log;
  }

  providers(file: ProviderFile): void {
    for (const warning of file.warnings) {
      this.#log?.warn({ warning }, "The provider file has an oddity");
    }
    for (const { name, problem } of file.providers) {
      if (problem !== undefined) {
        this.#log?.warn({ provider: name, problem }, "A provider is not usable");
      }
    }
  }

  access({ profile, provider, source, skipped, warnings }: ResolvedAccess): void {
    const { uid, namespace, name } = profile;
    const spoke = `${namespace}/${name}`;
    if (source === "credentialProviders" && !this.#noticed.has(uid)) {
      this.#noticed.add(uid);
      this.#warn(spoke, { provider }, "The profile uses the deprecated list");
    }
    for (const problem of skipped) {
      this.#warn(spoke, { provider, problem }, "A matching provider was passed over");
    }
    for (const warning of warnings) {
      this.#warn(spoke, { provider, warning }, "The access entry has an oddity");
    }
  }

  state(spoke: string, state: SpokeState): void {
    if (state.kind === "connected") {
      const { provider } = state.connection;
      this.#tell(spoke, (facts) =>
        this.#log?.info({ ...facts, provider }, "Connected to the spoke"),
      );
    } else if ("error" in state) {
      const { reason, message } = state.error;
      const facts = { state: state.kind, reason, error: message };
      this.#warn(spoke, facts, "No connection to the spoke");
    }
  }

  left(spoke: string): void {
    this.#tell(spoke, (facts) =>
      this.#log?.info(facts, "Closed the connection to a spoke that nobody uses"),
    );
  }

  sharedToken(spoke: string, others: readonly string[]): void {
    this.#warn(spoke, { others: others.slice(0, 5) }, "Spokes share a token");
  }

  /** A profile that is made anew is another one. */
  gone({ metadata }: KubeObject): void {
    this.#noticed.delete(metadata.uid);
  }

  #warn(spoke: string, facts: object, message: string): void {
    this.#tell(spoke, (first) => this.#log?.warn({ ...first, ...facts }, message));
  }

  #tell(spoke: string, line: (facts: object) => void): void {
    const leftOut = this.#pace.admit(spoke);
    if (leftOut !== undefined) line(leftOut === 0 ? { spoke } : { spoke, leftOut });
  }
}
