import type { Code, Reason, rollingOut, scaledToZero } from "../../../api/reasons.ts";

/** The reasons of this program only, with their meaning. docs/cli/output.md shows them. */
export const ownReasons = {
  NoStatus: "No controller has written a status yet",
  NotObserved: "The controller has not seen the latest change of the spec",
  NoProviderFile: "No provider file was named, so spokes cannot be reached",
  PluginNotRun:
    "The provider file came from the hub, and what it names is not done on this machine",
  PullOnly:
    "Open Cluster Management brings the component to its cluster, to which the hub has no way",
  Interrupted: "The command was interrupted, or its time was over, before the cluster had answered",
  NotInBundle: "The bundle has nothing about the cluster",
  Timeout: "The cluster did not answer within --spoke-timeout",
  ServerError: "The API server answered with an error",
  LogUnavailable: "The API server answered, but cannot get the log of a container from its node",
  NotStarted: "The container has not started, so it has no log",
  NotInstalled: "The cluster has no anchor of this installation",
  OtherInstallation:
    "The cluster has no anchor of this installation, but Deployments of another one",
  AnchorMissing: "The anchor is gone; the garbage collector removes what it owned",
  NoDeployments: "No Deployment of the installation exists",
  DeploymentsMissing: "Deployments of the installation's inventory do not exist",
  Malformed:
    "An object of the hub has not the form of its CRD, so the command leaves it out and shows the others",
  NotFound: "The hub has no installation or set of the name that was asked for",
  NoController:
    "No replica of the controller works for what is shown, so the hub's words may be out of date",
  HubUnavailable: "The hub could not be asked",
  NotServed: "The hub has no resource type of Knative installations",
  StreamLimit: "More containers than --max-streams have logs, and the rest were not read",
  Usage: "The command line, a file or a template cannot be used",
  InternalError: "The program has a bug",
} as const satisfies Readonly<Record<string, string>>;

export type OwnReason = keyof typeof ownReasons;

/** Every reason that this program prints. */
export type LiveReason = Reason | Code | OwnReason | typeof rollingOut | typeof scaledToZero;
