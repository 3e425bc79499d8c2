/** Codes of findings about ClusterProfiles, access providers, exec plugins and credentials. */
export const accessCodes = {
  KNF2001: {
    name: "ProfilesNotServed",
    meaning: "The hub serves no ClusterProfiles: the CRD of the Cluster Inventory API is missing.",
    next: "Install the CRD of the Cluster Inventory API on the hub.",
  },
  KNF2002: {
    name: "ClusterProfileNotFound",
    meaning: "The ClusterProfile that the component names does not exist.",
    next: "Create the ClusterProfile, or delete the component and create it with the right spec.clusterProfileRef.",
  },
  KNF2003: {
    name: "ClusterProfileUnhealthy",
    meaning: "The cluster manager says that the control plane of the cluster is not healthy.",
    next: "Look at the condition ControlPlaneHealthy of the ClusterProfile, and at its cluster manager.",
  },
  KNF2004: {
    name: "ClusterProfileHealthUnknown",
    meaning:
      "The ClusterProfile has neither the condition ControlPlaneHealthy nor Joined=True, which counts as not healthy.",
    next: "Look whether the cluster manager runs; by hand, write the condition into the status.",
  },
  KNF2005: {
    name: "ClusterProfileUnreadable",
    meaning: "The ClusterProfile could not be read, and may not exist.",
    next: "Ask for the right to get ClusterProfiles, or look at the hub's API server.",
  },
  KNF2006: {
    name: "EndpointInvalid",
    meaning: "Server, CA, TLS name or proxy in the ClusterProfile cannot be used.",
    next: "Correct the field of status.accessProviders that the message names.",
  },
  KNF2007: {
    name: "EndpointOdd",
    meaning: "The access data of the ClusterProfile works, but a field is ignored or expires soon.",
    next: "Correct the field that the message names.",
  },
  KNF2008: {
    name: "ExtensionInvalid",
    meaning: "The ClusterProfile's extension data for the exec plugin cannot be used.",
    next: "Correct the extension in status.accessProviders that the message names.",
  },
  KNF2009: {
    name: "NotManagedByOCM",
    meaning:
      "The ClusterProfile names no ManagedCluster of Open Cluster Management, or the hub has none of that name, so no work can bring Knative to the cluster.",
    next: "Let the cluster join Open Cluster Management, or take knfleet.dev/delivery=Pull off the component.",
  },
  KNF2010: {
    name: "WorkMissing",
    meaning: "The hub has no ManifestWork that brings the component to its cluster.",
    next: "Look at the conditions of the component, and at the right of the controller to write ManifestWorks.",
  },
  KNF2011: {
    name: "PullOnly",
    meaning:
      "Works of Open Cluster Management bring the component to its cluster, and the hub has no way to dial it.",
    next: "Run the command where the cluster can be dialled, or let its ClusterProfile offer an access provider, too.",
  },
  KNF2012: {
    name: "WorkRightMissing",
    meaning:
      "The controller lacks a right on the hub that it needs to bring Knative to the cluster by works of Open Cluster Management; the message names it.",
    next: "Give the controller the named right on the hub: docs/pull-role.yaml has all that it needs.",
  },
  KNF2013: {
    name: "WorkRefused",
    meaning:
      "The hub does not take a work of Open Cluster Management; the message says whether a quota, an admission webhook, a policy or the size stands in the way.",
    next: "Remove on the hub what the message names: raise the quota, or let the webhook or policy allow the ManifestWork.",
  },
  KNF2014: {
    name: "ClusterProfileLeaving",
    meaning:
      "The ClusterProfile is being deleted and a finalizer holds it: nothing is installed through it any more; a removal still works.",
    next: "Let the program whose finalizer holds the ClusterProfile take it off; delete the component if the cluster is to go.",
  },
  KNF2015: {
    name: "NoAccessOffered",
    meaning: "The ClusterProfile offers no way in: status.accessProviders is empty.",
    next: "Let the cluster manager write status.accessProviders; docs/providers.md names what each manager needs for it.",
  },
  KNF2016: {
    name: "ManagedClusterLeaving",
    meaning:
      "The ManagedCluster of Open Cluster Management is being deleted, so the cluster gets no works any more.",
    next: "Delete the component if the cluster is to go; docs/ocm.md says what becomes of Knative on a cluster that is detached.",
  },
  KNF2017: {
    name: "HandOverWaits",
    meaning:
      "Another controller, or a ManifestWork of before, still has what the component is to have, and lets go first.",
    next: "Look whether the pod of the agent on the spoke runs, and what holds the ManifestWork where the message names one; docs/ocm.md says what each waits for.",
  },
  KNF2018: {
    name: "OtherManagedCluster",
    meaning:
      "The ClusterProfile stands for another ManagedCluster than the one that the works of the component were written for.",
    next: "Give the ClusterProfile its label open-cluster-management.io/cluster-name back, or delete the component and make it again.",
  },
  KNF2019: {
    name: "AgentSilent",
    meaning:
      "Open Cluster Management does not hear of the cluster: its agent does not report to the hub, or does not reach its API server.",
    next: "Look on the cluster at the klusterlet and its pods, in namespace open-cluster-management-agent, and at their way to the hub; where the message says so, at the API server there.",
  },
  KNF3001: {
    name: "ProviderFileNotNamed",
    meaning:
      "No provider file was named and none was found at the controller, so spokes cannot be reached.",
    next: "Name it with --clusterprofile-provider-file or KNFLEET_PROVIDER_FILE; start the controller with the flag, too.",
  },
  KNF3002: {
    name: "ProviderFileUnreadable",
    meaning: "The provider file cannot be read.",
    next: "Check the path and the mode of the file.",
  },
  KNF3003: {
    name: "ProviderFileInvalid",
    meaning: "The provider file is invalid; the message names the position.",
    next: "Correct the file at the position that the message names.",
  },
  KNF3004: {
    name: "NoMatchingProvider",
    meaning: "The ClusterProfile offers no provider of the provider file.",
    next: "Add a provider of one of the offered names to the provider file.",
  },
  KNF3005: {
    name: "ProviderInvalid",
    meaning: "Every provider that matches the ClusterProfile is unusable; the message says why.",
    next: "Correct the provider's entry in the provider file.",
  },
  KNF3006: {
    name: "PluginNotFound",
    meaning: "The exec plugin's command does not exist.",
    next: "Install the plugin where the provider file says, or correct the command.",
  },
  KNF3007: {
    name: "PluginNotExecutable",
    meaning: "The exec plugin's command is a file that is not executable.",
    next: "Make the file executable: chmod 755.",
  },
  KNF3008: {
    name: "PluginNotAllowed",
    meaning:
      "A rule of this machine forbids the exec plugin: a plugin root, its digest, its mode, or the policy of kuberc.",
    next: "Allow the plugin where the message says, or use the one that is allowed.",
  },
  KNF3009: {
    name: "PluginFailed",
    meaning: "The exec plugin ended with an error.",
    next: "Read its standard error; run it by hand as shown.",
  },
  KNF3010: {
    name: "PluginTimeout",
    meaning:
      "The exec plugin did not end within its time. The upstream operator would wait for ever.",
    next: "Find out what the plugin waits for; run it by hand as shown.",
  },
  KNF3011: {
    name: "PluginOutputInvalid",
    meaning: "The exec plugin printed something other than a usable ExecCredential.",
    next: "Run the plugin by hand as shown and look at what it prints, but not where others see it.",
  },
  KNF3012: {
    name: "PluginInputTooLarge",
    meaning: "The input of the exec plugin is too large for a process.",
    next: "Make the CA bundle in the ClusterProfile smaller.",
  },
  KNF3013: {
    name: "PluginNotRun",
    meaning: "The exec plugin was not run, because its command came from the cluster.",
    next: "Run again with --exec and --plugin-root FOLDER, or name a provider file of this machine.",
  },
  KNF3014: {
    name: "CredentialExpired",
    meaning: "The credential that the exec plugin gave has expired.",
    next: "Renew the credential that the provider hands out.",
  },
  KNF3015: {
    name: "SecretNotFound",
    meaning: "The Secret that holds the credential does not exist on the hub.",
    next: "Create the Secret as docs/access.md says.",
  },
  KNF3016: {
    name: "SecretKeyMissing",
    meaning: "The Secret exists but does not have the key that the exec plugin reads.",
    next: "Store the credential under the key that the message names.",
  },
  KNF3017: {
    name: "SecretForbidden",
    meaning: "The identity that the exec plugin has on the hub may not read the Secret.",
    next: "Give that identity the right to get this Secret and no other.",
  },
  KNF3018: {
    name: "SecretInOtherNamespace",
    meaning:
      "The Secret is not where the exec plugin looks, but one of the same name is in another namespace.",
    next: "Name the namespace with --plugin-namespace; in the controller it is its own, or POD_NAMESPACE.",
  },
  KNF3019: {
    name: "ProviderPassedOver",
    meaning:
      "A provider that comes earlier in the file matches too, but it or its entry in the ClusterProfile cannot be used.",
    next: "Correct the earlier provider or entry as the message says, or remove it.",
  },
  KNF3020: {
    name: "CredentialEndsSoon",
    meaning: "The credential works but expires soon, and nothing may renew it before.",
    next: "Make sure that the credential is renewed before it expires.",
  },
  KNF3021: {
    name: "StoredCredentialEnds",
    meaning:
      "The credential is stored in a Secret and ends soon. It is not renewed unless something else writes a new one into the Secret.",
    next: "Write a new credential into the Secret before it ends, or store a token that does not end; docs/access.md says how.",
  },
  KNF3022: {
    name: "EndpointNotAllowed",
    meaning:
      "The provider does not let its credential go where the ClusterProfile leads: allowedServers, allowedProxies or systemRoots is in the way.",
    next: "Change the key of the provider that the message names, in the provider file; or the ClusterProfile, when it leads to the wrong place.",
  },
  KNF3023: {
    name: "PluginHomeMissing",
    meaning:
      "No folder could be made in which the exec plugin keeps what it caches; the temporary folder is full, or nothing may be written there.",
    next: "Make room in the temporary folder of the program that runs the plugin, or name another one with TMPDIR.",
  },
} as const;
