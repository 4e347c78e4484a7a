package clientgo

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/disk"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	watchtools "k8s.io/client-go/tools/watch"

	"crest.test/clients/server"
)

func TestMappersFindNewKinds(t *testing.T) {
	crest := server.Start(t)
	client := must[*discovery.DiscoveryClient](t)(discovery.NewDiscoveryClientForConfig(crest.Config()))
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client))
	kind := schema.GroupKind{Group: "example.com", Kind: "Widget"}
	if _, err := mapper.RESTMapping(kind); !meta.IsNoMatchError(err) {
		t.Errorf("before there is one: %v", err)
	}
	define(t, crest.Config())
	mapper.Reset() // what it has just read it takes for fresh
	mapping := must[*meta.RESTMapping](t)(mapper.RESTMapping(kind))
	if mapping.Resource != widgets || mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		t.Errorf("the mapping: %+v", mapping)
	}
	expanded := must[schema.GroupVersionResource](t)(restmapper.NewShortcutExpander(mapper, client, nil).
		ResourceFor(schema.GroupVersionResource{Resource: "cm"}))
	if expanded.Resource != "configmaps" {
		t.Errorf("cm is %v", expanded)
	}
	folder := t.TempDir()
	cached := must[*disk.CachedDiscoveryClient](t)(disk.NewCachedDiscoveryClientForConfig(crest.Config(), folder, folder, time.Hour))
	for range 2 { // from the server, then from disk
		lists := must[[]*metav1.APIResourceList](t)(cached.ServerPreferredResources())
		watchable := discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "watch"}}, lists)
		found := must[map[schema.GroupVersionResource]struct{}](t)(discovery.GroupVersionResources(watchable))
		if _, ok := found[widgets]; !ok {
			t.Errorf("widgets are not among %v", found)
		}
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil || paths["apis/example.com/v1"] == nil {
		t.Errorf("documents: %v, %v", paths, err)
	}
	if text, err := paths["apis/example.com/v1"].Schema("application/json"); err != nil || len(text) == 0 {
		t.Errorf("the document of widgets: %v", err)
	}
}

// A watch that goes on by itself sees every change once across an orderly end and a crash of the server.
func TestARetryWatcherMissesNothing(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), server.Patience)
	defer cancel()
	crest := server.Start(t)
	define(t, crest.Config())
	client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(crest.Config()))
	objects := client.Resource(widgets).Namespace(namespace)
	list, err := objects.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	follow, err := watchtools.NewRetryWatcherWithContext(ctx, list.GetResourceVersion(), &cache.ListWatch{
		WatchFuncWithContext: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			return objects.Watch(ctx, options)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const each = 20
	ends := []func(){crest.Restart, crest.Crash, func() {}}
	for part, end := range ends {
		for number := range each {
			name := numbered(part*each + number)
			if _, err := objects.Create(ctx, widget(name, nil), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		end()
	}
	for number := range each * len(ends) {
		select {
		case event := <-follow.ResultChan():
			if name := event.Object.(metav1.Object).GetName(); event.Type != watch.Added || name != numbered(number) {
				t.Fatalf("%s %s instead of %s", event.Type, name, numbered(number))
			}
		case <-ctx.Done():
			t.Fatalf("nothing after %d", number)
		}
	}
}
