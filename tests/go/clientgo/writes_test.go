package clientgo

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/pager"
	"k8s.io/client-go/util/retry"

	"crest.test/clients/server"
)

func TestNoIncrementIsLostUnderConflicts(t *testing.T) {
	ctx := context.Background()
	maps := clientset(t, server.Start(t).Config()).CoreV1().ConfigMaps(namespace)
	must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap("counter", nil, map[string]string{"n": "0"}), metav1.CreateOptions{}))
	const writers, increments = 6, 15
	var group sync.WaitGroup
	for range writers {
		group.Go(func() {
			for range increments {
				patient := retry.DefaultBackoff
				patient.Steps = 1000
				err := retry.RetryOnConflict(patient, func() error {
					counter, err := maps.Get(ctx, "counter", metav1.GetOptions{})
					if err != nil {
						return err
					}
					n, err := strconv.Atoi(counter.Data["n"])
					if err != nil {
						return err
					}
					counter.Data["n"] = strconv.Itoa(n + 1)
					_, err = maps.Update(ctx, counter, metav1.UpdateOptions{})
					return err
				})
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	counter := must[*corev1.ConfigMap](t)(maps.Get(ctx, "counter", metav1.GetOptions{}))
	if counter.Data["n"] != strconv.Itoa(writers*increments) {
		t.Errorf("counted to %s", counter.Data["n"])
	}
}

func TestTypedApplyConfigurations(t *testing.T) {
	ctx := context.Background()
	maps := clientset(t, server.Start(t).Config()).CoreV1().ConfigMaps(namespace)
	applied := must[*corev1.ConfigMap](t)
	as := func(manager string) metav1.ApplyOptions { return metav1.ApplyOptions{FieldManager: manager} }
	mine := applycorev1.ConfigMap("shared", namespace).WithLabels(map[string]string{"by": "a"}).
		WithData(map[string]string{"a": "1", "old": "1"})
	applied(maps.Apply(ctx, mine, as("a")))
	applied(maps.Apply(ctx, applycorev1.ConfigMap("shared", namespace).WithData(map[string]string{"b": "2"}), as("b")))

	_, err := maps.Apply(ctx, applycorev1.ConfigMap("shared", namespace).WithData(map[string]string{"a": "other"}), as("b"))
	if !apierrors.IsConflict(err) || !apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict) {
		t.Errorf("expected a conflict of managers: %v", err)
	}
	live := applied(maps.Get(ctx, "shared", metav1.GetOptions{}))
	extracted := must[*applycorev1.ConfigMapApplyConfiguration](t)(applycorev1.ExtractConfigMap(live, "a"))
	if len(extracted.Data) != 2 || extracted.Labels["by"] != "a" {
		t.Errorf("a owns %v", extracted)
	}
	delete(extracted.Data, "old")
	extracted.WithData(map[string]string{"new": "3"})
	live = applied(maps.Apply(ctx, extracted, as("a")))
	if fmt.Sprint(live.Data) != "map[a:1 b:2 new:3]" {
		t.Errorf("the data: %v", live.Data)
	}
	forced := as("b")
	forced.Force = true
	live = applied(maps.Apply(ctx, applycorev1.ConfigMap("shared", namespace).WithData(map[string]string{"a": "other"}), forced))
	if fmt.Sprint(live.Data) != "map[a:other new:3]" {
		t.Errorf("the data: %v", live.Data)
	}

	client := must[*dynamic.DynamicClient](t)(dynamic.NewForConfig(server.Start(t).Config()))
	_, err = client.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace(namespace).
		Apply(ctx, "x", &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "x"},
		}}, as("dynamic"))
	if err != nil {
		t.Error(err)
	}
}

