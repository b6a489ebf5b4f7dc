package replay

import (
	"context"
	"fmt"
	"testing"

	"agentrec/internal/redact"
	"agentrec/store"
)

// tokensOf stores two equal requests that hold different secrets.
func tokensOf(t *testing.T, first, second string) string {
	t.Helper()
	file := recordLines(t, "ndjson")
	db, err := store.Open(context.Background(), file)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	key, err := db.Secret(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	r, err := redact.New(redact.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	one, two := r.Token("api_key", []byte(first)), r.Token("api_key", []byte(second))
	w, err := db.Begin(context.Background(), store.Start{Dialect: "jsonrpc", Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	for i, token := range []string{one, two} {
		w.Frame(store.In, 0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"login","params":{"key":"%s"}}`, i+1, token), store.LF)
		w.Frame(store.Out, 0, fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"result":"user %d"}`, i+1, i+1), store.LF)
	}
	w.Frame(store.In, 0, fmt.Appendf(nil, `{"jsonrpc":"2.0","method":"again","params":"%s %s"}`, one, one), store.LF)
	if err := w.Commit(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(context.Background(), store.End{State: store.Closed, Wire: [store.Streams]int64{-1, -1, -1}}); err != nil {
		t.Fatal(err)
	}
	return file
}

// With the database's key at hand the secret that was recorded finds its own
// frame; another secret takes the first place that is left, and equal tokens
// need equal secrets.
func TestSecretsByTheirTokens(t *testing.T) {
	const a, b = "correct-horse-battery", "staple-staple-staple"
	for _, c := range []struct {
		name, first, second, again string
		users                      [2]int
		ok                         bool
	}{
		{"as recorded", a, b, a, [2]int{1, 2}, true},
		{"the second secret first", b, a, a, [2]int{2, 1}, true},
		{"a new secret before a known one", "another-secret", a, a, [2]int{1, 2}, true},
		{"new secrets", "another-secret", "yet-another", "another-secret", [2]int{1, 2}, true},
		{"the recorded secret after a new one", "another-secret", "yet-another", a, [2]int{1, 2}, true},
		{"unequal for equal tokens", "another-secret", "yet-another", "yet-another", [2]int{1, 2}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := startReplay(t, Options{File: tokensOf(t, a, b), Session: "2"})
			for i, secret := range []string{c.first, c.second} {
				client.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"login","params":{"key":"%s"}}`, i+7, secret))
				client.want(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"result":"user %d"}`, i+7, c.users[i]))
			}
			client.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"again","params":"%s %s"}`, c.again, c.again))
			if rest, err := client.close(); (err == nil) != c.ok || len(rest) > 0 {
				t.Errorf("left with %v, unread %q\n%s", err, rest, client.side)
			}
		})
	}
}
