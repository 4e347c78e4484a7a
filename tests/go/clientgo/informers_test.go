package clientgo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	clientfeatures "k8s.io/client-go/features"
	featurestesting "k8s.io/client-go/features/testing"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"

	"crest.test/clients/server"
)

func everything() fields.Selector { return fields.Everything() }

// history is what the handlers of an informer were told, by object.
type history struct {
	mutex sync.Mutex
	told  map[string][]string
}

func (h *history) note(object any, what string) {
	if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = gone.Obj
	}
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.told == nil {
		h.told = map[string][]string{}
	}
	name := object.(metav1.Object).GetName()
	h.told[name] = append(h.told[name], what)
}

func (h *history) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { h.note(object, "add") },
		UpdateFunc: func(before, after any) {
			if before.(metav1.Object).GetResourceVersion() != after.(metav1.Object).GetResourceVersion() {
				h.note(after, "update")
			}
		},
		DeleteFunc: func(object any) { h.note(object, "delete") },
	}
}

func (h *history) expect(t *testing.T, expected map[string][]string) {
	t.Helper()
	server.Eventually(t, "the handlers", func() error {
		h.mutex.Lock()
		defer h.mutex.Unlock()
		if maps.EqualFunc(h.told, expected, slices.Equal) {
			return nil
		}
		return fmt.Errorf("were told %v, expected %v", h.told, expected)
	})
}

func eachWayOfListing(t *testing.T, test func(t *testing.T, streamed bool)) {
	for _, streamed := range []bool{true, false} {
		t.Run(fmt.Sprintf("WatchList=%v", streamed), func(t *testing.T) {
			featurestesting.SetFeatureDuringTest(t, clientfeatures.WatchListClient, streamed)
			test(t, streamed)
		})
	}
}

// listedAsAsked checks which way an informer took.
func listedAsAsked(t *testing.T, wire *server.Wire, suffix string, streamed bool) {
	t.Helper()
	lists := wire.Count(suffix, server.Request.IsList)
	streams := wire.Count(suffix, server.Request.IsStreamedList)
	if (streams > 0) != streamed || (lists > 0) == streamed {
		t.Errorf("%d lists and %d streamed lists of %s", lists, streams, suffix)
	}
}

func TestTypedInformersFollow(t *testing.T) {
	eachWayOfListing(t, func(t *testing.T, streamed bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		crest := server.Start(t)
		wire := new(server.Wire)
		client := clientset(t, wire.Through(crest.Config()))
		maps := client.CoreV1().ConfigMaps(namespace)
		create := must[*corev1.ConfigMap](t)
		create(maps.Create(ctx, configMap("old", map[string]string{"app": "x"}, nil), metav1.CreateOptions{}))
		create(maps.Create(ctx, configMap("hidden", nil, nil), metav1.CreateOptions{}))

		selected := informers.WithTweakListOptions(func(options *metav1.ListOptions) { options.LabelSelector = "app=x" })
		factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace), selected)
		informer := factory.Core().V1().ConfigMaps()
		told := new(history)
		if _, err := informer.Informer().AddEventHandler(told.handler()); err != nil {
			t.Fatal(err)
		}
		factory.StartWithContext(ctx)
		if err := factory.WaitForCacheSyncWithContext(ctx).Err; err != nil {
			t.Fatal(err)
		}
		listedAsAsked(t, wire, "/configmaps", streamed)
		must[*corev1.ConfigMap](t)(informer.Lister().ConfigMaps(namespace).Get("old"))

		create(maps.Create(ctx, configMap("new", map[string]string{"app": "x"}, nil), metav1.CreateOptions{}))
		relabel := func(name, value string) {
			patch := fmt.Sprintf(`{"metadata":{"labels":{"app":%q}}}`, value)
			create(maps.Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{}))
		}
		relabel("old", "y")
		relabel("hidden", "x")
		relabel("old", "x")
		create(maps.Update(ctx, configMap("new", map[string]string{"app": "x"}, map[string]string{"a": "b"}), metav1.UpdateOptions{}))
		if err := maps.Delete(ctx, "new", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		told.expect(t, map[string][]string{
			"old": {"add", "delete", "add"}, "hidden": {"add"}, "new": {"add", "update", "delete"},
		})
		if known := must[[]*corev1.ConfigMap](t)(informer.Lister().List(labels.Everything())); len(known) != 2 {
			t.Errorf("%d objects in the cache", len(known))
		}
	})
}

