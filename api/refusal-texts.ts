// Texts of k8s.io/apiserver and its admission plugins. Names are those of objects, so that a message of ours may have them.

/** The quota that is exhausted. The API server says so with status 403 only; elsewhere the words may be an echo of what it was sent. */
export function quotaIn(text: string): string | undefined {
  return / is forbidden: exceeded quota: ([\w.-]{1,253})/.exec(text)?.[1];
}

/** The quota that is so new that its use is not counted yet. It takes seconds, and is said with status 403 only. */
export function uncountedQuotaIn(text: string): string | undefined {
  return / is forbidden: status unknown for quota: ([\w.-]{1,253})/.exec(text)?.[1];
}

/** The webhook that refuses a request, with a status of its own choice. */
export function denyingWebhookIn(text: string): string | undefined {
  return /admission webhook "([\w.-]{1,253})" denied the request/.exec(text)?.[1];
}

/** The ValidatingAdmissionPolicy that refuses a request, with a status of its own choice. */
export function denyingPolicyIn(text: string): string | undefined {
  return /ValidatingAdmissionPolicy '([\w.-]{1,253})' .{0,300}denied request/.exec(text)?.[1];
}

/** The MutatingAdmissionPolicy that refuses a request: its text names no kind, and begins the message of the server. */
export function denyingMutationIn(text: string): string | undefined {
  return /(?:^|: )policy ['"]([\w.-]{1,253})['"] .{0,300}denied request: /.exec(text)?.[1];
}

/** The webhook that the API server could not ask. */
export function silentWebhookIn(text: string): string | undefined {
  return /failed calling webhook "([\w.-]{1,253})"/.exec(text)?.[1];
}
