import { describe, type KubeObject } from "../../../api/kubernetes.ts";

/** An object that has not the form of its kind. */
interface Malformed {
  readonly kind: string;
  readonly metadata: Pick<KubeObject["metadata"], "namespace" | "name" | "uid">;
  /** The form that the object has not, for example `the form of its CRD`. */
  readonly form: string;
  /** What is wrong with it, where that is known. */
  readonly why?: string;
}

interface MalformedError {
  readonly reason: "Malformed";
  readonly message: string;
  /** They are all on the hub. */
  readonly cluster: null;
}

/** The objects that one command has met and that have not the form of their kind. It shows the others, and its output names these. */
export class MalformedObjects {
  readonly #errors = new Map<string, MalformedError>();
  #isTold = false;

  /** Remembers an object; what is remembered stays until it is `mended`. */
  add({ kind, metadata, form, why }: Malformed): void {
    const { namespace = "", name, uid } = metadata;
    if (this.#errors.has(uid)) return;
    const title = describe({ kind, namespace, name });
    const message = `${title} has not ${form}, and is left out${why === undefined ? "" : `: ${why}`}`;
    this.#errors.set(uid, { reason: "Malformed", message, cluster: null });
    this.#isTold = false;
  }

  /** The object has the form now. */
  mended(uid: string): void {
    this.#errors.delete(uid);
  }

  has(uid: string): boolean {
    return this.#errors.has(uid);
  }

  get errors(): readonly MalformedError[] {
    return [...this.#errors.values()];
  }

  /** Returns the errors for the output of the command, unless an earlier call has returned them. */
  tell(): readonly MalformedError[] {
    const left = this.#isTold ? [] : this.errors;
    this.#isTold = true;
    return left;
  }
}

/** Where the lists of a command put what has not the form of its kind. */
export function malformedOf({ malformed }: { readonly malformed?: MalformedObjects }): {
  readonly malformed?: MalformedObjects;
} {
  return malformed === undefined ? {} : { malformed };
}
