package manager

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"crest.test/clients/server"
)

const (
	namespace = "default"
	// The one secret that the cache of the manager knows.
	messages = "messages"
)

func init() { log.SetLogger(logr.Discard()) }

// install defines fleets and waits for them as envtest does.
func install(t testing.TB, config *rest.Config) {
	t.Helper()
	_, err := envtest.InstallCRDs(config, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{definition()}, MaxTime: server.Patience, PollInterval: 10 * time.Millisecond,
	})
	if err != nil {
		t.Fatalf("fleets cannot be defined: %v", err)
	}
}

func kinds(t testing.TB) *runtime.Scheme {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, schemeBuilder.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	return kinds
}

// direct reads and writes without a cache.
func direct(t testing.TB, config *rest.Config) client.Client {
	t.Helper()
	c, err := client.New(config, client.Options{Scheme: kinds(t)})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// operate runs an operator until the test ends or its context does.
func operate(ctx context.Context, t testing.TB, restConfig *rest.Config) manager.Manager {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	short := func(duration time.Duration) *time.Duration { return &duration }
	m, err := ctrl.NewManager(restConfig, manager.Options{
		Scheme:           kinds(t),
		LeaderElection:   true,
		LeaderElectionID: "fleets", LeaderElectionNamespace: namespace, LeaderElectionReleaseOnCancel: true,
		// Longer than the server is ever away in a test.
		LeaseDuration: short(30 * time.Second), RenewDeadline: short(25 * time.Second), RetryPeriod: short(200 * time.Millisecond),
		Metrics:    metricsserver.Options{BindAddress: "0"},
		Controller: config.Controller{SkipNameValidation: new(true), MaxConcurrentReconciles: 4},
		Cache: cache.Options{ByObject: map[client.Object]cache.ByObject{
			&corev1.Secret{}: {Field: fields.OneTermEqualSelector("metadata.name", messages)},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := addReconciler(ctx, m); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended badly: %v", err)
		}
	})
	return m
}

func fleet(name string, replicas int32) *Fleet {
	return &Fleet{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       FleetSpec{Replicas: replicas, Message: "hello"},
	}
}

// settled tells what a fleet still lacks.
func settled(ctx context.Context, c client.Reader, name string, replicas int32, message string) error {
	live := new(Fleet)
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, live); err != nil {
		return err
	}
	ready := meta.FindStatusCondition(live.Status.Conditions, "Ready")
	if ready == nil || ready.Status != metav1.ConditionTrue || live.Status.ObservedGeneration != live.Generation {
		return fmt.Errorf("%s is not ready: %+v", name, live.Status)
	}
	var owned corev1.ConfigMapList
	if err := c.List(ctx, &owned, client.InNamespace(namespace), client.MatchingLabels{fleetLabel: name}); err != nil {
		return err
	}
	if len(owned.Items) != int(replicas) || live.Status.Replicas != replicas {
		return fmt.Errorf("%s has %d of %d", name, len(owned.Items), replicas)
	}
	for _, item := range owned.Items {
		if item.Data["message"] != message || !metav1.IsControlledBy(&item, live) {
			return fmt.Errorf("%s: %+v", item.Name, item)
		}
	}
	return nil
}

func gone(ctx context.Context, c client.Reader, object client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return nil
	}
	return fmt.Errorf("%s is there: %v", object.GetName(), err)
}

func TestAnOperatorDoesItsWork(t *testing.T) {
	ctx := context.Background()
	crest := server.Start(t)
	install(t, crest.Config())
	c := direct(t, crest.Config())
	for _, name := range []string{messages, "unseen"} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, StringData: map[string]string{"message": "secret"}}
		if err := c.Create(ctx, secret); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Create(ctx, fleet("early", 1)); err != nil {
		t.Fatal(err)
	}
	m := operate(ctx, t, crest.Config())
	late := fleet("late", 3)
	if err := c.Create(ctx, late); err != nil {
		t.Fatal(err)
	}
	server.Eventually(t, "early", func() error { return settled(ctx, c, "early", 1, "hello") })
	server.Eventually(t, "late", func() error { return settled(ctx, c, "late", 3, "hello") })

	// What somebody deletes or spoils comes back.
	spoiled := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "late-0"}}
	if err := c.Delete(ctx, spoiled); err != nil {
		t.Fatal(err)
	}
	spoiled.Name = "late-1"
	if err := c.Patch(ctx, spoiled, client.RawPatch("application/merge-patch+json", []byte(`{"data":{"message":"x"}}`))); err != nil {
		t.Fatal(err)
	}
	server.Eventually(t, "late, repaired", func() error { return settled(ctx, c, "late", 3, "hello") })

	// Scaled through the subresource, and fed by a secret of which the manager sees the metadata.
	patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"replicas":2}}`))
	if err := c.SubResource("scale").Patch(ctx, late, patch, client.WithSubResourceBody(&autoscalingv1.Scale{})); err != nil {
		t.Fatal(err)
	}
	server.Eventually(t, "late, scaled", func() error { return settled(ctx, c, "late", 2, "hello") })
	use := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"secret":"`+messages+`"}}`))
	if err := c.Patch(ctx, late, use); err != nil {
		t.Fatal(err)
	}
	server.Eventually(t, "late, with a secret", func() error { return settled(ctx, c, "late", 2, "secret") })
	var selected FleetList
	if err := c.List(ctx, &selected, client.MatchingFields{bySecret: messages}); err != nil || len(selected.Items) != 1 {
		t.Errorf("the server selects %d fleets by their secret: %v", len(selected.Items), err)
	}
	change := client.RawPatch("application/merge-patch+json", []byte(`{"stringData":{"message":"other"}}`))
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: messages}}
	if err := c.Patch(ctx, secret, change); err != nil {
		t.Fatal(err)
	}
	server.Eventually(t, "late, with a changed secret", func() error { return settled(ctx, c, "late", 2, "other") })
	var cached corev1.SecretList
	if err := m.GetCache().List(ctx, &cached); err != nil || len(cached.Items) != 1 || cached.Items[0].Name != messages {
		t.Errorf("the cache knows %d secrets: %v", len(cached.Items), err)
	}

	// Deletion waits for the operator, and takes everything along.
	if err := c.Delete(ctx, late); err != nil {
		t.Fatal(err)
	}
	server.Eventually(t, "the end of late", func() error { return gone(ctx, c, late) })
	var left corev1.ConfigMapList
	if err := c.List(ctx, &left, client.MatchingLabels{fleetLabel: "late"}); err != nil || len(left.Items) != 0 {
		t.Errorf("%d config maps are left: %v", len(left.Items), err)
	}
	server.Eventually(t, "an event", func() error {
		var noted eventsv1.EventList
		if err := c.List(ctx, &noted, client.InNamespace(namespace)); err != nil || len(noted.Items) == 0 {
			return fmt.Errorf("%d events: %v", len(noted.Items), err)
		}
		return nil
	})
	lease := new(coordinationv1.Lease)
	if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: "fleets"}, lease); err != nil || *lease.Spec.HolderIdentity == "" {
		t.Errorf("the lease: %+v, %v", lease, err)
	}
}

