import { isSameJson } from "../../api/fields.ts";
import { guardAnnotations, guardLabels } from "../anchor.ts";
import {
  type GuardName,
  type GuardView,
  areFinalizersKept,
  areMarkersKept,
  configMapOf,
  definitionOf,
  isConfirmationKept,
  isConfirmed,
  isFreeToChange,
  isLabelKept,
  namespaceOf,
  wayOut,
  wayOutExpression,
} from "./guard-view.ts";

/**
 * One rule of a guard in two languages: in CEL for the API server, which evaluates it as a policy, and in TypeScript for the webhook. The truth table
 * of anchor-guard.md 4 proves that both are equal.
 */
export interface GuardRule {
  /** True lets the request pass. */
  readonly expression: string;
  /** Equal to `expression`. */
  readonly passes: (view: GuardView) => boolean;
  /** The message for a refused user. */
  readonly message: (view: GuardView) => string;
  /** Replaces `message` where the text depends on more than the hub. */
  readonly messageExpression?: (hubId: string) => string;
}

const { confirmDeletion } = guardAnnotations;
const probeOfCreate: GuardRule = {
  expression: "!variables.probe",
  passes: (view) =>
    !(view.operation === "CREATE" && Object.hasOwn(view.newAnnotations, guardAnnotations.probe)),
  message: () => "knfleet enforcement probe: denied as intended (CREATE)",
};

const probeOfDelete: GuardRule = {
  expression: "!(request.operation == 'DELETE' && variables.isController && variables.isDryRun)",
  passes: (view) => !(view.operation === "DELETE" && view.isController && view.isDryRun),
  message: () => "knfleet enforcement probe: denied as intended (DELETE)",
};

/** The users who may confirm the deletion of an object; `where` narrows the right to a namespace. */
function confirmation(where: string, place: (view: GuardView) => string): GuardRule {
  const right = `authorizer.group('operator.knative.dev').resource('anchors')${where}.name(oldObject.metadata.name).check('unprotect').allowed()`;
  return {
    expression: `request.operation != 'UPDATE' || variables.isController || variables.confirmKept
|| (variables.newAnn['${confirmDeletion}'] == oldObject.metadata.uid
  && ${right})`,
    passes: (view) =>
      isFreeToChange(view) ||
      isConfirmationKept(view) ||
      (view.newAnnotations[confirmDeletion] === view.uid && view.mayUnprotect),
    message: (view) =>
      `${place(view)}: annotation ${confirmDeletion} must be the UID of this object (${view.uid}), set by a user who may "unprotect" anchors.operator.knative.dev`,
    messageExpression: () =>
      `variables.place + ': annotation ${confirmDeletion} must be the UID of this object (' + oldObject.metadata.uid + '), set by a user who may "unprotect" anchors.operator.knative.dev'`,
  };
}

function owners(what: string, place: (view: GuardView) => string): GuardRule {
  return {
    expression:
      "request.operation != 'UPDATE' || variables.isController || variables.newOwners == variables.oldOwners",
    passes: (view) => isFreeToChange(view) || isSameJson(view.newOwners, view.oldOwners),
    message: (view) => `${place(view)}: ownerReferences of ${what} may not be changed`,
    messageExpression: () => `variables.place + ': ownerReferences of ${what} may not be changed'`,
  };
}

const anchorRules: readonly GuardRule[] = [
  probeOfCreate,
  probeOfDelete,
  {
    expression: "request.operation != 'CREATE' || variables.isController",
    passes: (view) => view.operation !== "CREATE" || view.isController,
    message: ({ hubId }) =>
      `only the Knative hub controller of hub ${hubId} may create an anchor with its markers`,
  },
  {
    expression:
      "request.operation == 'DELETE' || !variables.isController || variables.newOwners.size() == 0",
    passes: (view) =>
      view.operation === "DELETE" || !view.isController || view.newOwners.length === 0,
    message: () => "an anchor must not have ownerReferences",
  },
  {
    expression: "request.operation != 'UPDATE' || variables.isController || variables.markersKept",
    passes: (view) => isFreeToChange(view) || areMarkersKept(view),
    message: (view) =>
      `${configMapOf(view)}: the anchor markers (anchor, protected, cr-uid, hub-id) may be changed only by the Knative hub controller of hub ${view.hubId}`,
    messageExpression: (hubId) =>
      `variables.place + ': the anchor markers (anchor, protected, cr-uid, hub-id) may be changed only by the Knative hub controller of hub ${hubId}'`,
  },
  owners("an anchor", configMapOf),
  {
    expression:
      "request.operation != 'UPDATE' || variables.isController || variables.finalizersKept",
    passes: (view) => isFreeToChange(view) || areFinalizersKept(view),
    message: (view) =>
      `${configMapOf(view)}: finalizers of an anchor may not be changed, except that foregroundDeletion and orphan may be removed while it is being deleted`,
    messageExpression: () =>
      "variables.place + ': finalizers of an anchor may not be changed, except that foregroundDeletion and orphan may be removed while it is being deleted'",
  },
  confirmation(".namespace(request.namespace)", configMapOf),
  {
    expression: `request.operation != 'DELETE' || variables.isController
|| variables.namespaceTerminating || variables.confirmed`,
    passes: (view) =>
      view.operation !== "DELETE" ||
      view.isController ||
      view.namespaceTerminating ||
      isConfirmed(view),
    message: (view) =>
      `${configMapOf(view)} anchors a Knative installation managed from hub ${view.hubId}; deleting it removes every object of the installation. ${wayOut(view)}`,
    messageExpression: (hubId) =>
      `variables.place + ' anchors a Knative installation managed from hub ${hubId}; deleting it removes every object of the installation. ${wayOutExpression}`,
  },
];