// What today's typed clients send for built-in kinds, whether asked to or not.
func TestBuiltinsInProtobuf(t *testing.T) {
	ctx := context.Background()
	crest := server.Start(t)
	config := rest.CopyConfig(crest.Config())
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	wire := new(server.Wire)
	client := clientset(t, wire.Through(config))
	follow := must[watch.Interface](t)(client.CoreV1().ConfigMaps(namespace).Watch(ctx, metav1.ListOptions{}))
	defer follow.Stop()

	made := must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Create(ctx, &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "m", Labels: map[string]string{"k": "v"}},
		Data:       map[string]string{"text": "ü\n"}, BinaryData: map[string][]byte{"raw": {0, 1, 255}},
	}, metav1.CreateOptions{}))
	read := must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Get(ctx, "m", metav1.GetOptions{}))
	if read.Data["text"] != "ü\n" || string(read.BinaryData["raw"]) != "\x00\x01\xff" || read.UID != made.UID {
		t.Errorf("read %+v", read)
	}
	read.Data["more"] = "x"
	read = must[*corev1.ConfigMap](t)(client.CoreV1().ConfigMaps(namespace).Update(ctx, read, metav1.UpdateOptions{}))
	for _, expected := range []watch.EventType{watch.Added, watch.Modified} {
		event := <-follow.ResultChan()
		if event.Type != expected || event.Object.(*corev1.ConfigMap).Name != "m" {
			t.Errorf("%s %+v", event.Type, event.Object)
		}
	}

	secret := must[*corev1.Secret](t)(client.CoreV1().Secrets(namespace).Create(ctx, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, StringData: map[string]string{"key": "value"}, Immutable: new(true),
	}, metav1.CreateOptions{}))
	if string(secret.Data["key"]) != "value" || secret.Type != corev1.SecretTypeOpaque || !*secret.Immutable {
		t.Errorf("the secret: %+v", secret)
	}
	now := metav1.NowMicro()
	lease := must[*coordinationv1.Lease](t)(client.CoordinationV1().Leases(namespace).Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "l"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: new("me"), LeaseDurationSeconds: new(int32(15)), RenewTime: &now},
	}, metav1.CreateOptions{}))
	if !lease.Spec.RenewTime.Time.Equal(now.Time.Truncate(1000)) || *lease.Spec.LeaseDurationSeconds != 15 {
		t.Errorf("the lease: %+v", lease.Spec)
	}
	event := must[*corev1.Event](t)(client.CoreV1().Events(namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{GenerateName: "e-"},
		InvolvedObject: corev1.ObjectReference{Kind: "ConfigMap", Namespace: namespace, Name: "m", UID: made.UID},
		Reason:         "Tested", Type: corev1.EventTypeNormal, Count: 7,
	}, metav1.CreateOptions{}))
	if event.Count != 7 || event.InvolvedObject.UID != made.UID {
		t.Errorf("the event: %+v", event)
	}
	must[*corev1.Namespace](t)(client.CoreV1().Namespaces().Create(ctx,
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team"}}, metav1.CreateOptions{}))
	if list := must[*corev1.NamespaceList](t)(client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})); len(list.Items) < 2 {
		t.Errorf("namespaces: %+v", list.Items)
	}
	uid := made.UID
	err := client.CoreV1().ConfigMaps(namespace).Delete(ctx, "m", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	if err != nil {
		t.Error(err)
	}
	if err := client.CoreV1().Secrets(namespace).Delete(ctx, "nobody", metav1.DeleteOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("expected not found: %v", err)
	}
	bodies := wire.Count("", func(request server.Request) bool { return request.ContentType == runtime.ContentTypeProtobuf })
	if bodies < 6 {
		t.Errorf("%d bodies in protobuf", bodies)
	}
	for _, request := range wire.Requests("") {
		if !strings.HasPrefix(request.AnswerType, runtime.ContentTypeProtobuf) {
			t.Errorf("%s %s was answered as %s", request.Method, request.Path, request.AnswerType)
		}
	}
}

func TestPagesOfAListFitTogetherWhileItChanges(t *testing.T) {
	ctx := context.Background()
	maps := clientset(t, server.Start(t).Config()).CoreV1().ConfigMaps(namespace)
	const count = 40
	for number := range count {
		must[*corev1.ConfigMap](t)(maps.Create(ctx, configMap(numbered(number), nil, nil), metav1.CreateOptions{}))
	}
	pages := 0
	lists := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		pages++
		// Each page finds another state; the list must not.
		if err := maps.Delete(ctx, numbered(count-pages), metav1.DeleteOptions{}); err != nil {
			return nil, err
		}
		return maps.List(ctx, options)
	})
	lists.PageSize = 7
	lists.PageBufferSize = 0
	var names []string
	err := lists.EachListItem(ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		names = append(names, object.(*corev1.ConfigMap).Name)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(names) != count-1 || pages != 6 {
		t.Errorf("%d names on %d pages: %v", len(names), pages, names)
	}
	for number, name := range names {
		if name != numbered(number) {
			t.Errorf("%s is the %dth", name, number)
		}
	}
}