// The server is stopped, killed and replaced under a running operator, while fleets come, change and go.
func TestAnOperatorOutlivesTheServer(t *testing.T) {
	ctx := context.Background()
	crest := server.Start(t)
	install(t, crest.Config())
	c := direct(t, crest.Config())
	m := operate(ctx, t, crest.Config())
	const fleets = 12
	name := func(number int) string { return fmt.Sprintf("fleet-%d", number) }
	for number := range fleets {
		if err := c.Create(ctx, fleet(name(number), 2)); err != nil {
			t.Fatal(err)
		}
		switch number {
		case 3, 9:
			crest.Crash()
		case 6:
			crest.Restart()
		}
	}
	for number := range fleets {
		server.Eventually(t, name(number), func() error { return settled(ctx, c, name(number), 2, "hello") })
	}
	// Changes that are made while the operator cannot see them.
	changed := func(number int) {
		live := new(Fleet)
		if err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name(number)}, live); err != nil {
			t.Fatal(err)
		}
		live.Spec.Replicas = 1
		if err := c.Update(ctx, live); err != nil && !apierrors.IsConflict(err) {
			t.Fatal(err)
		}
	}
	for number := range fleets / 2 {
		changed(number)
		if err := c.Delete(ctx, fleet(name(fleets/2+number), 0)); err != nil {
			t.Fatal(err)
		}
		if number%3 == 0 {
			crest.Crash()
		}
	}
	for number := range fleets / 2 {
		server.Eventually(t, name(number), func() error { return settled(ctx, c, name(number), 1, "hello") })
		server.Eventually(t, name(fleets/2+number), func() error { return gone(ctx, c, fleet(name(fleets/2+number), 0)) })
	}
	// What the operator believes is what there is.
	server.Eventually(t, "the cache", func() error { return same(ctx, m.GetCache(), c) })
}

// same compares all fleets and config maps that two readers see.
func same(ctx context.Context, a, b client.Reader) error {
	versions := func(reader client.Reader) (map[string]string, error) {
		found := map[string]string{}
		for _, list := range []client.ObjectList{&FleetList{}, &corev1.ConfigMapList{}} {
			if err := reader.List(ctx, list); err != nil {
				return nil, err
			}
			err := meta.EachListItem(list, func(item runtime.Object) error {
				object := item.(client.Object)
				found[fmt.Sprintf("%T %s", object, object.GetName())] = object.GetResourceVersion()
				return nil
			})
			if err != nil {
				return nil, err
			}
		}
		return found, nil
	}
	left, err := versions(a)
	if err != nil {
		return err
	}
	right, err := versions(b)
	if err != nil {
		return err
	}
	if fmt.Sprint(left) != fmt.Sprint(right) {
		return fmt.Errorf("%v\nis not\n%v", left, right)
	}
	return nil
}

// One operator takes over from the other.
func TestOperatorsTakeTurns(t *testing.T) {
	crest := server.Start(t)
	install(t, crest.Config())
	ctx := context.Background()
	c := direct(t, crest.Config())
	firstCtx, end := context.WithCancel(ctx)
	first := operate(firstCtx, t, crest.Config())
	<-first.Elected()
	second := operate(ctx, t, crest.Config())
	select {
	case <-second.Elected():
		t.Fatal("there are two leaders")
	default:
	}
	if err := c.Create(ctx, fleet("one", 1)); err != nil {
		t.Fatal(err)
	}
	server.Eventually(t, "one", func() error { return settled(ctx, c, "one", 1, "hello") })
	end()
	<-second.Elected()
	if err := c.Create(ctx, fleet("two", 1)); err != nil {
		t.Fatal(err)
	}
	server.Eventually(t, "two", func() error { return settled(ctx, c, "two", 1, "hello") })
}