const namespaceRules: readonly GuardRule[] = [
  probeOfCreate,
  probeOfDelete,
  {
    expression: "request.operation != 'CREATE' || variables.isController",
    passes: (view) => view.operation !== "CREATE" || view.isController,
    message: ({ hubId }) =>
      `label ${guardLabels.namespace}=${hubId} may be set only by the Knative hub controller`,
  },
  {
    expression: "request.operation != 'UPDATE' || variables.isController || variables.labelKept",
    passes: (view) => isFreeToChange(view) || isLabelKept(view, guardLabels.namespace),
    message: (view) =>
      `${namespaceOf(view)}: label ${guardLabels.namespace} may be changed only by the Knative hub controller of hub ${view.hubId}`,
    messageExpression: (hubId) =>
      `variables.place + ': label ${guardLabels.namespace} may be changed only by the Knative hub controller of hub ${hubId}'`,
  },
  owners("a namespace that holds an anchor", namespaceOf),
  {
    expression:
      "request.operation != 'UPDATE' || variables.deleting || variables.newSpecFinalizers == variables.oldSpecFinalizers",
    passes: (view) =>
      view.operation !== "UPDATE" ||
      view.deleting ||
      isSameJson(view.newSpecFinalizers, view.oldSpecFinalizers),
    message: (view) =>
      `${namespaceOf(view)}: spec.finalizers may not be changed while the namespace is live`,
    messageExpression: () =>
      "variables.place + ': spec.finalizers may not be changed while the namespace is live'",
  },
  confirmation(".namespace(oldObject.metadata.name)", namespaceOf),
  {
    expression:
      "request.operation != 'DELETE' || variables.isController || variables.deleting || variables.confirmed",
    passes: (view) =>
      view.operation !== "DELETE" || view.isController || view.deleting || isConfirmed(view),
    message: (view) =>
      `${namespaceOf(view)} holds the anchor of a Knative installation managed from hub ${view.hubId}; deleting it removes the installation. ${wayOut(view)}`,
    messageExpression: (hubId) =>
      `variables.place + ' holds the anchor of a Knative installation managed from hub ${hubId}; deleting it removes the installation. ${wayOutExpression}`,
  },
];

const crdRules: readonly GuardRule[] = [
  probeOfDelete,
  {
    expression: "request.operation != 'UPDATE' || variables.isController || variables.labelKept",
    passes: (view) => isFreeToChange(view) || isLabelKept(view, guardLabels.crd),
    message: ({ hubId }) =>
      `label ${guardLabels.crd} may be removed only by the Knative hub controller of hub ${hubId}`,
  },
  owners("a Knative CustomResourceDefinition", definitionOf),
  confirmation("", definitionOf),
  {
    expression:
      "request.operation != 'DELETE' || variables.isController || variables.deleting || variables.confirmed",
    passes: (view) =>
      view.operation !== "DELETE" || view.isController || view.deleting || isConfirmed(view),
    message: (view) =>
      `${definitionOf(view)} is part of a Knative installation managed from hub ${view.hubId}; deleting it deletes every object of its kind. Break-glass: set annotation ${confirmDeletion}=${view.uid} first`,
    messageExpression: (hubId) =>
      `variables.place + ' is part of a Knative installation managed from hub ${hubId}; deleting it deletes every object of its kind. Break-glass: set annotation ${confirmDeletion}=' + oldObject.metadata.uid + ' first'`,
  },
];

/** The rules of each guard, in their order. The first rule that refuses gives the message. */
export const guardRules: Readonly<Record<GuardName, readonly GuardRule[]>> = {
  "anchor-guard": anchorRules,
  "namespace-guard": namespaceRules,
  "crd-guard": crdRules,
};
