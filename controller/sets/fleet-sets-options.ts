import type { KubeClient } from "../../access/kube/kube-client.ts";
import type { References } from "../../access/providers/references.ts";
import type { Spokes } from "../../access/spokes/spokes.ts";
import type { Clock } from "../../access/time/clock.ts";
import type { CheckSource } from "../../access/urls/check-source.ts";
import type { ClusterProfileRef } from "../../api/component.ts";
import type { Releases } from "../../render/release/releases.ts";
import type { RenderOptions } from "../../render/render.ts";
import type { Components } from "../components.ts";
import type { EventRecorder } from "../events.ts";
import type { Log } from "../log.ts";
import type { VerificationsOptions } from "../verify/verifications.ts";

export interface FleetSetsOptions {
  readonly hub: Pick<
    KubeClient,
    "get" | "list" | "watch" | "create" | "apply" | "patch" | "replace" | "remove"
  >;
  readonly components: Pick<Components, "byKey">;
  readonly events: Pick<EventRecorder, "record">;
  /** Absent: every component may use every ClusterProfile. */
  readonly references?: References;
  /** Where the versions come from that a revision of a set promises. */
  readonly releases: Releases;
  readonly rendering: Pick<RenderOptions, "environment">;
  /** Sets of a namespace that are rolled out. */
  readonly maxSetsPerNamespace: number;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Log;
  /** For the checks of rollouts. */
  readonly spokes: Pick<Spokes, "acquire">;
  readonly checkSource: Pick<CheckSource, "ask">;
  /** How the Jobs of checks reach the cluster of a pulled component. */
  readonly pulledJobs: NonNullable<VerificationsOptions["pulled"]>["jobsOf"];
  /** Called when the checks of a rollout need the connection to a cluster no more. */
  readonly onUnused: (profile: ClusterProfileRef) => void;
}
