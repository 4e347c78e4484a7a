// Package manager holds an operator written with controller-runtime, and runs it against the server.
package manager

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/scheme"
)

var (
	groupVersion  = schema.GroupVersion{Group: "fleets.example.com", Version: "v1"}
	schemeBuilder = (&scheme.Builder{GroupVersion: groupVersion}).Register(&Fleet{}, &FleetList{})
)

// Fleet asks for a number of config maps with the same message.
type Fleet struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              FleetSpec   `json:"spec,omitempty"`
	Status            FleetStatus `json:"status,omitempty"`
}

type FleetSpec struct {
	Replicas int32  `json:"replicas"`
	Message  string `json:"message,omitempty"`
	// The name of a secret that the message comes from.
	Secret string `json:"secret,omitempty"`
}

type FleetStatus struct {
	Replicas           int32              `json:"replicas,omitempty"`
	ObservedGeneration int64              `json:"observedGeneration,omitempty"`
	Conditions         []metav1.Condition `json:"conditions,omitempty"`
}

type FleetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Fleet `json:"items"`
}

func (f *Fleet) DeepCopyObject() runtime.Object {
	copied := *f
	f.ObjectMeta.DeepCopyInto(&copied.ObjectMeta)
	copied.Status.Conditions = append([]metav1.Condition(nil), f.Status.Conditions...)
	return &copied
}

func (l *FleetList) DeepCopyObject() runtime.Object {
	copied := *l
	l.ListMeta.DeepCopyInto(&copied.ListMeta)
	copied.Items = make([]Fleet, len(l.Items))
	for i := range l.Items {
		copied.Items[i] = *l.Items[i].DeepCopyObject().(*Fleet)
	}
	return &copied
}

// definition is what a generator makes of the types above.
func definition() *apiextensionsv1.CustomResourceDefinition {
	type props = map[string]apiextensionsv1.JSONSchemaProps
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	integer := func(format string) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "integer", Format: format}
	}
	replicas := integer("int32")
	replicas.Minimum = new(float64(0))
	condition := apiextensionsv1.JSONSchemaProps{
		Type: "object", Required: []string{"type", "status", "reason", "message", "lastTransitionTime"},
		Properties: props{
			"type": text, "status": text, "reason": text, "message": text, "observedGeneration": integer("int64"),
			"lastTransitionTime": {Type: "string", Format: "date-time"},
		},
	}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: "fleets." + groupVersion.Group},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: groupVersion.Group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: "fleets", Singular: "fleet", Kind: "Fleet", ListKind: "FleetList"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: groupVersion.Version, Served: true, Storage: true,
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{
						SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas",
					},
				},
				SelectableFields: []apiextensionsv1.SelectableField{{JSONPath: ".spec.secret"}},
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object",
					Properties: props{
						"apiVersion": text, "kind": text, "metadata": {Type: "object"},
						"spec": {
							Type: "object", Required: []string{"replicas"},
							Properties: props{"replicas": replicas, "message": text, "secret": text},
						},
						"status": {Type: "object", Properties: props{
							"replicas": integer("int32"), "observedGeneration": integer("int64"),
							"conditions": {
								Type: "array", XListType: new("map"), XListMapKeys: []string{"type"},
								Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &condition},
							},
						}},
					},
				}},
			}},
		},
	}
}
