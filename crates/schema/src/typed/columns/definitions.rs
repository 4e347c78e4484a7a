//! The columns of each kind, with the words the reference serves.

use super::{Column, Columns, cells};

const NAME: Column = Column {
    name: "Name",
    kind: "string",
    format: "name",
    priority: 0,
    description: "Name must be unique within a namespace. Is required when creating resources, although \
             some resources may allow a client to request the generation of an appropriate name \
             automatically. Name is primarily intended for creation idempotence and configuration \
             definition. Cannot be updated. More info: \
             https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
};

const AGE: Column = column("Age", "string", 0, CREATED);
const CREATED: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. \
         It is not guaranteed to be set in happens-before order across separate operations. Clients \
         may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by \
         the system. Read-only. Null for lists. More info: \
         https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

const fn column(name: &'static str, kind: &'static str, priority: i32, description: &'static str) -> Column {
    Column { name, kind, format: "", priority, description }
}

/// What a kind without columns of its own shows.
static DEFAULT: [Column; 2] = [NAME, column("Created At", "date", 0, CREATED)];

static NAMESPACE: [Column; 3] = [NAME, column("Status", "string", 0, "The status of the namespace"), AGE];

static CONFIG_MAP: [Column; 3] = [
    NAME,
    column(
        "Data",
        "string",
        0,
        "Data contains the configuration data. Each key must consist of alphanumeric characters, \
             '-', '_' or '.'. Values with non-UTF-8 byte sequences must use the BinaryData field. \
             The keys stored in Data must not overlap with the keys in the BinaryData field, this is \
             enforced during validation process.",
    ),
    AGE,
];

static SECRET: [Column; 4] = [
    NAME,
    column(
        "Type",
        "string",
        0,
        "Used to facilitate programmatic handling of secret data. More info: \
             https://kubernetes.io/docs/concepts/configuration/secret/#secret-types",
    ),
    column(
        "Data",
        "string",
        0,
        "Data contains the secret data. Each key must consist of alphanumeric characters, '-', \
             '_' or '.'. The serialized form of the secret data is a base64 encoded string, \
             representing the arbitrary (possibly non-string) data value here. Described in \
             https://tools.ietf.org/html/rfc4648#section-4",
    ),
    AGE,
];

static LEASE: [Column; 3] = [
    NAME,
    column(
        "Holder",
        "string",
        0,
        "holderIdentity contains the identity of the holder of a current lease. If Coordinated \
             Leader Election is used, the holder identity must be equal to the elected \
             LeaseCandidate.metadata.name field.",
    ),
    AGE,
];

static SERVICE_ACCOUNT: [Column; 2] = [NAME, AGE];

static RESOURCE_QUOTA: [Column; 4] = [
    NAME,
    column(
        "Request",
        "string",
        0,
        "Request represents a minimum amount of cpu/memory that a container may consume.",
    ),
    column(
        "Limit",
        "string",
        0,
        "Limits control the maximum amount of cpu/memory that a container may use independent of \
             contention on the node.",
    ),
    AGE,
];

static ROLE_BINDING: [Column; 6] = [
    NAME,
    column(
        "Role",
        "string",
        0,
        "RoleRef can reference a Role in the current namespace or a ClusterRole in the global \
             namespace. If the RoleRef cannot be resolved, the Authorizer must return an error.",
    ),
    AGE,
    column("Users", "string", 1, "Users in the roleBinding"),
    column("Groups", "string", 1, "Groups in the roleBinding"),
    column("ServiceAccounts", "string", 1, "ServiceAccounts in the roleBinding"),
];

static CLUSTER_ROLE_BINDING: [Column; 6] = [
    NAME,
    column(
        "Role",
        "string",
        0,
        "RoleRef can only reference a ClusterRole in the global namespace. If the RoleRef cannot \
             be resolved, the Authorizer must return an error.",
    ),
    AGE,
    column("Users", "string", 1, "Users in the clusterRoleBinding"),
    column("Groups", "string", 1, "Groups in the clusterRoleBinding"),
    column("ServiceAccounts", "string", 1, "ServiceAccounts in the clusterRoleBinding"),
];

