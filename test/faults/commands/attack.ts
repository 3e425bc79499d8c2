import { isWrite, type Seen } from "../fault.ts";
import type { Write } from "../write-log.ts";
import { rightOf, stablePath, type AskedRight } from "./asked-right.ts";
import type { CommandCase } from "./command-case.ts";

/** What is done to one run of a command. */
export type Attack =
  /** SIGKILL: before the server sees a write, or after it has answered. A death at a read leaves what the write before it left. */
  | { readonly kind: "kill"; readonly write: number; readonly side: "before" | "after" }
  /** One request is answered in the server's place. */
  | { readonly kind: "answer"; readonly status: 403 | 409 | 503; readonly at: Moment }
  /** The user lacks one right on one cluster. */
  | { readonly kind: "right"; readonly cluster: string; readonly right: AskedRight }
  | { readonly kind: "twice" }
  /** Each answer of the cluster takes its time. */
  | { readonly kind: "slow"; readonly cluster: string }
  /** The cluster takes connections and says nothing, from the beginning or after a write. */
  | { readonly kind: "dead"; readonly cluster: string; readonly afterWrite: number }
  | { readonly kind: "dry run" };

/** A request of a run: the n-th write to all clusters, or the first read of a path of one. */
export type Moment =
  | { readonly write: number; readonly text: string }
  | {
      readonly cluster: string;
      readonly method: string;
      readonly path: string;
      /** It is asked only after the first write, so that nothing can be told before. */
      readonly isAfterWrite: boolean;
    };

/** What comes after the attack: the command again, or at once what takes it back. */
export type Sequel = "again" | "counterpart";

export interface Trial {
  readonly attack: Attack;
  readonly sequel: Sequel;
}

/** What an undisturbed run asked. */
export interface AskedRequests {
  readonly reads: readonly (Seen & { readonly cluster: string })[];
  readonly writes: readonly Write[];
}

/** Whether a logged request changes something. */
export function isChange({ path }: Pick<Write, "path">): boolean {
  return isWrite({ isWrite: true, path });
}

/** All attacks on a command, over each request that its undisturbed run made. */
export function trialsOf(one: CommandCase, asked: AskedRequests): readonly Trial[] {
  const writes = asked.writes.map(({ number, method, path, cluster }) => ({
    write: number,
    text: `${method} ${stablePath(path)} of ${cluster}`,
  }));
  const moments: readonly Moment[] = [...readMoments(asked), ...writes];
  const clusters = one.clusters ?? ["hub", "spoke-1"];
  const attacks: readonly Attack[] = [
    ...writes.flatMap(({ write }) =>
      (["before", "after"] as const).map((side) => ({ kind: "kill" as const, write, side })),
    ),
    ...moments.flatMap((at) =>
      ([403, 409, 503] as const).map((status) => ({ kind: "answer" as const, status, at })),
    ),
    ...rightsOf(asked).map((lack) => ({ kind: "right" as const, ...lack })),
    ...(one.isRefused === true ? [] : [{ kind: "twice" as const }]),
    ...clusters.map((cluster) => ({ kind: "slow" as const, cluster })),
    ...clusters.flatMap((cluster) =>
      [0, ...writes.slice(0, -1).map(({ write }) => write)].map((afterWrite) => ({
        kind: "dead" as const,
        cluster,
        afterWrite,
      })),
    ),
    { kind: "dry run" },
  ];
  return attacks.flatMap((attack) => sequelsOf(one, attack).map((sequel) => ({ attack, sequel })));
}

/** After a death both ways are gone, and after a refusal of a write too. */
function sequelsOf({ counterpart }: CommandCase, attack: Attack): readonly Sequel[] {
  const isInTheMiddle =
    attack.kind === "kill" ||
    (attack.kind === "answer" && "write" in attack.at) ||
    (attack.kind === "dead" && attack.afterWrite > 0);
  return counterpart !== undefined && isInTheMiddle ? ["again", "counterpart"] : ["again"];
}

/** Each path that is read, once for each cluster. */
function readMoments({ reads, writes }: AskedRequests): readonly Moment[] {
  const firstWriteMs = Math.min(...writes.map(({ atMs }) => atMs));
  const byPath = Map.groupBy(reads, ({ cluster, method, path }) =>
    [cluster, method, stablePath(path)].join(" "),
  );
  return [...byPath.values()].flatMap((all) =>
    all.slice(0, 1).map(({ cluster, method, path, atMs }) => ({
      cluster,
      method,
      path: stablePath(path),
      isAfterWrite: atMs > firstWriteMs,
    })),
  );
}

/** Each right that the run needed, once for each cluster. */
function rightsOf({ reads, writes }: AskedRequests) {
  const all = [...reads, ...writes.map((write) => ({ ...write, isWatch: false }))];
  return distinct(
    all.flatMap((request) => {
      const right = rightOf(request);
      return right === undefined ? [] : [{ cluster: request.cluster, right }];
    }),
  );
}

function distinct<One>(all: readonly One[]): readonly One[] {
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
}

/** An attack in words, as the table has it. */
export function attackText(attack: Attack): string {
  switch (attack.kind) {
    case "kill":
      return `killed ${attack.side} write ${attack.write}`;
    case "answer":
      return `${attack.status} for ${momentText(attack.at)}`;
    case "right": {
      const { verb, group, resource } = attack.right;
      return `without ${verb} ${resource}${group === "" ? "" : `.${group}`} on ${attack.cluster}`;
    }
    case "twice":
      return "twice at once";
    case "slow":
      return `${attack.cluster} is slow`;
    case "dead":
      return attack.afterWrite === 0
        ? `${attack.cluster} is dead`
        : `${attack.cluster} dies after write ${attack.afterWrite}`;
    case "dry run":
    default:
      return "dry run";
  }
}

function momentText(at: Moment): string {
  return "write" in at
    ? `write ${at.write}, ${at.text}`
    : `${at.method} ${at.path} of ${at.cluster}`;
}

/** What an attack is like: each status of an answer is another kind. */
export type AttackKind = Exclude<Attack["kind"], "answer"> | `answer ${403 | 409 | 503}`;

/** One attack of every kind. */
export const oneOfEach: Readonly<Record<AttackKind, number>> = {
  kill: 1,
  "answer 403": 1,
  "answer 409": 1,
  "answer 503": 1,
  right: 1,
  twice: 1,
  slow: 1,
  dead: 1,
  "dry run": 1,
};

export function kindOf(attack: Attack): AttackKind {
  return attack.kind === "answer" ? `answer ${attack.status}` : attack.kind;
}

/** So many trials of each kind of attack, drawn; none of a kind without a number. */
export function sampleOf(
  trials: readonly Trial[],
  sizes: Readonly<Partial<Record<AttackKind, number>>>,
  random: () => number,
): readonly Trial[] {
  const byKind = Map.groupBy(trials, ({ attack }) => kindOf(attack));
  return [...byKind].flatMap(([kind, all]) => {
    const drawn = all.map((trial) => ({ trial, at: random() })).toSorted((a, b) => a.at - b.at);
    return drawn.slice(0, sizes[kind] ?? 0).map(({ trial }) => trial);
  });
}
