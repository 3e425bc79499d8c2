/** Kinds of leftovers with their meaning; a test compares docs/cli/orphans.md with this list. */
export const orphanFindings = {
  Orphan: "The anchor of a component that the hub does not have, or has on another cluster",
  AnotherHub: "The anchor of another hub, which cannot be asked from here",
  OldNamespace: "A second anchor of a component, in the namespace that it was installed in before",
  Unanchored:
    "Objects with the mark of a component, but neither its anchor nor the component is there",
  GuardedNamespace:
    "A namespace that is guarded for a component that is gone, so that it cannot be deleted",
  Collision:
    "Two components of one kind on one cluster, also by two ClusterProfiles: one of them has it",
  StuckDeletion: "A deletion that has been waiting for finalizers for over a minute",
} as const;

export type OrphanFinding = keyof typeof orphanFindings;