static SIGNING_REQUEST: [Column; 6] = [
    NAME,
    AGE,
    column(
        "SignerName",
        "string",
        0,
        "Requested signer for the request. It is a qualified name in the form: \
             `scope-hostname.io/name`. If empty, it will be defaulted:\n 1. If it's a kubelet client \
             certificate, it is assigned\n    \"kubernetes.io/kube-apiserver-client-kubelet\".\n 2. \
             If it's a kubelet serving certificate, it is assigned\n    \
             \"kubernetes.io/kubelet-serving\".\n 3. Otherwise, it is assigned \
             \"kubernetes.io/legacy-unknown\".\nDistribution of trust for signers happens out of \
             band. You can select on this field using `spec.signerName`.",
    ),
    column("Requestor", "string", 0, "Base64-encoded PKCS#10 CSR data"),
    column(
        "RequestedDuration",
        "string",
        0,
        "expirationSeconds is the requested duration of validity of the issued certificate. The \
             certificate signer may issue a certificate with a different validity duration so a \
             client must check the delta between the notBefore and and notAfter fields in the issued \
             certificate to determine the actual duration.\n\nThe v1.22+ in-tree implementations of \
             the well-known Kubernetes signers will honor this field as long as the requested \
             duration is not greater than the maximum duration they will honor per the \
             --cluster-signing-duration CLI flag to the Kubernetes controller \
             manager.\n\nCertificate signers may not honor this field for various reasons:\n\n  1. \
             Old signer that is unaware of the field (such as the in-tree\n     implementations \
             prior to v1.22)\n  2. Signer whose configured maximum is shorter than the requested \
             duration\n  3. Signer whose configured minimum is longer than the requested \
             duration\n\nThe minimum valid value for expirationSeconds is 600, i.e. 10 minutes.",
    ),
    column("Condition", "string", 0, "Conditions applied to the request, such as approval or denial."),
];

static WEBHOOKS: [Column; 3] = [
    NAME,
    column(
        "Webhooks",
        "integer",
        0,
        "Webhooks indicates the number of webhooks registered in this configuration",
    ),
    AGE,
];

static VALIDATING_POLICY: [Column; 4] = [
    NAME,
    column(
        "Validations",
        "integer",
        0,
        "Validations indicates the number of validation rules defined in this configuration",
    ),
    column(
        "ParamKind",
        "string",
        0,
        "ParamKind specifies the kind of resources used to parameterize this policy",
    ),
    AGE,
];

static MUTATING_POLICY: [Column; 4] = [
    NAME,
    column(
        "Mutations",
        "integer",
        0,
        "Mutation indicates the number of mutations rules defined in this configuration",
    ),
    column(
        "ParamKind",
        "string",
        0,
        "ParamKind specifies the kind of resources used to parameterize this policy",
    ),
    AGE,
];

static POLICY_BINDING: [Column; 4] = [
    NAME,
    column(
        "PolicyName",
        "string",
        0,
        "PolicyName indicates the policy definition which the policy binding binded to",
    ),
    column(
        "ParamRef",
        "string",
        0,
        "ParamRef indicates the param resource which sets the configuration param",
    ),
    AGE,
];

static FLOW_SCHEMA: [Column; 6] = [
    NAME,
    column(
        "PriorityLevel",
        "string",
        0,
        "`name` is the name of the priority level configuration being referenced Required.",
    ),
    column(
        "MatchingPrecedence",
        "string",
        0,
        "`matchingPrecedence` is used to choose among the FlowSchemas that match a given \
             request. The chosen FlowSchema is among those with the numerically lowest (which we \
             take to be logically highest) MatchingPrecedence.  Each MatchingPrecedence value must \
             be ranged in [1,10000]. Note that if the precedence is not specified, it will be set to \
             1000 as default.",
    ),
    column(
        "DistinguisherMethod",
        "string",
        0,
        "`distinguisherMethod` defines how to compute the flow distinguisher for requests that \
             match this schema. `nil` specifies that the distinguisher is disabled and thus will \
             always be the empty string.",
    ),
    AGE,
    column("MissingPL", "string", 0, "references a broken or non-existent PriorityLevelConfiguration"),
];

