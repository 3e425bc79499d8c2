/** A sentence that the controller writes into a status, and that is recognized there. */
export interface Sentence<Gaps extends readonly string[] = readonly string[]> {
  /** The sentence with these words in its gaps. */
  readonly of: (...words: { readonly [Gap in keyof Gaps]: string }) => string;
  /** The words in the gaps; undefined for a text without the sentence. */
  readonly wordsIn: (text: string) => readonly string[] | undefined;
}

type GapsOf<Form extends string> = Form extends `${string}<${infer Gap}>${infer Rest}`
  ? readonly [Gap, ...GapsOf<Rest>]
  : readonly [];

/** `<gap>` stands for one word. With `…` at an end other text may stand there; a text without it in front may have a code in brackets there. */
function sentence<const Form extends string>(form: Form): Sentence<GapsOf<Form>> {
  const parts = form.replaceAll(/^… ?| ?…$/g, "").split(/<[^>]+>/);
  const start = form.startsWith("…") ? String.raw`(?<!\w)` : String.raw`^(?:\[\w+\] )?`;
  const end = form.endsWith("…") ? String.raw`(?=$|[:,;]?(?:\s|$))` : "$";
  const source = parts.map((part) => RegExp.escape(part)).join(String.raw`(\S+?)`);
  const pattern = new RegExp(`${start}${source}${end}`);
  return {
    of: (...words) => parts.map((part, at) => part + (words[at] ?? "")).join(""),
    wordsIn: (text) => pattern.exec(text)?.slice(1),
  };
}

/** Whether a text has one of some sentences. */
export function hasSentence(
  text: string,
  sentences: readonly Pick<Sentence, "wordsIn">[],
): boolean {
  return sentences.some(({ wordsIn }) => wordsIn(text) !== undefined);
}

export const profileLeaves = sentence(
  "… <profile> is being deleted since <time>, and a finalizer holds it",
);
/** Of a condition of a ClusterProfile. */
export const conditionSays = sentence("… it is <status> <reason> …");
export const offersProviders = sentence("… offers the providers <names>, …");
export const noProviders = "(none)";

/** The provider file keeps an address of a ClusterProfile from being used. */
export const providerForbids = {
  server: sentence("… allowedServers of the provider <name> …"),
  proxy: sentence("… allowedProxies of the provider <name> …"),
  roots: sentence("… the provider does not set systemRoots: true"),
};

/** A release is not at hand. The second begins as upstream says it. */
export const releaseMissing = {
  version: sentence("The release directory holds no version of <kind>"),
  target: sentence(
    "the manifests of the target version <version> are not available to this release …",
  ),
};

export const pluginLacksHome = sentence("… no HOME can be made for it");
export const credentialExpired = sentence("… has expired already");
export const forbiddenPlace = sentence("… is not where connections may go …");
export const ofHub = sentence("The hub: …");
export const useNeedsRight = sentence("… knfleet.dev/keep-while-used needs <right> …");

/** A webhook or policy refuses a write. Those with `of` name the configuration of the webhook, too. */
export const denials = {
  webhook: sentence("… the admission webhook <name> denies it …"),
  configured: sentence("… the admission webhook <name> of <kind> <configuration> denies it …"),
  policy: sentence("… the ValidatingAdmissionPolicy <name> denies it …"),
  mutation: sentence("… the MutatingAdmissionPolicy <name> denies it …"),
  other: sentence("… an admission policy of the cluster denies it …"),
};

/** A webhook does not answer. */
export const silences = {
  webhook: sentence("… the webhook <name> does not answer …"),
  configured: sentence("… the webhook <name> of <kind> <configuration> does not answer …"),
  waiting: sentence("… Waiting for webhook <name> …"),
  counted: sentence("… waiting for webhook <name> …"),
  conversion: sentence("… their conversion webhook, Service <name>, may not answer"),
};

export const cannotList = sentence("… the cluster cannot list <kind> for now …");
export const stillUsed = sentence("Still used by …");
export const wasAnswered = sentence("… was answered <status> …");

/** A namespace takes nothing new. */
export const namespaceGoes = {
  deleted: sentence("Namespace <namespace> is being deleted …"),
  missing: sentence("Namespace <namespace> does not exist …"),
  ofSpoke: sentence("… its namespace on the spoke is being deleted"),
  ofHub: sentence("… the hub's namespace <namespace> is being deleted"),
};

/** Open Cluster Management does not hear of a cluster. */
export const clusterSilent = {
  agent: sentence("… ManagedCluster <name>: its agent has not reported to the hub …"),
  server: sentence("… ManagedCluster <name>: its API server has not answered its agent …"),
};
export const clusterGoes = sentence(
  "ManagedCluster <name> has been going since <time>, and gets no works",
);
export const otherCluster = sentence(
  "… stands for ManagedCluster <name> now, and the works are for <other>",
);

/** Another installation has to let go first. */
export const letsGo = {
  controller: sentence(
    "The controller on the spoke still manages this installation, and has yet to let go",
  ),
  hub: sentence(
    "The hub installs this component itself: its annotation knfleet.dev/delivery is Push",
  ),
  otherWork: sentence("ManifestWork <name> of another component has yet to go"),
  removedWork: sentence("ManifestWork <name> of a removed component has yet to go"),
  work: sentence("ManifestWork <name> is still being deleted"),
  longWork: sentence("ManifestWork <name> has been going since <time>; …"),
};

/** A set waits for its user. */
export const approvalBefore = sentence("Stage <name> waits for an approval before it begins");
export const approvalAfter = sentence("Stage <name> is done and waits for an approval");
export const selectionShrank = sentence(
  "The selection lost many clusters at once; nothing is removed until the annotation <annotation> is <hash>",
);
