package manager

import (
	"context"
	"errors"
	"fmt"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	"crest.test/clients/server"
)

func TestEveryKindOfPatch(t *testing.T) {
	ctx := context.Background()
	crest := server.Start(t)
	install(t, crest.Config())
	c := direct(t, crest.Config())
	one := fleet("one", 1)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ok(c.Create(ctx, one))
	stale := one.DeepCopyObject().(*Fleet)

	before := one.DeepCopyObject().(*Fleet)
	one.Spec.Replicas = 2
	ok(c.Patch(ctx, one, client.MergeFrom(before)))
	if one.Spec.Replicas != 2 || one.Generation != 2 {
		t.Errorf("after a merge patch: %+v", one)
	}
	locked := stale.DeepCopyObject().(*Fleet)
	locked.Spec.Message = "late"
	err := c.Patch(ctx, locked, client.MergeFromWithOptions(stale, client.MergeFromWithOptimisticLock{}))
	if !apierrors.IsConflict(err) {
		t.Errorf("expected a conflict: %v", err)
	}
	if err := c.Update(ctx, stale); !apierrors.IsConflict(err) {
		t.Errorf("expected a conflict: %v", err)
	}
	ok(c.Patch(ctx, one, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"test","path":"/spec/replicas","value":2},{"op":"replace","path":"/spec/replicas","value":3}]`))))
	if one.Spec.Replicas != 3 {
		t.Errorf("after a JSON patch: %+v", one.Spec)
	}
	err = c.Patch(ctx, one, client.StrategicMergeFrom(stale))
	if !apierrors.IsUnsupportedMediaType(err) {
		t.Errorf("a strategic patch of a custom resource: %v", err)
	}
	err = c.Patch(ctx, one, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":-1}}`)))
	if !apierrors.IsInvalid(err) {
		t.Errorf("expected invalid: %v", err)
	}
	ok(c.Patch(ctx, one, client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":9}}`)), client.DryRunAll))
	ok(c.Get(ctx, client.ObjectKeyFromObject(one), one))
	if one.Spec.Replicas != 3 {
		t.Errorf("a dry run changed it: %+v", one.Spec)
	}

	one.Status.Replicas = 3
	one.Spec.Replicas = 8
	ok(c.Status().Update(ctx, one))
	if one.Spec.Replicas != 3 || one.Status.Replicas != 3 {
		t.Errorf("after an update of the status: %+v", one)
	}
	scale := &autoscalingv1.Scale{}
	ok(c.SubResource("scale").Get(ctx, one, scale))
	if scale.Spec.Replicas != 3 || scale.Status.Replicas != 3 {
		t.Errorf("the scale: %+v", scale)
	}
	scale.Spec.Replicas = 5
	ok(c.SubResource("scale").Update(ctx, one, client.WithSubResourceBody(scale)))
	ok(c.Get(ctx, client.ObjectKeyFromObject(one), one))
	if one.Spec.Replicas != 5 {
		t.Errorf("after scaling: %+v", one.Spec)
	}
}

func TestApplyAndStrategicPatchOfBuiltins(t *testing.T) {
	ctx := context.Background()
	c := direct(t, server.Start(t).Config())
	owner := client.FieldOwner("tests")
	apply := applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"a": "1"}).WithFinalizers("example.com/one")
	if err := c.Apply(ctx, apply, owner); err != nil {
		t.Fatal(err)
	}
	live := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "applied"}}
	if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil || live.Data["a"] != "1" {
		t.Fatalf("applied: %+v, %v", live, err)
	}
	before := live.DeepCopy()
	live.Data["b"] = "2"
	live.Finalizers = append(live.Finalizers, "example.com/two")
	if err := c.Patch(ctx, live, client.StrategicMergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(live.Data, live.Finalizers) != "map[a:1 b:2] [example.com/one example.com/two]" {
		t.Errorf("patched: %+v", live)
	}
	err := c.Apply(ctx, applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"b": "3"}), owner)
	if !apierrors.IsConflict(err) {
		t.Errorf("expected a conflict: %v", err)
	}
	err = c.Apply(ctx, applycorev1.ConfigMap("applied", namespace).WithData(map[string]string{"b": "3"}), owner, client.ForceOwnership)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Get(ctx, client.ObjectKeyFromObject(live), live); err != nil || fmt.Sprint(live.Data) != "map[b:3]" {
		t.Errorf("applied by force: %+v, %v", live.Data, err)
	}
	result, err := controllerutil.CreateOrPatch(ctx, c, live, func() error {
		live.Finalizers = nil
		return nil
	})
	if err != nil || result != controllerutil.OperationResultUpdated {
		t.Errorf("%s: %v", result, err)
	}
}

func TestListsOfOtherForms(t *testing.T) {
	ctx := context.Background()
	crest := server.Start(t)
	install(t, crest.Config())
	c := direct(t, crest.Config())
	for number := range 5 {
		object := fleet(fmt.Sprintf("fleet-%d", number), int32(number))
		object.Labels = map[string]string{"odd": fmt.Sprint(number%2 == 1)}
		if err := c.Create(ctx, object); err != nil {
			t.Fatal(err)
		}
	}
	gvk, err := apiutil.GVKForObject(&Fleet{}, c.Scheme())
	if err != nil {
		t.Fatal(err)
	}
	facts := new(metav1.PartialObjectMetadataList)
	facts.SetGroupVersionKind(gvk)
	if err := c.List(ctx, facts, client.MatchingLabels{"odd": "true"}); err != nil || len(facts.Items) != 2 {
		t.Errorf("%d: %v", len(facts.Items), err)
	}
	pages, seen := &unstructured.UnstructuredList{}, 0
	pages.SetGroupVersionKind(gvk)
	for {
		if err := c.List(ctx, pages, client.Limit(2), client.Continue(pages.GetContinue())); err != nil {
			t.Fatal(err)
		}
		seen += len(pages.Items)
		if pages.GetContinue() == "" {
			break
		}
	}
	if seen != 5 {
		t.Errorf("%d on pages", seen)
	}
	if err := c.DeleteAllOf(ctx, &Fleet{}, client.InNamespace(namespace), client.MatchingLabels{"odd": "false"}); err != nil {
		t.Fatal(err)
	}
	var left FleetList
	if err := c.List(ctx, &left); err != nil || len(left.Items) != 2 {
		t.Errorf("%d are left: %v", len(left.Items), err)
	}
	var status apierrors.APIStatus
	if err := c.Create(ctx, fleet("fleet-1", 0)); !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonAlreadyExists {
		t.Errorf("expected that it exists: %v", err)
	}
}