static PRIORITY_LEVEL: [Column; 7] = [
    NAME,
    column(
        "Type",
        "string",
        0,
        "`type` indicates whether this priority level is subject to limitation on request \
             execution.  A value of `\"Exempt\"` means that requests of this priority level are not \
             subject to a limit (and thus are never queued) and do not detract from the capacity \
             made available to other priority levels.  A value of `\"Limited\"` means that (a) \
             requests of this priority level _are_ subject to limits and (b) some of the server's \
             limited capacity is made available exclusively to this priority level. Required.",
    ),
    column(
        "NominalConcurrencyShares",
        "string",
        0,
        "`nominalConcurrencyShares` (NCS) contributes to the computation of the \
             NominalConcurrencyLimit (NominalCL) of this level. This is the number of execution \
             seats available at this priority level. This is used both for requests dispatched from \
             this priority level as well as requests dispatched from other priority levels borrowing \
             seats from this level. The server's concurrency limit (ServerCL) is divided among the \
             Limited priority levels in proportion to their NCS values:\n\nNominalCL(i)  = ceil( \
             ServerCL * NCS(i) / sum_ncs ) sum_ncs = sum[priority level k] NCS(k)\n\nBigger numbers \
             mean a larger nominal concurrency limit, at the expense of every other priority \
             level.\n\nIf not specified, this field defaults to a value of 30.\n\nSetting this field \
             to zero supports the construction of a \"jail\" for this priority level that is used to \
             hold some request(s)",
    ),
    column(
        "Queues",
        "string",
        0,
        "`queues` is the number of queues for this priority level. The queues exist \
             independently at each apiserver. The value must be positive.  Setting it to 1 \
             effectively precludes shufflesharding and thus makes the distinguisher method of \
             associated flow schemas irrelevant.  This field has a default value of 64.",
    ),
    column(
        "HandSize",
        "string",
        0,
        "`handSize` is a small positive number that configures the shuffle sharding of requests \
             into queues.  When enqueuing a request at this priority level the request's flow \
             identifier (a string pair) is hashed and the hash value is used to shuffle the list of \
             queues and deal a hand of the size specified here.  The request is put into one of the \
             shortest queues in that hand. `handSize` must be no larger than `queues`, and should be \
             significantly smaller (so that a few heavy flows do not saturate most of the queues).  \
             See the user-facing documentation for more extensive guidance on setting this field.  \
             This field has a default value of 8.",
    ),
    column(
        "QueueLengthLimit",
        "string",
        0,
        "`queueLengthLimit` is the maximum number of requests allowed to be waiting in a given \
             queue of this priority level at a time; excess requests are rejected.  This value must \
             be positive.  If not specified, it will be defaulted to 50.",
    ),
    AGE,
];

static SERVICE: [Column; 7] = [
    NAME,
    column(
        "Type",
        "string",
        0,
        "type determines how the Service is exposed. Defaults to ClusterIP. Valid options are \
             ExternalName, ClusterIP, NodePort, and LoadBalancer. \"ClusterIP\" allocates a \
             cluster-internal IP address for load-balancing to endpoints. Endpoints are determined \
             by the selector or if that is not specified, by manual construction of an Endpoints \
             object or EndpointSlice objects. If clusterIP is \"None\", no virtual IP is allocated \
             and the endpoints are published as a set of endpoints rather than a virtual IP. \
             \"NodePort\" builds on ClusterIP and allocates a port on every node which routes to the \
             same endpoints as the clusterIP. \"LoadBalancer\" builds on NodePort and creates an \
             external load-balancer (if supported in the current cloud) which routes to the same \
             endpoints as the clusterIP. \"ExternalName\" aliases this service to the specified \
             externalName. Several other fields do not apply to ExternalName services. More info: \
             https://kubernetes.io/docs/concepts/services-networking/service/#publishing-services-service-types",
    ),
    column(
        "Cluster-IP",
        "string",
        0,
        "clusterIP is the IP address of the service and is usually assigned randomly. If an \
             address is specified manually, is in-range (as per system configuration), and is not in \
             use, it will be allocated to the service; otherwise creation of the service will fail. \
             This field may not be changed through updates unless the type field is also being \
             changed to ExternalName (which requires this field to be blank) or the type field is \
             being changed from ExternalName (in which case this field may optionally be specified, \
             as describe above).  Valid values are \"None\", empty string (\"\"), or a valid IP \
             address. Setting this to \"None\" makes a \"headless service\" (no virtual IP), which \
             is useful when direct endpoint connections are preferred and proxying is not required.  \
             Only applies to types ClusterIP, NodePort, and LoadBalancer. If this field is specified \
             when creating a Service of type ExternalName, creation will fail. This field will be \
             wiped when updating a Service to type ExternalName. More info: \
             https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies",
    ),
    column(
        "External-IP",
        "string",
        0,
        "externalIPs is a list of IP addresses for which nodes in the cluster will also accept \
             traffic for this service.  These IPs are not managed by Kubernetes.  The user is \
             responsible for ensuring that traffic arrives at a node with this IP.  A common example \
             is external load-balancers that are not part of the Kubernetes system.",
    ),
    column(
        "Port(s)",
        "string",
        0,
        "The list of ports that are exposed by this service. More info: \
             https://kubernetes.io/docs/concepts/services-networking/service/#virtual-ips-and-service-proxies",
    ),
    AGE,
    column(
        "Selector",
        "string",
        1,
        "Route service traffic to pods with label keys and values matching this selector. If \
             empty or not present, the service is assumed to have an external process managing its \
             endpoints, which Kubernetes will not modify. Only applies to types ClusterIP, NodePort, \
             and LoadBalancer. Ignored if type is ExternalName. More info: \
             https://kubernetes.io/docs/concepts/services-networking/service/",
    ),
];

