import type { ExitCode } from "./errors.ts";

/** What each exit code means. */
export const exitCodeMeanings: Readonly<Record<ExitCode, string>> = {
  0: "fine",
  1: "something is not healthy, is refused or differs, or what was named does not exist",
  2: "the command could not do its work: usage, input, kubeconfig, provider file, hub unreachable or forbidden",
  3: "incomplete: something could not be read and nothing worse was found; or a rollout is not over yet",
  124: "wait, rollout status --watch, migrate --apply: the time was over",
  130: "interrupted; what was known is printed",
};

type Meanings = Partial<Record<ExitCode, string>>;

const timeOver = "the time was over; what was waited for is printed";

const steers: Meanings = {
  1: "there is no such set, or it is in a state in which this cannot be done",
};

const migrates: Meanings = {
  0: "nothing is left to do",
  1: "steps are to do",
  2: "a step is blocked, or the command could not do its work",
  3: "a cluster could not be read",
  124: "with --apply: the time was over; the same command goes on later",
};

/** What codes mean for one command, where that says more than `exitCodeMeanings`. Help and docs/cli/ show it. */
export const exitCodesOf: Readonly<Record<string, Meanings>> = {
  status: {
    1: "something is not healthy, an unread spoke included, or no controller works for it (--fail-on moves the limit, --strict counts warnings and what is in progress, too); or what was named does not exist",
  },
  top: {
    0: "ended with q; with --once as status",
    2: "there is no terminal, or the command could not do its work",
  },
  diagnose: {
    1: "something was found, or what was named does not exist",
    3: "steps were left out because there is no provider file, and nothing was found",
  },
  diff: {
    0: "no difference",
    1: "something differs, or what was named does not exist",
    3: "a cluster could not be read, and nothing differs elsewhere",
  },
  plan: {
    0: "nothing would change",
    1: "something would change, or what was named does not exist",
    2: "something would be refused, or the command could not do its work",
    3: "a cluster, or a manifest that the component brings by URL, could not be read",
  },
  orphans: {
    0: "nothing is left over",
    1: "something is left over, or what was named does not exist",
  },
  check: {
    1: "something is wrong: an error, with --fail-on warning a warning, too",
    3: "something could not be looked at because there is no provider file, and nothing is wrong",
  },
  wait: {
    1: "it cannot become true without help, or a rollout is halted or rolled back",
    124: timeOver,
  },
  "rollout status": {
    0: "the rollout is complete",
    1: "it was halted or rolled back, no controller works for it, or there is no such set",
    3: "it is neither complete nor failed",
    124: timeOver,
  },
  "rollout plan": {
    0: "nothing would change",
    1: "something would change, a cluster is blocked, a check has a bad answer, or there is no such set",
    3: "not everything could be read",
  },
  "rollout verify": {
    0: "every answer is good",
    1: "an answer is bad, or there is no such set",
    3: "a check could not be asked",
  },
  "rollout approve": steers,
  "rollout pause": steers,
  "rollout resume": steers,
  "rollout retry": steers,
  "rollout skip": steers,
  "rollout abort": steers,
  "rollout undo": steers,
  "rollout accept-selection": steers,
  "rollout adopt": {
    1: "there are no components, or the set can adopt none of them",
    3: "there are components that the set cannot adopt",
  },
  gather: {
    2: "a secret was found in what would be written, or the command could not do its work; nothing is written",
    3: "something could not be read; what was read is written",
  },
  "can-i": {
    1: "a right is missing, or what was named does not exist",
    3: "a spoke could not be asked",
  },
  register: {
    1: "everything was written, and the walk fails on the way to the cluster",
    2: "it was refused, or the command could not do its work",
  },
  unregister: { 2: "it was refused, or the command could not do its work" },
  connect: { 0: "the shell or the command ended with 0; its other codes are passed on" },
  "migrate from-upstream": migrates,
  "migrate to-upstream": migrates,
  render: {
    1: "a version or an option is refused, no object has the name of --only, or --diff-with found a difference",
  },
  version: { 1: "with --strict: versions do not agree" },
};
