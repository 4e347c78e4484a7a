package manager

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	finalizer = "fleets.example.com/clean-up"
	// fleetLabel names the fleet that a config map belongs to.
	fleetLabel = "fleets.example.com/fleet"
	// bySecret is an index of fleets in the cache.
	bySecret = "spec.secret"
)

// reconciler makes the config maps that fleets ask for, says so in their status, and cleans up after them.
type reconciler struct {
	client.Client
	// uncached reads from the server: of secrets, the cache may be behind the metadata that tells of a change.
	uncached client.Reader
	recorder events.EventRecorder
}

func addReconciler(ctx context.Context, m manager.Manager) error {
	r := &reconciler{m.GetClient(), m.GetAPIReader(), m.GetEventRecorder("fleets")}
	index := func(object client.Object) []string { return []string{object.(*Fleet).Spec.Secret} }
	if err := m.GetFieldIndexer().IndexField(ctx, &Fleet{}, bySecret, index); err != nil {
		return err
	}
	// Of secrets only the metadata is watched; what they hold is read when it is needed.
	return builder.ControllerManagedBy(m).For(&Fleet{}).Owns(&corev1.ConfigMap{}).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.fleetsOfSecret)).
		Named("fleets").Complete(r)
}

func (r *reconciler) fleetsOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	var fleets FleetList
	selected := client.MatchingFields{bySecret: secret.GetName()}
	if err := r.List(ctx, &fleets, client.InNamespace(secret.GetNamespace()), selected); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for _, fleet := range fleets.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&fleet)})
	}
	return requests
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	fleet := new(Fleet)
	if err := r.Get(ctx, request.NamespacedName, fleet); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if !fleet.DeletionTimestamp.IsZero() {
		return reconcile.Result{}, r.cleanUp(ctx, fleet)
	}
	if controllerutil.AddFinalizer(fleet, finalizer) {
		return reconcile.Result{}, r.Update(ctx, fleet)
	}
	message, err := r.message(ctx, fleet)
	if err != nil {
		return reconcile.Result{}, err
	}
	for number := range fleet.Spec.Replicas {
		if err := r.provide(ctx, fleet, number, message); err != nil {
			return reconcile.Result{}, err
		}
	}
	if err := r.dropSurplus(ctx, fleet); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, r.report(ctx, fleet)
}

func (r *reconciler) message(ctx context.Context, fleet *Fleet) (string, error) {
	if fleet.Spec.Secret == "" {
		return fleet.Spec.Message, nil
	}
	secret := new(corev1.Secret)
	err := r.uncached.Get(ctx, types.NamespacedName{Namespace: fleet.Namespace, Name: fleet.Spec.Secret}, secret)
	return string(secret.Data["message"]), err
}

func (r *reconciler) provide(ctx context.Context, fleet *Fleet, number int32, message string) error {
	owned := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: fleet.Namespace, Name: fmt.Sprintf("%s-%d", fleet.Name, number),
	}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, owned, func() error {
		owned.Labels = map[string]string{fleetLabel: fleet.Name}
		owned.Data = map[string]string{"message": message}
		return controllerutil.SetControllerReference(fleet, owned, r.Scheme())
	})
	if err == nil && result == controllerutil.OperationResultCreated {
		r.recorder.Eventf(fleet, owned, corev1.EventTypeNormal, "Provided", "Provide", "made %s", owned.Name)
	}
	return err
}

func (r *reconciler) dropSurplus(ctx context.Context, fleet *Fleet) error {
	var owned corev1.ConfigMapList
	if err := r.List(ctx, &owned, client.InNamespace(fleet.Namespace), client.MatchingLabels{fleetLabel: fleet.Name}); err != nil {
		return err
	}
	for _, item := range owned.Items {
		var number int32
		if _, err := fmt.Sscanf(item.Name[len(fleet.Name):], "-%d", &number); err != nil || number < fleet.Spec.Replicas {
			continue
		}
		uid := item.UID
		err := r.Delete(ctx, &item, client.Preconditions{UID: &uid})
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}

func (r *reconciler) report(ctx context.Context, fleet *Fleet) error {
	before := fleet.DeepCopyObject().(*Fleet)
	fleet.Status.Replicas = fleet.Spec.Replicas
	fleet.Status.ObservedGeneration = fleet.Generation
	meta.SetStatusCondition(&fleet.Status.Conditions, metav1.Condition{
		Type: "Ready", Status: metav1.ConditionTrue, Reason: "Provided", Message: "all there", ObservedGeneration: fleet.Generation,
	})
	return r.Status().Patch(ctx, fleet, client.MergeFrom(before))
}

// cleanUp removes what a fleet had; there may be nobody else to do it.
func (r *reconciler) cleanUp(ctx context.Context, fleet *Fleet) error {
	err := r.DeleteAllOf(ctx, &corev1.ConfigMap{}, client.InNamespace(fleet.Namespace), client.MatchingLabels{fleetLabel: fleet.Name})
	if err != nil || !controllerutil.RemoveFinalizer(fleet, finalizer) {
		return err
	}
	return client.IgnoreNotFound(r.Update(ctx, fleet))
}
