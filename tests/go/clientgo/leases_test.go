package clientgo

import (
	"context"
	"fmt"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"crest.test/clients/server"
)

// candidate takes part in an election until its context ends; it says when it leads and when it stops.
type candidate struct {
	name            string
	leads, resigned chan struct{}
}

func stand(ctx context.Context, t *testing.T, client kubernetes.Interface, name string, releases bool) *candidate {
	t.Helper()
	c := &candidate{name, make(chan struct{}), make(chan struct{})}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Name: "leader", Namespace: namespace},
		Client:     client.CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: name},
	}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: lock, LeaseDuration: 4 * time.Second, RenewDeadline: 3 * time.Second, RetryPeriod: 200 * time.Millisecond,
		ReleaseOnCancel: releases,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { close(c.leads) },
			OnStoppedLeading: func() { close(c.resigned) },
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	go elector.Run(ctx)
	return c
}

func soon(t *testing.T, what string, happens <-chan struct{}) {
	t.Helper()
	select {
	case <-happens:
	case <-time.After(server.Patience):
		t.Fatalf("%s does not happen", what)
	}
}

func notYet(t *testing.T, what string, happened <-chan struct{}) {
	t.Helper()
	select {
	case <-happened:
		t.Fatalf("%s happened", what)
	default:
	}
}

func TestLeadershipPassesOn(t *testing.T) {
	crest := server.Start(t)
	client := clientset(t, crest.Config())
	leases := client.CoordinationV1().Leases(namespace)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	firstCtx, resign := context.WithCancel(ctx)
	first := stand(firstCtx, t, client, "first", true)
	soon(t, "the first election", first.leads)
	secondCtx, fail := context.WithCancel(ctx)
	second := stand(secondCtx, t, client, "second", false)
	taken := must[*coordinationv1.Lease](t)(leases.Get(ctx, "leader", metav1.GetOptions{}))
	server.Eventually(t, "the lease", func() error {
		renewed := must[*coordinationv1.Lease](t)(leases.Get(ctx, "leader", metav1.GetOptions{}))
		if !renewed.Spec.RenewTime.After(taken.Spec.RenewTime.Time) {
			return fmt.Errorf("is not renewed")
		}
		return nil
	})
	notYet(t, "a second leader", second.leads)

	// A server that is away for less than the lease lasts costs nobody the office.
	crest.Crash()
	server.Eventually(t, "the lease after a crash", func() error {
		renewed, err := leases.Get(ctx, "leader", metav1.GetOptions{})
		if err != nil || *renewed.Spec.HolderIdentity != "first" || renewed.Spec.RenewTime.Equal(taken.Spec.RenewTime) {
			return fmt.Errorf("%v: %v", renewed, err)
		}
		return nil
	})
	resign()
	soon(t, "the end of the first", first.resigned)
	soon(t, "the second election", second.leads)
	lease := must[*coordinationv1.Lease](t)(leases.Get(ctx, "leader", metav1.GetOptions{}))
	if *lease.Spec.HolderIdentity != "second" || *lease.Spec.LeaseTransitions < 1 {
		t.Errorf("the lease: %v", lease.Spec)
	}

	// One that does not say farewell is outlived.
	fail()
	third := stand(ctx, t, client, "third", true)
	soon(t, "the third election", third.leads)
}
