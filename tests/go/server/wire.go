package server

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"

	"k8s.io/client-go/rest"
)

// Request is what was sent and how it was answered.
type Request struct {
	Method      string
	Path        string
	Query       url.Values
	ContentType string
	Code        int
	AnswerType  string
}

// IsWatch tells whether it asked for changes.
func (r Request) IsWatch() bool { return r.Query.Get("watch") != "" }

// IsStreamedList tells whether it asked for the state as a stream.
func (r Request) IsStreamedList() bool { return r.Query.Get("sendInitialEvents") == "true" }

// IsList tells whether it asked for objects at once.
func (r Request) IsList() bool { return r.Method == http.MethodGet && !r.IsWatch() }

// Wire sees all requests of a client, and can cut it off.
type Wire struct {
	mutex    sync.Mutex
	requests []Request
	closed   bool
	bodies   map[*body]struct{}
}

// Through makes a client's requests go through the wire.
func (w *Wire) Through(config *rest.Config) *rest.Config {
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return &tripper{w, next} })
	return config
}

// Requests are those that were answered up to now for paths that end like this.
func (w *Wire) Requests(suffix string) []Request {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	var found []Request
	for _, request := range w.requests {
		if strings.HasSuffix(request.Path, suffix) {
			found = append(found, request)
		}
	}
	return found
}

// Count tells how many requests fit.
func (w *Wire) Count(suffix string, fits func(Request) bool) int {
	count := 0
	for _, request := range w.Requests(suffix) {
		if fits(request) {
			count++
		}
	}
	return count
}

// Cut breaks all answers under way and lets no request through.
func (w *Wire) Cut() {
	w.mutex.Lock()
	w.closed = true
	bodies := w.bodies
	w.bodies = nil
	w.mutex.Unlock()
	for answer := range bodies {
		answer.ReadCloser.Close()
	}
}

// Mend lets requests through again.
func (w *Wire) Mend() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.closed = false
}

type tripper struct {
	wire *Wire
	next http.RoundTripper
}

func (t *tripper) RoundTrip(request *http.Request) (*http.Response, error) {
	t.wire.mutex.Lock()
	closed := t.wire.closed
	t.wire.mutex.Unlock()
	if closed {
		return nil, fmt.Errorf("the wire is cut")
	}
	response, err := t.next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	seen := Request{
		Method:      request.Method,
		Path:        request.URL.Path,
		Query:       request.URL.Query(),
		ContentType: request.Header.Get("Content-Type"),
		Code:        response.StatusCode,
		AnswerType:  response.Header.Get("Content-Type"),
	}
	answer := &body{response.Body, t.wire}
	response.Body = answer
	t.wire.mutex.Lock()
	defer t.wire.mutex.Unlock()
	t.wire.requests = append(t.wire.requests, seen)
	if t.wire.bodies == nil {
		t.wire.bodies = map[*body]struct{}{}
	}
	t.wire.bodies[answer] = struct{}{}
	return response, nil
}

type body struct {
	io.ReadCloser
	wire *Wire
}

func (b *body) Close() error {
	b.wire.mutex.Lock()
	delete(b.wire.bodies, b)
	b.wire.mutex.Unlock()
	return b.ReadCloser.Close()
}