static ENDPOINT_SLICE: [Column; 5] = [
    NAME,
    column(
        "AddressType",
        "string",
        0,
        "addressType specifies the type of address carried by this EndpointSlice. All addresses \
             in this slice must be the same type. This field is immutable after creation. The \
             following address types are currently supported: * IPv4: Represents an IPv4 Address. * \
             IPv6: Represents an IPv6 Address. * FQDN: Represents a Fully Qualified Domain Name. \
             (Deprecated) The EndpointSlice controller only generates, and kube-proxy only \
             processes, slices of addressType \"IPv4\" and \"IPv6\". No semantics are defined for \
             the \"FQDN\" type.",
    ),
    column(
        "Ports",
        "string",
        0,
        "ports specifies the list of network ports exposed by each endpoint in this slice. Each \
             port must have a unique name. Each slice may include a maximum of 100 ports. Services \
             always have at least 1 port, so EndpointSlices generated by the EndpointSlice \
             controller will likewise always have at least 1 port. EndpointSlices used for other \
             purposes may have an empty ports list.",
    ),
    column(
        "Endpoints",
        "string",
        0,
        "endpoints is a list of unique endpoints in this slice. Each slice may include a maximum \
             of 1000 endpoints.",
    ),
    AGE,
];

static API_SERVICE: [Column; 4] = [
    NAME,
    column("Service", "string", 0, "The reference to the service that hosts this API endpoint."),
    column("Available", "string", 0, "Whether this service is available."),
    AGE,
];

static EVENT: [Column; 10] = [
    column(
        "Last Seen",
        "string",
        0,
        "The time at which the most recent occurrence of this event was recorded.",
    ),
    column(
        "Type",
        "string",
        0,
        "Type of this event (Normal, Warning), new types could be added in the future",
    ),
    column(
        "Reason",
        "string",
        0,
        "This should be a short, machine understandable string that gives the reason for the \
             transition into the object's current status.",
    ),
    column("Object", "string", 0, "The object that this event is about."),
    column(
        "Subobject",
        "string",
        1,
        "If referring to a piece of an object instead of an entire object, this string should \
             contain a valid JSON/Go field access statement, such as \
             desiredState.manifest.containers[2]. For example, if the object reference is to a \
             container within a pod, this would take on a value like: \"spec.containers{name}\" \
             (where \"name\" refers to the name of the container that triggered the event) or if no \
             container name is specified \"spec.containers[2]\" (container with index 2 in this \
             pod). This syntax is chosen only to have some well-defined way of referencing a part of \
             an object.",
    ),
    column(
        "Source",
        "string",
        1,
        "The component reporting this event. Should be a short machine understandable string.",
    ),
    column("Message", "string", 0, "A human-readable description of the status of this operation."),
    column(
        "First Seen",
        "string",
        1,
        "The time at which the event was first recorded. (Time of server receipt is in TypeMeta.)",
    ),
    column("Count", "string", 1, "The number of times this event has occurred."),
    Column { priority: 1, ..NAME },
];

pub(super) fn of(group: &str, kind: &str) -> Columns {
    let (definitions, cells): (&'static [Column], super::Cells) = match kind {
        "Namespace" => (&NAMESPACE, cells::namespace),
        "ConfigMap" => (&CONFIG_MAP, cells::config_map),
        "Secret" => (&SECRET, cells::secret),
        "Event" if group.is_empty() => (&EVENT, cells::core_event),
        "Event" => (&EVENT, cells::new_event),
        "Lease" => (&LEASE, cells::lease),
        "ServiceAccount" => (&SERVICE_ACCOUNT, cells::name_and_age),
        "ResourceQuota" => (&RESOURCE_QUOTA, cells::resource_quota),
        "RoleBinding" => (&ROLE_BINDING, cells::role_binding),
        "ClusterRoleBinding" => (&CLUSTER_ROLE_BINDING, cells::role_binding),
        "CertificateSigningRequest" => (&SIGNING_REQUEST, cells::signing_request),
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => (&WEBHOOKS, cells::webhooks),
        "ValidatingAdmissionPolicy" => (&VALIDATING_POLICY, cells::validating_policy),
        "MutatingAdmissionPolicy" => (&MUTATING_POLICY, cells::mutating_policy),
        "ValidatingAdmissionPolicyBinding" | "MutatingAdmissionPolicyBinding" => {
            (&POLICY_BINDING, cells::policy_binding)
        }
        "FlowSchema" => (&FLOW_SCHEMA, cells::flow_schema),
        "PriorityLevelConfiguration" => (&PRIORITY_LEVEL, cells::priority_level),
        "Service" => (&SERVICE, cells::service),
        "EndpointSlice" => (&ENDPOINT_SLICE, cells::endpoint_slice),
        "APIService" => (&API_SERVICE, cells::api_service),
        _ => (&DEFAULT, cells::name_and_creation),
    };
    Columns { definitions, cells }
}