func TestDynamicAndMetadataInformersFollow(t *testing.T) {
	eachWayOfListing(t, func(t *testing.T, streamed bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		crest := server.Start(t)
		define(t, crest.Config())
		wire := new(server.Wire)
		client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(wire.Through(crest.Config())))
		objects := client.Resource(widgets).Namespace(namespace)
		made := must[*unstructured.Unstructured](t)
		made(objects.Create(ctx, widget("one", map[string]any{"size": int64(1)}), metav1.CreateOptions{}))

		whole, facts := new(history), new(history)
		dynamics := dynamicinformer.NewFilteredDynamicSharedInformerFactory(client, 0, namespace, nil)
		dynamics.ForResource(widgets).Informer().AddEventHandler(whole.handler())
		metadataWire := new(server.Wire)
		metadatas := metadatainformer.NewFilteredSharedInformerFactory(
			must[metadata.Interface](t)(metadata.NewForConfig(metadataWire.Through(crest.Config()))), 0, namespace, nil)
		metadatas.ForResource(widgets).Informer().AddEventHandler(facts.handler())
		dynamics.Start(ctx.Done())
		metadatas.Start(ctx.Done())
		dynamics.WaitForCacheSync(ctx.Done())
		metadatas.WaitForCacheSync(ctx.Done())
		listedAsAsked(t, wire, "/widgets", streamed)
		listedAsAsked(t, metadataWire, "/widgets", streamed)

		two := made(objects.Create(ctx, widget("two", map[string]any{"size": int64(2)}), metav1.CreateOptions{}))
		two.Object["status"] = map[string]any{"ready": true}
		made(objects.UpdateStatus(ctx, two, metav1.UpdateOptions{}))
		if err := objects.Delete(ctx, "one", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		expected := map[string][]string{"one": {"add", "delete"}, "two": {"add", "update"}}
		whole.expect(t, expected)
		facts.expect(t, expected)
		kept, err := metadatas.ForResource(widgets).Lister().ByNamespace(namespace).Get("two")
		if err != nil {
			t.Fatal(err)
		}
		partial := kept.(*metav1.PartialObjectMetadata)
		if partial.Name != "two" || partial.Generation != 1 || partial.UID != two.GetUID() {
			t.Errorf("the metadata: %+v", partial)
		}
	})
}

// The server is replaced while an informer runs, and has given up the history that the informer would go on
// from: it must notice, read everything anew, and tell what went meanwhile.
func TestAReflectorStartsAnewWhenItsVersionIsGone(t *testing.T) {
	eachWayOfListing(t, func(t *testing.T, streamed bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		crest := server.Start(t, "--etcd-compaction-interval=1s")
		direct := clientset(t, crest.Config()).CoreV1().ConfigMaps(namespace)
		made := must[*corev1.ConfigMap](t)
		for _, name := range []string{"stays", "changes", "goes"} {
			made(direct.Create(ctx, configMap(name, nil, nil), metav1.CreateOptions{}))
		}
		wire := new(server.Wire)
		factory := informers.NewSharedInformerFactory(clientset(t, wire.Through(crest.Config())), 0)
		told := new(history)
		factory.Core().V1().ConfigMaps().Informer().AddEventHandler(told.handler())
		factory.StartWithContext(ctx)
		if err := factory.WaitForCacheSyncWithContext(ctx).Err; err != nil {
			t.Fatal(err)
		}
		told.expect(t, map[string][]string{"stays": {"add"}, "changes": {"add"}, "goes": {"add"}})

		wire.Cut()
		if err := direct.Delete(ctx, "goes", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		made(direct.Create(ctx, configMap("churn", nil, nil), metav1.CreateOptions{}))
		last := made(direct.Update(ctx, configMap("changes", nil, map[string]string{"a": "b"}), metav1.UpdateOptions{}))
		server.Eventually(t, "the end of the history", func() error {
			made(direct.Update(ctx, configMap("churn", nil, map[string]string{"now": time.Now().String()}), metav1.UpdateOptions{}))
			options := metav1.ListOptions{ResourceVersion: last.ResourceVersion, ResourceVersionMatch: metav1.ResourceVersionMatchExact}
			if _, err := direct.List(ctx, options); err == nil {
				return fmt.Errorf("version %s can still be read", last.ResourceVersion)
			}
			return nil
		})
		crest.Restart() // what runs remembers more than what is stored
		before := len(wire.Requests("/configmaps"))
		wire.Mend()

		told.expect(t, map[string][]string{
			"stays": {"add"}, "changes": {"add", "update"}, "goes": {"add", "delete"}, "churn": {"add"},
		})
		anew := 0
		for _, request := range wire.Requests("/configmaps")[before:] {
			if request.IsList() || request.IsStreamedList() {
				anew++
			}
		}
		if anew == 0 {
			t.Error("the state was not read anew")
		}
	})
}

func TestAResyncTellsEverythingAgain(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	client := clientset(t, server.Start(t).Config())
	must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, configMap("a", nil, nil), metav1.CreateOptions{}))
	factory := informers.NewSharedInformerFactory(client, time.Second)
	again := make(chan struct{}, 100)
	factory.Core().V1().ConfigMaps().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(before, after any) {
			if before.(*corev1.ConfigMap).ResourceVersion == after.(*corev1.ConfigMap).ResourceVersion {
				again <- struct{}{}
			}
		},
	})
	factory.StartWithContext(ctx)
	for range 2 {
		select {
		case <-again:
		case <-time.After(server.Patience):
			t.Fatal("no resync")
		}
	}
}
