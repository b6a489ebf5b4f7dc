package redact

import (
	"fmt"
	"sync"
	"testing"

	"agentrec/store"
)

func TestLearn(t *testing.T) {
	r := testRedactor(t)
	echo := []byte(`{"error":"Invalid key: \"local\/k3y-0001\"","b64":"bG9jYWwvazN5LTAwMDE="}`)
	if got := r.Frame(store.Out, echo); &got[0] != &echo[0] {
		t.Fatalf("known before it was seen: %s", got)
	}
	r.Frame(store.In, []byte(`{"config":{"api_key":"local/k3y-0001"},"secret":"password","token":"short"}`))
	if got, want := show(r.Frame(store.Out, echo)), `{"error":"Invalid key: \"«api_key»\"","b64":"«api_key»="}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	prose := []byte(`{"t":"a short password"}`)
	if got := r.Frame(store.Out, prose); &got[0] != &prose[0] {
		t.Errorf("a common word was learned: %s", got)
	}
	r.Argv([]string{"agent", "--token", "abcdef12345", "--password=hunter2hunter2"})
	if got, want := show(r.Text([]byte("abcdef12345 hunter2hunter2"))), "abcdef12345 «password»"; got != want {
		t.Errorf("from argv: got %s, want %s", got, want)
	}
	r.Learn(store.In, []byte(`{"client_secret":"late-s3cret-9"}`))
	if got := show(r.Text([]byte("late-s3cret-9"))); got != "«secret»" {
		t.Errorf("Learn did not: %s", got)
	}
}

// TestConcurrent is for the race detector: frames are redacted, and secrets
// learned, from many goroutines at once.
func TestConcurrent(t *testing.T) {
	r := testRedactor(t)
	var wait sync.WaitGroup
	for g := range 4 {
		wait.Go(func() {
			for i := range 20 {
				frame := fmt.Sprintf(`{"api_key":"key-%d-%04d","t":"key-%d-%04d \/"}`, g, i, g, i)
				if got := show(r.Frame(store.In, []byte(frame))); got != `{"api_key":"«api_key»","t":"«api_key» \/"}` {
					t.Errorf("%s became %s", frame, got)
				}
			}
		})
	}
	wait.Wait()
}
