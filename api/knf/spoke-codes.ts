/** Codes of findings about the network, TLS, identity and rights on a spoke, and about its installations. */
export const spokeCodes = {
  KNF4001: {
    name: "NameNotFound",
    meaning: "The host name of the API server, or of its proxy, does not resolve.",
    next: "Correct the host name in the ClusterProfile, or the name server that is asked.",
  },
  KNF4002: {
    name: "ConnectionRefused",
    meaning: "Nothing listens at the address of the API server.",
    next: "Look whether the API server runs, and whether address and port in the ClusterProfile are right.",
  },
  KNF4003: {
    name: "ConnectTimeout",
    meaning: "No connection to the API server within the time: packets are dropped on the way.",
    next: "Look for a firewall or a missing route between here and the spoke.",
  },
  KNF4004: {
    name: "HostUnreachable",
    meaning: "There is no route to the address of the API server.",
    next: "Look for the missing route between here and the spoke.",
  },
  KNF4005: {
    name: "AddressNotAllowed",
    meaning:
      "The address is one to which connections may not go, such as that of a metadata service.",
    next: "Correct the server in the ClusterProfile, or name the range in allowedServers of the provider.",
  },
  KNF4006: {
    name: "ProxyUnreachable",
    meaning: "The proxy that the ClusterProfile names cannot be reached or trusted.",
    next: "Look whether the proxy runs; correct proxy-url in the ClusterProfile.",
  },
  KNF4007: {
    name: "ProxyRefused",
    meaning: "The proxy does not make a connection to the API server; the message has its answer.",
    next: "Let the proxy connect to the API server; 407 means that it wants a login.",
  },
  KNF4008: {
    name: "ConnectionBroken",
    meaning: "The connection was made and then cut, or what listens there speaks no TLS.",
    next: "Look at the load balancer or server that listens at this address.",
  },
  KNF4009: {
    name: "NoAnswer",
    meaning: "The connection was made, and then the server said nothing.",
    next: "Look whether the API server hangs, or a load balancer has no server behind it.",
  },
  KNF4010: {
    name: "CertificateUntrusted",
    meaning: "The API server's certificate is not signed by the CA of the ClusterProfile.",
    next: "Put the CA of the spoke into certificate-authority-data of the ClusterProfile.",
  },
  KNF4011: {
    name: "CertificateExpired",
    meaning: "The API server's certificate, or one of its chain, has expired or is not valid yet.",
    next: "Renew the server certificate on the spoke; compare the clocks.",
  },
  KNF4012: {
    name: "CertificateWrongName",
    meaning: "The API server's certificate is for other names than the one in the ClusterProfile.",
    next: "Use a name of the certificate as server, or set tls-server-name to one.",
  },
  KNF4013: {
    name: "CertificateEndsSoon",
    meaning: "The API server's certificate or its CA is valid but expires soon.",
    next: "Renew it before it expires.",
  },
  KNF4014: {
    name: "ServerNotVerified",
    meaning:
      "The API server is not verified: whoever controls the network path gets the credential.",
    next: "Put a CA into the ClusterProfile and remove insecure-skip-tls-verify.",
  },
  KNF4015: {
    name: "NotKubernetes",
    meaning: "What answers at this address is not a Kubernetes API server.",
    next: "Correct server in the ClusterProfile; look for a login page or load balancer in between.",
  },
  KNF4016: {
    name: "ServerError",
    meaning: "The API server, or something in front of it, answers with an error.",
    next: "Look at the log of the spoke's API server.",
  },
  KNF4017: {
    name: "TooLarge",
    meaning:
      "The cluster answers with more, or has more objects with the label of an installation, than the controller reads or keeps.",
    next: "Look what answers at this address; delete the objects with the label knfleet.dev/component-uid that no installation made.",
  },
  KNF5001: {
    name: "CredentialRejected",
    meaning:
      "The API server does not accept the credential (401): revoked, expired, or of another cluster.",
    next: "Renew the credential that the provider hands out.",
  },
  KNF5002: {
    name: "RightMissing",
    meaning:
      "The identity that the provider gives lacks rights that the controller needs on the spoke; the first is named.",
    next: "Bind the ClusterRole of docs/spoke-role.yaml to the named user on the spoke.",
  },
  KNF5003: {
    name: "IdentityUnknown",
    meaning: "The API server does not tell the identity of the credential, or its rights.",
    next: "Nothing, if the spoke is reached through a proxy that hides it.",
  },
  KNF5004: {
    name: "IdentityShared",
    meaning:
      "The identity is that of an administrator or a person, so the guard of the anchor does not keep others from its rights.",
    next: "Give the controller a ServiceAccount of its own on the spoke.",
  },
  KNF5005: {
    name: "WorkForbidden",
    meaning:
      "The agent of Open Cluster Management may not apply an object of a work on the spoke; the message names it.",
    next: "Give the work agent on the spoke the named right, by a ClusterRole with the label open-cluster-management.io/aggregate-to-work=true.",
  },
  KNF5006: {
    name: "UseUnknown",
    meaning:
      "The component is to be kept while it is used, and the controller lacks the right to list the objects that use it; the message names it.",
    next: "Give the controller the ClusterRole knfleet-users of docs/removal.md on the cluster, or take knfleet.dev/keep-while-used off the component.",
  },
  KNF6001: {
    name: "KubernetesTooOld",
    meaning: "The spoke's Kubernetes is older than Knative demands.",
    next: "Upgrade the cluster, or set spec.version to a Knative release made for it.",
  },
  KNF6002: {
    name: "AnchorMissing",
    meaning:
      "The anchor of an installation that was there is gone; what it owned is being deleted with it.",
    next: "Make sure that the controller runs: it installs everything again. Find out who deleted the anchor.",
  },
  KNF6003: {
    name: "AnchorConflict",
    meaning: "The installation on the spoke belongs to another hub or another component.",
    next: "Remove that installation first, or choose another namespace.",
  },
  KNF6004: {
    name: "NotInstalled",
    meaning: "Nothing of the component is on the spoke, and nothing on the hub says that it was.",
    next: "Look whether the controller runs and what the conditions of the component say.",
  },
  KNF6005: {
    name: "GuardNotEnforced",
    meaning:
      "The spoke does not refuse to delete the anchor: the guard's policy or binding is missing, or has no effect.",
    next: "Give the controller the rights of docs/spoke-role.yaml; docs/anchor.md says what else it takes.",
  },
  KNF6006: {
    name: "ObjectsMissing",
    meaning: "Objects of the installation's inventory do not exist.",
    next: "Make sure that the controller runs: it creates them again.",
  },
  KNF6007: {
    name: "ObjectsChanged",
    meaning: "Somebody else changed fields of objects of the installation.",
    next: "Make sure that the controller runs: it repairs them. The named manager should give up the fields.",
  },
  KNF6008: {
    name: "InstallIncomplete",
    meaning: "An installation or a rollout was begun and is not finished.",
    next: "Wait while it goes on; else look at the conditions of the component and at the log of the controller.",
  },
  KNF6009: {
    name: "DeploymentsNotAvailable",
    meaning: "Deployments of the installation are missing or not available.",
    next: "Look at the named Deployments on the spoke.",
  },
  KNF6010: {
    name: "PodsNotStarting",
    meaning: "Pods of the installation do not start or do not become ready; the message says why.",
    next: "Remove the cause that the message names, on the spoke.",
  },
  KNF6011: {
    name: "NamespaceTerminating",
    meaning:
      "The namespace of the installation, or that of its works on the hub, is being deleted.",
    next: "Look which finalizers hold the namespace; the controller installs again when it is gone.",
  },
  KNF6012: {
    name: "AdmissionRefused",
    meaning:
      "An admission webhook or policy of the cluster refuses an object of the installation; the message names it.",
    next: "Correct the field of the spec that the refusal is about, or let the named webhook or policy allow the object.",
  },
  KNF6013: {
    name: "StillUsed",
    meaning:
      "The component is kept because it is still used: nothing is removed before the named objects are gone.",
    next: "Delete the named objects, or take knfleet.dev/keep-while-used off the component; docs/removal.md says what happens to them then.",
  },
  KNF6014: {
    name: "DeletionWaits",
    meaning: "Objects of the installation, or its anchor, are still being deleted on the cluster.",
    next: "Wait, or look at the finalizer where the message names one; docs/removal.md says how to let the objects go.",
  },
  KNF6015: {
    name: "ScaledToZero",
    meaning:
      "Somebody scaled Deployments to zero that the release runs. Nothing of Knative works that needs them.",
    next: "Scale the named Deployments up on the spoke, with kubectl scale --replicas=1, or ask for no replicas in spec.workloads of the component.",
  },
  KNF6016: {
    name: "WebhookSilent",
    meaning:
      "A webhook of the cluster does not answer, so that the API server refuses what it is asked about; the message names the webhook.",
    next: "Look at the configuration of the named webhook on that cluster and at the pods of its Service: bring them back, or delete the configuration when what it belongs to is gone.",
  },
  KNF6017: {
    name: "WorkloadsNewlyBroken",
    meaning:
      "Objects by which teams use Knative on the cluster broke since the installation was changed last, which is less than a day ago.",
    next: "List them with kubectl knfleet workloads --broken; when the change is the cause, go back to the version before it.",
  },
} as const;
