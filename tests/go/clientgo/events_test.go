package clientgo

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/tools/record"

	"crest.test/clients/server"
)

func TestRecordedEventsAreCountedTogether(t *testing.T) {
	ctx := context.Background()
	client := clientset(t, server.Start(t).Config())
	about := must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("x", nil, nil), metav1.CreateOptions{}))

	broadcaster := record.NewBroadcaster()
	defer broadcaster.Shutdown()
	broadcaster.StartRecordingToSink(&typedcorev1.EventSinkImpl{Interface: client.CoreV1().Events("")})
	recorder := broadcaster.NewRecorder(scheme.Scheme, corev1.EventSource{Component: "tests"})
	for range 3 {
		recorder.Event(about, corev1.EventTypeWarning, "Odd", "something is odd")
	}
	recorder.Eventf(about, corev1.EventTypeNormal, "Fine", "it is %s", "fine")
	server.Eventually(t, "the events", func() error {
		found := must[*corev1.EventList](t)(client.CoreV1().Events(namespace).List(ctx, metav1.ListOptions{
			FieldSelector: "involvedObject.name=x,involvedObject.uid=" + string(about.UID) + ",reason=Odd",
		}))
		if len(found.Items) != 1 || found.Items[0].Count != 3 {
			return fmt.Errorf("%+v", found.Items)
		}
		return nil
	})
	server.Eventually(t, "the search for events", func() error {
		found := must[*corev1.EventList](t)(client.CoreV1().Events(namespace).Search(scheme.Scheme, about))
		if len(found.Items) != 2 {
			return fmt.Errorf("%+v", found.Items)
		}
		return nil
	})
}

func TestEventsOfTheNewGroupAreTheSameObjects(t *testing.T) {
	ctx := context.Background()
	client := clientset(t, server.Start(t).Config())
	about := must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("x", nil, nil), metav1.CreateOptions{}))
	broadcaster := events.NewEventBroadcasterAdapterWithContext(ctx, client)
	defer broadcaster.Shutdown()
	stop := make(chan struct{})
	defer close(stop)
	broadcaster.StartRecordingToSink(stop)
	recorder := broadcaster.NewRecorder("tests")
	for range 2 {
		recorder.Eventf(about, nil, corev1.EventTypeNormal, "Done", "Doing", "it is done")
	}
	server.Eventually(t, "the event", func() error {
		found := must[*eventsv1.EventList](t)(client.EventsV1().Events(namespace).List(ctx, metav1.ListOptions{}))
		if len(found.Items) != 1 || found.Items[0].Action != "Doing" || found.Items[0].Regarding.UID != about.UID {
			return fmt.Errorf("%+v", found.Items)
		}
		core := must[*corev1.Event](t)(client.CoreV1().Events(namespace).Get(ctx, found.Items[0].Name, metav1.GetOptions{}))
		if core.Message != found.Items[0].Note || core.UID != found.Items[0].UID {
			return fmt.Errorf("%+v", core)
		}
		return nil
	})
}
