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

// Wherever a secret stood beside what gives it away, it is known from then on.
func TestLearnFromEveryPlace(t *testing.T) {
	const secret = "Zx81kkPq77aa99bb"
	after := []byte(`{"y":"v ` + secret + `"}`)
	for _, c := range []struct{ first, kind string }{
		{`{"auth":{"token":"` + secret + `"}}`, "token"},
		{`{"env":{"GITHUB_TOKEN":"` + secret + `"}}`, "token"},
		{`{"env":[{"name":"GITHUB_TOKEN","value":"` + secret + `"}]}`, "token"},
		{`{"h":[["x-api-key","` + secret + `"]]}`, "api_key"},
		{`{"args":["--api-key","` + secret + `"]}`, "api_key"},
		{`{"headers":["Authorization: Bearer ` + secret + `"]}`, "authorization"},
		{`{"say":"Bearer ` + secret + `"}`, "bearer"},
		{`{"url":"http://h/?token=` + secret + `"}`, "token"},
		{`{"url":"http://u:` + secret + `@h/"}`, "password"},
		{`{"cmd":"FOO_API_KEY=` + secret + ` ./run"}`, "api_key"},
		{`AUTH_TOKEN=` + secret, "token"},
		{`token: ` + secret, "token"},
	} {
		r := testRedactor(t)
		r.Frame(store.Out, []byte(c.first))
		if got, want := show(r.Frame(store.Out, after)), `{"y":"v «`+c.kind+`»"}`; got != want {
			t.Errorf("after %s: got %s, want %s", c.first, got, want)
		}
	}
	for _, argv := range [][]string{{"a", "--token", secret}, {"a", "--token=" + secret}, {"a", "TOKEN=" + secret}} {
		r := testRedactor(t)
		r.Argv(argv)
		if got, want := show(r.Frame(store.Out, after)), `{"y":"v «token»"}`; got != want {
			t.Errorf("after %q: got %s, want %s", argv, got, want)
		}
	}
}

// What a weak name says stays a guess where the value stands alone, until a
// name says it for sure.
func TestLearnedFromAWeakName(t *testing.T) {
	const cursor = "page7-cursor-0123456789"
	r := testRedactor(t)
	sure := func() bool {
		hits := r.Find(store.Out, []byte(`{"y":"`+cursor+`"}`))
		return len(hits) == 1 && hits[0].Sure
	}
	r.Learn(store.Out, []byte(`{"token":"`+cursor+`"}`))
	if hits := r.Find(store.Out, []byte(`{"y":"`+cursor+`"}`)); len(hits) != 1 || sure() {
		t.Errorf("after a weak name: %v", hits)
	}
	r.Learn(store.Out, []byte(`{"password":"`+cursor+`"}`))
	if !sure() {
		t.Error("a strong name did not make it sure")
	}
}

// An environment full of secrets leaves room to learn more.
func TestLearnBesideManyGiven(t *testing.T) {
	var environ []string
	for i := range 2 * mostLearned {
		environ = append(environ, fmt.Sprintf("S%d_API_KEY=given-k3y-%06d", i, i))
	}
	r, err := New(Options{Environ: environ})
	if err != nil {
		t.Fatal(err)
	}
	r.Frame(store.In, []byte(`{"api_key":"local/k3y-0001"}`))
	if got := show(r.Text([]byte("local/k3y-0001"))); got != "«api_key»" {
		t.Errorf("got %s", got)
	}
}
